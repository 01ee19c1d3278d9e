"""What an OAuth flow may fetch: its addresses come from a server, so each is looked at before it is dialled.

Only https, except on this machine's own loopback; no private or link-local network unless the server itself is in one;
and the address that was looked at is the one that is dialled (RFC 9728, section 7.7).
"""

import asyncio
import ipaddress
import socket
from typing import Any

import httpx2

from runtime.errors import McpError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """A transport for one server's client: requests to its origin pass, others are looked at."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(**options)
        self._server = httpx2.URL(url)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        if (url.scheme, url.host, url.port) == (self._server.scheme, self._server.host, self._server.port):
            return await super().handle_async_request(request)
        allowed = {classify(address) for address in await look_up(self._server.host)}
        addresses = await look_up(url.host)
        for address in addresses:
            network = classify(address)
            if network != "public" and network not in allowed:
                raise refuse(url, f"it is in a {network} network and the server is not")
            if url.scheme != "https" and network != "loopback":
                raise refuse(url, "it is not https")
        pinned = httpx2.Request(
            request.method,
            url.copy_with(host=str(addresses[0])),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.host},
        )
        return await super().handle_async_request(pinned)


async def look_up(host: str) -> list[Address]:
    """The addresses of a host; raises `httpx2.ConnectError` where there are none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpx2.ConnectError(f"{host}: {error}") from error
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


def classify(address: Address) -> str:
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "public" if address.is_global else "private"


def refuse(url: httpx2.URL, why: str) -> McpError:
    shown = str(url.copy_with(userinfo=b"", query=None, fragment=None))
    return McpError(
        f'the sign-in leads to "{shown}", which is not fetched: {why}',
        code="ERR_MCP_AUTH",
        hint="check the server's authorization metadata",
    )
