"""Every exception that a caller may catch.

Error
├── UsageError         the command or the call itself is wrong                  exit 2
├── ManifestError      the manifest set has findings; carries the diagnostics   exit 1
├── StartError         a resource did not start or connect                      exit 3
├── McpError           ERR_MCP_*: a server, its transport, its answers
├── ModelError         ERR_MODEL_*: a model provider, its answers
├── ToolError          ERR_TOOL_* or a kind's own code: a tool did not do its work
├── AgentError         ERR_AGENT_*: the loop itself, or what it was asked
├── DurableError       ERR_DURABLE_*: a run that is kept, or the store that keeps it
└── ExpectationError   a declared expectation or a lock was not met             exit 5

Where no exit status stands, it is 4: the run failed. An error that keeps a resource from starting is the cause of a
`StartError`, which takes its code.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:  # the row below; imported here for its name alone, so that `--help` stays cheap
    from runtime.diagnostics import Diagnostic


class Error(Exception):
    """What went wrong, with which resource, and what to do.

    `message` is one sentence: lower case, no full stop, names in quotes. `code` is stable and upper case. `resource` is
    the name of the resource at fault, `hint` the next step. `details` holds JSON values for machines.
    """

    code: str = "ERR_RUNTIME"
    exit_status: ClassVar[int] = 4

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        resource: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.resource = resource
        self.hint = hint
        self.details = dict(details or {})

    def __str__(self) -> str:
        return f"{self.resource}: {self.message}" if self.resource else self.message


class UsageError(Error):
    """The command line or the library call cannot be carried out as it stands."""

    code = "ERR_USAGE"
    exit_status = 2


class ManifestError(Error):
    """The manifest set is invalid; `diagnostics` has every finding, sorted by file, line, column."""

    code = "ERR_MANIFEST_INVALID"
    exit_status = 1

    def __init__(self, diagnostics: "Sequence[Diagnostic]") -> None:
        count = sum(found.severity == "error" for found in diagnostics)
        super().__init__(f"the manifest set has {count} error{'s' if count != 1 else ''}")
        self.diagnostics = tuple(diagnostics)


class StartError(Error):
    """A resource did not start; its code is that of the cause where the cause is an `Error`."""

    code = "ERR_START"
    exit_status = 3


class McpError(Error):
    """A server, the way to it, or what it answered; the codes are those of design.md section 6."""

    code = "ERR_MCP_PROTOCOL"


class ModelError(Error):
    """A model provider refused, failed or answered what makes no sense."""

    code = "ERR_MODEL_RESPONSE"


class ToolError(Error):
    """A tool did not do its work; the agent's `onToolError` decides what follows."""

    code = "ERR_TOOL_FAILED"


class AgentError(Error):
    """The agent's loop cannot go on: the step limit, names that collide, inputs that make no sense."""

    code = "ERR_AGENT_INPUT"


class DurableError(Error):
    """A run that is kept in a store cannot go on, waits, or was stopped; or its store does not answer."""

    code = "ERR_DURABLE_STORE"


class ExpectationError(Error):
    """A declared expectation or a lock was not met."""

    code = "ERR_EXPECTATION"
    exit_status = 5
