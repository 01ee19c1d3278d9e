"""From the fields of a stdio client to its wire. The server is spawned at once; the rest is loaded while it boots."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.errors import McpError
from runtime.mcp.environment import Program
from runtime.mcp.process_tracker import ServerProcess, tracker

if TYPE_CHECKING:  # loaded while the first server boots
    from runtime.mcp.connection import Connection
    from runtime.mcp.stdio import StdioWire


class StdioDialer:
    """Starts a server when it is made, and another each time that one more is asked for.

    `prepare` says what to start. What fails with the first server is raised where it is asked for.
    """

    def __init__(self, prepare: Callable[[], Program], limit: int) -> None:
        self._prepare = prepare
        self._limit = limit
        self._program: Program | None = None
        self._first: ServerProcess | None = None
        self._failure: McpError | None = None
        try:
            self._first = self._spawn()
        except McpError as error:
            self._failure = error

    def _spawn(self) -> ServerProcess:
        self._program = program = self._prepare()
        try:
            return tracker.spawn(program.argv, env=program.env, cwd=program.cwd)
        except (OSError, ValueError) as error:
            reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            raise McpError(
                f'the program "{program.command}" cannot be started: {reason}',
                code="ERR_MCP_SPAWN",
                hint="check `command`, `args`, `env` and `cwd`",
            ) from error

    async def __call__(self, connection: "Connection", deadline: float) -> "StdioWire":
        """A wire to a server that was started; raises `McpError` ERR_MCP_SPAWN."""
        from anyio import CancelScope

        from runtime.mcp.stdio import StdioWire

        failure, self._failure = self._failure, None
        if failure:
            raise failure
        process, self._first = self._first or self._spawn(), None
        assert self._program is not None
        wire = StdioWire(process, connection, command=self._program.command, limit=self._limit)
        try:
            await wire.open()
        except BaseException:
            with CancelScope(shield=True):
                await wire.close(0.0)
            raise
        return wire

    async def close(self) -> None:
        """End the first server, if nobody asked for it."""
        if self._first:
            self._first.stdin.close()
            await self._first.end(0.0)
            self._first.stdout.close()
            self._first.stderr.close()
