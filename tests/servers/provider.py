"""A model provider on loopback that speaks HTTP as a test scripts it, and how to ask a model that points at it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest

from runtime.ai.contracts import Message, Model, ModelRequest, TextDelta, TurnEnd
from runtime.errors import ModelError

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

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def will(self, *answers: Answered) -> None:
        self.answers += answers

    def streams(self, *events: Mapping[str, Any], line_end: str = "\n", **more: Any) -> None:
        """Will stream these events, each named by its `type` where it has one."""
        pieces = []
        for event in events:
            name = f"event: {event['type']}{line_end}" if "type" in event else ""
            pieces.append(f"{name}data: {json.dumps(event)}{line_end}{line_end}".encode())
        self.will(Answered(*pieces, **more))

    def answers_whole(self, body: Any) -> None:
        """Will answer in one piece."""
        self.will(Answered(json.dumps(body).encode(), content_type="application/json"))

    def refuses(self, status: int, body: Any, **headers: str) -> None:
        """Will answer with an error."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.will(Answered(raw, status=status, content_type="application/json", headers=headers))

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
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
        if not self.answers:
            raise AssertionError(f"the test has no answer to {line}")
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


@asynccontextmanager
async def serve_provider() -> AsyncIterator[Provider]:
    """The provider while the block runs; `url` is its address without a path."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    served = Provider(f"http://127.0.0.1:{port}")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, served.serve)
        yield served
        group.cancel_scope.cancel()


class Context:
    """A context that masks the secret `hush`, and keeps what is logged."""

    folder = Path()

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []

    def warn(self, message: str) -> None:
        raise AssertionError(message)

    def log(self, message: str) -> None:
        self.lines.append(message)

    def mask(self, text: str) -> str:
        return text.replace("hush", "***")

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return value


async def ask(model: Model, *messages: Message, **request: Any) -> tuple[list[str], TurnEnd]:
    """The deltas and the end of one turn."""
    deltas: list[str] = []
    ends: list[TurnEnd] = []
    async with aclosing(model.generate(ModelRequest(list(messages) or [Message("user", "hi")], **request))) as turn:
        async for piece in turn:
            if isinstance(piece, TextDelta):
                deltas.append(piece.text)
            else:
                ends.append(piece)
    (end,) = ends
    return deltas, end


async def fail(model: Model, *messages: Message, **request: Any) -> ModelError:
    """The error that a turn ends with; it never shows the key."""
    with pytest.raises(ModelError) as raised:
        await ask(model, *messages, **request)
    assert KEY not in f"{raised.value} {raised.value.hint} {raised.value.details}"
    return raised.value
