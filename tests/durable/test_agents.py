"""Agents and tasks whose runs are kept: interrupted in one store, taken up in the next, with the same agent loop."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from runtime.ai.agent import Agent
from runtime.ai.approval import ApprovalRequest, Decision, approvals_by
from runtime.ai.contracts import ModelRequest, TextDelta, Tool, ToolCall, TurnEnd, Usage
from runtime.ai.events import Answer, Failed
from runtime.ai.journal import SKIPPED, JournalRules
from runtime.ai.kept import KeptAgent, KeptRules, KeptTask, make_agent_target, make_task_target
from runtime.ai.run import RunRules
from runtime.ai.task import Task
from runtime.ai.tool_set import Source
from runtime.ai.turn import ToolRules
from runtime.ai.uncertainty import UncertainCall, uncertain_by
from runtime.ai.wishes import Wishes
from runtime.errors import AgentError, DurableError, ExpectationError
from runtime.runs import call_key

pytest.importorskip("dbos")
from runtime.durable.engine import DbosStore, open_store
from runtime.durable.watch import StoreRules

pytestmark = pytest.mark.anyio


class Turns:
    """A model whose n-th turn of a conversation is given: the names of the tools that it calls."""

    tool_format = ""
    max_tools = None

    def __init__(self, *turns: Sequence[str]) -> None:
        self.turns = turns
        self.asked: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        self.asked.append(ModelRequest(list(request.messages), request.tools))
        turn = sum(message.role == "assistant" for message in request.messages)
        yield TextDelta("turn ")
        yield TextDelta(str(turn))
        wanted = self.turns[turn] if turn < len(self.turns) else ()
        calls = [ToolCall("", name, '{"n": 1}') for name in wanted]
        yield TurnEnd(calls, "tool-calls" if calls else "stop", Usage(2, 1, 3))


class Box:
    """A provider: each call of a tool is noted; those in `hanging` do not come to an end."""

    def __init__(self, *names: str, hanging: Sequence[str] = (), safe: Sequence[str] = (), **more: Any) -> None:
        self.name = "Box"
        self.is_resumable = more.get("resumable", True)
        self.called: list[str] = []
        self.keys: list[str] = []
        self.begun = anyio.Event()
        self._hanging = hanging
        schema = {"type": "object"}
        self.listing = [Tool(name, "", schema, {"readOnlyHint": True} if name in safe else {}) for name in names]

    async def list_tools(self) -> Sequence[Tool]:
        return self.listing

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.called.append(name)
        self.keys.append(call_key())
        if name in self._hanging:
            self.begun.set()
            await anyio.sleep_forever()
        return f"{name} gave {arguments['n']}"


def make_agent(model: Any, *boxes: Any, **rules: Any) -> Agent:
    sources = [Source(box, box.name) for box in boxes]
    return Agent("Assistant", model, sources, RunRules(**rules), lambda message: None)


@asynccontextmanager
async def kept(folder: Path, agent: Agent, **rules: Any) -> AsyncIterator[tuple[DbosStore, KeptAgent]]:
    """The agent, its runs kept in the folder's store."""
    mask = rules.pop("mask", str)
    journal = KeptRules(JournalRules(**rules), False)
    async with open_store(StoreRules("sqlite:///runs.db", 60, None), str(folder), mask, lambda line: None) as store:
        with store.host(make_agent_target(agent, journal, "one")):
            yield store, KeptAgent(agent, store).named("run")


async def interrupt(folder: Path, agent: Agent, box: Box, **rules: Any) -> None:
    """Begin a run, and take the store down while a call of the box hangs."""
    async with kept(folder, agent, **rules) as (store, _):
        await store.start("Assistant", {"prompt": "go"}, run_id="run")
        with anyio.fail_after(30):
            await box.begun.wait()


async def finish(folder: Path, agent: Agent, **rules: Any) -> dict[str, Any]:
    """Take the run up and give its answer."""
    with anyio.fail_after(30):
        async with kept(folder, agent, **rules) as (_, named):
            return await named.invoke({})


def plain(answer: Mapping[str, Any]) -> Any:
    """An answer without the times that calls took."""
    answer = msgspec.to_builtins(answer)
    for step in answer["steps"]:
        for result in step["toolResults"]:
            result.pop("durationMs", None)
    return answer


async def test_a_kept_run_tells_what_a_run_tells(tmp_path: Path) -> None:
    agent = make_agent(Turns(["a", "b"]), Box("a", "b"))
    plainly = [event async for event in agent.run({"prompt": "go"})]
    async with kept(tmp_path, agent) as (_, named):
        events = [event async for event in named.run({"prompt": "go"})]
        again = [event async for event in named.run({})]

    assert [type(event) for event in events] == [type(event) for event in plainly]
    answers = [Answer() for _ in range(3)]
    for answer, told in zip(answers, (plainly, events, again), strict=True):
        for event in told:
            answer.add(event)
    assert plain(answers[0].to_json()) == plain(answers[1].to_json()) == plain(answers[2].to_json())


async def test_a_run_goes_on_where_it_was_and_the_model_sees_what_it_would_have_seen(tmp_path: Path) -> None:
    whole = Turns(["a", "b"], ["c"])
    await make_agent(whole, Box("a", "b", "c")).invoke({"prompt": "go"})
    box = Box("a", "b", "c", hanging=["c"], safe=["c"])
    await interrupt(tmp_path, make_agent(Turns(["a", "b"], ["c"]), box), box)
    model, second = Turns(["a", "b"], ["c"]), Box("a", "b", "c", safe=["c"])

    answer = await finish(tmp_path, make_agent(model, second))

    assert (sorted(box.called), second.called) == (["a", "b", "c"], ["c"])
    assert (answer["text"], answer["usage"]["totalTokens"]) == ("turn 2", 9)
    assert len(model.asked) == 1
    assert msgspec.to_builtins(model.asked[0].messages) == msgspec.to_builtins(whole.asked[-1].messages)
    assert box.keys[-1] == second.keys[-1] != ""  # the call is known as the same


async def test_calls_of_one_turn_that_are_over_are_not_made_again(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    box = Box(*names, hanging=["b", "d"], safe=names)
    async with kept(tmp_path, make_agent(Turns(names), box)) as (store, _):
        await store.start("Assistant", {"prompt": "go"}, run_id="run")
        with anyio.fail_after(30):
            while len([step for step in (await store.ledger.show("run")).steps if step.name.startswith("call ")]) < 2:
                await box.begun.wait()
    second = Box(*names, safe=names)

    answer = await finish(tmp_path, make_agent(Turns(names), second))

    assert sorted(second.called) == ["b", "d"]
    assert [result["content"] for result in answer["steps"][0]["toolResults"]] == [f"{name} gave 1" for name in names]


async def test_the_tools_that_were_offered_are_offered_again(tmp_path: Path) -> None:
    box = Box("a", "b", hanging=["b"], safe=["b"])
    await interrupt(tmp_path, make_agent(Turns(["a"], ["b"]), box), box)
    model, second = Turns(["a"], ["b"], ["new"]), Box("b", "new", safe=["b"])

    answer = await finish(tmp_path, make_agent(model, second))

    # The turns that are recorded were made with `a`; the next one sees what there is by then.
    assert [tool.name for tool in model.asked[0].tools] == ["b", "new"]
    assert second.called == ["b", "new"]
    assert answer["text"] == "turn 3"


async def test_a_call_that_may_have_been_made_waits_until_somebody_decides(tmp_path: Path) -> None:
    box = Box("a", hanging=["a"])
    await interrupt(tmp_path, make_agent(Turns(["a"]), box), box)
    second = Box("a")
    async with kept(tmp_path, make_agent(Turns(["a"]), second)) as (store, named):
        for _ in range(2):  # it asks as often as it is taken up
            with anyio.fail_after(30), pytest.raises(DurableError) as raised:
                await named.invoke({})
            assert raised.value.code == "ERR_DURABLE_UNCERTAIN"
            assert (await store.ledger.info("run")).state == "waiting"
        assert second.called == []
        await store.ledger.resume("run", uncertain="retry")
        assert (await named.invoke({}))["text"] == "turn 1"
    assert second.called == ["a"]


@pytest.mark.parametrize(
    ("choice", "called", "content"), [("retry", ["a"], "a gave 1"), ("skip", [], SKIPPED), ("fail", [], "")]
)
async def test_whoever_is_there_decides(tmp_path: Path, choice: Any, called: list[str], content: str) -> None:
    box, second = Box("a", hanging=["a"]), Box("a")
    await interrupt(tmp_path, make_agent(Turns(["a"]), box), box)
    asked: list[UncertainCall] = []

    async def decide(call: UncertainCall) -> Any:
        asked.append(call)
        return choice

    with uncertain_by(decide):
        if choice == "fail":
            with pytest.raises(DurableError) as raised:
                await finish(tmp_path, make_agent(Turns(["a"]), second))
            assert raised.value.code == "ERR_DURABLE_UNCERTAIN"
        else:
            answer = await finish(tmp_path, make_agent(Turns(["a"]), second))
            assert answer["steps"][0]["toolResults"][0]["content"] == content

    assert [(call.agent, call.run, call.tool, call.arguments) for call in asked] == [
        ("Assistant", "run", "a", {"n": 1})
    ]
    assert second.called == called


@pytest.mark.parametrize(
    ("rules", "called"),
    [({"on_uncertain": "retry"}, ["a"]), ({"on_uncertain": "fail"}, []), ({"retry_safe": ["a*"]}, ["a"])],
)
async def test_the_manifest_decides(tmp_path: Path, rules: dict[str, Any], called: list[str]) -> None:
    box, second = Box("a", hanging=["a"]), Box("a")
    await interrupt(tmp_path, make_agent(Turns(["a"]), box), box, **rules)
    if called:
        assert (await finish(tmp_path, make_agent(Turns(["a"]), second), **rules))["text"] == "turn 1"
    else:
        with pytest.raises(DurableError) as raised:
            await finish(tmp_path, make_agent(Turns(["a"]), second), **rules)
        assert raised.value.code == "ERR_DURABLE_UNCERTAIN"
    assert second.called == called


async def test_an_approval_is_asked_for_once(tmp_path: Path) -> None:
    asked = []

    async def approve(request: ApprovalRequest) -> Decision:
        asked.append(request.tool)
        return Decision(request.tool != "b", "not b")

    rules = {"tools": ToolRules(approval=["*"])}
    box, second = Box("a", "b", "c", hanging=["c"], safe=["c"]), Box("a", "b", "c", safe=["c"])
    with approvals_by(approve):
        await interrupt(tmp_path, make_agent(Turns(["a", "b"], ["c"]), box, **rules), box)
        answer = await finish(tmp_path, make_agent(Turns(["a", "b"], ["c"]), second, **rules))

    assert (asked, second.called) == (["a", "b", "c"], ["c"])
    assert answer["steps"][0]["toolResults"][1]["code"] == "ERR_AGENT_APPROVAL"


async def test_a_run_whose_tools_lost_their_state_ends(tmp_path: Path) -> None:
    box = Box("a", "b", hanging=["b"], safe=["b"], resumable=False)
    await interrupt(tmp_path, make_agent(Turns(["a"], ["b"]), box), box)
    second = Box("a", "b", safe=["b"], resumable=False)

    with pytest.raises(AgentError) as raised:
        await finish(tmp_path, make_agent(Turns(["a"], ["b"]), second))

    assert (raised.value.code, raised.value.message) == (
        "ERR_AGENT_RESUMABLE",
        'the run used "Box", whose state ended with the process that used it',
    )
    assert second.called == []


async def test_a_call_that_held_a_secret_is_not_made_with_stars(tmp_path: Path) -> None:
    class Telling(Turns):
        async def generate(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
            if any(message.role == "assistant" for message in request.messages):
                yield TurnEnd((), "stop", Usage())
            else:
                yield TurnEnd([ToolCall("", "a", '{"n": "hunter2"}')], "tool-calls", Usage())

    def mask(text: str) -> str:
        return text.replace("hunter2", "***")

    box = Box("a", hanging=["a"], safe=["a"])
    await interrupt(tmp_path, make_agent(Telling(), box), box, mask=mask)
    second = Box("a", safe=["a"])

    with pytest.raises(DurableError) as raised:
        await finish(tmp_path, make_agent(Telling(), second), mask=mask)

    assert (raised.value.code, second.called) == ("ERR_DURABLE_SECRET", [])
    assert b"hunter2" not in (tmp_path / "runs.db").read_bytes()


async def test_who_does_not_wait_any_more_cancels_and_the_run_can_be_taken_up(tmp_path: Path) -> None:
    box = Box("a", hanging=["a"], safe=["a"])
    async with kept(tmp_path, make_agent(Turns(["a"]), box)) as (store, named):
        with anyio.fail_after(30):
            async with aclosing(named.run({"prompt": "go"})) as events:
                await anext(events)
        assert (await store.ledger.info("run")).state == "cancelled"
    assert (await finish(tmp_path, make_agent(Turns(["a"]), Box("a", safe=["a"]))))["text"] == "turn 1"


async def test_a_store_that_is_let_go_leaves_runs_to_others(tmp_path: Path) -> None:
    box = Box("a", hanging=["a"], safe=["a"])
    async with kept(tmp_path, make_agent(Turns(["a"]), box)) as (store, named):
        with anyio.fail_after(30):
            async with aclosing(named.run({"prompt": "go"})) as events:
                await anext(events)
                store.release()
    async with kept(tmp_path, make_agent(Turns(["a"]), Box("a", safe=["a"]))) as (store, named):
        assert (await store.ledger.info("run")).state in ("interrupted", "queued", "running", "finished")
        assert (await named.invoke({}))["text"] == "turn 1"


async def test_a_run_that_fails_tells_so_and_once_more_when_it_is_asked_for(tmp_path: Path) -> None:
    async with kept(tmp_path, make_agent(Turns(["a"]), Box("a"), max_steps=1)) as (_, named):
        for _ in range(2):
            events = []
            with pytest.raises(AgentError) as raised:
                async for event in named.run({"prompt": "go"}):
                    events.append(event)
            assert raised.value.code == "ERR_AGENT_MAX_STEPS"
            assert isinstance(events[-1], Failed)


async def test_a_caller_with_wishes_has_a_run_that_is_not_kept(tmp_path: Path) -> None:
    async with kept(tmp_path, make_agent(Turns())) as (store, named):
        run = named.start({"prompt": "go"}, Wishes(tool_choice="none"))
        assert [event async for event in run.events()]
        assert await store.ledger.list() == []


class Delegating(Box):
    """A provider whose tool is another agent."""

    def __init__(self, agent: Any) -> None:
        super().__init__("ask")
        self.name = "Delegating"
        self.agent = agent
        self.listing = [Tool("ask", "", {"type": "object"}, {"idempotentHint": True})]

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.called.append(name)
        return (await self.agent.invoke({"prompt": "help"}))["text"]


@asynccontextmanager
async def nested(folder: Path, box: Box) -> AsyncIterator[tuple[DbosStore, KeptAgent, Turns]]:
    """An agent whose tool is another agent, the runs of both kept."""
    model = Turns(["a"])
    helper = Agent("Helper", model, [Source(box, box.name)], RunRules(), lambda message: None)
    async with AsyncExitStack() as stack:
        rules = StoreRules("sqlite:///runs.db", 60, None)
        store = await stack.enter_async_context(open_store(rules, str(folder), str, lambda line: None))
        stack.enter_context(store.host(make_agent_target(helper, KeptRules(JournalRules(), False), "one")))
        agent = make_agent(Turns(["ask"]), Delegating(KeptAgent(helper, store)))
        stack.enter_context(store.host(make_agent_target(agent, KeptRules(JournalRules(), False), "one")))
        yield store, KeptAgent(agent, store).named("run"), model


async def test_an_agent_that_is_a_tool_has_a_run_of_its_own_which_goes_on_as_well(tmp_path: Path) -> None:
    box = Box("a", hanging=["a"], safe=["a"])
    async with nested(tmp_path, box) as (store, _, _):
        await store.start("Assistant", {"prompt": "go"}, run_id="run")
        with anyio.fail_after(30):
            await box.begun.wait()
        assert {info.target for info in await store.ledger.list()} == {"Assistant", "Helper"}
    second = Box("a", safe=["a"])

    with anyio.fail_after(30):
        async with nested(tmp_path, second) as (store, named, model):
            answer = await named.invoke({})
            infos = {info.target: info for info in await store.ledger.list()}

    assert answer["steps"][0]["toolResults"][0]["content"] == "turn 1"
    assert (second.called, len(model.asked)) == (["a"], 1)
    assert {target: info.state for target, info in infos.items()} == {"Assistant": "finished", "Helper": "finished"}
    assert infos["Helper"].id == "run/5"


class Evaluating:
    """A context in which nothing has to be evaluated."""

    name = "Work"

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return value


async def test_a_task_is_kept_with_what_its_agent_does(tmp_path: Path) -> None:
    box = Box("a", hanging=["a"], safe=["a"])

    @asynccontextmanager
    async def task(box: Box, schema: Mapping[str, Any] | None) -> AsyncIterator[tuple[DbosStore, KeptTask]]:
        agent = make_agent(Turns(["a"]), box)
        work = Task(Evaluating(), agent, {"prompt": "go"}, None, schema, ())  # type: ignore[arg-type]
        rules = StoreRules("sqlite:///runs.db", 60, None)
        async with open_store(rules, str(tmp_path), str, lambda line: None) as store:
            with store.host(make_task_target(work, KeptRules(JournalRules(), False), "one")):
                yield store, KeptTask(work, store).named("run")

    async with task(box, None) as (store, _):
        await store.start("Work", {}, run_id="run")
        with anyio.fail_after(30):
            await box.begun.wait()
    second = Box("a", safe=["a"])
    async with task(second, {"type": "integer"}) as (store, named):
        with anyio.fail_after(30), pytest.raises(ExpectationError) as raised:
            await named.invoke({})
        steps = [step.name for step in (await store.ledger.show("run")).steps]

    assert raised.value.message == "the answer is not JSON"
    assert second.called == ["a"]
    assert steps == ["tools", "model", "call a", "model"]


async def test_what_a_task_runs_that_is_no_agent_is_one_call(tmp_path: Path) -> None:
    class Sending:
        def __init__(self, *, is_hanging: bool) -> None:
            self.is_hanging = is_hanging
            self.begun = anyio.Event()

        async def invoke(self, inputs: Mapping[str, Any]) -> Any:
            self.begun.set()
            if self.is_hanging:
                await anyio.sleep_forever()
            return {"sent": inputs}

    async def run(worker: Sending, run_id: str) -> Any:
        work = Task(Evaluating(), worker, {}, None, None, ())  # type: ignore[arg-type]
        rules = StoreRules("sqlite:///runs.db", 60, None)
        async with open_store(rules, str(tmp_path), str, lambda line: None) as store:
            with store.host(make_task_target(work, KeptRules(JournalRules(), False), "one")), anyio.fail_after(30):
                if worker.is_hanging:
                    await store.start("Work", {"n": 1}, run_id=run_id)
                    return await worker.begun.wait()
                return await KeptTask(work, store).named(run_id).invoke({"n": 1})

    assert await run(Sending(is_hanging=False), "one") == {"sent": {"n": 1}}
    await run(Sending(is_hanging=True), "two")
    again = Sending(is_hanging=False)
    with pytest.raises(DurableError) as raised:
        await run(again, "two")
    assert (raised.value.code, again.begun.is_set()) == ("ERR_DURABLE_UNCERTAIN", False)
