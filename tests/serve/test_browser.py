"""`runtime serve`: the page in a browser."""

import base64
import os
import sys
from pathlib import Path

import pytest
from browser import CHROMIUM, Page, open_page
from serving import serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (apt-get install chromium)")

ROOT = Path(__file__).parents[2]
STDIO = str(ROOT / "tests/servers/stdio.py")
SERVER = """
kind: Mcp.StdioClient
metadata: {{ name: {name} }}
command: "{python}"
args: ["{server}", {words}]
required: {required}
---
kind: AiMcp.ToolProvider
metadata: {{ name: {name}Tools }}
client: !ref {name}
---
"""
AGENT = """
kind: Ai.ScriptedModel
metadata: { name: Model }
rules:
  - when: { toolResult: "." }
    text: "the tool said ${{ result }}"
  - text: I ask the tool
    toolCalls: [{ name: One_echo, arguments: { text: "heron" } }]
---
kind: Ai.Agent
metadata: { name: Keeper }
model: !ref Model
toolProviders:
  - { provider: !ref OneTools, prefix: One_ }
  - { provider: !ref TwoTools, prefix: Two_ }
  - { provider: !ref LostTools, prefix: Lost_ }
"""


def write_set(folder: Path, agent: str = AGENT) -> None:
    servers = [("One", '"One"', "true"), ("Two", '"Two"', "true"), ("Lost", '"--fail", "3"', "false")]
    parts = [
        SERVER.format(name=name, python=sys.executable, server=STDIO, words=words, required=required)
        for name, words, required in servers
    ]
    (folder / "keeper.yaml").write_text("".join(parts) + agent)


def keep_picture(page: Page, name: str) -> None:
    """Screenshots for people, where CI wants them."""
    folder = os.environ.get("RUNTIME_TEST_PICTURES")
    if folder:
        taken = page.send("Page.captureScreenshot", captureBeyondViewport=True)
        Path(folder, name).write_bytes(base64.b64decode(taken["data"]))


def test_the_page_shows_the_set_chats_and_follows_an_edit(tmp_path: Path) -> None:
    write_set(tmp_path)
    with serving(tmp_path, "keeper.yaml", "--watch") as served, open_page(tmp_path, served.url) as page:
        picture = page.wait_for("document.querySelector('#graph svg')?.getAttribute('aria-label')")
        assert "One, Mcp.StdioClient, ready" in picture
        assert "Lost, Mcp.StdioClient, not there" in picture
        assert "Lost: " in page.run("document.querySelector('#details').innerText")

        page.run("document.querySelector('#prompt').value = 'go'; document.querySelector('#ask').click()")
        page.wait_for("document.querySelector('#said').textContent.includes('the tool said heron')")
        said = page.run("document.querySelector('#said').innerText")
        assert "I ask the tool" in said and "One_echo: done" in said
        page.wait_for("document.querySelector('#runs button')")
        page.run("document.querySelector('#runs button').click()")
        page.wait_for("document.querySelector('#run').textContent.includes('Turn 2')")
        keep_picture(page, "serve-chat.png")

        write_set(tmp_path, AGENT.replace("name: Keeper", "name: Warden"))
        page.wait_for("document.querySelector('#graph svg').getAttribute('aria-label').includes('Warden')")
        page.wait_for("document.querySelector('#agent').value === 'Warden'")
        page.send("Emulation.setDeviceMetricsOverride", width=380, height=800, deviceScaleFactor=1, mobile=True)
        assert page.run("document.documentElement.scrollWidth <= 380")
        keep_picture(page, "serve-phone.png")
        axe = os.environ.get("RUNTIME_TEST_AXE")
        if axe:
            page.run(Path(axe).read_text(encoding="utf-8") + "; true")
            found = page.run("axe.run().then((report) => report.violations.map((each) => [each.id, each.impact]))")
            assert [each for each in found if each[1] in ("serious", "critical")] == []
        assert page.errors == []
