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
    Elicitation,
    ExtendOnProgress,
    Lifetime,
    MaxResultBytes,
    ProtocolRevision,
    Required,
    Restart,
    Roots,
    SamplingField,
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
    protocol: ProtocolRevision = "auto"
    required: Required = True
    lifetime: Lifetime = "shared"
    restart: Restart = "on-failure"
    connect_timeout_ms: ConnectTimeout = CONNECT_TIMEOUT_MS
    call_timeout_ms: CallTimeout = CALL_TIMEOUT_MS
    call_timeout_max_ms: CallTimeoutMax = CALL_TIMEOUT_MAX_MS
    extend_on_progress: ExtendOnProgress = False
    max_result_bytes: MaxResultBytes = MAX_RESULT_BYTES
    server_instructions: ServerInstructions = "ignore"
    elicitation: Elicitation = "decline"
    roots: Roots = field(default_factory=list)
    sampling: SamplingField | UnsetType = UNSET

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

        sampling = None
        if self.sampling:
            from kinds.ai_mcp.sampling import offer_sampling

            sampling = offer_sampling(self.sampling.model, context.name)
        settings = read_settings(self, context, sampling=sampling, is_http=True)
        async with open_client(settings, dial, context) as client:
            yield client
