"""The exchanges of one recording, each of which is played once."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from runtime.cassette.borders import MODEL
from runtime.cassette.contents import CassetteError, Exchange, Mode, Recording
from runtime.cassette.differences import compare_values
from runtime.cassette.matching import Request, read_pointers
from runtime.errors import ExpectationError


class Deck:
    """`strict` gives the exchange whose request is the same. `lenient` takes, where there is none, what comes next: of
    calls the next one of the same tool, of a model's turns the next one at the same place in a conversation.

    What was not recorded is added to `faults` as well as raised.
    """

    def __init__(
        self, recording: Recording, folder: str, mode: Mode, ignore: Sequence[str], faults: list[ExpectationError]
    ) -> None:
        self._faults = faults
        self._recording = recording
        self._folder = folder
        self._mode = mode
        self._pointers = read_pointers((*recording.ignore, *ignore))
        self._left = list(range(len(recording.exchanges)))

    @property
    def list_number(self) -> int:
        """Which list of tools holds now, by the exchanges that are over."""
        over = len(self._recording.exchanges) - len(self._left)
        return max((place for place, each in enumerate(self._recording.tool_lists) if each.after <= over), default=0)

    def take(self, value: dict[str, Any]) -> Exchange:
        """The exchange that answers a request; raises CassetteError ERR_CASSETTE_MISMATCH."""
        request = Request(value, self._pointers)
        exchanges = self._recording.exchanges
        found = next((place for place in self._left if request.fits(exchanges[place])), None)
        near = self._nearest(value) if found is None else None
        if found is None and self._mode == "lenient":
            found = near
        if found is None:
            error = self._refuse(request, near)
            self._faults.append(error)
            raise error
        self._left.remove(found)
        return exchanges[found]

    def _nearest(self, value: dict[str, Any]) -> int | None:
        """The exchange that could be meant: at the same place of a conversation or of the same tool, and most alike."""
        exchanges, wanted = self._recording.exchanges, self._kind_of(value)
        places = [place for place in self._left if self._kind_of(exchanges[place].request) == wanted]
        return max(places, key=lambda place: _likeness(exchanges[place].request, value), default=None)

    def _kind_of(self, value: dict[str, Any]) -> Any:
        if self._recording.contract == MODEL:
            return sum(message["role"] == "assistant" for message in value["messages"])
        return value.get("name"), value.get("method")

    def _refuse(self, request: Request, near: int | None) -> CassetteError:
        name, count = self._recording.key, len(self._recording.exchanges)
        hint = "when the change is meant, record anew; what differs each time goes into `ignore` of the recording"
        if near is None:
            used = [place for place in range(count) if request.fits(self._recording.exchanges[place])]
            what = self._describe(request.value)
            message = (
                f'{what} is asked of "{name}" more often than it was recorded'
                if used
                else f'{what} is asked of "{name}", and nothing of the kind was recorded or is left'
            )
            return CassetteError(message, code="ERR_CASSETTE_MISMATCH", hint=hint)
        diff = compare_values(request.recorded(self._recording.exchanges[near]), request.value)
        return CassetteError(
            f'what is asked of "{name}" is not what was recorded, exchange {near + 1} of {self._folder}',
            code="ERR_CASSETTE_MISMATCH",
            hint=hint,
            details={"recording": name, "exchange": near + 1, "diff": diff},
        )

    def unused(self) -> list[str]:
        """The exchanges that nobody asked for, in words."""
        exchanges = self._recording.exchanges
        return [
            f'exchange {place + 1} of "{self._recording.key}": {self._describe(exchanges[place].request)}'
            for place in self._left
        ]

    def _describe(self, value: dict[str, Any]) -> str:
        if self._recording.contract == MODEL:
            return f"turn {self._kind_of(value) + 1} of a conversation"
        named = value.get("name") or value.get("method")
        return f'a call of "{named}"' if named else "a call"


def _likeness(one: dict[str, Any], other: dict[str, Any]) -> int:
    """How many messages of a conversation, from its start, or how many arguments are the same."""
    if "messages" in one:
        pairs = zip(one["messages"], other["messages"], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    arguments = (one.get("arguments") or {}, other.get("arguments") or {})
    return sum(arguments[1].get(name) == value for name, value in arguments[0].items())
