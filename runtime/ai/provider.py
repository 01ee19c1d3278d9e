"""What the kinds of all model providers do alike: the way to the provider, and what its bodies have in common."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from runtime.ai.endpoint import Endpoint, explain_status, read_error
from runtime.ai.retries import Retries
from runtime.errors import ModelError
from runtime.kind import Context

_UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@asynccontextmanager
async def open_endpoint(
    context: Context,
    url: str,
    *,
    key: str,
    key_header: str,
    key_prefix: str = "",
    headers: Mapping[str, str],
    query: Mapping[str, str],
    timeout_ms: int,
    retries: Retries,
) -> AsyncIterator[Endpoint]:
    """The endpoint at a URL, connections closed at the end; the key goes into its header, and out of all messages.

    Raises `ModelError`: ERR_MODEL_AUTH for a key or header that HTTP cannot carry, ERR_MODEL_CONNECTION for an address
    that is none.
    """
    key = key.strip()
    for field, value in (("apiKey", key), *((f"headers.{name}", value) for name, value in headers.items())):
        if not value.isascii() or not value.isprintable():
            raise ModelError(
                f"`{field}` has characters that no header can carry",
                code="ERR_MODEL_AUTH",
                resource=context.name,
                hint="look for quotes, spaces or line ends that came along when it was copied",
            )

    def mask(text: str) -> str:
        return context.mask(text.replace(key, "***") if len(key) > 3 else text)

    endpoint = Endpoint(
        context.name,
        _add_query(url, query),
        ({key_header: key_prefix + key} if key else {}) | {name.lower(): value for name, value in headers.items()},
        timeout=timeout_ms / 1000,
        retries=retries,
        mask=mask,
        log=context.log,
        warn=context.warn,
    )
    endpoint.connect()
    try:
        yield endpoint
    finally:
        await endpoint.aclose()


def _add_query(url: str, query: Mapping[str, str]) -> str:
    if not query:
        return url
    from urllib.parse import urlencode

    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"


def snake_case(option: str) -> str:
    """`maxTokens` as providers spell it that write `max_tokens`."""
    return _UPPER.sub("_", option).lower()


def as_object(arguments: str) -> dict[str, Any]:
    """A call's arguments for a provider that takes an object; what the model wrote of none goes back in a frame."""
    if not arguments.strip():
        return {}
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {"invalid_json": arguments}
    return value if isinstance(value, dict) else {"invalid_json": arguments}


def make_no_sense(name: str, error: Exception) -> ModelError:
    """The error of an answer that is none of the API's, which `error` tells."""
    return ModelError(
        f"the provider's answer makes no sense: {error}", resource=name, hint="is `baseUrl` that of the API?"
    )


def break_off(name: str, text: bytes, status: int, mask: Callable[[str], str]) -> ModelError:
    """The error that a provider tells within an answer, where its words and a status of HTTP are known."""
    code, hint = explain_status(status)
    return ModelError(
        f"the provider broke off: {mask(read_error(text))}",
        code=code,
        resource=name,
        hint=hint,
        details={"status": status},
    )


def end_early(name: str) -> ModelError:
    """The error of an answer that was cut."""
    return ModelError("the provider's answer ended before it was complete", resource=name)
