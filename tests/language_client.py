"""A client of a language server on the wire: a child process, JSON-RPC over its pipes, nothing between."""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIMIT = 30.0
"""Seconds after which an answer that has not come has failed the test."""


class Refused(Exception):
    """The server answered a request with an error."""


class LanguageClient:
    """Speaks with one server. Positions are (line, column) from 0, texts are given by the path of their file."""

    def __init__(self, process: "subprocess.Popen[bytes]", settings: Mapping[str, Any]) -> None:
        self._process = process
        self._settings = settings
        self._received: queue.Queue[dict[str, Any]] = queue.Queue()
        self._notes: list[dict[str, Any]] = []
        self._ids = iter(range(1, 1_000_000))
        self._versions: dict[str, int] = {}
        self.registered: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    # messages

    def request(self, method: str, params: Any) -> Any:
        """Send a request and wait for its result; Refused with the server's words."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._next(time.monotonic() + LIMIT)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise Refused(message["error"]["message"])
                return message["result"]

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def wait(self, method: str, fits: Callable[[Any], bool]) -> Any:
        """The parameters of a notification that fits, of those not asked for yet."""
        end = time.monotonic() + LIMIT
        while True:
            for note in self._notes:
                if note["method"] == method and fits(note["params"]):
                    self._notes.remove(note)
                    return note["params"]
            self._next(end)

    def _next(self, end: float) -> dict[str, Any]:
        """One more message; notifications are kept, requests of the server answered."""
        message = self._received.get(timeout=max(end - time.monotonic(), 0.01))
        if not message:
            raise EOFError("the server has closed its output")
        if "method" in message and "id" in message:
            self._send({"id": message["id"], "result": self._answer(message)})
        elif "method" in message:
            self._notes.append(message)
        return message

    def _answer(self, message: dict[str, Any]) -> Any:
        if message["method"] == "workspace/configuration":
            return [self._settings.get(item.get("section")) for item in message["params"]["items"]]
        if message["method"] == "client/registerCapability":
            self.registered += [each["method"] for each in message["params"]["registrations"]]
        return None

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:
                self._received.put({})
                return
            self._received.put(json.loads(stream.read(length)))

    # what an editor does

    def initialize(self, folder: Path, **capabilities: Any) -> dict[str, Any]:
        root = folder.as_uri()
        folders = [{"uri": root, "name": folder.name}]
        params = {"processId": None, "rootUri": root, "workspaceFolders": folders, "capabilities": capabilities}
        result: dict[str, Any] = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None) -> None:
        text = path.read_text(encoding="utf-8") if text is None else text
        self._versions[path.as_uri()] = 1
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, path: Path, text: str) -> int:
        """Replace the whole text; the new version."""
        self._versions[path.as_uri()] += 1
        document = {"uri": path.as_uri(), "version": self._versions[path.as_uri()]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        return document["version"]

    def close(self, path: Path) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    def findings(self, path: Path, version: int | None = None) -> list[dict[str, Any]]:
        """The diagnostics of a file, of that version where one is given."""
        params = self.wait(
            "textDocument/publishDiagnostics",
            lambda params: params["uri"] == path.as_uri() and (version is None or params.get("version") == version),
        )
        found: list[dict[str, Any]] = params["diagnostics"]
        return found

    def published(self, path: Path) -> list[dict[str, Any]]:
        """What has come for a file and was not asked for."""
        notes = [note["params"] for note in self._notes if note["method"] == "textDocument/publishDiagnostics"]
        return [params for params in notes if params["uri"] == path.as_uri()]

    def at(self, method: str, path: Path, position: tuple[int, int], **more: Any) -> Any:
        """A request about a position of a file."""
        place = {"line": position[0], "character": position[1]}
        return self.request(
            f"textDocument/{method}", {"textDocument": {"uri": path.as_uri()}, "position": place, **more}
        )


@contextmanager
def language_server(
    command: Sequence[str | Path], folder: Path, env: Mapping[str, str], settings: Mapping[str, Any] | None = None
) -> Iterator[LanguageClient]:
    """A server that runs while the block does, and leaves when it is asked to."""
    process = subprocess.Popen(command, env=dict(env), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            client = LanguageClient(process, settings or {})
            yield client
            client.request("shutdown", None)
            client.notify("exit", None)
            process.wait(LIMIT)
        finally:
            process.kill()
