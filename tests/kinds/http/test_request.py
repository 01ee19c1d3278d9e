"""`Http.Request` against a real server on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import runtime
from runtime import ToolError

pytestmark = pytest.mark.anyio


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent, as JSON; `/text` as text, `/big` too much of it, `/away` with a redirect."""

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        sent = {"method": self.command, "path": self.path, "body": body, "token": self.headers.get("x-token")}
        if self.path == "/text":
            self.answer(200, "text/plain", b"plain words")
        elif self.path == "/big":
            self.answer(200, "text/plain", b"x" * 5000)
        elif self.path == "/away":
            self.answer(302, "text/plain", b"", location="http://127.0.0.1:1/")
        else:
            self.answer(201, "application/json", json.dumps(sent).encode())

    do_POST = do_GET

    def answer(self, status: int, kind: str, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def write(folder: Path, fields: str) -> str:
    path = folder / "request.yaml"
    path.write_text(f"kind: Http.Request\nmetadata: {{ name: Ask }}\n{fields}\n")
    return str(path)


async def ask(path: str, inputs: dict[str, Any]) -> Any:
    async with runtime.open_manifests(path, environment={"TOKEN": "t0k3n"}) as live:
        return await live["Ask"].invoke(inputs)


async def test_what_is_given_fills_address_query_headers_and_body(address: str, tmp_path: Path) -> None:
    fields = f"""
method: POST
url: "{address}/notes/${{{{ inputs.id }}}}"
query: {{ page: !cel inputs.page }}
headers: {{ X-Token: "${{{{ secrets.token }}}}" }}
body: {{ title: "${{{{ inputs.title }}}}", tags: [a, !cel "inputs.page + 1"] }}
"""
    answer = await ask(write(tmp_path, fields), {"id": "7", "page": 2, "title": "Hi"})
    assert answer["status"] == 201
    assert answer["body"] == {
        "method": "POST",
        "path": "/notes/7?page=2",
        "body": {"title": "Hi", "tags": ["a", 3]},
        "token": "t0k3n",
    }


async def test_text_stays_text(address: str, tmp_path: Path) -> None:
    assert (await ask(write(tmp_path, f"url: {address}/text"), {}))["body"] == "plain words"


async def test_a_redirect_is_an_answer_and_is_not_followed(address: str, tmp_path: Path) -> None:
    assert (await ask(write(tmp_path, f"url: {address}/away"), {}))["status"] == 302


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ("url: ADDRESS/big\nmaxBodyBytes: 100", "ERR_HTTP_LIMIT"),
        ("url: http://127.0.0.1:1/", "ERR_HTTP_REQUEST"),
        ('url: "ADDRESS/${{ inputs.missing }}"', "ERR_TOOL_EXPRESSION"),
    ],
)
async def test_what_goes_wrong_has_a_code(address: str, tmp_path: Path, fields: str, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        await ask(write(tmp_path, fields.replace("ADDRESS", address)), {})
    assert caught.value.code == code


@pytest.mark.parametrize(
    "url",
    [
        "http://${{ inputs.host }}/x",
        "http://127.0.0.1${{ inputs.x }}",
        "${{ inputs.url }}",
        "http://a.${{ inputs.b }}/c",
    ],
)
def test_what_is_given_cannot_choose_the_host(tmp_path: Path, url: str) -> None:
    found = runtime.validate(write(tmp_path, f'url: "{url}"'))
    assert [each.code for each in found if each.severity == "error"] == ["SCHEMA_VALUE"]


async def test_what_is_given_stays_in_the_path(address: str, tmp_path: Path) -> None:
    path = write(tmp_path, f'url: "{address}/${{{{ inputs.path }}}}"')
    assert (await ask(path, {"path": "/127.0.0.1:1/@x"}))["body"]["path"] == "/127.0.0.1:1/@x"
