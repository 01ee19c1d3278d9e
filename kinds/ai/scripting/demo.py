"""The demo: with no script, a tool is picked by the words of the prompt, its arguments are filled by its schema."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from kinds.ai.scripting.conversation import Conversation, split_text
from runtime.ai.common_options import COMMON
from runtime.ai.contracts import ModelRequest, TextDelta, Tool, ToolCall, TurnEnd, Usage

NOTICE = "This is the demo model: it picks a tool by the words of the prompt and understands nothing."

_WORD = re.compile(r"[a-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'|`([^`]+)`|“([^”]+)”")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_URL = re.compile(r"https?://[^\s\"'<>]+")
_PATH = re.compile(r"[\w.~-]*/[\w./~-]+|\b[\w-]+\.[A-Za-z]\w{0,4}\b")
_IDLE_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from get give has have how i in into is it its list make me my of on"
        " or please show some tell that the there this to tool use using was we what when which who will with you your",
    )
)


class Demo:
    """Answers the first request with a call of the tool that fits best, and the next with what the tool gave back."""

    summary = "a demo: it picks tools by words"
    tool_format = ""
    max_tools = None
    common_options: ClassVar[Mapping[str, str]] = {name: name for name in COMMON}

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        seen = Conversation(request)
        calls: list[ToolCall] = []
        if seen.result is not None:
            text = f"{NOTICE}\nThe tool answered: {seen.result}"
        else:
            tool = pick_tool(seen.user, request.tools)
            if tool is None:
                offered = ", ".join(seen.tools) or "none"
                text = f"{NOTICE}\nNo tool fits the prompt; the tools are: {offered}"
            else:
                text = f"{NOTICE}\nThe prompt sounds like the tool {tool.name}."
                arguments = msgspec.json.encode(fill_arguments(seen.user, tool.parameters)).decode()
                calls = [ToolCall(f"call_{seen.turn}_0", tool.name, arguments)]
        for delta in split_text(text):
            yield delta
        yield TurnEnd(calls, "tool-calls" if calls else "stop", Usage())


def pick_tool(prompt: str, tools: Sequence[Tool]) -> Tool | None:
    """The tool whose name and description share the most telling words with the prompt; None where none is shared.

    A word counts the less the more tools have it, and double in a tool's name.
    """
    wanted = _words(prompt)
    names = [_words(tool.name) for tool in tools]
    others = [_words(tool.description) | _words(" ".join(tool.parameters.get("properties", ()))) for tool in tools]
    common = Counter(word for name, other in zip(names, others, strict=True) for word in name | other)

    def score(place: int) -> float:
        by_name = sum(2 / common[word] for word in wanted & names[place])
        return by_name + sum(1 / common[word] for word in wanted & (others[place] - names[place]))

    best = max(range(len(tools)), key=score, default=None)
    return tools[best] if best is not None and score(best) > 0 else None


def _words(text: str) -> set[str]:
    words = _WORD.findall(_CAMEL.sub(" ", text).lower())
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words} - _IDLE_WORDS


def fill_arguments(prompt: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for the required properties, and for optional ones that the prompt has a clear value for."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = schema.get("required") or ()
    rest = _Prompt(prompt)
    arguments: dict[str, Any] = {}
    for name, part in properties.items():
        part = part if isinstance(part, Mapping) else {}
        value = rest.find(name, part)
        if value is None and name in required:
            value = rest.guess(name, part)
        if value is not None:
            arguments[name] = value
    return arguments


class _Prompt:
    """The prompt's values, each of which is used once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
        self._urls = _URL.findall(text)
        bare = _URL.sub(" ", text)
        self._paths = _PATH.findall(bare)
        self._numbers = _NUMBER.findall(_PATH.sub(" ", bare))

    def find(self, name: str, schema: Mapping[str, Any]) -> Any:
        """A value that the prompt clearly has for this property, or None."""
        lowered = self._text.lower()
        for choice in schema.get("enum") or ():
            if isinstance(choice, str) and choice and choice.lower() in lowered:
                return choice
        wanted = schema.get("type")
        if wanted in ("integer", "number") and self._numbers:
            number = self._numbers.pop(0)
            return float(number) if wanted == "number" and "." in number else int(float(number))
        if wanted == "array":
            return self._find_items(schema)
        if wanted not in ("string", None):
            return None
        words = _words(name)
        if words & {"url", "uri", "link"} or schema.get("format") in ("uri", "url"):
            return self._urls.pop(0) if self._urls else None
        if words & {"path", "file", "folder", "directory", "filename"} and self._paths:
            return self._paths.pop(0)
        if words & {"timezone", "tz"}:
            return _find_timezone(lowered)
        return self._quoted.pop(0) if self._quoted else None

    def _find_items(self, schema: Mapping[str, Any]) -> list[Any] | None:
        items = schema.get("items")
        if isinstance(items, Mapping) and items.get("type") in ("integer", "number") and self._numbers:
            numbers, self._numbers = self._numbers, []
            return [float(number) if "." in number else int(number) for number in numbers]
        return None

    def guess(self, name: str, schema: Mapping[str, Any]) -> Any:
        """A value of the right type, taken from the schema where it has one."""
        if "default" in schema:
            return schema["default"]
        for source in (schema.get("enum"), schema.get("examples")):
            if source:
                return source[0]
        if "const" in schema:
            return schema["const"]
        simple = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}, "null": None}
        wanted = schema.get("type")
        if isinstance(wanted, list):
            wanted = wanted[0] if wanted else None
        if wanted in simple:
            return max(simple[wanted], schema["minimum"]) if "minimum" in schema else simple[wanted]
        if _words(name) & {"timezone", "tz"}:
            return "UTC"
        return self._paths.pop(0) if self._paths else self._text.strip()


def _find_timezone(text: str) -> str | None:
    """The IANA zone whose city the text names."""
    from zoneinfo import available_timezones

    for zone in sorted(available_timezones()):
        city = zone.rpartition("/")[2].replace("_", " ").lower()
        if "/" in zone and len(city) > 3 and re.search(rf"\b{re.escape(city)}\b", text):
            return zone
    return None
