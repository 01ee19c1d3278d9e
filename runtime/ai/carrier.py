"""The way of requests to one address of a provider: connections, each of which serves one request at a time.

It stands on httpcore2, the part of httpx2 that carries requests. What httpx2 adds (cookies, redirects, sign-in, forms)
a provider of models has no use for, and its import alone took an eighth of a whole run of one agent.
"""

import os
import sys
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

from runtime.ai.quick_import import import_httpcore

KEPT_OPEN = 30.0
"""Seconds that a connection is kept for the next request; the next one after that makes its own."""

PIECE = 1 << 20
"""Most bytes that are unpacked at once, so that a small body cannot grow without bound."""

SYSTEM_PROXIES = ("darwin", "win32")
"""Platforms whose settings name proxies as well."""

PORTS = {"http": 80, "https": 443}
_PATH = "/%:@!$&'()*+,;=-._~[]"
"""What needs no percent in a path (RFC 3986, section 3.3), and what is there already."""


class Lost(Exception):
    """No answer, or no more of it; the text is what is known of the cause.

    `stage` is where it was lost: on the way to the provider, while waiting, in the answer, or in what was to be sent.
    """

    def __init__(self, stage: Literal["connect", "wait", "carry", "send"], cause: Exception) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.stage = stage


class Answer:
    """A response whose body is still to be read; `aclose` it once."""

    def __init__(self, response: Any, give_back: Callable[[], None]) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = {
            name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers
        }
        self._response = response
        self._give_back = give_back

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body, unpacked, as it comes; raises `Lost`."""
        packing = self.headers.get("content-encoding", "").strip().lower()
        unpack = _inflate if packing in ("gzip", "x-gzip", "deflate") else None
        unpacker = zlib.decompressobj(47)  # 47: either header
        stream: AsyncIterable[bytes] = self._response.stream
        try:
            async for raw in stream:
                if unpack is None:
                    yield raw
                else:
                    for piece in unpack(unpacker, raw):
                        yield piece
        except _troubles() as error:
            raise _as_lost(error) from error

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        finally:
            self._give_back()


class Carrier:
    """Connections to the address of a URL, straight or through the proxy that the environment has for it.

    Raises `ValueError` for a URL or a proxy that cannot be used, `ImportError` for a kind of proxy that needs a package
    that is not there. `timeout` is in seconds, for any wait but that for a connection.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, timeout: float, connect_timeout: float) -> None:
        httpcore2 = import_httpcore()
        address = read_address(url)
        proxy = find_proxy(url)
        self._url = address
        given = {"host": _host_header(address), **headers}
        self._headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in given.items()]
        times = {"connect": connect_timeout, "read": timeout, "write": timeout, "pool": timeout}
        self._extensions = {"timeout": times}
        self._idle: list[Any] = []
        # Reading the system's certificates takes a while: once, and only for https.
        tls = httpcore2.default_ssl_context() if address.scheme == b"https" else None
        make = partial(_connect_through, proxy, tls) if proxy else partial(_connect, address, tls)
        self._make: Callable[[], Any] = make
        self._idle.append(make())

    async def post(self, body: bytes) -> Answer:
        """The head of the response; raises `Lost`."""
        import httpcore2

        headers = [*self._headers, (b"content-length", b"%d" % len(body))]
        request = httpcore2.Request("POST", self._url, headers=headers, content=body, extensions=self._extensions)
        connection = await self._take()
        try:
            response = await connection.handle_async_request(request)
        except BaseException as error:
            self._idle.append(connection)
            if isinstance(error, _troubles()):
                raise _as_lost(error) from error
            raise
        return Answer(response, lambda: self._idle.append(connection))

    async def _take(self) -> Any:
        """A connection that is open, or will be with its first request."""
        while self._idle:
            connection = self._idle.pop()
            if not _is_over(connection):
                return connection
            await connection.aclose()
        return self._make()

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()


def _connect(address: Any, tls: Any) -> Any:
    import httpcore2

    from runtime.ai.joined_stream import JoinedBackend

    return httpcore2.AsyncHTTPConnection(
        address.origin, ssl_context=tls, keepalive_expiry=KEPT_OPEN, network_backend=JoinedBackend()
    )


def _is_over(connection: Any) -> bool:
    """Whether a straight connection was closed; what goes through a proxy sees to that by itself."""
    import httpcore2

    if not isinstance(connection, httpcore2.AsyncHTTPConnection):
        return False
    return bool(connection.is_closed() or connection.has_expired())


def _connect_through(proxy: str, tls: Any) -> Any:
    import ssl
    from importlib.util import find_spec
    from urllib.parse import unquote, urlsplit

    import httpcore2

    parts = urlsplit(proxy)
    auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode()) if parts.username else None
    settings: dict[str, Any] = {
        "proxy_url": httpcore2.URL(scheme=parts.scheme, host=read_host(proxy), port=parts.port, target="/"),
        "proxy_auth": auth,
        "ssl_context": tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # else one is made, with all certificates
        "max_connections": 1,
        "keepalive_expiry": KEPT_OPEN,
    }
    if parts.scheme in ("http", "https"):
        return httpcore2.AsyncHTTPProxy(**settings)
    if parts.scheme in ("socks5", "socks5h"):
        if find_spec("socksio") is None:
            raise ImportError('a SOCKS proxy needs the package "socksio"')
        return httpcore2.AsyncSOCKSProxy(**settings)
    raise ValueError(f'a proxy speaks http, https or socks5, and not "{parts.scheme}"')


def _inflate(unpacker: Any, data: bytes) -> Iterator[bytes]:
    while data:
        yield unpacker.decompress(data, PIECE)
        data = unpacker.unconsumed_tail


def _troubles() -> tuple[type[Exception], ...]:
    """What httpcore2 raises: its errors have no base of their own."""
    import httpcore2

    return (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
        zlib.error,
    )


def _as_lost(error: Exception) -> Lost:
    import httpcore2

    if isinstance(error, httpcore2.ConnectTimeout | httpcore2.ConnectError):
        return Lost("connect", error)
    if isinstance(error, httpcore2.TimeoutException):
        return Lost("wait", error)
    if isinstance(error, httpcore2.LocalProtocolError | httpcore2.UnsupportedProtocol):
        return Lost("send", error)
    return Lost("carry", error)


def read_address(url: str) -> Any:
    """A URL as httpcore2 has it; raises `ValueError` where it names no host, or no port, or another protocol."""
    from urllib.parse import quote, urlsplit

    import httpcore2

    parts = urlsplit(url)
    if parts.scheme not in PORTS:
        raise ValueError("it is neither http nor https")
    host = read_host(url)
    if not host.isascii():
        import idna

        host = idna.encode(host).decode()
    query = f"?{quote(parts.query, safe=_PATH + '?')}" if parts.query else ""
    target = (quote(parts.path, safe=_PATH) or "/") + query
    return httpcore2.URL(scheme=parts.scheme, host=host, port=parts.port, target=target)


def _host_header(address: Any) -> str:
    host = str(address.host, "ascii")
    host = f"[{host}]" if ":" in host else host
    return host if address.port in (None, PORTS[str(address.scheme, "ascii")]) else f"{host}:{address.port}"


def read_host(url: str) -> str:
    """The host of a URL; raises `ValueError` when there is none, or its port is no port."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if not parts.hostname or parts.port == 0:
        raise ValueError("it names no host, or no port")
    return parts.hostname


def find_proxy(url: str) -> str | None:
    """The proxy that the environment has for a URL: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, but for hosts in NO_PROXY."""
    if sys.platform not in SYSTEM_PROXIES and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # as mostly, and what looks closer takes as long to import as all else that carries requests
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
