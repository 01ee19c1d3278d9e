"""Expressions: finding `${{ }}` in text, compiling and evaluating through the CEL library.

Each known name is a typed variable of its own (`secrets.token: string`), so that a name nobody declared is an error
with a column. A scope is such a set of names; its environment is made once, and each text is compiled once in it.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cel_expr_python import cel

OPENING, CLOSING = "${{", "}}"

TYPES: dict[str, Any] = {
    "string": cel.Type.STRING,
    "integer": cel.Type.INT,
    "number": cel.Type.DOUBLE,
    "boolean": cel.Type.BOOL,
    "array": cel.Type.List(cel.Type.DYN),
    "object": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "null": cel.Type.NULL,
    "any": cel.Type.DYN,
}
"""The types of JSON Schema as CEL has them."""

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
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_NAMES = re.compile(r"\b(?:variables|secrets|metadata|arguments)\s*\.\s*[A-Za-z_]\w*")


class Part(NamedTuple):
    """One `${{ }}` of a string: `start` and `end` of the whole, `at` where the expression `text` starts."""

    start: int
    end: int
    at: int
    text: str


class Fault(NamedTuple):
    """What is wrong with an expression: a diagnostic's code, the offset in its text, the message, a hint."""

    code: str
    offset: int
    message: str
    hint: str | None = None


class ExpressionError(ValueError):
    """An expression that cannot be evaluated, in words for the user."""


def split(text: str) -> tuple[list[Part], int | None]:
    """The expressions of a string, and the offset of a `${{` that is never closed.

    The first `}}` that is neither inside a string nor inside a map of the expression closes it.
    """
    parts: list[Part] = []
    at = 0
    while (start := text.find(OPENING, at)) >= 0:
        end = _closing(text, start + len(OPENING))
        if end is None:
            return parts, start
        inner = start + len(OPENING)
        parts.append(Part(start, end + len(CLOSING), inner, text[inner:end]))
        at = end + len(CLOSING)
    return parts, None


def _closing(text: str, at: int) -> int | None:
    depth = 0
    while at < len(text):
        character = text[at]
        if character in "'\"":
            end = _string_end(text, at)
            if end is None:
                # the string is broken: so that the finding stands there, the expression ends at the next braces
                found = text.find(CLOSING, at)
                return found if found >= 0 else None
            at = end
        elif character == "{":
            depth += 1
            at += 1
        elif character == "}":
            if depth == 0 and text.startswith(CLOSING, at):
                return at
            depth = max(0, depth - 1)
            at += 1
        else:
            at += 1
    return None


def _string_end(text: str, at: int) -> int | None:
    """Behind the string literal that opens at `at`: CEL has quoted, tripled and raw ones (its language definition)."""
    quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    is_raw = at > 0 and text[at - 1] in "rR"
    at += len(quote)
    while at < len(text):
        if text[at] == "\\" and not is_raw:
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return None


def names_in(text: str, root: str, *, is_tagged: bool = False) -> set[str]:
    """Names that the expressions of a string take from a root, such as `secrets`; what stands around them is no use.

    `is_tagged` says that the whole string is one expression.
    """
    texts = [text] if is_tagged else [part.text for part in split(text)[0]]
    return {
        found.split(".")[1].strip()
        for expression in texts
        for found in _NAMES.findall(expression)
        if found.split(".")[0].strip() == root
    }


class Scope:
    """Typed names, such as `{"variables.port": "integer"}`, in the words of JSON Schema (`any` for any type)."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = dict(types)
        self._environment: Any = None
        self._compiled: dict[str, Any] = {}
        self._checked: dict[str, tuple[str, list[Fault]]] = {}

    def check(self, text: str) -> tuple[str, list[Fault]]:
        """The JSON type of an expression (`any` where only its value tells), or what is wrong with it."""
        if text not in self._checked:
            self._checked[text] = self._check(text)
        return self._checked[text]

    def _check(self, text: str) -> tuple[str, list[Fault]]:
        compiled = self._compile(text)
        if isinstance(compiled, RuntimeError):
            return "any", _faults(text, str(compiled), self.types)
        name = compiled.return_type().name()
        json_type = _JSON_TYPES.get(name.partition("<")[0])
        if json_type is None:
            message = f"the expression gives a {name.lower()}, which no field takes"
            return "any", [Fault("CEL_TYPE", 0, message, 'convert it with "string(...)"')]
        return json_type, []

    def evaluate(self, text: str, values: Mapping[str, Any]) -> Any:
        """The value of an expression that was checked; ExpressionError where the values do not allow one."""
        compiled = self._compile(text)
        if isinstance(compiled, RuntimeError):
            raise ExpressionError("; ".join(fault.message for fault in _faults(text, str(compiled), self.types)))
        result = compiled.eval(data={name: value for name, value in values.items() if name in self.types})
        if result.type().name() == "ERROR":
            raise ExpressionError(_evaluation_message(str(result.value())))
        return result.plain_value()

    def _compile(self, text: str) -> Any:
        compiled = self._compiled.get(text)
        if compiled is None:
            if self._environment is None:
                variables = {name: TYPES[type_name] for name, type_name in self.types.items()}
                self._environment = cel.NewEnv(variables=variables)
            try:
                compiled = self._environment.compile(text)
            except RuntimeError as error:  # the library's only way to say that a text does not compile
                compiled = error
            self._compiled[text] = compiled
        return compiled


def _evaluation_message(text: str) -> str:
    return text.partition(": ")[2][:300] or text[:300]


def _faults(text: str, report: str, known: Mapping[str, str]) -> list[Fault]:
    faults = []
    for line, column, message in _ERROR.findall(report):
        offset = _offset(text, int(line), int(column))
        message = message.removesuffix(" [INVALID_ARGUMENT]")
        if message.startswith(("Syntax error: ", "unsupported syntax")):
            shown = message.removeprefix("Syntax error: ").partition(" expecting ")[0]
            return [Fault("CEL_SYNTAX", offset, f"the expression does not parse: {shown}")]
        undeclared = _UNDECLARED.match(message)
        if undeclared:
            faults.append(_unknown_name(text, undeclared[1], offset, known))
        else:
            faults.append(Fault("CEL_TYPE", offset, message))
    return faults or [Fault("CEL_SYNTAX", 0, "the expression does not parse")]


def _unknown_name(text: str, name: str, offset: int, known: Mapping[str, str]) -> Fault:
    is_call = text[offset : offset + 1] == "("
    head = name.split(".")[0]
    start = text.rfind(name, 0, offset + len(name) + 1)
    if start < 0:
        start = max(0, text.rfind(head, 0, offset + 1))
    if is_call:
        return Fault("CEL_UNKNOWN_NAME", start, f'there is no function "{name}"')
    from difflib import get_close_matches

    roots = sorted({"metadata", "secrets", "variables"} | {known_name.split(".")[0] for known_name in known})
    near = get_close_matches(name, known, 1, 0.75)
    if not near and head not in roots:
        near = [root + name[len(head) :] for root in get_close_matches(head, roots, 1, 0.7)]
    hint = f'did you mean "{near[0]}"?' if near else f"in scope are: {', '.join(roots)}"
    return Fault("CEL_UNKNOWN_NAME", start, f'"{name}" is not in scope', hint)


def _offset(text: str, line: int, column: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return min(at + column - 1, len(text))
