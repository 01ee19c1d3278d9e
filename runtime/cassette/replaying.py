"""Replaying a run: what stood on its border answers as it was recorded, with nothing started and nothing connected."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from runtime.ai.contracts import ModelRequest, TextDelta, Tool, ToolResult, TurnEnd
from runtime.cassette.borders import CLIENT, MODEL, PROVIDER, Border
from runtime.cassette.contents import Mode, Recording
from runtime.cassette.deck import Deck
from runtime.cassette.masking import mask_value
from runtime.cassette.reader import CassetteReader
from runtime.cassette.spelling import (
    read_end,
    read_error,
    read_result,
    read_server,
    read_tools,
    spell_request,
    spell_tools,
    split_pieces,
)
from runtime.errors import ExpectationError
from runtime.kind import Context
from runtime.lifecycle import Opener, open_kind
from runtime.masking import Masker
from runtime.resolver import Node
from runtime.resource_set import Resource


class Replay:
    """One run over a cassette; `open` is the run's opener. Each replay uses every exchange once at most.

    `ignore` has rules beside those of the recordings, by their keys.
    """

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
        self._reader = reader
        self._folder = folder
        self._borders = borders
        self._masker = masker
        self._mode = mode
        self._ignore = ignore or {}
        self._opener = opener
        self._decks: list[Deck] = []
        self._faults: list[ExpectationError] = []

    def open(self, node: Node, instances: Mapping[Node, Any], context: Context) -> AbstractAsyncContextManager[Any]:
        border = self._borders.get(node.resource)
        return self._open(border) if border else self._opener(node, instances, context)

    @asynccontextmanager
    async def _open(self, border: Border) -> AsyncIterator[Any]:
        recording = self._reader.read(self._folder, border.key)
        deck = Deck(recording, self._folder, self._mode, self._ignore.get(border.key, ()), self._faults)
        self._decks.append(deck)
        yield make_player(recording, deck, self._masker)

    @property
    def mismatch(self) -> ExpectationError | None:
        """The first request that was not recorded. Whoever asked may have taken it for a failure and gone on."""
        return self._faults[0] if self._faults else None

    def unused(self) -> list[str]:
        """What was recorded and not asked for, in words; nothing of what was opened."""
        return [text for deck in self._decks for text in deck.unused()]


class _Player:
    """What all players have: the recording, the deck that its exchanges are taken from, and the name."""

    def __init__(self, recording: Recording, deck: Deck, masker: Masker) -> None:
        self.name: str = recording.facts["name"]
        self.summary = "replayed"
        self._recording = recording
        self._deck = deck
        self._masker = masker

    async def _play(self, request: dict[str, Any]) -> Any:
        answer = self._deck.take(mask_value(msgspec.to_builtins(request), self._masker)).answer
        await checkpoint()
        await _end_otherwise(answer)
        return answer["result"]


async def _end_otherwise(answer: Mapping[str, Any]) -> None:
    """Raise the error that was recorded, or wait until whoever asks gives up, as it did."""
    if "error" in answer:
        raise read_error(answer["error"])
    if answer.get("cancelled"):
        await anyio.sleep_forever()


class ReplayedModel(_Player):
    """Keeps the contract `Ai.Model`."""

    def __init__(self, recording: Recording, deck: Deck, masker: Masker) -> None:
        super().__init__(recording, deck, masker)
        self.tool_format: str = recording.facts["toolFormat"]
        self.max_tools: int | None = recording.facts["maxTools"]
        self._tools: Sequence[Tool] = ()
        self._spelled: list[Any] = []

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        if request.tools is not self._tools:
            self._tools, self._spelled = request.tools, spell_tools(request.tools)
        answer = self._deck.take(mask_value(spell_request(request, self._spelled), self._masker)).answer
        await checkpoint()
        if "text" in answer:
            for piece in split_pieces(answer["text"], answer.get("pieces")):
                yield TextDelta(piece)
        await _end_otherwise(answer)
        yield read_end(answer)


class ReplayedClient(_Player):
    """Keeps the contract `Mcp.Client`."""

    def __init__(self, recording: Recording, deck: Deck, masker: Masker) -> None:
        super().__init__(recording, deck, masker)
        facts = recording.facts
        self.server = read_server(facts["server"])
        self.lifetime: str = facts["lifetime"]
        self.instructions: str = facts["instructions"]

    @property
    def tools_generation(self) -> int:
        return self._deck.list_number

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        return self._recording.tool_lists[self._deck.list_number].tools if self._recording.tool_lists else []

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, timeout_ms: int | None = None
    ) -> Mapping[str, Any]:
        request: dict[str, Any] = {"name": name, "arguments": arguments}
        if timeout_ms is not None:
            request["timeoutMs"] = timeout_ms
        result: Mapping[str, Any] = await self._play(request)
        return result

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        result: Mapping[str, Any] = await self._play({"method": method, "params": params})
        return result


class ReplayedProvider(_Player):
    """Keeps the contract `Ai.ToolProvider`."""

    def __init__(self, recording: Recording, deck: Deck, masker: Masker) -> None:
        super().__init__(recording, deck, masker)
        self.instructions: str = recording.facts["instructions"]
        self.is_available: bool = recording.facts["isAvailable"]
        self._lists = [read_tools(each.tools) for each in recording.tool_lists]

    async def list_tools(self) -> Sequence[Tool]:
        return self._lists[self._deck.list_number] if self._lists else []

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return read_result(await self._play({"name": name, "arguments": arguments}))


class ReplayedInvocable(_Player):
    """Keeps the contract `Runtime.Invocable`."""

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        return await self._play({"inputs": inputs})


def make_player(recording: Recording, deck: Deck, masker: Masker) -> Any:
    """What answers as it was recorded, and keeps the contract of what was recorded."""
    return _PLAYERS.get(recording.contract, ReplayedInvocable)(recording, deck, masker)


_PLAYERS: dict[str, Any] = {MODEL: ReplayedModel, CLIENT: ReplayedClient, PROVIDER: ReplayedProvider}
