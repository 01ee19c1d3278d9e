"""One address of a model provider: posting a request, retrying it, and reading the answer as a stream of JSON texts."""

import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from runtime.ai.sse import EventReader, TooLong
from runtime.errors import ModelError
from runtime.version import VERSION

CONNECT_LIMIT = 5.0
"""Seconds for reaching the provider; the official clients wait as long."""

LONGEST_WAIT = 120.0
"""Seconds that a provider may ask us to wait before a retry; after a longer `Retry-After` there is none."""

KEPT_OPEN = 30.0
"""Seconds that a connection is kept for the next request; the next one after that makes its own."""

ERROR_LIMIT = 64 * 1024
"""Bytes of an error's body that are read."""

OUR_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",  # a stream that is packed comes late
    "user-agent": f"manifest-runtime/{VERSION}",
}

RETRIED = frozenset((408, 409, 429))


class Retries(Struct, frozen=True):
    """How often, and how long to wait: `first` seconds, doubling to `longest`, less up to a quarter."""

    count: int = 2
    first: float = 0.5
    longest: float = 8.0

    def wait(self, attempt: int, headers: Mapping[str, str]) -> float:
        """Seconds before the retry after the given attempt, the first of which is 0."""
        asked = _retry_after(headers)
        if asked is not None:
            return asked
        return float(min(self.first * 2**attempt, self.longest) * (1 - random.random() / 4))


class Endpoint:
    """Posts to one URL, any number of requests at once; connections are kept until `aclose`."""

    def __init__(
        self,
        name: str,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        retries: Retries,
        mask: Callable[[str], str],
        log: Callable[[str], None],
    ) -> None:
        """`timeout` is in seconds, between any two pieces of the answer; `mask` hides secrets in a provider's words."""
        self._name = name
        self._url = url
        self._headers: Any = {**OUR_HEADERS, **headers}
        self._timeout = timeout
        self._retries = retries
        self.mask = mask
        self._log = log
        self.host = ""
        self._address: Any = url
        self._extensions: dict[str, Any] = {}
        self._idle: list[Any] = []
        self._make_transport: Callable[[], Any] = self._prepare

    def describe(self, provider: str, model: str) -> dict[str, Any]:
        """What spans tell of a model behind the endpoint: its provider and its name, and where it is."""
        from urllib.parse import urlsplit

        told: dict[str, Any] = {"gen_ai.provider.name": provider, "gen_ai.request.model": model}
        try:
            place = urlsplit(self._url)
            port = place.port or (443 if place.scheme == "https" else 80)
        except ValueError:  # no address; `connect` says so
            return told
        return {**told, "server.address": place.hostname or "", "server.port": port}

    def connect(self) -> None:
        """Make what the first request needs, while there is time: the HTTP library's import takes most of it."""
        self._idle.append(self._make_transport())

    def _prepare(self) -> Any:
        """Make what all transports share, and the first of them.

        A transport serves one request at a time: what a pool costs a request grows with its connections, and a client's
        cookies, redirects and sign-in have no use here.
        """
        import httpx2

        self._headers = httpx2.Headers(self._headers)
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_OPEN)
        timeout = httpx2.Timeout(self._timeout, connect=min(CONNECT_LIMIT, self._timeout))
        self._extensions = {"timeout": timeout.as_dict()}
        # Reading the system's certificates takes a while: once, and only for https.
        tls = httpx2.create_ssl_context(verify=self._url.startswith("https:"))
        try:
            self.host = read_host(self._url)
            self._address = httpx2.URL(self._url)
            proxy = find_proxy(self._url)
            self._make_transport = partial(httpx2.AsyncHTTPTransport, verify=tls, limits=limits, proxy=proxy)
            return self._make_transport()
        except (httpx2.InvalidURL, ValueError, ImportError) as error:  # ImportError: a proxy of an optional kind
            raise ModelError(
                f"the provider's address, or the proxy in the environment, cannot be used: {self.mask(str(error))}",
                code="ERR_MODEL_CONNECTION",
                resource=self._name,
                hint="check `baseUrl`, and HTTP_PROXY, HTTPS_PROXY and NO_PROXY",
            ) from error

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    async def post(self, body: bytes) -> AsyncGenerator[bytes, None]:
        """The answer's JSON texts: the data of each event of a stream, or the one text of an answer in one piece.

        Raises `ModelError`: ERR_MODEL_HTTP, ERR_MODEL_AUTH, ERR_MODEL_RATE_LIMIT, ERR_MODEL_TIMEOUT,
        ERR_MODEL_CONNECTION. A request is repeated only as long as nothing of an answer has come.
        """
        transport = self._idle.pop() if self._idle else self._make_transport()
        try:
            response = await self._send(transport, body)
            async with aclosing(self._read(response)) as texts:
                async for text in texts:
                    yield text
        finally:
            self._idle.append(transport)

    async def _send(self, transport: Any, body: bytes) -> Any:
        """The response to an accepted request, its body unread, after as many retries as it takes."""
        import httpx2

        attempt = 0
        while True:
            try:
                request = httpx2.Request(
                    "POST", self._address, headers=self._headers, content=body, extensions=self._extensions
                )
                response = await transport.handle_async_request(request)
                response.request = request
            except httpx2.HTTPError as error:
                failure, headers = self._lost(error), {}
                failure.__cause__ = error
                may_retry = not isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol)
            else:
                if response.status_code == 200:
                    return response
                failure = await self._refused(response)
                headers = response.headers
                may_retry = _may_retry(response.status_code, headers)
            wait = self._retries.wait(attempt, headers)
            if not may_retry or attempt >= self._retries.count or wait > LONGEST_WAIT:
                raise failure
            attempt += 1
            self._log(f"{failure.message}; retry {attempt} of {self._retries.count} in {wait:.1f} s")
            await anyio.sleep(wait)

    async def _read(self, response: Any) -> AsyncGenerator[bytes, None]:
        import httpx2

        reader = EventReader()
        whole: list[bytes] = []
        is_stream = "text/event-stream" in response.headers.get("content-type", "")
        try:
            async for chunk in response.aiter_bytes():
                if not is_stream and not whole:  # a stream that does not say so has no JSON at its start
                    is_stream = chunk.lstrip()[:1] not in (b"{", b"[", b"")
                if is_stream:
                    for text in reader.feed(chunk):
                        yield text
                else:
                    whole.append(chunk)
                    reader.count(chunk)
            for text in reader.end() if is_stream else (b"".join(whole),):
                yield text
        except TooLong as error:
            raise ModelError(f"the provider's answer is too long: {error}", resource=self._name) from error
        except httpx2.HTTPError as error:
            raise self._lost(error) from error
        finally:
            await response.aclose()

    async def _refused(self, response: Any) -> ModelError:
        import httpx2

        body = b""
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > ERROR_LIMIT:
                    break
        except httpx2.HTTPError:
            pass  # the status is all there is to tell
        finally:
            await response.aclose()
        status = response.status_code
        words = self.mask(read_error(body))
        message = f"the provider answered {status}" + (f": {words}" if words else "")
        details: dict[str, Any] = {"status": status}
        request_id = response.headers.get("x-request-id") or response.headers.get("request-id")
        if request_id:
            details["requestId"] = request_id
            message += f" (request {request_id})"
        code, hint = explain_status(status)
        if 300 <= status < 400:
            hint = "redirects are not followed: put the address that the provider redirects to in `baseUrl`"
        return ModelError(message, code=code, resource=self._name, hint=hint, details=details)

    def _lost(self, error: Exception) -> ModelError:
        import httpx2

        host = self.host
        words = self.mask(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError):
            return ModelError(
                f'the provider at "{host}" cannot be reached: {words}',
                code="ERR_MODEL_CONNECTION",
                resource=self._name,
                hint="check `baseUrl` and the network",
            )
        if isinstance(error, httpx2.TimeoutException):
            return ModelError(
                f'the provider at "{host}" sent nothing for {self._timeout:g} s',
                code="ERR_MODEL_TIMEOUT",
                resource=self._name,
                hint="raise `timeoutMs` if the model needs longer",
            )
        return ModelError(
            f'the connection to the provider at "{host}" broke: {words}',
            code="ERR_MODEL_CONNECTION",
            resource=self._name,
        )


def read_host(url: str) -> str:
    """The host of a URL; raises `ValueError` when there is none, or its port is no port."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if not parts.hostname or parts.port == 0:
        raise ValueError("it names no host, or no port")
    return parts.hostname


def find_proxy(url: str) -> str | None:
    """The proxy that the environment has for a URL: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, but for hosts in NO_PROXY."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _may_retry(status: int, headers: Mapping[str, str]) -> bool:
    """The rule of the official clients: what the provider says in `x-should-retry`, else the status."""
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return status in RETRIED or status >= 500


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `retry-after-ms`, or `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3)."""
    for header, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(header)
        if value is None:
            continue
        try:
            return max(float(value) / scale, 0.0)
        except ValueError:
            pass
        if scale == 1:
            return _seconds_until(value)
    return None


def _seconds_until(date: str) -> float | None:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        return max((parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def explain_status(status: int) -> tuple[str, str | None]:
    """The code of the error that a status is, and what to do about it."""
    if status in (401, 403):
        return "ERR_MODEL_AUTH", "check `apiKey`, and that it may use this model"
    if status == 429:
        return "ERR_MODEL_RATE_LIMIT", "wait, or ask the provider for a higher limit"
    if status == 408:
        return "ERR_MODEL_TIMEOUT", None
    if status == 404:
        return "ERR_MODEL_HTTP", "check `baseUrl` and `model`"
    return "ERR_MODEL_HTTP", None


def read_error(body: bytes) -> str:
    """The provider's own words in an error's body, in one line."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = body.decode(errors="replace")
    return " ".join(_find_message(value).split())[:2000]


def _find_message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _find_message(value[0]) if value else ""
    if isinstance(value, Mapping):
        for key in ("error", "message", "detail", "msg"):
            if value.get(key):
                return _find_message(value[key])
        return msgspec.json.encode(value).decode()
    return str(value)
