"""What the CEL library says of an expression, as faults in our words; imported only when there is one."""

import re
from collections.abc import Iterable, Iterator

from runtime.diagnostics.nearby import Nearby
from runtime.expressions.contracts import Fault

_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '(.*?)' applied to '(.*)'")
_SELECTED = re.compile(r"expression of type '(.*)' cannot be the operand of a select operation")
_UNEXPECTED = re.compile(
    r"(?:mismatched input|extraneous input|no viable alternative at input|token recognition error at:) '(.*)'$", re.S
)
_MISSING = re.compile(r"missing '(.*)' at ")
_TYPES = {
    "int": "a whole number",
    "uint": "an unsigned number",
    "double": "a number",
    "string": "text",
    "bool": "true or false",
    "null_type": "null",
    "list": "a list",
    "map": "a mapping",
    "dyn": "any value",
    "google.protobuf.Timestamp": "a point in time",
    "google.protobuf.Duration": "a duration",
}
_NUMBERS = {"int", "uint", "double"}
_FUNCTIONS = re.findall(
    r"\w+",
    "size string int uint double bool bytes dyn type duration timestamp has all exists exists_one map filter contains "
    "startsWith endsWith matches getFullYear getMonth getDate getDayOfWeek getDayOfMonth getDayOfYear getHours "
    "getMinutes getSeconds getMilliseconds",
)


class Known:
    """The names of a scope, to find those that a wrong one may mean."""

    def __init__(self, names: Iterable[str]) -> None:
        self._below: dict[str, list[str]] = {"metadata": [], "secrets": [], "variables": []}
        for name in sorted(names):
            root, _, rest = name.partition(".")
            self._below.setdefault(root, []).extend([rest] if rest else [])
        self._near_root = Nearby(sorted(self._below), 0.7)
        self._nearby = {root: Nearby(below) for root, below in self._below.items()}

    def hint(self, root: str, rest: str) -> str:
        """What may be meant by a name in two parts, the second perhaps empty."""
        if root not in self._below:
            near_root = self._near_root.find(root)
            near = f"{near_root}.{rest}" if near_root and rest else near_root or self._whole(root)
        else:
            found = self._nearby[root].find(rest) if rest else None
            near = f"{root}.{found}" if found else None
        if near is not None:
            return f'did you mean "{near}"?'
        if self._below.get(root):
            return f'"{root}" has: {", ".join(self._below[root][:20])}'
        return f"in scope are: {', '.join(sorted(self._below))}"

    def _whole(self, name: str) -> str | None:
        """A name without its root: `secrets.token` for `token`."""
        return next((f"{root}.{name}" for root, below in self._below.items() if name in below), None)


def syntax_fault(text: str, report: str) -> Fault:
    """Where an expression stopped to parse; `report` is what the library's parser alone says."""
    exceeding, found = _exceeding(report), _ERROR.search(report)
    if exceeding is not None or found is None:
        return exceeding or Fault("CEL_SYNTAX", 0, "the expression does not parse")
    offset = _offset(text, int(found[1]), int(found[2]))
    message = _plain(found[3])
    unexpected, missing = _UNEXPECTED.search(message), _MISSING.search(message)
    if unexpected is not None and unexpected[1] == "<EOF>":
        said = "it ends too soon"
    elif unexpected is not None and message.startswith("token") and unexpected[1][:1] in ("'", '"'):
        said = "the text that starts here is never closed"
    elif unexpected is not None:
        said = f'unexpected "{unexpected[1].strip()}"'
    elif missing is not None:
        said = f'"{missing[1]}" is missing'
    else:
        said = message[:1].lower() + message[1:]
    return Fault("CEL_SYNTAX", offset, f"the expression does not parse: {said}")


def _exceeding(report: str) -> Fault | None:
    """An expression that goes over a limit of the library."""
    if "recursion" in report:
        message = "the expression is nested too deeply, or is a sum of too many parts"
        return Fault("CEL_SYNTAX", 0, message, "the limit is 32 levels")
    if "codepoint limit" in report:
        return Fault("CEL_SYNTAX", 0, "the expression is too long", "the limit is 100000 characters")
    return None


def type_faults(text: str, report: str, known: Known) -> list[Fault]:
    """What is wrong with an expression that parses; `known` are the names in scope."""
    faults = list(_type_faults(text, report, known))
    return faults or [_exceeding(report) or Fault("CEL_TYPE", 0, "the expression cannot be evaluated")]


def _type_faults(text: str, report: str, known: Known) -> Iterator[Fault]:
    for line, column, message in _ERROR.findall(report):
        if "*error*" in message:  # what follows from a fault that is told as well
            continue
        offset = _offset(text, int(line), int(column))
        message = _plain(message)
        undeclared, overload, selected = (each.match(message) for each in (_UNDECLARED, _OVERLOAD, _SELECTED))
        if undeclared is not None:
            yield _unknown_name(text, undeclared[1], offset, known)
        elif overload is not None:
            yield _wrong_types(overload[1], overload[2], offset)
        elif selected is not None:
            yield Fault("CEL_TYPE", offset, f"{_type(selected[1])} has no fields")
        else:
            yield Fault("CEL_TYPE", offset, message[:1].lower() + message[1:])


def _plain(message: str) -> str:
    return message.removesuffix(" [INVALID_ARGUMENT]").removeprefix("Syntax error: ").partition(" expecting ")[0]


def _wrong_types(name: str, applied: str, offset: int) -> Fault:
    operator = {"_?_:_": "?:", "_[_]": "[]"}.get(name) or name.strip("_@") or name
    receiver, _, arguments = applied.rpartition("(")
    types = [receiver.rstrip(".")] if receiver.rstrip(".") else []
    types += _split_types(arguments.removesuffix(")"))
    if "(" in receiver:  # the arguments themselves have brackets: take the outermost pair
        types = _split_types(applied[1:-1]) if applied.startswith("(") else [applied]
    if operator == "?:" and types[0] == "bool" and len(types) == 3:
        message = f'"?:" gives {_type(types[1])} or {_type(types[2])}, and both have to be of one type'
        return Fault("CEL_TYPE", offset, message)
    shown = " and ".join([", ".join(map(_type, types[:-1])), _type(types[-1])] if len(types) > 1 else map(_type, types))
    hint = None
    if operator == "+" and "string" in types:
        hint = 'convert the other one with "string(...)"'
    elif len(types) == 2 and set(types) <= _NUMBERS and types[0] != types[1]:
        hint = 'convert the whole number with "double(...)"'
    elif operator in ("&&", "||", "!", "?:"):
        hint = "compare it with something first"
    return Fault("CEL_TYPE", offset, f'"{operator}" does not take {shown}', hint)


def _split_types(text: str) -> list[str]:
    """`int, map(string, dyn)` at its outer commas."""
    found, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found if part.strip()]


def _type(name: str) -> str:
    return _TYPES.get(name.partition("(")[0], name)


def _unknown_name(text: str, name: str, offset: int, known: Known) -> Fault:
    is_call = text[offset : offset + 1] == "("
    root, _, rest = name.partition(".")
    start = text.rfind(name, 0, offset + len(name) + 1)
    if start < 0:
        start = max(0, text.rfind(root, 0, offset + 1))
    if is_call:
        if name in _FUNCTIONS:
            return Fault("CEL_UNKNOWN_NAME", start, f'the function "{name}" does not take these arguments')
        hint = Nearby(_FUNCTIONS, 0.7).hint(name)
        return Fault("CEL_UNKNOWN_NAME", start, f'there is no function "{name}"', hint)
    return Fault("CEL_UNKNOWN_NAME", start, f'"{name}" is not in scope', known.hint(root, rest))


def _offset(text: str, line: int, column: int) -> int:
    if line > text.count("\n") + 1:  # what has no place is in line 4294967295
        return 0
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return min(at + column - 1, len(text))
