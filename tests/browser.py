"""Chromium without a window, driven over its debugging protocol on loopback."""

import itertools
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from command import LIMIT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One page: what it logs as errors, and what its scripts give."""

    def __init__(self, socket: Any) -> None:
        self.errors: list[str] = []
        self._socket = socket
        self._numbers = itertools.count(1)

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol; its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=LIMIT))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def run(self, script: str) -> Any:
        """What an expression of JavaScript gives, once it is there where it is a promise."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, condition: str) -> Any:
        """The value of an expression as soon as it is a true one; looked at whenever the page changes."""
        script = f"""new Promise((done, failed) => {{
            const look = () => {{ const found = ({condition}); if (found) {{ watcher.disconnect(); done(found); }} }};
            const watcher = new MutationObserver(look);
            watcher.observe(document, {{ subtree: true, childList: true, characterData: true, attributes: true }});
            setTimeout(() => failed(document.body.innerText), {int(LIMIT * 500)});
            look();
        }})"""
        return self.run(script)

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"]))
        elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(json.dumps(parameters["args"]))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(json.dumps(parameters["entry"]))


@contextmanager
def open_page(folder: Path, url: str) -> Iterator[Page]:
    """Show a page while the block runs."""
    from websockets.sync.client import connect

    assert CHROMIUM is not None
    profile = folder / "profile"
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0"]
    with subprocess.Popen(
        [*command, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "DevTools listening on" in line)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            port = line.split("127.0.0.1:")[1].split("/")[0]
            pages = httpx2.get(f"http://127.0.0.1:{port}/json").json()
            target = next(page for page in pages if page["type"] == "page")
            with connect(target["webSocketDebuggerUrl"], max_size=None, proxy=None) as socket:
                page = Page(socket)
                for domain in ("Runtime", "Log", "Page"):
                    page.send(f"{domain}.enable")
                page.send("Page.navigate", url=url)
                yield page
        finally:
            process.terminate()
            process.wait()
