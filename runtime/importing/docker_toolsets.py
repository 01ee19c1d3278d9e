"""The toolsets of docker-agent: those of MCP become clients with their providers, all others are noted."""

import re
from typing import Any
from urllib.parse import urlsplit

from runtime.importing.draft import Declared, Draft
from runtime.importing.foreign import elements_at, mapping_at, mappings_at, place_of, text_at
from runtime.importing.servers import Server, convert_server
from runtime.manifest import Mapping, Sequence

_REASONS = {
    "filesystem": "the MCP server @modelcontextprotocol/server-filesystem reads and writes files",
    "fetch": "the MCP server mcp-server-fetch reads web pages",
    "memory": "the MCP server @modelcontextprotocol/server-memory keeps what is to be remembered",
    "think": "the MCP server @modelcontextprotocol/server-sequential-thinking is one to think with",
    "api": "Http.Request behind Ai.Tools calls a web service",
    "shell": "no part of this runtime gives a shell to a model",
}
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h)")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_CATALOG = "docker:"


class Toolsets:
    """The toolsets of a file. One that agents share by its name is declared once."""

    def __init__(self, draft: Draft, shared: Mapping) -> None:
        self.draft = draft
        self._shared = shared
        self._entries: dict[str, dict[str, Any] | None] = {}

    @property
    def used(self) -> set[str]:
        """The toolsets of the file itself that some agent has."""
        return set(self._entries)

    def offer(self, agent: str, body: Mapping, document: Declared) -> tuple[list[dict[str, Any]], list[str]]:
        """What an agent gets of its toolsets, and what they add to its instructions."""
        offers: list[dict[str, Any]] = []
        instructions: list[str] = []
        for toolset in mappings_at(body, "toolsets"):
            kind = text_at(toolset, "type") or ""
            if kind != "mcp":
                why = _REASONS.get(kind, "an MCP server can take its place")
                self.draft.left_out(toolset.start, f'the toolset "{kind}" of "{agent}"', why, document)
                continue
            entry = self._entry(toolset)
            if entry is not None:
                names = [str(name) for name, _ in elements_at(toolset, "tools")]
                offers.append({**entry, "include": names} if names else entry)
                instructions.append(text_at(toolset, "instruction") or "")
        return offers, instructions

    def _entry(self, toolset: Mapping) -> dict[str, Any] | None:
        """The entry of an MCP toolset, which may be one that the file names."""
        ref = text_at(toolset, "ref") or ""
        if type(self._shared.get(ref)) is not Mapping:
            return self._convert(toolset, ref)
        if ref not in self._entries:
            shared = mapping_at(self._shared, ref)
            self._entries[ref] = self._convert(shared, text_at(shared, "ref") or "", ref)
        return self._entries[ref]

    def _convert(self, toolset: Mapping, ref: str, name: str = "") -> dict[str, Any] | None:
        label = text_at(toolset, "name") or ""
        remote = mapping_at(toolset, "remote")
        body = _joined(toolset, remote) if "remote" in toolset else toolset
        if ref.startswith(_CATALOG):
            body = _gateway(toolset, ref.removeprefix(_CATALOG))
            self.draft.note(place_of(toolset, "ref"), f'"{ref}" is started by the MCP gateway of Docker')
        server = Server(self.draft, name or label or _name_of(body, ref), body, toolset.start)
        server.take("type", "name", "tools", "instruction", "ref", "lifecycle")
        client, entry = convert_server(server, {})
        if client is None or entry is None:
            return None
        self._set_lifecycle(client, mapping_at(toolset, "lifecycle"))
        return {"provider": entry["provider"], **({"prefix": f"{label}_"} if label else {})}

    def _set_lifecycle(self, client: Declared, lifecycle: Mapping) -> None:
        for key in lifecycle:
            text = text_at(lifecycle, key) or ""
            duration = _DURATION.fullmatch(text)
            if key in ("startup_timeout", "call_timeout") and duration is not None:
                field = "connectTimeoutMs" if key == "startup_timeout" else "callTimeoutMs"
                client.fields[field] = max(round(float(duration["number"]) * _UNITS[duration["unit"]]), 1)
            elif key == "required" and text in ("true", "false"):
                client.fields["required"] = text == "true"
            elif key == "restart" and text in ("never", "on_failure"):
                client.fields["restart"] = text.replace("_", "-")
            else:
                why = "`required`, `restart` and the limits of time are what a client has"
                self.draft.left_out(place_of(lifecycle, key), f'"{key}" of the lifecycle', why, client)


def _joined(toolset: Mapping, remote: Mapping) -> Mapping:
    """The fields of a toolset and of its `remote` as those of one server."""
    made = Mapping()
    made.start, made.places = toolset.start, {}
    for mapping in (toolset, remote):
        for key in mapping:
            if key not in ("remote", "type"):
                made[key], made.places[key] = mapping[key], mapping.places[key]
    return made


def _gateway(toolset: Mapping, name: str) -> Mapping:
    """A server of Docker's catalog, as its gateway starts it."""
    made = _joined(toolset, toolset)
    words = Sequence(["mcp", "gateway", "run", f"--servers={name}"])
    words.start, words.places = toolset.start, [toolset.start] * len(words)
    made["command"], made["args"] = "docker", words
    made.places["command"] = made.places["args"] = (toolset.start, toolset.start)
    return made


def _name_of(body: Mapping, ref: str) -> str:
    """A name for a server that has none: of its package, its program, or its host."""
    if ref:
        return ref.rpartition("/")[2].removeprefix(_CATALOG)
    url = text_at(body, "url")
    if url:
        return (urlsplit(url).hostname or "server").split(".")[-2:][0]
    words = [str(word) for word, _ in elements_at(body, "args") if isinstance(word, str)]
    packages = [word for word in words if re.fullmatch(r"@?[a-z][\w./-]*(@[\w.]+)?", word) and not word.startswith("/")]
    package = next(iter(packages), text_at(body, "command") or "server")
    return re.sub(r"@[\w.]+$", "", package.rpartition("/")[2]) or "server"
