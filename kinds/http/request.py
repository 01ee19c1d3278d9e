"""`Http.Request`: one request to a web service, as something that an agent's tool or a task can run."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.contracts import Invocable
from runtime.errors import ToolError
from runtime.kind import Context, Inspection, Kind, kind, per_call

if TYPE_CHECKING:
    from runtime.effects import Effect

_SCOPE = per_call("inputs")
_GIVEN = re.compile(r"\$\{\{[^}]*\binputs\b")


@kind("Http.Request", implements=Invocable)
class HttpRequest(Kind):
    """One request to a web service. What it is given fills its fields: expressions see `inputs`.

    The answer is `{status, headers, body}`, the body as a JSON value where it is JSON, else as text.
    """

    url: Annotated[
        str,
        Meta(
            description="Where to; put what is given into the path or `query`, never into the host.",
            pattern="^https?://",
            extra_json_schema=_SCOPE,
        ),
    ]
    method: Annotated[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"], Meta(description="The method.")] = "GET"
    query: Annotated[dict[str, Any], Meta(description="The query, by name.", extra_json_schema=_SCOPE)] = {}
    headers: Annotated[dict[str, str], Meta(description="The headers, by name.", extra_json_schema=_SCOPE)] = {}
    body: Annotated[Any, Meta(description="A JSON value to send.", extra_json_schema=_SCOPE)] = UNSET
    timeout_ms: Annotated[int, Meta(description="Most milliseconds for the whole request.", ge=1)] = 30_000
    max_body_bytes: Annotated[int, Meta(description="Most bytes of the answer's body, unpacked.", ge=1)] = 1 << 20

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: what a call gives may fill a path, and never choose whom we speak with."""
        for path, url in inspection.find("url", expressions=True):
            before = _GIVEN.split(str(url), maxsplit=1)
            if len(before) > 1 and "/" not in before[0].partition("://")[2]:
                message = "`inputs` may not stand in the host of an address"
                inspection.report("SCHEMA_VALUE", path, message, "put it behind a slash, or into `query`")

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The address, as far as it is known before a call."""
        from runtime.effects import Connects

        return [Connects(str(fields["url"]), sorted(fields.get("headers", ())))]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        import httpx2

        async with httpx2.AsyncClient(timeout=self.timeout_ms / 1000, trust_env=False) as client:
            yield LiveRequest(context, self, client)


class LiveRequest:
    """Sends the request once for each call; redirects are answers like any other."""

    def __init__(self, context: Context, request: HttpRequest, client: Any) -> None:
        self.name = context.name
        self._context = context
        self._request = request
        self._client = client

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, whatever its status. Raises `ToolError`: ERR_HTTP_REQUEST, ERR_HTTP_TIMEOUT, ERR_HTTP_LIMIT."""
        import anyio
        import httpx2

        request, scope = self._request, {"inputs": dict(inputs)}
        url, query, headers, body = (
            self._context.evaluate(value, scope)
            for value in (request.url, request.query, request.headers, request.body)
        )
        try:
            with anyio.fail_after(request.timeout_ms / 1000):
                return await self._send(url, query, headers, body)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise self._error(f"no answer in {request.timeout_ms} ms", "ERR_HTTP_TIMEOUT") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            text = str(error) or type(error).__name__
            raise self._error(f"the request failed: {text}", "ERR_HTTP_REQUEST") from error

    async def _send(self, url: str, query: Any, headers: Any, body: Any) -> dict[str, Any]:
        import msgspec

        content = None if isinstance(body, UnsetType) else msgspec.json.encode(body)
        sent = {"content-type": "application/json", **headers} if content is not None else headers
        async with self._client.stream(
            self._request.method, url, params=query or None, headers=sent, content=content
        ) as answer:
            pieces, size = [], 0
            async for piece in answer.aiter_bytes():
                pieces.append(piece)
                size += len(piece)
                if size > self._request.max_body_bytes:
                    limit = self._request.max_body_bytes
                    raise self._error(f"the answer has more than {limit} bytes", "ERR_HTTP_LIMIT")
        data = b"".join(pieces)
        text = data.decode("utf-8", "replace")
        value: Any = text
        if "json" in answer.headers.get("content-type", ""):
            try:
                value = msgspec.json.decode(data)
            except msgspec.DecodeError:
                value = text
        return {"status": answer.status_code, "headers": dict(answer.headers), "body": value}

    def _error(self, message: str, code: str) -> ToolError:
        return ToolError(message, code=code, resource=self.name)
