"""Sessions of agents: what was said under a name, kept beside the manifest where `runtime chat` keeps its own."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio import to_thread

from runtime.ai.contracts import Message
from runtime.cli.session_file import SessionFile
from runtime.errors import Error, UsageError
from runtime.masking import Masker

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class SessionBusy(Error):
    """A session has one run at a time."""

    code = "ERR_SERVE_SESSION_BUSY"


class Sessions:
    """The sessions in the folder of the manifests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._busy: set[tuple[str, str]] = set()

    @contextmanager
    def claimed(self, name: str, agent: str) -> Iterator[None]:
        """The session is this run's while the block runs; raises UsageError, SessionBusy."""
        if _NAME.fullmatch(name) is None:
            raise UsageError("the name of a session has 1 to 100 letters, digits, dots, dashes and underscores")
        if (name, agent) in self._busy:
            raise SessionBusy(f'the session "{name}" has a run that is under way', hint="ask again when it is over")
        self._busy.add((name, agent))
        try:
            yield
        finally:
            self._busy.discard((name, agent))

    async def extend(self, name: str, agent: str, inputs: Mapping[str, Any], masker: Masker) -> dict[str, Any]:
        """The inputs with what was said before; raises UsageError where they are no prompt, and as `SessionFile`."""
        prompt = inputs.get("prompt")
        if type(prompt) is not str:
            raise UsageError("a run of a session takes `prompt`, and has the `messages` of its session")
        said = await to_thread.run_sync(self._file(name, agent, masker).load)
        rest = {key: value for key, value in inputs.items() if key != "prompt"}
        return {**rest, "messages": [*said, Message("user", prompt)]}

    async def keep(self, name: str, agent: str, messages: list[Message], masker: Masker) -> None:
        """Keep what was said; a question that nothing came of is not kept."""
        if messages and messages[-1].role != "user":
            said = messages[1:] if messages[0].role == "system" else messages
            await to_thread.run_sync(self._file(name, agent, masker).save, said)

    def _file(self, name: str, agent: str, masker: Masker) -> SessionFile:
        return SessionFile(self._folder, name, agent, masker)
