"""`Mcp.StdioClient`: starts an MCP server as a child process and speaks with it over its pipes."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import UNSET, Meta, UnsetType, field

from runtime.kind import Context, Inspection, Kind, kind
from runtime.mcp.contracts import Client
from runtime.mcp.fields import (
    CALL_TIMEOUT_MAX_MS,
    CALL_TIMEOUT_MS,
    CONNECT_TIMEOUT_MS,
    MAX_RESULT_BYTES,
    CallTimeout,
    CallTimeoutMax,
    ClientInfoField,
    ConnectTimeout,
    Elicitation,
    ExtendOnProgress,
    Lifetime,
    MaxResultBytes,
    ProtocolRevision,
    Required,
    Restart,
    Roots,
    SamplingField,
    ServerInstructions,
)

if TYPE_CHECKING:
    from runtime.effects import Effect

if TYPE_CHECKING:  # heavy: loaded while the server boots
    from runtime.mcp.client import McpClient


@kind("Mcp.StdioClient", implements=Client)
class StdioClient(Kind):
    """Starts an MCP server as a child process and speaks with it over its pipes."""

    opens_first: ClassVar[bool] = True

    command: Annotated[
        str,
        Meta(
            description="The program: a name on PATH, a full path, or a path beside the manifest (`./server`). No "
            "shell reads it; arguments go into `args`.",
            min_length=1,
        ),
    ]
    args: Annotated[
        list[str],
        Meta(description="Its arguments, verbatim; one that starts with `./` or `../` is a path beside the manifest."),
    ] = field(default_factory=list)
    env: Annotated[
        dict[str, str],
        Meta(description="Environment variables of the server, beside the few safe ones that it inherits."),
    ] = field(default_factory=dict)
    inherit_env: Annotated[
        bool | list[str],
        Meta(description="More of the runtime's environment for the server: `true` for all, or names of variables."),
    ] = False
    cwd: Annotated[
        str | UnsetType,
        Meta(description="The folder to start it in, relative to the manifest's; by default the runtime's own."),
    ] = UNSET
    shutdown_grace_ms: Annotated[
        int,
        Meta(
            description="Milliseconds that the server gets to leave after its input was closed, before it is ended.",
            ge=0,
        ),
    ] = 3000
    client_info: ClientInfoField | UnsetType = UNSET
    protocol: ProtocolRevision = "auto"
    required: Required = True
    lifetime: Lifetime = "shared"
    restart: Restart = "on-failure"
    connect_timeout_ms: ConnectTimeout = CONNECT_TIMEOUT_MS
    call_timeout_ms: CallTimeout = CALL_TIMEOUT_MS
    call_timeout_max_ms: CallTimeoutMax = CALL_TIMEOUT_MAX_MS
    extend_on_progress: ExtendOnProgress = False
    max_result_bytes: MaxResultBytes = MAX_RESULT_BYTES
    server_instructions: ServerInstructions = "ignore"
    elicitation: Elicitation = "decline"
    roots: Roots = field(default_factory=list)
    sampling: SamplingField | UnsetType = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """COMMAND_NOT_FOUND, where the user asked to look at this machine as well."""
        if not inspection.with_environment:
            return
        from runtime.errors import McpError
        from runtime.mcp.environment import find_command

        given = [value for _, value in inspection.find("env", "PATH") if isinstance(value, str)]
        for path, command in inspection.find("command"):
            try:
                find_command(str(command), given[0] if given else os.environ.get("PATH", os.defpath), inspection.folder)
            except McpError as error:
                inspection.report("COMMAND_NOT_FOUND", path, error.message, error.hint)

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The program, and the names of the variables that it gets."""
        from runtime.effects import Starts
        from runtime.mcp.environment import build_environment

        given = [str(name) for name in fields.get("env", {})]
        inherit = fields.get("inheritEnv", False)
        names = build_environment(os.environ, {}, inherit if isinstance(inherit, (bool, list)) else False)
        return [
            Starts(
                str(fields["command"]),
                [str(word) for word in fields.get("args", ())],
                fields.get("cwd"),
                sorted(given),
                sorted(names.keys() - given),
            )
        ]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Client]:
        async with self._connect(context) as client:
            if self.lifetime == "shared":
                yield client
            else:
                from runtime.mcp.per_run import PerRunClient

                yield PerRunClient(client, lambda: self._connect(context))

    @asynccontextmanager
    async def _connect(self, context: Context) -> AsyncIterator["McpClient"]:
        """A server of its own and the connection to it."""
        from anyio import CancelScope
        from anyio.lowlevel import checkpoint

        from runtime.mcp.environment import Program, prepare_program
        from runtime.mcp.spawning import StdioDialer

        def prepare() -> Program:
            return prepare_program(
                self.command,
                self.args,
                env=self.env,
                inherit=self.inherit_env,
                cwd=self.cwd or None,
                folder=context.folder,
                own=os.environ,
            )

        dialer = StdioDialer(prepare, self.max_result_bytes)
        try:
            await checkpoint()  # the other servers are spawned before this one's client is loaded
            from runtime.mcp.client import open_client
            from runtime.mcp.settings import read_settings

            sampling = None
            if self.sampling:
                from kinds.ai_mcp.sampling import offer_sampling

                sampling = offer_sampling(self.sampling.model, context.name)
            settings = read_settings(self, context, sampling=sampling, grace=self.shutdown_grace_ms / 1000)
            async with open_client(settings, dialer, context) as client:
                yield client
        finally:
            with CancelScope(shield=True):
                await dialer.close()
