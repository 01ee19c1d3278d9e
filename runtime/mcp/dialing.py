"""From the fields of an HTTP client to its wire: credentials, certificates, transport."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import McpError
from runtime.kind import Context
from runtime.mcp.auth_fields import Auth, Tls
from runtime.mcp.connection import Connection
from runtime.mcp.endpoint import Endpoint, make_http_client
from runtime.mcp.http import HttpWire
from runtime.mcp.quoting import quote_line
from runtime.mcp.sse import SseWire

if TYPE_CHECKING:  # heavy: loaded where a connection is opened
    from runtime.mcp.oauth import TranslatedAuth


class HttpDialer:
    """Opens ways to one endpoint; credentials that were obtained serve the next one too."""

    def __init__(
        self,
        context: Context,
        url: str,
        headers: Mapping[str, str],
        *,
        limit: int,
        trusts_environment: bool,
        transport: str,
        auth: Auth | None,
        tls: Tls | None,
        session_id: str | None,
    ) -> None:
        self.context = context
        self.url = url
        self.headers = dict(headers)
        self.limit = limit
        self.trusts_environment = trusts_environment
        self.transport = transport
        self.auth = auth
        self.tls = tls
        self.session_id = session_id
        self._signer: TranslatedAuth | None = None
        if auth and auth.bearer:
            self.headers["Authorization"] = f"Bearer {auth.bearer}"

    async def __call__(self, connection: Connection, deadline: float) -> HttpWire | SseWire:
        """A wire that is ready to send; raises `McpError`."""
        import httpx2

        if self._signer is None and self.auth and not self.auth.bearer:
            from runtime.mcp.oauth import make_auth

            self._signer = await make_auth(self.url, self.auth, self.context)
        try:
            http = make_http_client(
                self.url,
                self.headers,
                trusts_environment=self.trusts_environment,
                tls=self._make_tls(),
                auth=self._signer,
            )
        except (httpx2.InvalidURL, ValueError, OSError) as error:
            raise McpError(
                f"the endpoint cannot be used: {quote_line(self.context.mask(str(error)))}",
                code="ERR_MCP_TRANSPORT",
                hint="correct `url`, `headers` and `tls`",
            ) from error
        endpoint = Endpoint(connection, self.url, http, self.limit)
        if self.transport == "streamable":
            return HttpWire(connection, endpoint, self.session_id)
        wire = SseWire(connection, endpoint)
        try:
            await wire.open(deadline)
        except BaseException:
            await wire.close(0.0)
            raise
        return wire

    def close(self) -> None:
        if self._signer:
            self._signer.close()

    def _make_tls(self) -> ssl.SSLContext | None:
        """The certificates that `tls` names; None for the usual ones."""
        if self.tls is None:
            return None
        folder = self.context.folder
        context = ssl.create_default_context(cafile=folder / self.tls.ca_file if self.tls.ca_file else None)
        if self.tls.certificate_file:
            key = folder / Path(self.tls.key_file) if self.tls.key_file else None
            context.load_cert_chain(folder / self.tls.certificate_file, key, self.tls.key_password or None)
        if not self.tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
