"""Checks the folders that an editor has open: soon after a keystroke, one check at a time, off the event loop."""

import asyncio
import gc
import sys
import time
import traceback
from collections.abc import Callable

from runtime.checks import Checked, check
from runtime.lsp.folder import Folder
from runtime.manifest import Source
from runtime.reference import kinds, refer
from runtime.registry import Registry

SHORTEST_WAIT = 0.02
LONGEST_WAIT = 0.25
"""Seconds from a keystroke to the check, unless another one comes: half of what the last check took, within these."""

_FAULTY = b"kind: Ai.Agent\nmetadata: { name: A }\nmodel: 1\nsystem: ${{ variables.a }}\n"


class Checker:
    """Checks one folder whenever it is told of a change; `publish` gets what was found, in the event loop."""

    def __init__(
        self, folder: Folder, opened: Callable[[], dict[str, str]], publish: Callable[[Folder, Checked], None]
    ) -> None:
        self._folder = folder
        self._opened = opened
        self._publish = publish
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stale = False
        self._seconds = 0.0

    def notice(self) -> None:
        """Something has changed."""
        self._is_stale = True
        if self._timer is not None:
            self._timer.cancel()
        wait = min(max(self._seconds / 2, SHORTEST_WAIT), LONGEST_WAIT)
        self._timer = asyncio.get_running_loop().call_later(wait, self._start)

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._is_stale:
            self._is_stale = False
            started = time.perf_counter()
            try:
                checked = await asyncio.to_thread(self._folder.check, self._opened())
            except Exception:  # the border: our own fault must not end the service
                traceback.print_exc(file=sys.stderr)
                return
            self._seconds = time.perf_counter() - started
            if not self._is_stale:
                self._publish(self._folder, checked)


def warm_up() -> None:
    """Import what the first check with a fault, and the first completion, would have to wait for.

    What was imported stays as long as the process, so the garbage collector need not look at it any more.
    """
    check([Source("warm-up.yaml", _FAULTY, ".")])
    for entry in kinds(Registry()):
        refer(entry)
    gc.freeze()
