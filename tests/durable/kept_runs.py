"""Fills the store `sqlite:///runs.db` of this folder with one run of each state, and dies in the middle of one."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio

from runtime.durable.contracts import Journal, Target, Wait
from runtime.durable.engine import open_store
from runtime.durable.intake import Intake, taking_up
from runtime.durable.watch import StoreRules
from runtime.errors import Error


async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
    async def think() -> Any:
        return {"text": "x" * inputs.get("length", 5)}

    async def die() -> Any:
        os._exit(9)

    async def nobody() -> None:
        return None

    await journal.reserve("model").run(think)
    match inputs["do"]:
        case "fail":
            raise Error("the model is gone", code="ERR_MODEL_GONE")
        case "wait":
            said = 'the call of "send" was under way when its process died, and may have been carried out'
            await journal.decide(Wait("ERR_DURABLE_UNCERTAIN", said, 3, "send"), nobody)
        case "die":
            await journal.reserve("call send").run(die)
    return {"text": "done"}


async def main() -> None:
    rules = StoreRules("sqlite:///runs.db", 60.0, None)
    target = Target(name="Asker", digest="d1", work=work)
    with taking_up(Intake(0)):
        async with open_store(rules, ".", str, print) as store:
            with store.host(target), store.host(Target(name="Teller", digest="d1", work=work)):
                await (await store.start("Asker", {"do": "finish", "length": 200}, run_id="finished")).result()
                for name in ("fail", "wait"):
                    with suppress(Error):
                        await (await store.start("Asker", {"do": name}, run_id=name)).result()
                await store.start("Teller", {"do": "finish"}, run_id="queued", queued=True)
                await (await store.start("Asker", {"do": "die"}, run_id="died")).result()


anyio.run(main)
