"""`runtime serve`: the page in a browser, as a person uses it."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from browser import Page, needs_axe, needs_chromium, open_browser
from command import LIMIT
from page_set import write_set
from serving import Gate, Served, gated, serving

pytestmark = needs_chromium

VIEWS = ("resources", "chat", "tools", "runs", "manifest")
TOKEN = "a-token-for-the-tests"


class Shown(NamedTuple):
    """A service whose page is open in a browser."""

    page: Page
    served: Served
    gate: Gate
    file: Path

    def go(self, view: str) -> None:
        """Show a view, and wait until it is there."""
        name = view.partition("/")[0]
        self.page.run(f"location.hash = '#/{'' if view == 'resources' else view}'")
        self.page.wait_for(f"!document.getElementById('{name}').hidden && live")

    def ask(self, prompt: str) -> None:
        """Send a message, on the view of the chat."""
        self.page.run(f"at('prompt').value = {json.dumps(prompt)}; at('ask').click()")

    def said(self, text: str) -> str:
        """The conversation once it holds the text."""
        self.page.wait_for(f"at('said').textContent.includes({json.dumps(text)})")
        return str(self.page.run("at('said').innerText"))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("page")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT)
        gate = Gate(listener)
        file = write_set(folder, gate.port)
        with closing(gate), serving(folder, "gallery.yaml", "--watch") as served, open_browser(folder) as page:
            yield Shown(page, served, gate, file)


@pytest.fixture
def shown(opened: Shown) -> Iterator[Shown]:
    """The page, loaded anew; whatever a test does with it, it logs no error."""
    opened.page.look_like(1280, 900)
    opened.page.open(opened.served.url)
    opened.page.wait_for("document.querySelector('#graph svg')")
    yield opened
    assert opened.page.errors == []


def test_the_set_is_drawn_with_the_state_of_each_resource_and_the_reason_of_a_failure(shown: Shown) -> None:
    page = shown.page
    # All of it at one moment: an optional server is tried again and again.
    seen = page.wait_for(
        """(() => {
            const boxes = [...document.querySelectorAll('#graph a')].map((each) => each.getAttribute('aria-label'));
            const said = { boxes, troubles: at('troubles').innerText, list: at('list').innerText };
            return boxes.includes('Lost, Mcp.StdioClient, failed') && said;
        })()"""
    )

    assert {box for box in seen["boxes"] if ", Mcp." in box or ", Ai.Agent" in box} == {
        "One, Mcp.StdioClient, ready",
        "Two, Mcp.StdioClient, ready",
        "Lost, Mcp.StdioClient, failed",
        "Keeper, Ai.Agent, degraded",
    }
    assert "Lost has failed" in seen["troubles"] and "exited with status 3" in seen["troubles"]
    assert "without LostTools" in seen["list"]
    assert page.run("document.querySelectorAll('#graph .link').length") == 9
    page.keep_picture("resources")
    shown.go("resources/0")
    page.wait_for("document.querySelector('#resource .card')")
    assert "Used by" in page.run("at('resource').innerText")
    place = page.run("document.querySelector('#resource dd a[href*=manifest]').textContent")
    page.run("document.querySelector('#resource dd a[href*=manifest]').click()")
    page.wait_for("document.querySelector('.line.shown')")
    assert page.run("document.querySelector('.line.shown').dataset.place") == place


def test_a_tool_call_is_shown_while_it_runs_and_with_its_result(shown: Shown) -> None:
    shown.go("chat")
    assert "Looks after the pictures." in shown.said("Ask Keeper")
    shown.ask("knock")
    shown.said("I ask the tool")
    call = shown.gate.wait_for_call()
    shown.page.wait_for("document.querySelector('.call .pill')?.textContent === 'running'")

    call.sendall(b"come in")
    said = shown.said("the tool said come in")

    assert "done in" in said and "come in" in shown.page.run(
        "document.querySelector('.call pre + h3 + pre').textContent"
    )
    shown.page.keep_picture("chat")


def test_an_image_of_a_tool_is_shown(shown: Shown) -> None:
    shown.go("chat")
    shown.ask("draw")
    shown.said("Here it is.")

    image = "document.querySelector('#said img')"
    assert shown.page.run(f"{image}.decode().then(() => {image}.naturalWidth)") == 1


def test_a_call_waits_until_it_is_approved_and_a_refusal_reaches_the_model(shown: Shown) -> None:
    page = shown.page
    shown.go("chat")
    shown.ask("remove")
    page.wait_for("document.querySelector('.asked button')")
    assert "Keeper wants to call remove" in page.run("document.querySelector('.asked').innerText")
    assert '"sunset"' in page.run("document.querySelector('.asked pre').textContent")
    page.keep_picture("approval")

    page.run("document.querySelector('.asked button.main').click()")
    shown.said("the tool said removed")
    assert page.run("document.querySelector('.asked .pill').textContent") == "approved"

    page.wait_for("!at('ask').disabled")
    shown.ask("remove")
    page.wait_for("document.querySelector('.asked .refuse')")
    page.run("document.querySelector('.asked input').value = 'it is dear to us'")
    page.run("document.querySelector('.asked .refuse').click()")
    page.wait_for("document.querySelectorAll('.ended').length === 2")
    assert "it is dear to us" in page.run("document.querySelectorAll('.call')[1].textContent")
    assert page.run("document.querySelectorAll('.asked .pill')[1].textContent") == "refused: it is dear to us"


def test_the_tools_are_shown_with_what_a_provider_makes_of_them(shown: Shown) -> None:
    page = shown.page
    shown.go("tools")
    page.wait_for("document.querySelectorAll('details.tool').length === 11")
    assert "11 tools" in page.run("at('tools-count').textContent")

    page.run("at('format').value = 'gemini-parameters'; at('format').dispatchEvent(new Event('change'))")
    page.wait_for("document.querySelector('details.tool[data-name=draw] .pill')?.textContent.endsWith(' change')")
    page.run("document.querySelector('details.tool[data-name=draw]').open = true")
    page.wait_for("document.querySelector('.effects')")
    page.run("document.querySelector('details.tool[data-name=draw]').scrollIntoView()")
    page.keep_picture("tools")
    told = page.run("document.querySelector('details.tool[data-name=draw]').textContent")
    assert "From Sketches" in told and "In pixels." in told and "uniqueItems" in told
    assert "needs approval" in page.run("document.querySelector('details.tool[data-name=remove]').textContent")

    page.run("at('search').value = 'picture'; at('search').dispatchEvent(new Event('input'))")
    assert page.run("at('tools-count').textContent").startswith("2 of 11 tools")


def test_a_run_is_shown_as_a_timeline(shown: Shown) -> None:
    page = shown.page
    answer = shown.served.client.post("/runs", json={"target": "Keeper", "inputs": {"prompt": "draw"}, "wait": True})
    run = answer.json()["id"]
    shown.go("runs")
    page.wait_for(f"document.querySelector('a[href=\"#/runs/{run}\"]')")

    page.run(f"location.hash = '#/runs/{run}'")
    page.wait_for("document.querySelectorAll('.timeline .label').length === 3")
    labels = page.run("[...document.querySelectorAll('.timeline .label')].map((each) => each.textContent)")
    assert labels == ["Turn 1", "draw", "Turn 2"]
    page.keep_picture("run")
    page.expected.append("run_none")  # the browser tells of a 404 by itself
    page.run("location.hash = '#/runs/run_none'")
    page.wait_for("at('run-body').textContent.includes('cannot be shown')")


def test_an_edit_of_the_manifest_is_seen_without_loading_the_page_again(shown: Shown) -> None:
    page, text = shown.page, shown.file.read_text()
    page.run("window.stayed = true")
    shown.go("manifest")
    page.wait_for("document.querySelector('.code .line')")
    assert page.run("document.querySelectorAll('.finding').length") == 0

    key = "sk-proj-" + "Ab3" * 10
    shown.file.write_text(text.replace("required: false", "requird: false").replace('"One"]', f'"{key}"]'))
    page.wait_for("document.querySelectorAll('.finding').length === 2")
    findings = page.run("[...document.querySelectorAll('.finding')].map((each) => each.previousSibling.textContent)")
    line = text.splitlines().index("required: false") + 1
    assert findings[1] == f"{line}requird: false"
    assert "SECRET_LITERAL" in page.run("document.querySelector('.finding').textContent")
    assert key not in page.run("document.body.textContent") and "*" * len(key) in findings[0]
    assert "Not applied" in page.run("at('reading').innerText")
    page.keep_picture("manifest")

    shown.file.write_text(text.replace("name: Keeper", "name: Warden"))
    page.wait_for("document.querySelectorAll('.finding').length === 0")
    shown.go("resources")
    page.wait_for("document.querySelector('#graph a[aria-label^=Warden]')")
    assert page.run("at('agent').value") == "Warden"
    shown.file.write_text(text)
    page.wait_for("document.querySelector('#graph a[aria-label^=Keeper]')")
    assert page.run("window.stayed") is True


def test_a_server_that_dies_is_shown_with_its_last_words(shown: Shown) -> None:
    shown.served.client.post("/runs", json={"target": "Keeper", "inputs": {"prompt": "crash"}, "wait": True})

    shown.page.wait_for("at('troubles').textContent.includes('out of memory')")
    assert "Two has failed" in shown.page.run("at('troubles').textContent")


def test_the_page_is_used_with_the_keyboard_alone(shown: Shown) -> None:
    page = shown.page
    focused = "document.activeElement.id || document.activeElement.textContent"
    walked = []
    for _ in range(8):
        page.press("Tab")
        walked.append(page.run(focused))
    assert walked[:7] == ["Skip to the content", "runtime", "Resources", "Chat", "Tools", "Runs", "Manifest"]
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"

    for _ in range(4):
        page.press("Tab", shift=True)
    page.press("Enter")
    page.wait_for("!at('chat').hidden && document.activeElement.id === 'view'")
    while page.run(focused) != "prompt":
        page.press("Tab")
        assert page.run("document.activeElement !== document.body")
    page.write("hello")
    page.press("Enter")
    shown.said("good evening")

    page.run("location.hash = '#/'")
    page.wait_for("!at('resources').hidden")
    while not str(page.run("document.activeElement.getAttribute('aria-label')")).startswith("Keeper,"):
        page.press("Tab")
        assert page.run("document.activeElement !== document.body")
    page.press("Enter")
    page.wait_for("document.querySelector('#resource .card')?.textContent.includes('Chat with it')")


@needs_axe
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380], ids=["desktop", "phone"])
def test_nothing_keeps_anybody_from_the_page(shown: Shown, width: int, is_dark: bool) -> None:
    page = shown.page
    page.look_like(width, 900, is_dark=is_dark)
    shown.go("chat")
    shown.ask("draw")
    shown.said("Here it is.")
    page.wait_for("document.querySelector('.ended a')")
    trace = page.run("document.querySelector('.ended a').getAttribute('href')")
    shots = f"{'dark' if is_dark else 'light'}-{width}"

    faults = {}
    for view in (*VIEWS, "run"):
        page.run(f"location.hash = {json.dumps(trace if view == 'run' else f'#/{view}')}")
        page.wait_for(f"!at('{view}').hidden && at('{view}').querySelector('a, pre, .card, .said')")
        faults[view] = page.find_faults()
        assert page.run("document.documentElement.scrollWidth") <= width, view
        page.keep_picture(f"{view}-{shots}")
    assert faults == {view: [] for view in (*VIEWS, "run")}


def test_a_service_with_a_token_asks_for_it(shown: Shown, tmp_path: Path) -> None:
    page = shown.page
    with gated(tmp_path, RUNTIME_SERVE_TOKEN=TOKEN) as (served, _):
        page.expected.append(served.url)  # the browser tells of each 401 by itself
        page.open(served.url)
        page.wait_for("!at('token-form').hidden")
        page.run("at('token').focus()")
        page.write("another-token-altogether")
        page.press("Enter")
        page.wait_for("at('token-said').textContent")
        page.run("at('token').value = ''")
        page.write(TOKEN)
        page.press("Enter")
        page.wait_for("document.querySelector('#graph a[aria-label^=Porter]')")
        assert page.run("at('token-form').hidden")
