"""OAuth for HTTP clients, by the official SDK's providers; imported only when `auth` asks for it.

Added here: where tokens are kept, the browser and the loopback address that it comes back to, errors in our words.
"""

import warnings
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import AnyUrl

from runtime.errors import McpError
from runtime.kind import Context
from runtime.mcp.auth_fields import Auth, AuthorizationCode, ClientCredentials, IdentityAssertion
from runtime.mcp.quoting import quote_line
from runtime.mcp.sign_in import Browser
from runtime.mcp.token_file import TokenStore

EXCHANGE_TIMEOUT = 30.0  # seconds for a request to the identity provider


class TranslatedAuth(httpx2.Auth):
    """A provider of the SDK whose failures are `McpError`s, ERR_MCP_AUTH."""

    def __init__(self, provider: httpx2.Auth, mask: Callable[[str], str], browser: Browser | None = None) -> None:
        self.provider = provider
        self.mask = mask
        self.browser = browser

    def close(self) -> None:
        if self.browser:
            self.browser.close()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = self.provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            return
        except OAuthFlowError as error:
            raise auth_error(f"the sign-in failed: {quote_line(self.mask(str(error)))}") from error
        finally:
            await flow.aclose()


async def make_auth(url: str, auth: Auth, context: Context) -> TranslatedAuth:
    """What signs the requests to one server; raises `McpError` ERR_MCP_AUTH."""
    if auth.client_credentials:
        return TranslatedAuth(make_client_credentials(url, auth.client_credentials, context), context.mask)
    if auth.authorization_code:
        fields = auth.authorization_code
        browser = Browser(fields.redirect_port, is_allowed=fields.interactive, context=context)
        return TranslatedAuth(make_authorization_code(url, fields, browser, context), context.mask, browser)
    if auth.identity_assertion:
        return TranslatedAuth(await make_identity_assertion(url, auth.identity_assertion), context.mask)
    raise auth_error("`auth` does not say how")


def make_client_credentials(url: str, fields: ClientCredentials, context: Context) -> httpx2.Auth:
    if not fields.issuer:
        context.warn("the server itself decides who gets the client credentials; name their `issuer` to prevent that")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # the SDK's way to say the same
        return choose_client_credentials(url, fields)


def choose_client_credentials(url: str, fields: ClientCredentials) -> httpx2.Auth:
    store = TokenStore(url, None, None)
    issuer = fields.issuer or None
    if fields.private_key:
        signer = SignedJWTParameters(
            issuer=fields.client_id,
            subject=fields.client_id,
            signing_key=fields.private_key,
            signing_algorithm=fields.algorithm,
        )
        assertion = signer.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(url, store, fields.client_id, assertion, issuer=issuer)
    if not fields.client_secret:
        raise auth_error("the client credentials have neither `clientSecret` nor `privateKey`")
    return ClientCredentialsOAuthProvider(url, store, fields.client_id, fields.client_secret, issuer=issuer)


def make_authorization_code(url: str, fields: AuthorizationCode, browser: Browser, context: Context) -> httpx2.Auth:
    address = browser.listen()
    known = None
    if fields.client_id:
        known = OAuthClientInformationFull(
            client_id=fields.client_id,
            client_secret=fields.client_secret or None,
            redirect_uris=[AnyUrl(address)],
            token_endpoint_auth_method="client_secret_basic" if fields.client_secret else "none",
        )
    metadata = OAuthClientMetadata(
        client_name="runtime",
        redirect_uris=[AnyUrl(address)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    file = context.folder / Path(fields.token_file).expanduser() if fields.token_file else None
    try:
        return OAuthClientProvider(
            server_url=url,
            client_metadata=metadata,
            storage=TokenStore(url, file, known),
            redirect_handler=browser.open,
            callback_handler=browser.wait,
            client_metadata_url=fields.client_metadata_url or None,
        )
    except ValueError as error:
        raise auth_error(quote_line(str(error))) from error


async def make_identity_assertion(url: str, fields: IdentityAssertion) -> httpx2.Auth:
    """The provider that trades the ID token, at the identity provider, for a grant of the server's own."""

    async def trade(audience: str, resource: str) -> str:
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "subject_token": fields.id_token,
            "client_id": fields.idp_client_id,
            "audience": audience,
            "resource": resource,
        }
        async with httpx2.AsyncClient(timeout=EXCHANGE_TIMEOUT, trust_env=False) as http:
            return str(read_member(await http.post(fields.idp_token_endpoint, data=form), "access_token"))

    return IdentityAssertionOAuthProvider(
        server_url=url,
        storage=TokenStore(url, None, None),
        client_id=fields.client_id,
        client_secret=fields.client_secret,
        issuer=fields.issuer or await find_issuer(url),
        assertion_provider=trade,
        token_endpoint_auth_method="client_secret_basic",
    )


async def find_issuer(url: str) -> str:
    """The authorization server that the resource names in its metadata (RFC 9728)."""
    place = urlsplit(url)
    async with httpx2.AsyncClient(timeout=EXCHANGE_TIMEOUT, trust_env=False) as http:
        path = place.path.rstrip("/")
        reply = await http.get(f"{place.scheme}://{place.netloc}/.well-known/oauth-protected-resource{path}")
    servers = read_member(reply, "authorization_servers")
    if isinstance(servers, list) and servers and isinstance(servers[0], str):
        return servers[0]
    raise auth_error("the server's metadata names no authorization server", hint="give `issuer`")


def read_member(reply: httpx2.Response, name: str) -> Any:
    try:
        reply.raise_for_status()
        return reply.json()[name]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
        raise auth_error(f'no "{name}" from "{reply.url.host}" (HTTP {reply.status_code})') from error


def auth_error(message: str, hint: str | None = None) -> McpError:
    return McpError(message, code="ERR_MCP_AUTH", hint=hint or "correct `auth`")
