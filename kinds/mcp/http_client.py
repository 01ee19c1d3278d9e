"""`Mcp.HttpClient`: speaks with an MCP server over Streamable HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from runtime.kind import Context, Kind, kind
from runtime.mcp.contracts import Client
from runtime.mcp.fields import (
    CALL_TIMEOUT_MAX_MS,
    CALL_TIMEOUT_MS,
    CONNECT_TIMEOUT_MS,
    MAX_RESULT_BYTES,
    CallTimeout,
    CallTimeoutMax,
    ClientInfoField,
    ConnectTimeout,
    ExtendOnProgress,
    Lifetime,
    MaxResultBytes,
    Protocol,
    Required,
    Restart,
    ServerInstructions,
)


@kind("Mcp.HttpClient", implements=Client)
class HttpClient(Kind):
    """Speaks with an MCP server over Streamable HTTP."""

    url: Annotated[
        str, Meta(description="The server's endpoint, such as `https://example.com/mcp`.", pattern="^https?://")
    ]
    headers: Annotated[
        dict[str, str],
        Meta(description="Headers of every request to the server, such as `Authorization`; no other host gets them."),
    ] = field(default_factory=dict)
    trust_env: Annotated[
        bool, Meta(description="Whether a proxy named in the environment (`HTTPS_PROXY`, ...) is used.")
    ] = False
    client_info: ClientInfoField | UnsetType = UNSET
    protocol: Protocol = "auto"
    required: Required = True
    lifetime: Lifetime = "shared"
    restart: Restart = "on-failure"
    connect_timeout_ms: ConnectTimeout = CONNECT_TIMEOUT_MS
    call_timeout_ms: CallTimeout = CALL_TIMEOUT_MS
    call_timeout_max_ms: CallTimeoutMax = CALL_TIMEOUT_MAX_MS
    extend_on_progress: ExtendOnProgress = False
    max_result_bytes: MaxResultBytes = MAX_RESULT_BYTES
    server_instructions: ServerInstructions = "ignore"

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Client]:
        from runtime.mcp.client import open_client
        from runtime.mcp.connection import Connection
        from runtime.mcp.http import HttpWire, open_endpoint
        from runtime.mcp.settings import read_settings

        async def dial(connection: Connection) -> HttpWire:
            return open_endpoint(
                connection,
                self.url,
                self.headers,
                limit=self.max_result_bytes,
                trusts_environment=self.trust_env,
            )

        async with open_client(read_settings(self, is_http=True), dial, context) as client:
            yield client
