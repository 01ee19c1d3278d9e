"""Which program a file is of, and the manifest that comes of it."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from runtime.errors import UsageError
from runtime.importing.continue_config import convert_continue, is_continue
from runtime.importing.docker_agent import convert_docker_agent
from runtime.importing.draft import Declared, Draft
from runtime.importing.foreign import read_foreign
from runtime.importing.goose import convert_goose, is_recipe
from runtime.importing.mcp_json import convert_mcp_json, convert_vscode
from runtime.importing.writing import write_manifest
from runtime.manifest import Mapping, Ref, Source

_VALUE = re.compile(r"\$\{\{ ((?:secrets|variables)\.\w+) \}\}")


class Format(NamedTuple):
    """A format: what it is called, by which of its keys it is known, how it is converted."""

    title: str
    is_of: Callable[[Mapping], bool]
    convert: Callable[[Draft, Mapping], None]


def _has_servers(body: Mapping) -> bool:
    return type(body.get("mcpServers")) is Mapping


FORMATS = {
    "mcp": Format("mcp.json, claude_desktop_config.json", _has_servers, convert_mcp_json),
    "vscode": Format(".vscode/mcp.json", lambda body: "servers" in body or "mcp" in body, convert_vscode),
    "docker-agent": Format("an agent file of docker-agent", lambda body: "agents" in body, convert_docker_agent),
    "goose": Format("a recipe of goose", is_recipe, convert_goose),
    "continue": Format("config.yaml of Continue", is_continue, convert_continue),
}
"""By name, in the order in which they are tried."""


_ORDER = {
    **dict.fromkeys(
        ("Ai.ScriptedModel", "AiOpenai.OpenaiModel", "AiAnthropic.AnthropicModel", "AiGoogle.GeminiModel"), 1
    ),
    "Ai.FallbackModel": 2,
    "Ai.Tools": 3,
    "Ai.Agent": 4,
    "Ai.Task": 5,
}
"""Servers stand first, then what uses them."""


class Imported(NamedTuple):
    """The text of the manifest, and what it was written from."""

    text: str
    draft: Draft


def convert(source: Source, name: str = "") -> Imported:
    """The manifest of a foreign file; `name` is its format, found out where none is given.

    Raises UsageError where the file cannot be read, is of no format known here, or holds nothing to take over.
    """
    body = read_foreign(source)
    draft = Draft(source)
    found = FORMATS[name] if name else _recognise(source, body)
    found.convert(draft, body)
    if not draft.documents:
        raise UsageError(f'"{source.name}" holds nothing that a manifest could declare', hint=_reasons(draft))
    draft.documents.sort(key=lambda document: _ORDER.get(document.kind, 0))
    for name in draft.values.keep(_named_values(draft)):
        draft.note(body.start, f'nothing uses the value "{name}", so it is not declared')
    declarations = draft.values.declarations()
    if draft.targets:
        declarations["targets"] = [Ref(target.name, 0) for target in draft.targets]
    if declarations:
        draft.documents.insert(0, Declared("Runtime.Application", "Application", declarations))
    return Imported(write_manifest(draft), draft)


def _named_values(draft: Draft) -> set[str]:
    """What the expressions of the resources name: `secrets.token`, `variables.region`."""
    todo: list[Any] = [document.fields for document in draft.documents if not document.is_off]
    found: set[str] = set()
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            found.update(_VALUE.findall(value))
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return found


def _recognise(source: Source, body: Mapping) -> Format:
    found = next((known for known in FORMATS.values() if known.is_of(body)), None)
    if found is None:
        titles = "; ".join(f"{name}: {known.title}" for name, known in FORMATS.items())
        raise UsageError(f'"{source.name}" is of no format that is known here', hint=f"the formats are {titles}")
    return found


def _reasons(draft: Draft) -> str | None:
    return "; ".join(map(str, draft.sorted_notes())) or None
