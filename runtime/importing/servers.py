"""One MCP server of a foreign file to its client, its tool provider, and what an agent gets of it."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from runtime.importing.draft import Declared, Draft, prefix_for
from runtime.importing.foreign import elements_at, mapping_at, place_of, text_at
from runtime.importing.texts import Resolver, Texts
from runtime.manifest import Mapping as Body
from runtime.manifest import Ref

_TRANSPORTS = {
    "sse": "sse",
    "http": "",
    "streamable": "",
    "streamable-http": "",
    "streamable_http": "",
    "streamablehttp": "",
}


class Server:
    """A server as its file declares it: `body` holds its fields, under the names that most programs use.

    Each field that is read is taken off the list of those to report: `rest()` are the others.
    """

    def __init__(self, draft: Draft, name: str, body: Body, place: int, resolve: Resolver | None = None) -> None:
        self.draft = draft
        self.name = name
        self.body = body
        self.place = place
        self.resolve = resolve
        self._rest = dict.fromkeys(body)

    def take(self, *keys: str) -> str:
        """The first of the keys that the server has; empty where it has none of them."""
        found = [key for key in keys if key in self.body]
        for key in found:
            self._rest.pop(key, None)
        return found[0] if found else ""

    def rest(self) -> list[str]:
        """The fields that nobody has taken."""
        return list(self._rest)


REASONS = {
    "alwaysAllow": "tools need no approval but those that an agent names in `requireApproval`",
    "autoApprove": "tools need no approval but those that an agent names in `requireApproval`",
    "trust": "tools need no approval but those that an agent names in `requireApproval`",
    "envFile": 'values come from ".env" beside the manifest, by `secrets` and `variables`',
    "timeout": "programs mean seconds or milliseconds by it; `callTimeoutMs` is the most that a call may take",
    "oauth": "`auth` of the client says how it signs in",
    "auth": "`auth` of the client says how it signs in",
    "authProviderType": "`auth` of the client says how it signs in",
    "dev": "a manifest describes what runs, not how it is debugged",
}
"""Why a field of a server has no place in a manifest, and what has."""


def convert_server(
    server: Server,
    switches: Mapping[str, bool],
    *,
    included: tuple[str, ...] = (),
    excluded: tuple[str, ...] = (),
) -> tuple[Declared | None, dict[str, Any] | None]:
    """The client of a server, with its provider, and the entry that an agent gets of it.

    `switches` are fields that take the server out, each with the value that does; `included` and `excluded` are the
    fields that list tools. Whatever else the server has is noted.
    """
    client = _declare_client(server)
    if client is None:
        return None, None
    body = server.body
    client.is_off = _is_off(server, client, switches)
    provider = server.draft.declare("AiMcp.ToolProvider", f"{client.name}Tools", client=Ref(client.name, 0))
    provider.is_off = client.is_off
    entry: dict[str, Any] = {"provider": Ref(provider.name, 0), "prefix": prefix_for(server.name)}
    for field, keys in (("include", included), ("exclude", excluded)):
        names = [str(item) for item, _ in elements_at(body, server.take(*keys))]
        if names and names != ["*"]:
            entry[field] = names
    if "description" in body:
        client.comments.append(text_at(body, server.take("description")) or "")
    for key in server.rest():
        why = REASONS.get(key, "a manifest has nothing like it")
        server.draft.left_out(place_of(body, key), f'"{key}" of "{server.name}"', why, client)
    return client, None if client.is_off else entry


def _is_off(server: Server, client: Declared, switches: Mapping[str, bool]) -> bool:
    for key, off in switches.items():
        if server.take(key) and server.body[key] is off:
            server.draft.note(place_of(server.body, key), f'"{server.name}" is switched off there', client)
            return True
    return False


def _declare_client(server: Server) -> Declared | None:
    """The client of a server; None, with a note, where the file does not say how to reach it."""
    url = server.take("url", "serverUrl", "httpUrl", "uri")
    command = server.take("command", "cmd")
    target = text_at(server.body, url or command)
    if not target:
        server.draft.left_out(server.place, f'the server "{server.name}"', "it has neither a command nor an address")
        return None
    if url and not target.lower().startswith(("http://", "https://", "${")):
        server.draft.left_out(place_of(server.body, url), f'the server "{server.name}"', "its address is not of http")
        return None
    return _declare_http(server, url) if url else _declare_stdio(server, command)


def _declare_stdio(server: Server, command: str) -> Declared:
    body, draft = server.body, server.draft
    server.take("type", "transport")
    client = draft.declare("Mcp.StdioClient", server.name)
    texts = Texts(draft, client, server.name, server.resolve)
    client.fields["command"] = texts.plain(text_at(body, command) or "", place_of(body, command))
    arguments = texts.arguments(list(elements_at(body, server.take("args"))))
    if arguments:
        client.fields["args"] = arguments
    environment = read_texts(texts, mapping_at(body, server.take("env", "envs")), texts.named)
    if environment:
        client.fields["env"] = environment
    folder = text_at(body, server.take("cwd"))
    if folder:
        client.fields["cwd"] = texts.plain(folder, place_of(body, "cwd"))
    return client


def _declare_http(server: Server, key: str) -> Declared:
    body, draft = server.body, server.draft
    client = draft.declare("Mcp.HttpClient", server.name)
    texts = Texts(draft, client, server.name, server.resolve)
    address = text_at(body, key) or ""
    client.fields["url"] = texts.url(address, place_of(body, key))
    headers = read_texts(texts, mapping_at(body, server.take("headers")), texts.header)
    if headers:
        client.fields["headers"] = headers
    named = server.take("type", "transport", "transport_type")
    transport = _TRANSPORTS.get((text_at(body, named) or "").lower()) if named else None
    if transport is None and urlsplit(address).path.rstrip("/").endswith("/sse"):
        transport = "sse"
        draft.note(place_of(body, key), 'the address ends with "/sse", so the old transport is used', client)
    if transport:
        client.fields["transport"] = transport
    return client


def read_texts(texts: Texts, mapping: Body, converted: Callable[[str, str, int], str]) -> dict[str, str]:
    """A mapping of texts, each converted by its own name."""
    found: dict[str, str] = {}
    for name, (_, place) in mapping.places.items():
        text = text_at(mapping, name)
        if text is None:
            texts.draft.left_out(place, f'"{name}" of "{texts.owner}"', "it is no text", texts.document)
        else:
            found[name] = converted(name, text, place)
    return found
