"""`runtime serve`: who is let in."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import run
from serving import Served, gated

TOKEN = "a-token-for-the-tests"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "token").write_text(TOKEN + "\n")
    with gated(folder, "--token-file", "token", "--max-body", "1000", "--allow-host", "agents.example") as (served, _):
        yield served


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("path", ["/runs", "/v1/models", "/metrics", "/nothing"])
@pytest.mark.parametrize("headers", [{}, bearer("wrong"), bearer(TOKEN + "x"), {"authorization": f"Basic {TOKEN}"}])
def test_without_the_token_nothing_is_told(service: Served, path: str, headers: dict[str, str]) -> None:
    answer = service.client.get(path, headers=headers)

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="runtime"')


def test_with_the_token_all_is_told(service: Served) -> None:
    assert service.client.get("/runs", headers=bearer()).json() == {"runs": []}


def test_health_needs_no_token(service: Served) -> None:
    assert [service.client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("agents.example", 200),
        ("evil.example", 421),
        ("10.0.0.1", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_the_host_has_to_be_ours(service: Served, host: str, status: int) -> None:
    assert service.client.get("/healthz", headers={"host": host}).status_code == status


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_origins_are_refused(service: Served, origin: str) -> None:
    answer = service.client.post("/runs", json={}, headers={"origin": origin, **bearer()})

    assert answer.status_code == 403


def test_a_page_of_our_own_may_ask(service: Served) -> None:
    assert service.client.get("/runs", headers={"origin": service.url, **bearer()}).status_code == 200


def test_what_a_form_can_send_is_no_request(service: Served) -> None:
    answer = service.client.post("/runs", content=b"{}", headers={"content-type": "text/plain", **bearer()})

    assert answer.status_code == 415


def test_a_large_body_is_refused_whether_it_says_its_length_or_not(service: Served) -> None:
    headers = {"content-type": "application/json", **bearer()}
    told = service.client.post("/runs", content=b" " * 1001, headers=headers)
    untold = service.client.post("/runs", content=iter([b" " * 600, b" " * 600]), headers=headers)

    assert (told.status_code, untold.status_code) == (413, 413)


@pytest.mark.parametrize("body", [b"{", b"[" * 900, b"\xff\xfe", b'{"target": 1}'])
def test_a_body_that_is_none_is_refused(service: Served, body: bytes) -> None:
    answer = service.client.post("/runs", content=body, headers={"content-type": "application/json", **bearer()})

    assert answer.status_code == 400


def test_a_request_has_an_id_that_the_log_has_too(service: Served) -> None:
    answer = service.client.get("/healthz", headers={"x-request-id": "heron-7"})
    odd = service.client.get("/healthz", headers={"x-request-id": "a b"})

    assert (answer.headers["x-request-id"], len(odd.headers["x-request-id"])) == ("heron-7", 16)
    assert "GET /healthz 200" in service.expect("heron-7")


def test_other_machines_are_let_in_with_a_token_alone(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("kind: Ai.ScriptedModel\nmetadata: { name: M }\n")
    ended = run(tmp_path, "serve", "m.yaml", "--host", "0.0.0.0")
    short = run(tmp_path, "serve", "m.yaml", RUNTIME_SERVE_TOKEN="short")

    assert (ended.code, short.code) == (2, 2)
    assert 'error: "--host 0.0.0.0" lets other machines in, and there is no token [ERR_USAGE]' in ended.err
    assert "a token has at least 16 visible ASCII characters" in short.err


def test_a_place_that_is_taken_is_told(tmp_path: Path) -> None:
    manifest = (
        "kind: Ai.ScriptedModel\nmetadata: { name: M }\n---\nkind: Ai.Agent\nmetadata: { name: A }\nmodel: !ref M\n"
    )
    (tmp_path / "m.yaml").write_text(manifest)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run(tmp_path, "serve", "m.yaml", "--port", str(port))

    assert ended.code == 2
    assert f'error: cannot listen on "127.0.0.1:{port}": address already in use [ERR_USAGE]' in ended.err
