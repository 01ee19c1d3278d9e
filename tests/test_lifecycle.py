"""Resources open after what they need, close in reverse, and leave nothing open, whatever fails."""

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import runtime
from runtime.lifecycle import Report

pytestmark = pytest.mark.anyio

KINDS = Path(__file__).with_name("steps") / "kinds.py"
HEAD = "kind: Runtime.Application\nmetadata: { name: App }\nimports: { Test: ./kinds.py }\n"


class Notes(Report):
    """What happened, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def starting(self, name: str) -> None:
        self.lines.append(f"{name} starting")

    def ready(self, name: str, seconds: float, summary: str) -> None:
        self.lines.append(f"{name} ready")

    def warn(self, name: str, message: str) -> None:
        self.lines.append(f"{name} warns: {message}")

    def log(self, name: str, message: str) -> None:
        self.lines.append(f"{name} {message}")

    def of(self, *words: str) -> list[str]:
        """The lines that end with one of the words."""
        return [line for line in self.lines if line.endswith(words)]


class Set:
    """A set of steps: what happened to them, and the events that they wait for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes = Notes()

    @asynccontextmanager
    async def opened(self, **environment: str) -> AsyncIterator[Any]:
        opening = runtime.open_manifests(str(self.path), report=self.notes, environment=environment)
        with anyio.fail_after(10):
            async with opening as live:
                yield live

    def event(self, name: str) -> anyio.Event:
        """An event of the kinds' own module, as its steps see it."""
        modules = [module for module in sys.modules.values() if getattr(module, "__file__", None) == self.kinds]
        found: anyio.Event = modules[-1].event(name)
        return found

    @property
    def kinds(self) -> str:
        return str(self.path.parent / "kinds.py")


@pytest.fixture
def steps(tmp_path: Path) -> Any:
    shutil.copy(KINDS, tmp_path / "kinds.py")

    def write(*documents: str) -> Set:
        path = tmp_path / "set.yaml"
        path.write_text("---\n".join([HEAD, *(f"kind: Test.Step\n{document}\n" for document in documents)]))
        return Set(path)

    return write


async def test_each_opens_after_what_it_needs_and_closes_before_it(steps: Any) -> None:
    some = steps(
        "metadata: { name: Roof }\nneeds: [!ref Walls]",
        "metadata: { name: Walls }\nneeds: [!ref Ground, { kind: Test.Step, text: door }]",
        "metadata: { name: Ground }",
    )

    async with some.opened() as live:
        walls, ground = live["Walls"], live["Ground"]
        assert live["Roof"].step.needs == [walls]
        assert walls.step.needs[0] is ground
        assert walls.step.needs[1].step.text == "door"

    door = "Test.Step in Walls"
    opened = some.notes.of(" opened")
    assert opened[2:] == ["Walls opened", "Roof opened"] and set(opened[:2]) == {"Ground opened", f"{door} opened"}
    closed = some.notes.of(" closed")
    assert closed[:2] == ["Roof closed", "Walls closed"] and set(closed[2:]) == {"Ground closed", f"{door} closed"}


async def test_what_needs_nothing_of_each_other_opens_at_the_same_time(steps: Any) -> None:
    some = steps(
        'metadata: { name: One }\nwaitFor: "Other starts"',
        'metadata: { name: Other }\nwaitFor: "One starts"',
    )

    async with some.opened():
        assert sorted(some.notes.of(" ready")) == ["One ready", "Other ready"]


async def test_not_more_than_sixteen_open_at_the_same_time(steps: Any) -> None:
    names = [f"S{number}" for number in range(20)]
    some = steps(*(f"metadata: {{ name: {name} }}\nwaitFor: go" for name in names))

    async with anyio.create_task_group() as group:

        async def let_go() -> None:
            await anyio.wait_all_tasks_blocked()
            assert len(some.notes.of(" starting")) == 16
            some.event("go").set()

        group.start_soon(let_go)
        async with some.opened():
            assert len(some.notes.of(" ready")) == 20


async def test_one_resource_that_two_refer_to_is_opened_once(steps: Any) -> None:
    some = steps(
        "metadata: { name: A }\nneeds: [!ref C]", "metadata: { name: B }\nneeds: [!ref C]", "metadata: { name: C }"
    )

    async with some.opened() as live:
        assert live["A"].step.needs[0] is live["B"].step.needs[0]

    assert some.notes.of("C opened", "C closed") == ["C opened", "C closed"]


async def test_an_inline_resource_behind_an_alias_is_one_resource(steps: Any) -> None:
    some = steps("metadata: { name: A }\nneeds: [&inner { kind: Test.Step }, *inner]")

    async with some.opened() as live:
        assert live["A"].step.needs[0] is live["A"].step.needs[1]

    assert len(some.notes.of(" opened")) == 2


@pytest.mark.parametrize(
    ("fails", "message", "code"),
    [
        ("at open", "the step gave way", "ERR_TEST_STEP"),
        ("with a bug", "ZeroDivisionError: the step gave way", "ERR_START"),
        ("in a group", "the step gave way", "ERR_TEST_STEP"),
    ],
)
async def test_a_failed_start_stops_what_had_started_and_tells_its_cause(
    steps: Any, fails: str, message: str, code: str
) -> None:
    some = steps(
        "metadata: { name: Ground }",
        "metadata: { name: Walls }\nneeds: [!ref Ground]",
        f"metadata: {{ name: Roof }}\nneeds: [!ref Walls]\nfails: {fails}",
        "metadata: { name: Chimney }\nneeds: [!ref Roof]",
    )

    with pytest.raises(runtime.StartError) as caught:
        async with some.opened():
            raise AssertionError("nothing is there to be used")

    error = caught.value
    assert (error.message, error.code, error.resource, error.exit_status) == (message, code, "Roof", 3)
    assert some.notes.of(" closed") == ["Walls closed", "Ground closed"]
    assert not any(line.startswith("Chimney") for line in some.notes.lines)


async def test_a_failed_start_cancels_what_is_still_starting(steps: Any) -> None:
    some = steps(
        "metadata: { name: Slow }\nwaitFor: never",
        'metadata: { name: Bad }\nwaitFor: "Slow starts"\nfails: at open',
    )

    with pytest.raises(runtime.StartError):
        async with some.opened():
            pass

    assert some.notes.of("cancelled", " opened", " closed") == ["Slow was cancelled"]


async def test_cancellation_while_starting_closes_what_was_open(steps: Any) -> None:
    some = steps("metadata: { name: Ground }", "metadata: { name: Slow }\nneeds: [!ref Ground]\nwaitFor: never")

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await anyio.wait_all_tasks_blocked()
                assert "Slow starting" in some.notes.lines
                scope.cancel()

            group.start_soon(cancel)
            async with some.opened():
                raise AssertionError("it never comes up")

    assert some.notes.of("cancelled", " closed") == ["Slow was cancelled", "Ground closed"]


async def test_cancellation_while_open_closes_everything_in_order(steps: Any) -> None:
    some = steps("metadata: { name: Ground }", "metadata: { name: Roof }\nneeds: [!ref Ground]")

    with anyio.CancelScope() as scope:
        async with some.opened():
            scope.cancel()
            await anyio.lowlevel.checkpoint()

    assert some.notes.of(" closed") == ["Roof closed", "Ground closed"]


async def test_an_error_of_the_user_comes_out_as_it_is(steps: Any) -> None:
    some = steps("metadata: { name: Ground }")

    with pytest.raises(LookupError, match="mine"):
        async with some.opened():
            raise LookupError("mine")

    assert some.notes.of(" closed") == ["Ground closed"]


async def test_a_failed_stop_is_a_warning_and_the_rest_stops(steps: Any) -> None:
    some = steps(
        "metadata: { name: Ground }",
        "metadata: { name: Walls }\nneeds: [!ref Ground]\nfails: at close",
        "metadata: { name: Roof }\nneeds: [!ref Walls]",
    )

    async with some.opened():
        pass

    assert some.notes.of(" closed", "gave way") == [
        "Roof closed",
        "Walls closed",
        "Walls warns: did not stop cleanly: the step gave way",
        "Ground closed",
    ]


async def test_a_resource_that_dies_ends_what_is_done_with_it(steps: Any) -> None:
    some = steps(
        "metadata: { name: Ground }",
        "metadata: { name: Walls }\nneeds: [!ref Ground]\nfails: while open",
        "metadata: { name: Roof }\nneeds: [!ref Walls]",
    )

    with pytest.raises(runtime.Error) as caught:
        async with some.opened():
            some.event("Walls is to fail").set()
            await anyio.sleep_forever()

    error = caught.value
    assert (error.message, error.code, error.resource) == ("the step gave way", "ERR_TEST_STEP", "Walls")
    assert not isinstance(error, runtime.StartError)
    assert sorted(some.notes.of(" closed")) == ["Ground closed", "Roof closed", "Walls closed"]


async def test_secrets_are_masked_in_all_that_a_resource_says(steps: Any) -> None:
    some = steps('metadata: { name: Bad }\nfails: at open\nmessage: "no ${{ secrets.token }} here"')

    with pytest.raises(runtime.StartError) as caught:
        async with some.opened(TOKEN="hush-hush"):
            pass

    assert (caught.value.message, caught.value.hint) == ("no *** here", "see no *** here")


async def test_nothing_to_open_is_open_at_once(steps: Any) -> None:
    async with steps().opened() as live:
        assert live == {}
