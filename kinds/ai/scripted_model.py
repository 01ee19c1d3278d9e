"""`Ai.ScriptedModel`: a model that follows a script, with no network and no key."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from kinds.ai.scripting.fields import ScriptedRule, ScriptedTurn, find_pattern_fault
from runtime.ai.contracts import Model
from runtime.ai.prices import PricesField
from runtime.errors import StartError
from runtime.kind import Context, Inspection, Kind, kind


@kind("Ai.ScriptedModel", implements=Model)
class ScriptedModel(Kind):
    """A model that follows a script, with no network and no key.

    With `turns` the n-th answer of a conversation is turn n: a new conversation starts at the first. With `rules` the
    first rule that fits answers. With neither it is a demo: it picks an offered tool by the words of the prompt.
    """

    turns: (
        Annotated[Sequence[ScriptedTurn], Meta(description="The answers of a conversation, in order.", min_length=1)]
        | UnsetType
    ) = UNSET
    rules: (
        Annotated[Sequence[ScriptedRule], Meta(description="Answers by condition; the first that fits.", min_length=1)]
        | UnsetType
    ) = UNSET

    prices: PricesField = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: `turns` beside `rules`, and a condition that is no regular expression."""
        if any(inspection.find("turns")):
            for path, _ in inspection.find("rules"):
                inspection.report("SCHEMA_VALUE", path, "a scripted model takes `turns` or `rules`, not both")
        for answers, condition in (("turns", "expect"), ("rules", "when")):
            for field in ("user", "toolResult", "system"):
                for path, pattern in inspection.find(answers, "*", condition, field):
                    fault = find_pattern_fault(pattern)
                    if fault is not None:
                        inspection.report("SCHEMA_VALUE", path, f"'{pattern}' is no regular expression: {fault}")

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        from kinds.ai.scripting.demo import Demo
        from kinds.ai.scripting.script import Script

        if self.turns and self.rules:
            raise StartError("a scripted model takes `turns` or `rules`, not both", resource=context.name)
        if self.turns or self.rules:
            yield Script(context, self.turns or (), self.rules or (), self.prices)
        else:
            yield Demo()
