"""The head and the body of a small request in one piece: httpcore2 writes each by itself, as two packets."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import httpcore2

MOST = 64 * 1024
"""Bytes that are held back at most; a longer body goes out as it comes, without a copy."""


class JoinedStream(httpcore2.AsyncNetworkStream):
    """Holds back what is written until there is much of it, or until an answer is waited for."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._held = b""
        self._timeout: float | None = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._timeout = timeout
        if len(self._held) + len(buffer) <= MOST:
            self._held += buffer
            return
        await self._send()
        await self._stream.write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with suppress(httpcore2.WriteError):  # a server may answer, and close, before it has read everything
            await self._send()
        return await self._stream.read(max_bytes, timeout)

    async def _send(self) -> None:
        held, self._held = self._held, b""
        if held:
            await self._stream.write(held, self._timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return JoinedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class JoinedBackend(httpcore2.AnyIOBackend):
    """Connects as httpcore2 does by default on asyncio."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return JoinedStream(await super().connect_tcp(host, port, timeout, local_address, socket_options))
