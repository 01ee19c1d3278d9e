"""`/openapi.json`: a description that is one, of every route, and true of what the service answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator, ValidationError
from openapi_spec_validator import OpenAPIV31SpecValidator
from serving import Gate, Served, gated

GUIDE = Path(__file__).parents[2] / "docs/serve.md"
APP = Path(__file__).parents[2] / "runtime/serve/app.py"
CURL = re.compile(r"^\$ curl .*?localhost:\d+(?P<path>/\S+)(?: --json '(?P<body>[^']*)')?", re.MULTILINE)
ROUTE = re.compile(r'oute\((?:"(?P<method>[A-Z]+)", )?"(?P<path>/[^"]*)"(?P<rest>.*)')


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Gate]]:
    with gated(tmp_path_factory.mktemp("service")) as pair:
        yield pair


@pytest.fixture(scope="module")
def described(service: tuple[Served, Gate]) -> Any:
    answer = service[0].client.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def check(described: Any, schema: Any, value: Any) -> None:
    """The value fits a schema of the description."""
    Draft202012Validator({**schema, "components": described["components"]}).validate(value)


def find(described: Any, path: str) -> Any:
    """The methods of the path, by its template."""
    for template, methods in described["paths"].items():
        pattern = re.sub(r"\\{call\\}", ".+", re.escape(template))
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), path):
            return methods
    raise AssertionError(f"{path} is not described")


def ask(described: Any, served: Served, method: str, path: str, body: Any = None) -> httpx2.Response:
    """Ask, and hold the request and the answer against the description."""
    operation = find(described, path.partition("?")[0])[method]
    if body is not None:
        check(described, operation["requestBody"]["content"]["application/json"]["schema"], body)
    answer = served.client.request(method.upper(), path, json=body)
    content = operation["responses"][str(answer.status_code)].get("content", {})
    media = answer.headers.get("content-type", "").partition(";")[0]
    assert media in content
    if content[media].get("schema"):
        check(described, content[media]["schema"], answer.json())
    return answer


def test_the_description_is_one(described: Any) -> None:
    assert [str(error) for error in OpenAPIV31SpecValidator(described).iter_errors()] == []


def test_every_route_is_described_and_nothing_else(described: Any) -> None:
    routes = set()
    for found in ROUTE.finditer(APP.read_text()):
        path = found["path"].replace(":path}", "}")
        methods = [found["method"]] if found["method"] else re.findall('"([A-Z]+)":', found["rest"])
        routes |= {(path, method.lower()) for method in methods or ["GET", "POST", "DELETE"]}

    assert {(path, method) for path, methods in described["paths"].items() for method in methods} == routes


def test_every_request_of_the_guide_fits(described: Any) -> None:
    text = GUIDE.read_text().replace("$(cat run)", "run_0")
    asked = [
        (method, found["path"], found["body"])
        for found in re.finditer(
            r"^\$ curl .*?localhost:\d+(?P<path>/\S+)(?: --json '(?P<body>[^']*)')?", text, re.MULTILINE
        )
        for method in ("post" if found["body"] else "get",)
    ]
    for method, path, body in asked:
        operation = find(described, path)[method]
        if body:
            check(described, operation["requestBody"]["content"]["application/json"]["schema"], json.loads(body))

    assert {path.rpartition("/")[2] for _, path, _ in asked} >= {"readyz", "models", "runs", "events", "one", "apply"}


def test_answers_are_as_described(described: Any, service: tuple[Served, Gate]) -> None:
    served, gate = service
    run = {"target": "Porter", "inputs": {"prompt": "hi"}}
    chat = {"model": "Porter", "messages": [{"role": "user", "content": "hi"}]}
    tool = {"type": "function", "function": {"name": "ask"}}
    gated_run = served.run_gated()
    gate.wait_for_call().sendall(b"yes")
    asked = [
        *(("get", path, None) for path in described["paths"] if "{" not in path and path not in ("/mcp", "/runs")),
        ("post", "/runs", {**run, "wait": True}),
        ("post", "/runs", run),
        ("post", "/runs", {**run, "target": "Nobody"}),
        ("post", "/runs", {**run, "inputs": {}, "wait": True}),
        ("get", "/runs", None),
        ("get", f"/runs/{gated_run}/events", None),
        ("get", f"/runs/{gated_run}", None),
        ("get", f"/runs/{gated_run}/timeline", None),
        ("delete", f"/runs/{gated_run}", None),
        ("get", "/runs/run_0", None),
        ("post", f"/runs/{gated_run}/approvals/a", {"approved": True}),
        ("post", "/apply", {}),
        ("get", "/v1/models", None),
        ("get", "/v1/models/Porter", None),
        ("get", "/agents/Porter/tools?format=gemini", None),
        ("post", "/v1/chat/completions", chat),
        ("post", "/v1/chat/completions", {**chat, "stream": True, "temperature": 1, "tools": [tool], "user": "me"}),
        ("post", "/v1/chat/completions", {**chat, "model": "Nobody"}),
        ("post", "/v1/responses", {"model": "Porter", "input": "hi", "store": False, "truncation": "disabled"}),
        ("post", "/v1/responses", {"model": "Porter", "input": "hi", "stream": True}),
    ]
    statuses = [
        ask(described, served, method, path, body).status_code
        for method, path, body in asked
        if method != "get" or "get" in find(described, path.partition("?")[0])
    ]

    assert {200, 202, 400, 404, 409} <= set(statuses)


def test_what_is_no_request_does_not_fit(described: Any) -> None:
    body = described["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    chat = {"model": "Porter", "messages": [{"role": "user", "content": "hi"}]}
    for wrong in ({"seed": 5}, {"top_k": 1}, {"temperature": 3}, {"messages": []}):
        with pytest.raises(ValidationError):
            check(described, body, {**chat, **wrong})


def test_a_token_is_asked_for_where_there_is_one(tmp_path: Path) -> None:
    token = "a-token-for-the-tests"
    with gated(tmp_path, RUNTIME_SERVE_TOKEN=token) as (served, _):
        described = served.client.get("/openapi.json", headers={"authorization": f"Bearer {token}"}).json()

    open_paths = {path for path, methods in described["paths"].items() if methods.get("get", {}).get("security") == []}
    assert (described["security"], open_paths) == ([{"token": []}], {"/", "/healthz", "/readyz"})
