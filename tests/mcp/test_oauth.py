"""OAuth against an authorization server on loopback: machine and person, tokens on disk, what is never fetched."""

import base64
import hashlib
import json
import os
import stat
import sys
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from servers.loopback import Endpoint, Response, json_response, serve

from runtime.errors import McpError
from runtime.mcp import guard
from runtime.mcp.auth_fields import Auth, AuthorizationCode, ClientCredentials
from runtime.mcp.token_file import TokenStore

pytestmark = pytest.mark.anyio

LIMIT = 30.0
BROWSER = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20).read()"


class Protected(Endpoint):
    """An MCP endpoint and its authorization server in one; gives out the token `granted`."""

    def __init__(self, **metadata: str) -> None:
        super().__init__()
        self.metadata = metadata
        self.grants: list[dict] = []
        self.challenges: dict[str, str] = {}

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/mcp")

    async def handle(self, request):
        path, query = urlsplit(request.path).path, parse_qs(urlsplit(request.path).query)
        if path == "/mcp" and request.headers.get("authorization") == "Bearer granted":
            return await super().handle(request)
        if path == "/mcp":
            return Response(401, b"", {"WWW-Authenticate": "Bearer"})
        if path.startswith("/.well-known/oauth-protected-resource"):
            return json_response({"resource": self.url, "authorization_servers": [self.origin]})
        if path.startswith("/.well-known/oauth-authorization-server"):
            own = {
                "issuer": self.origin,
                "authorization_endpoint": f"{self.origin}/authorize",
                "token_endpoint": f"{self.origin}/token",
                "registration_endpoint": f"{self.origin}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
            return json_response({**own, **self.metadata})
        if path == "/register":
            return json_response({**request.message, "client_id": "registered"}, status=201)
        if path == "/authorize":
            self.challenges["the-code"] = query["code_challenge"][0]
            back = f"{query['redirect_uri'][0]}?code=the-code&state={query['state'][0]}"
            return Response(302, b"", {"Location": back})
        if path == "/token":
            return self.grant({key: value[0] for key, value in parse_qs(request.text).items()})
        return Response(404)

    def grant(self, form):
        self.grants.append(form)
        if form["grant_type"] == "authorization_code":
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != self.challenges[form["code"]]:
                return Response(400)
        return json_response({"access_token": "granted", "token_type": "Bearer", "expires_in": 3600})


def machine(**more: str) -> Auth:
    return Auth(client_credentials=ClientCredentials(client_id="me", client_secret="s3cr3t", **more))


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A browser without a person, which follows the address back to the client."""
    script = tmp_path / "browser.py"
    script.write_text(BROWSER)
    monkeypatch.setenv("BROWSER", f"{sys.executable} {script} %s")


async def test_client_credentials_get_a_token(http, context):
    endpoint = Protected()
    with anyio.fail_after(LIMIT):
        async with serve(endpoint) as url, http(url, auth=machine()) as client:
            result = await client.call_tool("echo", {"text": "in"})

    assert result["content"][0]["text"] == "in"
    [grant] = endpoint.grants
    assert grant["grant_type"] == "client_credentials"
    assert context.warnings == [
        "the server itself decides who gets the client credentials; name their `issuer` to prevent that"
    ]


async def test_client_credentials_go_to_their_issuer_alone(http):
    endpoint = Protected()
    with anyio.fail_after(LIMIT):
        async with serve(endpoint) as url:
            async with http(url, auth=machine(issuer=endpoint.origin)) as client:
                assert client.server is not None
            with pytest.raises(McpError) as caught:
                async with http(url, auth=machine(issuer="https://elsewhere.example")):
                    pass

    assert caught.value.code == "ERR_MCP_AUTH"
    assert len(endpoint.grants) == 1


async def test_a_person_signs_in_once_and_the_token_file_serves_the_next_run(http, browser, tmp_path):
    endpoint = Protected()
    fields = AuthorizationCode(token_file="private/tokens.json")
    with anyio.fail_after(LIMIT):
        async with serve(endpoint) as url:
            for _ in range(2):
                async with http(url, auth=Auth(authorization_code=fields)) as client:
                    assert (await client.call_tool("echo", {"text": "in"}))["content"][0]["text"] == "in"
            quiet = Auth(authorization_code=AuthorizationCode(token_file="private/tokens.json", interactive=False))
            async with http(url, auth=quiet) as client:
                assert client.server is not None

    file = tmp_path / "private" / "tokens.json"
    assert [grant["grant_type"] for grant in endpoint.grants] == ["authorization_code"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_text())[endpoint.url]["tokens"]["access_token"] == "granted"


async def test_without_a_person_a_sign_in_that_is_needed_is_an_error(http):
    auth = Auth(authorization_code=AuthorizationCode(interactive=False))
    with anyio.fail_after(LIMIT):
        async with serve(Protected()) as url:
            with pytest.raises(McpError) as caught:
                async with http(url, auth=auth):
                    pass

    assert caught.value.code == "ERR_MCP_AUTH"
    assert caught.value.message == "the server wants a person to sign in, and `interactive` is false"


async def test_a_failed_sign_in_is_an_auth_error(http):
    class Refusing(Protected):
        def grant(self, form):
            return json_response({"error": "invalid_client"}, status=401)

    with anyio.fail_after(LIMIT):
        async with serve(Refusing()) as url:
            with pytest.raises(McpError) as caught:
                async with http(url, auth=machine()):
                    pass

    assert caught.value.code == "ERR_MCP_AUTH"
    assert "invalid_client" in caught.value.message


async def test_an_authorization_server_in_another_network_is_not_fetched(http):
    endpoint = Protected(token_endpoint="https://169.254.169.254/latest/meta-data")
    with anyio.fail_after(LIMIT):
        async with serve(endpoint) as url:
            with pytest.raises(McpError) as caught:
                async with http(url, auth=machine()):
                    pass

    assert caught.value.code == "ERR_MCP_AUTH"
    assert caught.value.message.endswith("it is in a link-local network and the server is not")


async def test_the_address_that_was_looked_at_is_the_one_that_is_dialled(monkeypatch):
    looked_up = []

    async def look_up(host):
        looked_up.append(host)
        assert looked_up.count(host) == 1, "a second look might give another address"
        return [guard.ipaddress.ip_address("127.0.0.1")]

    monkeypatch.setattr(guard, "look_up", look_up)
    endpoint = Endpoint()
    async with serve(endpoint) as url:
        port = urlsplit(url).port
        transport = guard.GuardedTransport("http://mcp.example:1/mcp", verify=False)
        async with httpx2.AsyncClient(transport=transport) as client, anyio.create_task_group():
            answer = await client.get(f"http://auth.example:{port}/token")

    assert answer.status_code == 405
    assert endpoint.requests[0].headers["host"] == f"auth.example:{port}"


async def test_a_token_file_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "tokens.json"
    file.write_text("{}")
    file.chmod(0o644)
    with pytest.raises(McpError) as caught:
        await TokenStore("https://x", file, None).get_tokens()

    assert (caught.value.code, caught.value.message) == (
        "ERR_MCP_AUTH",
        'the token file "tokens.json" can be read by others',
    )


async def test_a_token_file_replaces_a_link_and_keeps_other_servers(tmp_path):
    from mcp.shared.auth import OAuthToken

    target, file = tmp_path / "target", tmp_path / "tokens.json"
    target.write_text("untouched")
    target.chmod(0o600)
    os.symlink(target, file)
    for server in ("https://a", "https://b"):
        await TokenStore(server, file, None).set_tokens(OAuthToken(access_token=server))

    assert target.read_text() == "untouched"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (await TokenStore("https://a", file, None).get_tokens()).access_token == "https://a"
