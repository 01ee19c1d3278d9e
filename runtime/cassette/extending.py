"""Recording what a cassette does not have yet: what was recorded answers, the rest is live and comes behind it."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from runtime.ai.contracts import ModelRequest, TextDelta, TurnEnd
from runtime.cassette.borders import MODEL, Border
from runtime.cassette.contents import CassetteError, Mode, Recording, ToolList
from runtime.cassette.deck import Deck
from runtime.cassette.reader import CassetteReader
from runtime.cassette.recording import Recorder
from runtime.cassette.replaying import make_player
from runtime.cassette.writer import ENDING, is_recording_file
from runtime.lifecycle import Opener, open_kind
from runtime.masking import Masker
from runtime.resource_set import Resource


class Extender(Recorder):
    """Records on the border of one run what is not in its cassette, which answers for all else."""

    def __init__(
        self,
        reader: CassetteReader,
        folder: str,
        borders: Mapping[Resource, Border],
        masker: Masker,
        *,
        mode: Mode = "strict",
        ignore: Mapping[str, Sequence[str]] | None = None,
        opener: Opener = open_kind,
    ) -> None:
        super().__init__(borders, masker, opener)
        self._reader = reader
        self._folder = folder
        self._mode = mode
        self._ignore = ignore or {}
        self._decks: dict[str, Deck] = {}

    def _wrap(self, border: Border, recorded: Any) -> Any:
        if not os.path.lexists(os.path.join(self._folder, border.key + ENDING)):
            return recorded
        recording = self._reader.read(self._folder, border.key)
        deck = self._decks[border.key] = Deck(recording, self._folder, self._mode, self._ignore.get(border.key, ()), [])
        return _EXTENDED.get(border.contract, Extended)(make_player(recording, deck, self._masker), recorded)

    def finish(self, ignore: Mapping[str, Sequence[str]] | None = None) -> list[Recording]:
        """All recordings of the cassette, each with what is new behind what it had; none where nothing is new."""
        made = {each.key: each for each in super().finish(ignore or {})}
        if all(key in self._decks and not each.exchanges for key, each in made.items()):
            return []
        there = [name.removesuffix(ENDING) for name in os.listdir(self._folder) if name.endswith(ENDING)]
        old = {
            key: self._reader.read(self._folder, key)
            for key in there
            if is_recording_file(os.path.join(self._folder, key + ENDING))
        }
        return [
            _extend(old[key], made[key]) if key in old and key in made else (old.get(key) or made[key])
            for key in sorted(old.keys() | made.keys())
        ]

    def unused(self) -> list[str]:
        """What was recorded and not asked for, in words."""
        return [text for deck in self._decks.values() for text in deck.unused()]


def _extend(old: Recording, new: Recording) -> Recording:
    over = len(old.exchanges)
    lists = list(old.tool_lists)
    for each in new.tool_lists:
        if not lists or lists[-1].tools != each.tools:
            lists.append(ToolList(over + each.after, each.tools))
    return Recording(old.key, old.contract, old.facts, old.ignore, lists, [*old.exchanges, *new.exchanges])


class Extended:
    """Asks the recording first. What an instance has beside its contract, and its tools, are the live one's."""

    def __init__(self, player: Any, recorded: Any) -> None:
        self._player = player
        self._recorded = recorded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorded, name)

    async def _ask(self, name: str, *given: Any, **named: Any) -> Any:
        try:
            return await getattr(self._player, name)(*given, **named)
        except CassetteError:  # it was not recorded
            return await getattr(self._recorded, name)(*given, **named)

    async def call_tool(self, name: str, arguments: Mapping[str, Any], **named: Any) -> Any:
        return await self._ask("call_tool", name, arguments, **named)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self._ask("request", method, params)

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        return await self._ask("invoke", inputs)


class ExtendedModel(Extended):
    """Keeps the contract `Ai.Model`."""

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        try:
            async with aclosing(self._player.generate(request)) as turn:
                async for piece in turn:
                    yield piece
            return
        except CassetteError:  # it was not recorded
            pass
        async with aclosing(self._recorded.generate(request)) as turn:
            async for piece in turn:
                yield piece


_EXTENDED: dict[str, Any] = {MODEL: ExtendedModel}
