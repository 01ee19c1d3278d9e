"""The stdio transport: one JSON-RPC message a line over the pipes of a server process that we started."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from typing import Any

from runtime.errors import McpError
from runtime.mcp import keeper
from runtime.mcp.connection import Call, Connection
from runtime.mcp.message import Malformed, decode, encode, find_answered
from runtime.mcp.process_tracker import ServerProcess
from runtime.mcp.quoting import quote_lines

STDERR_LIMIT = 64 * 1024  # bytes kept of what a server writes to stderr
TAIL_LINES = 8  # lines of it that an error shows
LAST_WORDS = 0.2  # seconds for what a server wrote before it went
CODE_WAIT = 1.0  # seconds to wait for the exit status of a server that closed its output
FLOOD = 16  # times the limit that may be dropped before the server is given up
PIECE = 64 * 1024  # bytes read at once, as many as a pipe holds: room for more is mapped and unmapped at each read
BACKLOG_LIMIT = 1024 * 1024  # bytes that wait for a server to read; above it we read nothing from it


class LineReader(asyncio.Protocol):
    """Bytes into lines in linear time and bounded memory: what is over the limit is dropped up to its end."""

    def __init__(
        self,
        limit: int,
        on_line: Callable[[bytes], None],
        on_overlong: Callable[[bytes, bytes], None],
        on_flood: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self.limit = limit
        self.on_line = on_line
        self.on_overlong = on_overlong
        self.on_flood = on_flood
        self.on_end = on_end
        self._chunks: list[bytes] = []
        self._size = 0
        self.received = 0
        self.dropped = 0
        self._lost: bytes | None = None  # the head of a line that is over the limit
        self._tail = b""

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        start, end = 0, data.find(b"\n")  # `find` is many times as fast as `split` on long lines
        while end >= 0:
            if end > start or self._size or self._lost is not None:
                self._keep(data[start:end])
                self._end_line()
            start = end + 1
            end = data.find(b"\n", start)
        if start < len(data):
            self._keep(data[start:] if start else data)
        if self.dropped > FLOOD * self.limit:
            self.on_flood()

    def _keep(self, data: bytes) -> None:
        if self._lost is not None:
            self.dropped += len(data)
            self._tail = (self._tail + data[-256:])[-256:]
            return
        self._chunks.append(data)
        self._size += len(data)
        if self._size > self.limit:
            self._lost = b"".join(self._chunks[:256])[:256]
            self._tail = data[-256:]
            self._chunks.clear()
            self.on_overlong(self._lost, b"")

    def _end_line(self) -> None:
        lost, self._lost = self._lost, None
        line = b"".join(self._chunks) if len(self._chunks) != 1 else self._chunks[0]
        self._chunks.clear()
        self._size = 0
        if lost is not None:
            self.on_overlong(lost, self._tail)
        elif line:
            self.on_line(line)

    def connection_lost(self, exc: Exception | None) -> None:
        self.on_end()


class StderrReader(asyncio.Protocol):
    """Drains stderr all the time and keeps its tail."""

    def __init__(self, on_data: Callable[[bytes], None]) -> None:
        self.on_data = on_data
        self.tail = bytearray()
        self.is_cut = False

    def data_received(self, data: bytes) -> None:
        self.tail += data
        if len(self.tail) > 2 * STDERR_LIMIT:
            del self.tail[:-STDERR_LIMIT]
            self.is_cut = True
        self.on_data(data)

    def read(self) -> str:
        """The tail as text, from the first whole line on where it was cut."""
        kept = bytes(self.tail[-STDERR_LIMIT:])
        if self.is_cut or len(self.tail) > STDERR_LIMIT:
            kept = kept.partition(b"\n")[2] or kept
        return kept.decode("utf-8", "replace")


class StdinWriter(asyncio.Protocol):
    """Holds the server's output back while the server does not read its input."""

    def __init__(self, on_full: Callable[[], None], on_free: Callable[[], None]) -> None:
        self.pause_writing = on_full  # type: ignore[method-assign]  # asyncio calls them by these names
        self.resume_writing = on_free  # type: ignore[method-assign]
        self.has_ended = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.has_ended = True


class StdioWire:
    """A server process as a wire; `open` it once, `close` it once."""

    def __init__(
        self,
        process: ServerProcess,
        connection: Connection,
        *,
        command: str,
        limit: int,
    ) -> None:
        self.process = process
        self.connection = connection
        self.command = command
        self.limit = limit
        self.protocol_version = ""
        self.stderr = StderrReader(connection.listener.overheard)
        self._writer: StdinWriter
        self._input: asyncio.WriteTransport | None = None
        self._output: asyncio.ReadTransport | None = None
        self._errors: asyncio.ReadTransport | None = None
        self._reader = LineReader(limit, self._take_line, self._lose_line, self._give_up, self._end_output)
        self._has_ended = False
        self._is_closing = False

    @property
    def received(self) -> int:
        return self._reader.received

    async def open(self) -> None:
        """Take hold of the pipes. They are ours from here on, also when this fails."""
        loop = asyncio.get_running_loop()
        self._errors, _ = await loop.connect_read_pipe(lambda: self.stderr, self.process.stderr)
        self._output, _ = await loop.connect_read_pipe(lambda: self._reader, self.process.stdout)
        if hasattr(self._output, "max_size"):  # asyncio's own; another loop's reads as it likes
            self._output.max_size = PIECE
        self._writer = StdinWriter(self._output.pause_reading, self._output.resume_reading)
        self._input, _ = await loop.connect_write_pipe(lambda: self._writer, self.process.stdin)
        self._input.set_write_buffer_limits(high=BACKLOG_LIMIT)
        self.process.exited.add_done_callback(self._end_process)

    # -- out -------------------------------------------------------------------------------

    def send(self, call: Call) -> None:
        self.post({"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call.params})

    def post(self, message: Mapping[str, Any]) -> None:
        if self._input and not self._input.is_closing():
            self._input.write(encode(message) + b"\n")

    def drop(self, call: Call, reason: str) -> None:
        self.connection.cancel(call, reason)

    async def flush(self, seconds: float) -> None:
        """Lines keep their order by themselves."""

    async def listen(self) -> None:
        """All that a server sends comes on its one output."""

    # -- in --------------------------------------------------------------------------------

    def _take_line(self, line: bytes) -> None:
        try:
            message = decode(line)
        except Malformed as error:
            if not line.strip():
                return
            broken = McpError(
                f"the answer is no valid JSON: {error}", code="ERR_MCP_PROTOCOL", resource=self.connection.name
            )
            if b'"result"' in line and self.connection.fail_call(find_answered(line[:256], line[-256:]), broken):
                return
            shown = self.connection.quote(line[:1000].decode("utf-8", "replace"), 200)
            self.connection.listener.puzzled(f'a line on stdout that is no JSON: "{shown}"')
            return
        self.connection.receive(message)

    def _lose_line(self, head: bytes, tail: bytes) -> None:
        """A message over the limit: called when the limit is passed (without a tail), and at the line's end."""
        error = self.connection.over_limit(self.limit)
        if self.connection.fail_call(find_answered(head, tail), error) or not tail:
            return
        if find_answered(head, b"") is not None:
            return  # that call was failed when the limit was passed
        self.connection.listener.puzzled(f"a message of more than {self.limit} bytes, which was dropped")
        if b'"method"' not in head:
            self.connection.fail_pending(error)

    def _give_up(self) -> None:
        """The server writes without end: nobody reads it any more."""
        if self._output:
            self._output.close()
        self.connection.fail(self.connection.over_limit(self.limit))

    # -- the end ---------------------------------------------------------------------------

    def _end_process(self, _: "asyncio.Future[int]") -> None:
        """The process is gone, though something it started may still hold its output."""
        if self._has_ended:
            self._report_end()
        else:
            asyncio.get_running_loop().call_later(LAST_WORDS, self._report_end)

    def _end_output(self) -> None:
        """The server closed its output: it went, or is about to; its exit status says more."""
        self._has_ended = True
        if self.process.exited.done():
            self._report_end()
        else:
            asyncio.get_running_loop().call_later(CODE_WAIT, self._report_end)

    def _report_end(self) -> None:
        if not self._is_closing:
            self.connection.fail(self.describe_end())

    def describe_end(self) -> McpError:
        """Why nothing more comes from this server: exit status, last words."""
        status = self.process.exited.result() if self.process.exited.done() else None
        text = self.connection.mask(self.stderr.read())
        lines = quote_lines(text, TAIL_LINES)
        if status in (126, 127) and lines and lines[-1].startswith(keeper.MARK):
            reason = lines[-1].removeprefix(keeper.MARK).strip()
            return McpError(
                f'the program "{self.command}" cannot be run: {reason}',
                code="ERR_MCP_SPAWN",
                resource=self.connection.name,
                hint="check that it is a program of this system",
            )
        message = f'the server "{self.command}" {describe_status(status)}'
        if lines:
            message += "; the end of its stderr: " + " | ".join(lines)
        details = {"exitCode": status, "stderr": lines}
        return McpError(message, code="ERR_MCP_TRANSPORT", resource=self.connection.name, details=details)

    async def close(self, grace: float) -> None:
        """Close the input, give the server `grace` seconds to leave, end what is left of it."""
        self._is_closing = True
        if self._input:
            self._input.close()
        else:
            self.process.stdin.close()
        if self._output and not self._has_ended:
            self._output.resume_reading()
        await self.process.end(grace)
        if self._input and not self._writer.has_ended:
            self._input.abort()  # what waits to be written stays unwritten
        for pipe in (self._output, self._errors):
            if pipe:
                pipe.close()
        if not self._output:
            self.process.stdout.close()
        if not self._errors:
            self.process.stderr.close()


def describe_status(status: int | None) -> str:
    if status is None:
        return "closed its output"
    number = -status if status < 0 else status - 128
    if status < 0 or 128 < status < 128 + 65:
        try:
            return f"was ended by {signal.Signals(number).name} (exit status {status})"
        except ValueError:
            pass
    return f"exited with status {status}"
