"""Forms of servers: filled by their schemas, or asked at a terminal."""

import os
import pty
import threading
from contextlib import suppress

import anyio
import pytest

from runtime.mcp import elicitation
from runtime.mcp.elicitation import offer_elicitation

pytestmark = pytest.mark.anyio

FORM = {
    "message": "who are\x1b[31m you?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "Ann"},
            "age": {"type": "integer", "minimum": 18},
            "member": {"type": "boolean"},
            "color": {"type": "string", "enum": ["red", "blue"]},
            "size": {"oneOf": [{"const": "s", "title": "small"}]},
            "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1},
            "note": {"type": "string"},
        },
        "required": ["age", "member", "color", "size", "tags"],
    },
}


def test_accept_fills_what_has_a_default_or_is_required():
    assert offer_elicitation("accept", "S").handler(FORM) == {
        "action": "accept",
        "content": {"name": "Ann", "age": 18, "member": True, "color": "red", "size": "s", "tags": ["x"]},
    }


@pytest.mark.parametrize(
    "params",
    [{}, {"mode": "url", "url": "https://x"}, {"requestedSchema": []}, {"requestedSchema": {"properties": []}}],
)
def test_accept_declines_what_is_no_form(params):
    assert offer_elicitation("accept", "S").handler(params) == {"action": "decline"}


async def ask(monkeypatch, params, *answers: str) -> tuple[dict, str]:
    """The answer to a question at a terminal at which this is typed, and what stood there."""
    leader, follower = pty.openpty()
    real_open = os.open
    monkeypatch.setattr(
        elicitation.os, "open", lambda path, flags: os.dup(follower) if path == "/dev/tty" else real_open(path, flags)
    )
    shown = bytearray()

    def type_answers() -> None:
        left = list(answers)
        with suppress(OSError):  # the terminal is gone
            while data := os.read(leader, 4096):
                shown.extend(data)
                if data.endswith((b": ", b"] ")) and left:
                    os.write(leader, left.pop(0).encode())

    person = threading.Thread(target=type_answers)
    person.start()
    with anyio.fail_after(10):
        answer = await offer_elicitation("ask", "S").handler(params)
    os.close(follower)
    person.join()
    os.close(leader)
    return dict(answer), shown.decode()


async def test_a_form_is_asked_field_by_field(monkeypatch):
    answers = ("\n", "old\n", "44\n", "yes\n", "green\n", "blue\n", "s\n", "x, y\n", "\n")
    answer, shown = await ask(monkeypatch, FORM, *answers)

    assert answer == {
        "action": "accept",
        "content": {"name": "Ann", "age": 44, "member": True, "color": "blue", "size": "s", "tags": ["x", "y"]},
    }
    assert "\x1b" not in shown
    assert 'the server "S" asks:' in shown


async def test_the_end_of_input_declines(monkeypatch):
    answer, _ = await ask(monkeypatch, FORM, "\x04")

    assert answer == {"action": "decline"}


@pytest.mark.parametrize(
    "url, typed, action",
    [
        ("https://example.com/pay", "y\n", "accept"),
        ("https://example.com/pay", "\n", "decline"),
        ("javascript:x", "y\n", "decline"),
    ],
)
async def test_an_address_is_shown_before_it_is_agreed_to(monkeypatch, url, typed, action):
    answer, shown = await ask(monkeypatch, {"mode": "url", "message": "pay", "url": url}, typed)

    assert answer == {"action": action}
    assert (url in shown) == url.startswith("https")


async def test_without_a_terminal_every_question_is_declined(monkeypatch):
    def no_terminal(path, flags):
        raise OSError

    monkeypatch.setattr(elicitation.os, "open", no_terminal)

    assert await offer_elicitation("ask", "S").handler(FORM) == {"action": "decline"}
