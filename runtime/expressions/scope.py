"""The scopes that expressions are checked and evaluated in.

Each known name is a typed variable of its own (`secrets.token: string`), so that a name nobody declared is an error
with a column. A scope is such a set of names; its environment is made once, and each text is compiled once in it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from runtime.expressions.contracts import ExpressionError, Fault
from runtime.expressions.text import code_only

_JSON_TYPES = {
    "STRING": "string",
    "INT": "integer",
    "UINT": "integer",
    "DOUBLE": "number",
    "BOOL": "boolean",
    "NULL": "null",
    "DYN": "any",
    "LIST": "array",
    "MAP": "object",
}
_OTHER_TYPES = {
    "BYTES": "bytes",
    "TIMESTAMP": "a point in time",
    "DURATION": "a duration",
    "TYPE": "a type",
    "MAP": "a mapping whose keys are no text",
}
_NAME = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_RESERVED = (
    " false in null true as break const continue else for function if import let loop package namespace return var void"
    " while "
)
"""What CEL takes as no name (its language definition, "Syntax")."""
_BLANKS = " \t\n\f\r"
_HAS = "has("


class Scope:
    """Typed names, such as `{"variables.port": "integer"}`, in the words of JSON Schema (`any` for any type)."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = dict(types)
        self._environments: dict[bool, Any] = {}
        self._known: Any = None  # what hints are made from
        self._compiled: dict[str, Any] = {}
        self._checked: dict[str, tuple[str, list[Fault]]] = {}

    def check(self, text: str) -> tuple[str, list[Fault]]:
        """The JSON type of an expression (`any` where only its value tells), or what is wrong with it."""
        if text not in self._checked:
            self._checked[text] = self._check(text)
        return self._checked[text]

    def _check(self, text: str) -> tuple[str, list[Fault]]:
        name = text.strip(_BLANKS)
        if name in self.types and _is_plain(name):  # most are a name alone: for those the library need not be loaded
            return self.types[name], []
        compiled = self._compile(text)
        if isinstance(compiled, RuntimeError):
            return "any", self._faults(text, compiled)
        name = compiled.return_type().name()
        head, _, inside = name.partition("<")
        json_type = _JSON_TYPES.get(head)
        if json_type is None or (json_type == "object" and not inside.startswith(("STRING", "DYN"))):
            given = _OTHER_TYPES.get(head, name.lower())
            hint = 'convert it with "string(...)"' if head in ("BYTES", "TIMESTAMP", "DURATION") else None
            return "any", [Fault("CEL_TYPE", None, f"the expression gives {given}, which no field takes", hint)]
        return json_type, []

    def _faults(self, text: str, error: RuntimeError) -> list[Fault]:
        from runtime.expressions.faults import Known, syntax_fault, type_faults

        try:
            self._environment(text).compile(self._readable(text), disable_check=True)
        except RuntimeError as unparsed:
            return [syntax_fault(text, str(unparsed))]
        self._known = self._known or Known(self.types)
        return type_faults(text, str(error), self._known)

    def evaluate(self, text: str, values: Mapping[str, Any]) -> Any:
        """The value of an expression that was checked; ExpressionError where the values do not allow one."""
        name = text.strip()
        if name in self.types:  # as it is: the library would sort mappings, and cut text at a NUL
            if name not in values:
                raise ExpressionError(f'"{name}" has no value')
            return values[name]
        compiled = self._compile(text)
        if isinstance(compiled, RuntimeError):
            raise ExpressionError("; ".join(fault.message for fault in self._faults(text, compiled)))
        known = {name: value for name, value in values.items() if name in self.types}
        if _HAS in text:
            known |= {presence: name in values for name, presence in _presences(self.types)}
        for name, value in known.items():
            if name in text and _holds_nul(value):
                raise ExpressionError(f'"{name}" holds a NUL character, which no expression can take')
        try:
            result = compiled.eval(data=known)
        except (RuntimeError, UnicodeError) as error:  # text that is not Unicode: lone surrogates
            raise ExpressionError("a value is no Unicode text") from error
        if result.type().name() == "ERROR":
            raise ExpressionError(_evaluation_message(str(result.value())))
        return result.plain_value()

    def _compile(self, text: str) -> Any:
        compiled = self._compiled.get(text)
        if compiled is None:
            try:
                compiled = self._environment(text).compile(self._readable(text))
            except RuntimeError as error:  # the library's only way to say that a text does not compile
                compiled = error
            self._compiled[text] = compiled
        return compiled

    def _environment(self, text: str) -> Any:
        asks_presence = _HAS in text
        if asks_presence not in self._environments:
            from cel_expr_python import cel

            types = _cel_types()
            variables = {name: types[type_name] for name, type_name in self.types.items()}
            if asks_presence:
                variables |= {presence: types["boolean"] for _, presence in _presences(self.types)}
            self._environments[asks_presence] = cel.NewEnv(variables=variables)
        return self._environments[asks_presence]

    def _readable(self, text: str) -> str:
        """The text as the library can take it: `has(root.name)` of a name of ours becomes a name for its presence.

        The library would look for a field of the value. What takes its place is as long, so that offsets stay.
        """
        if _HAS not in text:
            return text

        readable = text
        for found in re.finditer(r"(?<![\w.])has\(\s*([A-Za-z_]\w*\.[A-Za-z_]\w*)\s*\)", code_only(text)):
            if found[1] in self.types:
                named = _presence(found[1]).rjust(len(found[0]))
                readable = readable[: found.start()] + named + readable[found.end() :]
        return readable


@cache
def _cel_types() -> dict[str, Any]:
    """The types of JSON Schema as CEL has them."""
    from cel_expr_python import cel  # takes 6 MB, and the time in which a third of a bare interpreter starts

    return {
        "string": cel.Type.STRING,
        "integer": cel.Type.INT,
        "number": cel.Type.DOUBLE,
        "boolean": cel.Type.BOOL,
        "array": cel.Type.List(cel.Type.DYN),
        "object": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
        "null": cel.Type.NULL,
        "any": cel.Type.DYN,
    }


def _is_plain(name: str) -> bool:
    """Whether a declared name, as an expression, is that name and nothing else."""
    return _PLAIN.fullmatch(name) is not None and not any(f" {part} " in _RESERVED for part in name.split("."))


def _presences(types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names that are in two parts, each with the one that says whether it has a value."""
    return ((name, _presence(name)) for name in types if _NAME.fullmatch(name))


def _presence(name: str) -> str:
    return f"has_{name.replace('.', '_')}_"


def _holds_nul(value: Any) -> bool:
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            if "\0" in part:
                return True
        elif isinstance(part, Mapping):
            todo += [*part, *part.values()]
        elif isinstance(part, (list, tuple)):
            todo += part
    return False


def _evaluation_message(text: str) -> str:
    missing = re.search(r'No value with name "(.*)" found', text)
    return f'"{missing[1]}" has no value' if missing is not None else text.partition(": ")[2][:300] or text[:300]
