"""The field `durable` of agents and tasks: in which store their runs are kept, and by which rules they go on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.kind import FIXED, Fields, Inspection, Slot

if TYPE_CHECKING:
    from runtime.durable.contracts import Store
else:

    class Store:
        """Its name, which is all that a slot needs: `validate` pays for none of the rest."""

        __contract__ = "Durable.Store"


class Queue(Fields):
    """How queued runs are taken up: those of `runtime serve`, of a schedule, and those whose process died."""

    concurrency: (
        Annotated[int, Meta(description="Most runs of this at a time, over all processes.", ge=1)] | UnsetType
    ) = UNSET
    concurrency_per_process: (
        Annotated[int, Meta(description="Most runs of this at a time in each process.", ge=1)] | UnsetType
    ) = UNSET
    rate: (
        Annotated[int, Meta(description="Most runs of this that begin within `rateSeconds`, over all processes.", ge=1)]
        | UnsetType
    ) = UNSET
    rate_seconds: Annotated[float, Meta(description="The time that `rate` is about.", gt=0)] = 60.0


class DurableRuns(Fields):
    """Where runs are kept, and how they go on after their process died."""

    store: Slot[Store, "The store of the runs."]  # noqa: F722 (the second part is a description)
    on_manifest_change: Annotated[
        Literal["fail", "continue"],
        Meta(
            description="A run that began under another manifest: `fail` leaves it to a process that has that manifest"
            " up, `continue` carries it on under this one."
        ),
    ] = "fail"
    on_uncertain_tool: Annotated[
        Literal["ask", "retry", "fail"],
        Meta(
            description="A tool call that was under way when its process died and may have been carried out: `ask` asks"
            " on the terminal, and where there is none the run waits for `runtime runs resume`; `retry` makes it again;"
            " `fail` ends the run with ERR_DURABLE_UNCERTAIN. Calls that may be made twice are made again anyway: of a"
            " tool whose server says `readOnlyHint` or `idempotentHint`, or that is in `retrySafe`."
        ),
    ] = "ask"
    retry_safe: Annotated[
        Sequence[str],
        Meta(
            description="Tools whose calls may be made twice: names with their prefix, or globs.",
            extra_json_schema=FIXED,
        ),
    ] = ()
    queue: Annotated[Queue, Meta(description="How many queued runs are taken up, and how fast.")] = Queue()


DurableField = (
    Annotated[DurableRuns, Meta(description="Keeps the runs in a store, so that they survive the process.")] | UnsetType
)


def inspect_durable(inspection: Inspection) -> None:
    """SCHEMA_VALUE: more runs in one process than in all."""
    for path, most in inspection.find("durable", "queue", "concurrency"):
        for _, here in inspection.find("durable", "queue", "concurrencyPerProcess"):
            if isinstance(most, int) and isinstance(here, int) and here > most:
                inspection.report("SCHEMA_VALUE", path, f"{here} runs in each process are more than {most} in all")
