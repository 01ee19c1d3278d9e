"""`mcp.json` and its kin: a mapping of servers, as Claude Desktop, Claude Code, Cursor, VS Code and others keep it."""

from typing import Any

from runtime.importing.assistant import declare_agent
from runtime.importing.draft import Draft
from runtime.importing.foreign import elements_at, mapping_at, mappings_at, place_of, text_at
from runtime.importing.servers import Server, convert_server
from runtime.importing.texts import Resolver
from runtime.importing.values import is_secret_name, snake
from runtime.manifest import Mapping

_EDITOR_NAMES = {
    "userHome": ("HOME", None),
    "workspaceFolder": ("WORKSPACE_FOLDER", "."),
    "workspaceRoot": ("WORKSPACE_FOLDER", "."),
    "workspaceFolderBasename": ("WORKSPACE_FOLDER_BASENAME", None),
    "pathSeparator": ("PATH_SEPARATOR", "/"),
}
"""What editors put in by themselves: the variable that stands for it, and its default."""
_SWITCHES = {"disabled": True, "isActive": False, "enabled": False}
"""Fields that take a server out, each with the value that does."""
_INCLUDED = ("tools", "includeTools", "allowedTools")
_EXCLUDED = ("excludeTools", "disabledTools")


def convert_mcp_json(draft: Draft, body: Mapping) -> None:
    """`mcpServers` of a file."""
    _convert(draft, body, "mcpServers")


def convert_vscode(draft: Draft, body: Mapping) -> None:
    """`servers` and `inputs` of `.vscode/mcp.json`, or of the `mcp` of the editor's settings."""
    if "servers" not in body:
        _report_rest(draft, body, "mcp")
        body = mapping_at(body, "mcp")
    _convert(draft, body, "servers")


def _convert(draft: Draft, body: Mapping, key: str) -> None:
    resolve = _resolver(draft, body)
    servers = mapping_at(body, key)
    offers = []
    for name, server in servers.items():
        place = place_of(servers, name)
        if type(server) is not Mapping:
            draft.left_out(place, f'the server "{name}"', "it is no mapping")
            continue
        found = Server(draft, name, server, place, resolve)
        _, entry = convert_server(found, _SWITCHES, included=_INCLUDED, excluded=_EXCLUDED)
        if entry is not None:
            offers.append(entry)
    _report_rest(draft, body, key, "inputs")
    if offers:
        declare_agent(draft, "Assistant", None, offers)


def _report_rest(draft: Draft, body: Mapping, *known: str) -> None:
    for key in body:
        if key not in known:
            draft.left_out(place_of(body, key), f'"{key}"', "it is not about MCP servers")


def _resolver(draft: Draft, body: Mapping) -> Resolver:
    """The names that editors know in `${...}`, beside the variables of the environment."""
    inputs = {text_at(entry, "id") or "": entry for entry in mappings_at(body, "inputs")}

    def resolve(inside: str, place: int) -> str | None:
        kind, _, name = inside.partition(":")
        if kind == "input":
            return _declare_input(draft, name, inputs.get(name), place)
        if inside in _EDITOR_NAMES:
            variable, default = _EDITOR_NAMES[inside]
            draft.note(place, f"`${{{inside}}}` became the variable {variable}")
            return draft.values.variable(variable, **({} if default is None else {"default": default}))
        return None

    return resolve


def _declare_input(draft: Draft, name: str, entry: Mapping | None, place: int) -> str:
    """The value that an editor would ask for."""
    declared: dict[str, Any] = {}
    if entry is None:
        draft.note(place, f'there is no input "{name}" in the file; it became a secret')
        return draft.values.secret(snake(name))
    if text_at(entry, "description"):
        declared["description"] = text_at(entry, "description")
    if text_at(entry, "type") == "command":
        draft.left_out(place_of(entry, "type"), f'the command of the input "{name}"', "set the value itself")
    is_secret = entry.get("password") is True or is_secret_name(name)
    if is_secret:
        return draft.values.secret(snake(name), **declared)
    if text_at(entry, "default") is not None:
        declared["default"] = text_at(entry, "default")
    options = [str(option) for option, _ in elements_at(entry, "options") if isinstance(option, str)]
    if options:
        declared["enum"] = options
    return draft.values.variable(snake(name), **declared)
