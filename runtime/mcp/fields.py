"""The words of a manifest that both clients know: typed once, listed by each kind."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from runtime.contracts import contract
from runtime.kind import Fields, Slot


class ClientInfo(Fields):
    """How we introduce ourselves to the server."""

    name: Annotated[str, Meta(description="The name that the server sees.", min_length=1)]
    version: Annotated[str, Meta(description="The version that the server sees.", min_length=1)]


ClientInfoField = Annotated[ClientInfo, Meta(description="How we introduce ourselves; by default as this runtime.")]
ProtocolRevision = Annotated[
    Literal["auto", "legacy", "2026-07-28"],
    Meta(
        description="The protocol's revision: `auto` finds it out, `legacy` always shakes hands (2024-11-05 to "
        "2025-11-25), a date takes that revision and no other."
    ),
]
Required = Annotated[
    bool,
    Meta(
        description="Whether the run fails when this server does not start. If false, that is a warning, its tools are "
        "absent, and it is tried again in the background."
    ),
]
Lifetime = Annotated[
    Literal["shared", "run"],
    Meta(description="`shared`: one connection for all runs; `run`: each run of an agent gets one of its own."),
]
Restart = Annotated[
    Literal["never", "on-failure"],
    Meta(
        description="What follows when the connection is lost: `on-failure` opens a new one at the next call, with "
        "growing pauses; a call that was under way is never repeated."
    ),
]
ConnectTimeout = Annotated[
    int, Meta(description="Milliseconds for the start: connection, handshake and first list of tools.", ge=1)
]
CallTimeout = Annotated[int, Meta(description="Milliseconds that a call may take.", ge=1)]
CallTimeoutMax = Annotated[
    int, Meta(description="Milliseconds that a call may take in all when progress extends its limit.", ge=1)
]
ExtendOnProgress = Annotated[
    bool, Meta(description="Whether each progress report starts `callTimeoutMs` anew, up to `callTimeoutMaxMs`.")
]
MaxResultBytes = Annotated[
    int, Meta(description="Most bytes of one message from the server; a larger one fails its call.", ge=1024)
]
ServerInstructions = Annotated[
    Literal["ignore", "system"],
    Meta(description="Whether the server's own instructions are added to the system prompt of the agents."),
]

Elicitation = Annotated[
    Literal["decline", "accept", "ask"],
    Meta(
        description="When the server asks for input: `decline` refuses, `ask` asks the person at the terminal, "
        "`accept` fills every form by the defaults of its schema (for tests)."
    ),
]
Roots = Annotated[
    list[str],
    Meta(description="Folders (or `file:` URIs) that the server is told to work in, relative to the manifest's."),
]

if TYPE_CHECKING:
    AnyModel = Any
else:

    @contract("Ai.Model")
    class AnyModel:
        """Stands for the contract of models, which this side of the house does not know."""


class Sampling(Fields):
    """What answers when the server asks for a model's answer."""

    model: Slot[AnyModel, "The model that is asked for the server."]  # noqa: F722


SamplingField = Annotated[Sampling, Meta(description="Lets the server ask a model of ours; else that is refused.")]

CONNECT_TIMEOUT_MS = 30_000
CALL_TIMEOUT_MS = 120_000
CALL_TIMEOUT_MAX_MS = 600_000
MAX_RESULT_BYTES = 16 * 1024 * 1024
