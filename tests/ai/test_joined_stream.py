"""What leaves together, what does not wait, and what a failure of the sending means."""

from typing import Any

import httpcore2
import pytest

from runtime.ai.joined_stream import MOST, JoinedStream

pytestmark = pytest.mark.anyio


class Wire(httpcore2.AsyncNetworkStream):
    """Keeps what it is given to send, and has an answer ready."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.sent: list[tuple[bytes, float | None]] = []
        self.failure = failure

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self.failure:
            raise self.failure
        self.sent.append((buffer, timeout))

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b"answer"

    async def aclose(self) -> None:
        self.sent.append((b"closed", None))

    async def start_tls(self, *words: Any) -> httpcore2.AsyncNetworkStream:
        return self

    def get_extra_info(self, info: str) -> str:
        return info


async def test_a_small_request_leaves_in_one_piece_when_its_answer_is_waited_for():
    wire = Wire()
    stream = JoinedStream(wire)

    await stream.write(b"head", 5)
    await stream.write(b"body", 5)
    before = list(wire.sent)

    assert (before, await stream.read(100), await stream.read(100)) == ([], b"answer", b"answer")
    assert wire.sent == [(b"headbody", 5)]


async def test_a_long_body_does_not_wait_and_is_not_copied():
    wire = Wire()
    stream = JoinedStream(wire)
    body = bytes(MOST)

    await stream.write(b"head", 5)
    await stream.write(body, 5)

    assert wire.sent == [(b"head", 5), (body, 5)]
    assert wire.sent[1][0] is body


async def test_an_answer_is_read_even_if_the_request_could_not_be_sent_whole():
    stream = JoinedStream(Wire(httpcore2.WriteError("broken pipe")))

    await stream.write(b"head")

    assert await stream.read(100) == b"answer"


async def test_a_request_that_cannot_be_sent_in_time_is_no_answer():
    stream = JoinedStream(Wire(httpcore2.WriteTimeout("slow")))

    await stream.write(b"head", 1)

    with pytest.raises(httpcore2.WriteTimeout):
        await stream.read(100)


async def test_encryption_closing_and_questions_go_to_the_connection():
    wire = Wire()
    stream = await JoinedStream(wire).start_tls(None)

    await stream.write(b"head")
    await stream.write(b"body")
    await stream.aclose()

    assert (wire.sent, stream.get_extra_info("socket")) == ([(b"closed", None)], "socket")
