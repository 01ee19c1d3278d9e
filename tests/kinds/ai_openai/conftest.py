"""A provider on loopback that speaks HTTP as a test scripts it, and records what it was asked."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import msgspec
import pytest

from kinds.ai_openai.openai_model import OpenaiModel
from runtime.ai.contracts import Model

KEY = "sk-test-5f3a9c1e77aa"


class Asked:
    """A request as the provider got it."""

    def __init__(self, line: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method, self.path, _ = line.split(" ", 2)
        self.headers = headers
        self.raw = body
        self.body: Any = json.loads(body) if body else None


class Answered:
    """What the provider sends: whole, or in pieces; `cut` closes the connection after them, `hang` keeps it open."""

    def __init__(
        self,
        *pieces: bytes,
        status: int = 200,
        content_type: str = "text/event-stream",
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
        hang: bool = False,
    ) -> None:
        self.pieces = pieces
        self.status = status
        self.headers = {"content-type": content_type, **(headers or {})}
        self.cut = cut
        self.hang = hang


class Provider:
    """Gives its answers in order; `requests` is what it was asked, `closed` is set when a client goes away."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Asked] = []
        self.answers: list[Answered] = []
        self.waiting = anyio.Event()
        self.closed = anyio.Event()
        self.connections = 0

    def will(self, *answers: Answered) -> None:
        self.answers += answers

    def chunks(self, *chunks: Any, done: bool = True, **more: Any) -> None:
        """Will stream these chunks."""
        pieces = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
        self.will(Answered(*pieces, *([b"data: [DONE]\n\n"] if done else []), **more))

    def says(self, text: str) -> None:
        """Will stream a plain answer."""
        self.chunks({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]})

    def refuses(self, status: int, body: Any, **headers: str) -> None:
        """Will answer with an error."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.will(Answered(raw, status=status, content_type="application/json", headers=headers))

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while await self._serve_one(stream):
                    pass
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.closed.set()

    async def _serve_one(self, stream: anyio.abc.SocketStream) -> bool:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        line, *rest = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
        while len(body) < int(headers.get("content-length", 0)):
            body += await stream.receive()
        self.requests.append(Asked(line, headers, body))
        answer = self.answers.pop(0)
        out = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        await stream.send(f"HTTP/1.1 {answer.status} X\r\n{out}transfer-encoding: chunked\r\n\r\n".encode())
        for piece in answer.pieces:
            await stream.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        if answer.hang:
            self.waiting.set()
            await stream.receive()
        if not answer.cut:
            await stream.send(b"0\r\n\r\n")
        return not answer.cut


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    served = Provider(f"http://127.0.0.1:{port}/v1")
    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, served.serve)
        yield served
        group.cancel_scope.cancel()
    await listener.aclose()


class Context:
    """A context that masks the secret `hush`."""

    name = "Gpt"
    folder = Path()

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, message: str) -> None:
        raise AssertionError(message)

    def log(self, message: str) -> None:
        self.lines.append(message)

    def mask(self, text: str) -> str:
        return text.replace("hush", "***")

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return value


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
async def model(provider: Provider, context: Context) -> AsyncIterator[Callable[..., Awaitable[Model]]]:
    """Opens the model of a manifest that points at the provider; retries wait for nothing."""
    async with AsyncExitStack() as stack:

        async def open_model(**fields: Any) -> Model:
            given = {"model": "gpt-test", "apiKey": KEY, "baseUrl": provider.url, **fields}
            return await stack.enter_async_context(msgspec.convert(given, OpenaiModel).open(context))

        yield open_model


@pytest.fixture
def answered() -> type[Answered]:
    return Answered
