"""How a process that stays up ends: the first signal in order, a second one at once."""

import signal
from collections.abc import Callable


class Signals:
    """The first SIGINT or SIGTERM ends the service in order, a second one at once; SIGHUP reads the set again.

    `code` is what the process ends with: 0 after SIGTERM, 130 after SIGINT.
    """

    def __init__(self) -> None:
        self.code = 0
        self._asked: set[str] = set()
        self._wake: dict[str, Callable[[], None]] = {}

    def take(self, number: signal.Signals) -> bool:
        """Whether the signal is taken care of; for `run_until_signal`."""
        what = "reload" if number == signal.SIGHUP else "end"
        if "end" in self._asked:
            return False
        if what == "end":
            self.code = 130 if number == signal.SIGINT else 0
        self._asked.add(what)
        self._wake.get(what, lambda: None)()
        return True

    async def ended(self) -> None:
        """Until the service is asked to end."""
        await self._wait("end")

    async def next_reload(self) -> None:
        """Until it is asked to read the set again; that is done then."""
        await self._wait("reload")
        self._asked.discard("reload")

    async def _wait(self, what: str) -> None:
        import asyncio

        asked = asyncio.Event()
        self._wake[what] = asked.set
        if what not in self._asked:
            await asked.wait()
