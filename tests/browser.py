"""Chromium without a window, driven over its debugging protocol on loopback."""

import base64
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
import pytest
from command import LIMIT
from servers.npm import NPM

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = NPM / "node_modules/axe-core/axe.min.js"
PICTURES = Path(__file__).parent.parent / "build/pictures"
"""Screenshots for people: not committed."""
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (apt-get install chromium)")
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core in tests/npm: install npm, then run `make test`")

# What runs without a window or a screen, as any user, and asks nobody in the network for anything.
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"]
_FLAGS += ["--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update"]
_FLAGS += ["--disable-sync", "--disable-default-apps", "--hide-scrollbars", "--remote-debugging-port=0"]
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}


class Page:
    """One page: what it logs as `errors`, but for those that hold one of the `expected` texts; what scripts give."""

    def __init__(self, socket: Any) -> None:
        self.errors: list[str] = []
        self.expected: list[str] = []
        self._socket = socket
        self._numbers = itertools.count(1)

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol; its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = self._receive()
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def open(self, url: str) -> None:
        """Load a page anew, and wait until it is there."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)
        while self._receive().get("method") != "Page.loadEventFired":
            pass
        self.wait_for(f"location.href.startsWith({json.dumps(url.partition('#')[0])})")

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

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key, as a person would."""
        code = _KEYS[key]
        fields = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **fields, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **fields)

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self.send("Input.insertText", text=text)

    def look_like(self, width: int, height: int, *, is_dark: bool = False) -> None:
        """A screen of that size, light or dark."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = "dark" if is_dark else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def keep_picture(self, name: str) -> None:
        """A screenshot for people, in `build/pictures`."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        taken = self.send("Page.captureScreenshot")
        (PICTURES / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))

    def find_faults(self) -> list[Any]:
        """What axe-core finds of serious faults in what is shown: the rule, and the elements."""
        if not self.run("'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8") + "; true")
        return list(
            self.run(
                "axe.run().then((report) => report.violations.filter((each) => /serious|critical/.test(each.impact))"
                ".map((each) => [each.id, each.nodes.map((node) => node.html + ' ' + node.failureSummary)]))"
            )
        )

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=LIMIT))
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self._note(parameters["exceptionDetails"])
        elif message.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self._note(parameters["args"])
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self._note(parameters["entry"])
        return message

    def _note(self, error: Any) -> None:
        text = json.dumps(error)
        if not any(each in text for each in self.expected):
            self.errors.append(text)


@contextmanager
def open_browser(folder: Path) -> Iterator[Page]:
    """A page while the block runs; the browser keeps what it keeps in the folder."""
    from websockets.sync.client import connect

    assert CHROMIUM is not None
    command = [CHROMIUM, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "DevTools listening on" in line)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            port = line.split("127.0.0.1:")[1].split("/")[0]
            pages = httpx2.get(f"http://127.0.0.1:{port}/json", timeout=LIMIT).json()
            target = next(page for page in pages if page["type"] == "page")
            with connect(target["webSocketDebuggerUrl"], max_size=None, proxy=None) as socket:
                page = Page(socket)
                for domain in ("Runtime", "Log", "Page"):
                    page.send(f"{domain}.enable")
                yield page
        finally:
            process.terminate()
            process.wait()
