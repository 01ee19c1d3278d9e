"""One address of a model provider: posting a request, and reading the answer as a stream of JSON texts."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from runtime.ai.carrier import Answer, Carrier, Lost, read_host
from runtime.ai.retries import Retries, Unanswered, may_retry, read_retry_after, read_retry_delay, retry
from runtime.ai.sse import EventReader, TooLong
from runtime.errors import ModelError
from runtime.version import VERSION

CONNECT_LIMIT = 5.0
"""Seconds for reaching the provider; the official clients wait as long."""

TOLD_WAIT = 5.0
"""Seconds from which on whoever waits is told, also where nobody wants to know of each retry."""

ERROR_LIMIT = 64 * 1024
"""Bytes of an error's body that are read."""

OUR_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",  # a stream that is packed comes late
    "user-agent": f"manifest-runtime/{VERSION}",
}


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
        warn: Callable[[str], None],
    ) -> None:
        """`timeout` is in seconds, between any two pieces of the answer; `mask` hides secrets in a provider's words.

        Retries are told to `log`, those after a long wait to `warn`.
        """
        self._name = name
        self._url = url
        self._headers = {**OUR_HEADERS, **headers}
        self._timeout = timeout
        self._retries = retries
        self.mask = mask
        self._log = log
        self._warn = warn
        self.host = ""
        self._carrier: Carrier | None = None

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

    def connect(self) -> Carrier:
        """Make what the first request needs, while there is time: the HTTP library's import takes most of it."""
        try:
            self.host = read_host(self._url)
            connect_timeout = min(CONNECT_LIMIT, self._timeout)
            carrier = Carrier(self._url, self._headers, timeout=self._timeout, connect_timeout=connect_timeout)
        except (ValueError, ImportError) as error:  # ImportError: a proxy of an optional kind
            raise ModelError(
                f"the provider's address, or the proxy in the environment, cannot be used: {self.mask(str(error))}",
                code="ERR_MODEL_CONNECTION",
                resource=self._name,
                hint="check `baseUrl`, and HTTP_PROXY, HTTPS_PROXY and NO_PROXY",
            ) from error
        self._carrier = carrier
        return carrier

    async def aclose(self) -> None:
        if self._carrier is not None:
            await self._carrier.aclose()

    async def post(self, body: bytes) -> AsyncGenerator[bytes, None]:
        """The answer's JSON texts: the data of each event of a stream, or the one text of an answer in one piece.

        Raises `ModelError`: ERR_MODEL_HTTP, ERR_MODEL_AUTH, ERR_MODEL_RATE_LIMIT, ERR_MODEL_TIMEOUT,
        ERR_MODEL_CONNECTION. A request is repeated only as long as nothing of an answer has come.
        """
        answer = await self._send(self._carrier or self.connect(), body)
        async with aclosing(self._read(answer)) as texts:
            async for text in texts:
                yield text

    async def _send(self, carrier: Carrier, body: bytes) -> Answer:
        """The answer to an accepted request, its body unread, after as many retries as it takes."""
        try:
            return await self._attempt(carrier, body)
        except Unanswered as error:
            return await retry(lambda: self._attempt(carrier, body), error, self._retries, self._tell)

    async def _attempt(self, carrier: Carrier, body: bytes) -> Answer:
        """One request; raises `Unanswered`."""
        try:
            answer = await carrier.post(body)
        except Lost as error:
            failure = self._lost(error)
            failure.__cause__ = error
            raise Unanswered(failure, may_retry=error.stage != "send") from error
        if answer.status == 200:
            return answer
        failure, asked = await self._refused(answer)
        raise Unanswered(failure, may_retry=may_retry(answer.status, answer.headers), asked=asked)

    def _tell(self, message: str, wait: float) -> None:
        (self._log if wait < TOLD_WAIT else self._warn)(message)

    async def _read(self, answer: Answer) -> AsyncGenerator[bytes, None]:
        reader = EventReader()
        whole: list[bytes] = []
        content_type = answer.headers.get("content-type", "")
        is_stream = "text/event-stream" in content_type
        has_events = is_stream  # one without is for whoever reads its events to judge
        try:
            async for chunk in answer.pieces():
                if not is_stream and not whole:  # a stream that does not say so has no JSON at its start
                    is_stream = chunk.lstrip()[:1] not in (b"{", b"[", b"")
                if is_stream:
                    for text in reader.feed(chunk):
                        has_events = True
                        yield text
                else:
                    whole.append(chunk)
                    reader.count(chunk)
            for text in reader.end() if is_stream else (b"".join(whole),):
                has_events = True
                yield text
            if not has_events:
                raise self._make_no_api(content_type)
        except TooLong as error:
            raise ModelError(f"the provider's answer is too long: {error}", resource=self._name) from error
        except Lost as error:
            raise self._lost(error) from error
        finally:
            await answer.aclose()

    def _make_no_api(self, content_type: str) -> ModelError:
        """The error of an answer that is neither JSON nor events, such as the page of a server that has other paths."""
        found = self.mask(content_type.partition(";")[0].strip()) or "no type"
        return ModelError(
            f'the provider at "{self.host}" answered with "{found}", where JSON or a stream of events was expected',
            resource=self._name,
            hint="check `baseUrl`: is it the address of the API, with its path?",
        )

    async def _refused(self, answer: Answer) -> tuple[ModelError, float | None]:
        """The error, and how many seconds the provider asked to wait for."""
        body = b""
        try:
            async for chunk in answer.pieces():
                body += chunk
                if len(body) > ERROR_LIMIT:
                    break
        except Lost:
            pass  # the status is all there is to tell
        finally:
            await answer.aclose()
        status = answer.status
        words = self.mask(read_error(body))
        message = f"the provider answered {status}" + (f": {words}" if words else "")
        details: dict[str, Any] = {"status": status}
        request_id = answer.headers.get("x-request-id") or answer.headers.get("request-id")
        if request_id:
            details["requestId"] = request_id
            message += f" (request {request_id})"
        code, hint = explain_status(status)
        if 300 <= status < 400:
            hint = "redirects are not followed: put the address that the provider redirects to in `baseUrl`"
        asked = read_retry_after(answer.headers)
        error = ModelError(message, code=code, resource=self._name, hint=hint, details=details)
        return error, read_retry_delay(body) if asked is None else asked

    def _lost(self, error: Lost) -> ModelError:
        host = self.host
        words = self.mask(str(error))
        if error.stage == "connect":
            return ModelError(
                f'the provider at "{host}" cannot be reached: {words}',
                code="ERR_MODEL_CONNECTION",
                resource=self._name,
                hint="check `baseUrl` and the network",
            )
        if error.stage == "wait":
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
