"""The words of durable runs: a store, its runs, what can be done with them, and the record of one run.

Three things are apart. A `Ledger` reads and changes what is stored, and runs nothing: enough for commands. A `Store` is
the live instance of a `Durable.Store`: it carries runs on in this process, and has a ledger. A `Journal` is the record
of one run while it is carried on: whoever writes the run's loop does through it whatever is not the same twice.

Cheap to import: kinds name these types in their slots.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType

from runtime.contracts import contract

RunState = Literal["queued", "running", "interrupted", "waiting", "finished", "failed", "cancelled"]
"""How a run is.

`queued` waits for a process that hosts its target; `running` is carried on by a live process; `interrupted` was, by one
that is silent now, and is taken over by the next that hosts its target; `waiting` needs a person (`RunInfo.wait` says
for what); the others are over. `failed` and `cancelled` ones can be resumed as well.
"""

OVER: frozenset[str] = frozenset({"finished", "failed", "cancelled"})
"""The states of runs that nobody carries on by themselves any more."""

INTENT = "intent "
"""What the name of a step starts with that notes a call which is about to be made: it belongs to the step after it."""

Decision = Literal["retry", "skip", "fail"]
"""What to do with a tool call of which nobody knows whether it was carried out: make it (again); tell the model that
its outcome is unknown and go on; or end the run with ERR_DURABLE_UNCERTAIN."""


class Wait(Struct, frozen=True):
    """Why a run waits: `code` is ERR_DURABLE_UNCERTAIN or ERR_DURABLE_MANIFEST.

    `step` is the number of the step that the run stands at, and `tool` the tool that it called there; 0 and empty
    where it stands at none.
    """

    code: str
    message: str
    step: int = 0
    tool: str = ""


class RunInfo(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One run as lists show it. Times are seconds since 1970; `executor` is the process that carried it on last.

    `target` is the name of the agent or task, `digest` says what the manifest made of it. `attempts` counts how often
    the run was taken up.
    """

    id: str
    target: str
    state: RunState
    digest: str
    created: float
    updated: float
    attempts: int = 1
    executor: str = ""
    forked_from: str = ""
    wait: Wait | None = None


class StepInfo(Struct, frozen=True, omit_defaults=True):
    """One recorded step; `output` is the JSON value that was recorded, `seconds` how long it took."""

    number: int
    name: str
    started: float
    seconds: float
    output: Any


class RunDetails(Struct, frozen=True, omit_defaults=True):
    """All that is stored of a run: `result` once it has finished, `error` (`Failed` as JSON) once it has failed."""

    info: RunInfo
    inputs: Mapping[str, Any]
    steps: Sequence[StepInfo]
    result: Any | UnsetType = UNSET
    error: Mapping[str, Any] | UnsetType = UNSET


class Ledger(Protocol):
    """What is stored of runs. Every method raises `DurableError`: ERR_DURABLE_STORE where the store does not answer,
    ERR_DURABLE_UNKNOWN for a run that is not there."""

    async def list(
        self, *, states: Sequence[RunState] = (), target: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[RunInfo]:
        """Runs, the newest first. `states` and `target` limit them."""

    async def info(self, run_id: str) -> RunInfo:
        """One run, without its steps."""

    async def show(self, run_id: str) -> RunDetails:
        """One run and its steps in the order of their numbers."""

    async def resume(self, run_id: str, *, uncertain: Decision | None = None) -> None:
        """Hand a run that is waiting, interrupted, failed or cancelled to whoever hosts its target.

        `uncertain` decides on the call that it waits for. A failed run does its last step again. Of a run that is
        queued or running nothing changes. Raises ERR_DURABLE_STATE for one that has finished.
        """

    async def cancel(self, run_id: str) -> None:
        """Stop a run for good; whoever carries it on stops what is under way within about a second.

        Raises ERR_DURABLE_STATE for one that has finished or failed.
        """

    async def fork(self, run_id: str, from_step: int, *, new_id: str | None = None) -> str:
        """A new run with the steps before `from_step` of this one, queued for whoever hosts its target; gives its id.

        Raises ERR_DURABLE_STEP where there is no such step, ERR_DURABLE_STATE where `new_id` is taken.
        """

    async def prune(self, older_than: float) -> int:
        """Forget runs that have been over for so many seconds; gives how many."""

    async def close(self) -> None:
        """Let go of the store."""


class Slot(Protocol):
    """The place of one step in the order of a run, taken before the step runs."""

    number: int
    is_recorded: bool
    """Whether the step's outcome was recorded earlier: `run` then gives that, and does nothing."""

    async def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The JSON value that `work` gives, recorded before anybody sees it; to be asked for once.

        What is recorded has no secrets in it (each is `***`); what is given here has, unless it comes from the record.
        A recorded mapping that lost one says `isMasked: true`.
        What `work` raises is recorded too, unless it is a cancellation: give errors that are to come back as they were
        as values. Raises ERR_DURABLE_TAKEN where another process has taken the run over.
        """


class Journal(Protocol):
    """The record of one run while it is carried on. Steps have to be the same, in the same order, each time."""

    run_id: str
    attempt: str
    """Says which taking up of the run this is: another one each time."""

    def reserve(self, name: str) -> Slot:
        """The next place. Places are to be taken in an order that is the same each time; steps may then run at once."""

    async def decide(self, question: Wait, ask: Callable[[], Awaitable[Decision | None]]) -> Decision:
        """What to do with an uncertain call: by what was decided when the run was resumed, or else by `ask`.

        Where that gives None the run is `waiting` from now on; raises ERR_DURABLE_UNCERTAIN, which is not recorded.
        """

    def tell(self, event: Any) -> None:
        """Something happened: it goes to whoever follows the run in this process, and is not recorded."""


class QueueRules(Struct, frozen=True, kw_only=True):
    """How the queued runs of a target are taken up, over all processes that share the store.

    `concurrency` is the most that run at a time over all processes, `worker_concurrency` in each; `rate` is the most
    that start within `rate_seconds`.
    """

    concurrency: int | None = None
    worker_concurrency: int | None = None
    rate: int | None = None
    rate_seconds: float = 60.0


class Target(Struct, frozen=True, kw_only=True):
    """What runs can be of: an agent, a task.

    `work(inputs, journal)` carries a run on from its start and gives its answer, a JSON value; it raises
    `runtime.errors.Error` where the run fails. `digest` says what the manifest makes of the target and of all it
    needs. With `continues` runs that began under another digest are taken up as well.
    """

    name: str
    digest: str
    work: Callable[[Mapping[str, Any], Journal], Awaitable[Any]]
    continues: bool = False
    queue: QueueRules = QueueRules()


class Follower(Protocol):
    """A run that this process started or follows."""

    run_id: str

    async def next_event(self) -> Any | None:
        """What the run's work told next; None when the run is over, or is carried on elsewhere."""

    async def result(self) -> Any:
        """The run's answer, wherever it is carried on. Raises what the run raises, and `DurableError`
        ERR_DURABLE_CANCELLED, ERR_DURABLE_UNCERTAIN, ERR_DURABLE_MANIFEST (it waits), ERR_DURABLE_TAKEN."""

    async def cancel(self) -> None:
        """Stop the run for good and wait until nothing of it is under way in this process; one that is over or waits
        stays as it is."""


@contract("Durable.Store")
class Store(Protocol):
    """The live instance of a `Durable.Store`: carries runs on in this process, and takes over those of dead ones."""

    @property
    def ledger(self) -> Ledger:
        """What is stored."""

    def host(self, target: Target) -> AbstractContextManager[None]:
        """While the block is entered, runs of this target are carried on here: new ones, queued ones, and those whose
        process is silent. Leaving stops the ones under way; they are `interrupted` then, and others take them up."""

    async def start(
        self,
        target: str,
        inputs: Mapping[str, Any] | None,
        *,
        run_id: str | None = None,
        queued: bool = False,
        priority: int | None = None,
    ) -> Follower:
        """Start a run of a hosted target, or follow the run `run_id` where there is one: finished, elsewhere, or here.

        A run of that id which nobody carries on is taken up here. `queued` leaves a new run to any process that hosts
        the target, by `priority` (1 goes first). `inputs` are JSON values; with None no run is started, and
        ERR_DURABLE_UNKNOWN is raised where there is none. Raises ERR_DURABLE_SECRET for inputs with the value of a
        secret in them, ERR_DURABLE_STATE for an id of another target's run, ERR_DURABLE_MANIFEST for a run that began
        under another manifest where the target does not continue such runs.
        """

    def release(self) -> None:
        """From here on whoever does not wait for a run any more leaves it `interrupted`, and cancels nothing: for a
        process that is about to end while others take its runs over."""

    async def drain(self) -> None:
        """Take up no more, and wait until nothing is carried on here."""
