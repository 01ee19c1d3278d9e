"""`Mcp.HttpClient`: speaks with an MCP server over Streamable HTTP."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from runtime.kind import Context, Inspection, Kind, kind
from runtime.mcp.auth_fields import Auth, Tls
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

if TYPE_CHECKING:
    from runtime.effects import Effect

if TYPE_CHECKING:  # heavy: loaded when a connection is opened
    from runtime.mcp.client import McpClient


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
    auth: Annotated[Auth, Meta(description="How the client proves who it is.")] | UnsetType = UNSET
    transport: Annotated[
        Literal["streamable", "sse"],
        Meta(description="`streamable` is Streamable HTTP, `sse` the transport before it, for old servers."),
    ] = "streamable"
    session_id: (
        Annotated[
            str,
            Meta(description="A session that was opened elsewhere: it is joined, and not ended here.", min_length=1),
        ]
        | UnsetType
    ) = UNSET
    tls: Annotated[Tls, Meta(description="Certificates of an https connection.")] | UnsetType = UNSET
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

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: `auth` says nothing, or more than one thing."""
        for path, auth in inspection.find("auth"):
            if isinstance(auth, dict) and len(auth) != 1:
                inspection.report("SCHEMA_VALUE", path, "`auth` takes exactly one way to prove who the client is")

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The server, and the addresses that its sign-in names."""
        from runtime.effects import Connects

        auth = fields.get("auth", {})
        headers = [*fields.get("headers", {}), *(["Authorization"] if auth else [])]
        ways = [way for way in auth.values() if isinstance(way, Mapping)]
        urls = [way[name] for way in ways for name in ("issuer", "idpTokenEndpoint") if name in way]
        return [Connects(str(fields["url"]), sorted(set(headers))), *(Connects(str(url)) for url in urls)]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Client]:
        async with self._connect(context) as client:
            if self.lifetime == "shared":
                yield client
            else:
                from runtime.mcp.per_run import PerRunClient

                yield PerRunClient(client, lambda: self._connect(context))

    @asynccontextmanager
    async def _connect(self, context: Context) -> AsyncIterator["McpClient"]:
        """A connection, with credentials of its own."""
        from runtime.mcp.client import open_client
        from runtime.mcp.dialing import HttpDialer
        from runtime.mcp.settings import read_settings

        sampling = None
        if self.sampling:
            from kinds.ai_mcp.sampling import offer_sampling

            sampling = offer_sampling(self.sampling.model, context.name)
        dialer = HttpDialer(
            context,
            self.url,
            self.headers,
            limit=self.max_result_bytes,
            trusts_environment=self.trust_env,
            transport=self.transport,
            auth=self.auth or None,
            tls=self.tls or None,
            session_id=self.session_id or None,
        )
        settings = read_settings(
            self,
            context,
            sampling=sampling,
            is_http=True,
            is_adopted=bool(self.session_id),
            is_legacy=self.transport == "sse",
            waits_for_person=bool(
                self.auth and self.auth.authorization_code and self.auth.authorization_code.interactive
            ),
        )
        try:
            async with open_client(settings, dialer, context) as client:
                yield client
        finally:
            dialer.close()
