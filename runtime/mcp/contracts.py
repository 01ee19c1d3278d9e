"""The contract of a connection to an MCP server, and of what a server may ask of us."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from runtime.contracts import contract

Handler = Callable[[Mapping[str, Any]], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]


class Offer(Struct, frozen=True):
    """Something that a server may ask of us: the capability that declares it, the method that asks for it."""

    capability: str
    details: Mapping[str, Any]
    method: str
    handler: Handler


class ServerInfo(Struct, frozen=True):
    """What the server said of itself, and the revision of the protocol that was agreed on."""

    name: str
    version: str
    protocol_version: str
    capabilities: Mapping[str, Any]
    instructions: str = ""


@contract("Mcp.Client")
class Client(Protocol):
    """A connection to one MCP server, whatever the transport and the revision of the protocol.

    Calls may come from any task of the event loop at once. Every wait has a limit. Failures raise `McpError` with the
    codes of design.md section 6 and the client's name as `resource`.
    """

    @property
    def name(self) -> str:
        """The resource's name."""

    @property
    def server(self) -> ServerInfo | None:
        """The server as it introduced itself; None while an optional server is not there."""

    @property
    def tools_generation(self) -> int:
        """Rises each time the server says that its tools changed, so that a holder of the list knows it is old."""

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools of all pages as the server sent them; a malformed one is set aside with a warning."""

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, timeout_ms: int | None = None
    ) -> Mapping[str, Any]:
        """The raw result of `tools/call`, `isError` included; `timeout_ms` takes the place of the client's limit."""

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The raw result of any other request, such as `resources/list`; a JSON-RPC error raises `McpError`."""
