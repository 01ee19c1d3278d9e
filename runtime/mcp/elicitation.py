"""Elicitation: a server asks the person at the keyboard for something (MCP 2025-11-25, form and URL mode)."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from runtime.mcp.contracts import Offer
from runtime.mcp.quoting import quote_line, quote_lines

METHOD = "elicitation/create"
DECLINE: Mapping[str, Any] = {"action": "decline"}
CANCEL: Mapping[str, Any] = {"action": "cancel"}
FIELDS_LIMIT = 50
MESSAGE_LINES = 20
ANSWER_LIMIT = 10_000  # characters typed for one field


def offer_elicitation(policy: str, server: str) -> Offer:
    """What answers a server's questions: `accept` fills forms by their schemas, `ask` asks on the terminal."""
    if policy == "accept":
        return Offer("elicitation", {"form": {}}, METHOD, accept)
    terminal = Terminal()

    async def ask(params: Mapping[str, Any]) -> Mapping[str, Any]:
        async with terminal.lock:
            return await terminal.ask(server, params)

    return Offer("elicitation", {"form": {}, "url": {}}, METHOD, ask)


def read_form(params: Mapping[str, Any]) -> tuple[dict[str, Mapping[str, Any]], list[Any]] | None:
    """The fields of a form and the names that are required; None for what is no form, or too large a one."""
    if params.get("mode") not in (None, "form"):
        return None
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if type(schema) is dict else None
    if type(properties) is not dict or len(properties) > FIELDS_LIMIT:
        return None
    required = schema.get("required") if type(schema) is dict else None
    fields: dict[str, Mapping[str, Any]] = {
        name: field if type(field) is dict else {} for name, field in properties.items()
    }
    return fields, required if type(required) is list else []


def accept(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The form with every field filled that has a default or is required; a URL is declined."""
    form = read_form(params)
    if form is None:
        return DECLINE
    fields, required = form
    content = {
        name: field["default"] if "default" in field else invent(field)
        for name, field in fields.items()
        if "default" in field or name in required
    }
    return {"action": "accept", "content": content}


def invent(field: Mapping[str, Any]) -> Any:
    """A value that a field's schema takes: its first choice, yes, its minimum, as much text as it asks for."""
    choices = list_choices(field)
    if field.get("type") == "array":
        items = field.get("items")
        first = list_choices(items if type(items) is dict else {})
        least = field.get("minItems")
        return first[: least if type(least) is int else 0]
    if choices:
        return choices[0]
    if field.get("type") == "boolean":
        return True
    if field.get("type") in ("integer", "number"):
        return field.get("minimum", 0)
    least = field.get("minLength")
    return "x" * (least if type(least) is int and 0 < least < ANSWER_LIMIT else 0)


def list_choices(field: Mapping[str, Any]) -> list[Any]:
    """The values of an enumeration, plain (`enum`) or with titles (`oneOf`, `anyOf`)."""
    if type(choices := field.get("enum")) is list:
        return choices
    for keyword in ("oneOf", "anyOf"):
        if type(titled := field.get(keyword)) is list:
            return [choice["const"] for choice in titled if type(choice) is dict and "const" in choice]
    return []


class Terminal:
    """The person at the controlling terminal; where there is none, every question is declined."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def ask(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        except OSError:
            return DECLINE
        try:
            message = params.get("message")
            self._say(descriptor, f'\nthe server "{server}" asks:')
            for line in quote_lines(message if type(message) is str else "", MESSAGE_LINES):
                self._say(descriptor, f"  {line}")
            if params.get("mode") == "url":
                return await self._ask_url(descriptor, params)
            form = read_form(params)
            return DECLINE if form is None else await self._ask_form(descriptor, *form)
        finally:
            os.close(descriptor)

    async def _ask_url(self, descriptor: int, params: Mapping[str, Any]) -> Mapping[str, Any]:
        url = params.get("url")
        if type(url) is not str or not url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
            return DECLINE
        self._say(descriptor, f"  open this address only if you trust it: {quote_line(url, 2000)}")
        answer = await self._read(descriptor, "  go on? [y/N] ")
        return {"action": "accept"} if answer is not None and answer.strip().lower() in ("y", "yes") else DECLINE

    async def _ask_form(
        self, descriptor: int, fields: Mapping[str, Mapping[str, Any]], required: list[Any]
    ) -> Mapping[str, Any]:
        self._say(descriptor, "  (enter keeps what stands in brackets, ctrl-d declines)")
        content = {}
        for name, field in fields.items():
            while True:
                answer = await self._read(descriptor, make_prompt(name, field, name in required))
                if answer is None:
                    return DECLINE
                if not answer and "default" in field:
                    content[name] = field["default"]
                elif not answer and name not in required:
                    pass
                else:
                    value = read_answer(answer, field)
                    if value is None:
                        self._say(descriptor, "  that is no value for this field")
                        continue
                    content[name] = value
                break
        return {"action": "accept", "content": content}

    def _say(self, descriptor: int, line: str) -> None:
        os.write(descriptor, f"{line}\n".encode("utf-8", "replace"))

    async def _read(self, descriptor: int, prompt: str) -> str | None:
        """One line that is typed; None at its end (ctrl-d)."""
        os.write(descriptor, prompt.encode("utf-8", "replace"))
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[None] = loop.create_future()

        def on_line() -> None:
            loop.remove_reader(descriptor)
            typed.set_result(None)

        loop.add_reader(descriptor, on_line)
        try:
            await typed
        finally:
            loop.remove_reader(descriptor)
        line = os.read(descriptor, ANSWER_LIMIT)
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


def make_prompt(name: str, field: Mapping[str, Any], is_required: bool) -> str:
    title = field.get("title") if type(field.get("title")) is str else name
    about = [str(field.get("type", "string"))]
    if choices := list_choices(field):
        about = [" | ".join(str(choice) for choice in choices[:20])]
    if not is_required:
        about.append("optional")
    default = f" [{quote_line(str(field['default']), 80)}]" if "default" in field else ""
    return f"  {quote_line(str(title), 100)} ({quote_line(', '.join(about), 200)}){default}: "


def read_answer(text: str, field: Mapping[str, Any]) -> Any:
    """What was typed as a value of the field's type; None where it is none."""
    choices = list_choices(field)
    try:
        if field.get("type") == "boolean":
            return {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}.get(text.lower())
        if field.get("type") == "integer":
            return int(text)
        if field.get("type") == "number":
            return float(text)
    except ValueError:
        return None
    if field.get("type") == "array":
        items = field.get("items")
        allowed = list_choices(items if type(items) is dict else {})
        chosen = [word.strip() for word in text.split(",") if word.strip()]
        return chosen if not allowed or all(word in allowed for word in chosen) else None
    return text if not choices or text in choices else None
