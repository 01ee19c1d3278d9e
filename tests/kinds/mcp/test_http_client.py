"""`Mcp.HttpClient` as a manifest declares it."""

import datetime
import ipaddress
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from servers.loopback import Endpoint, Response, serve

from runtime.errors import StartError

pytestmark = pytest.mark.anyio


def client(url: str, *fields: str) -> str:
    more = "".join(f"{field}\n" for field in fields)
    return f'kind: Mcp.HttpClient\nmetadata: {{ name: Web }}\nurl: "{url}"\n{more}'


async def test_a_client_is_up_and_says_so(apply, report):
    async with serve(Endpoint()) as url, apply(client(url)) as live:
        result = await live["Web"].call_tool("echo", {"text": "x"})

    assert result == {"content": [{"type": "text", "text": "x"}]}
    assert report.summaries == {"Web": "3 tools, MCP 2025-11-25"}


@pytest.mark.parametrize(
    "field", ['headers: { Authorization: "Bearer ${{ secrets.token }}" }', 'auth: { bearer: "${{ secrets.token }}" }']
)
async def test_a_token_goes_with_every_request(apply, field):
    endpoint = Endpoint()
    async with serve(endpoint) as url, apply(client(url, field), TOKEN="t0ken-4711"):
        pass

    assert {request.headers.get("authorization") for request in endpoint.requests} == {"Bearer t0ken-4711"}


async def test_a_server_that_refuses_the_token_is_told_without_it(apply):
    class Refusing(Endpoint):
        async def handle(self, request):
            return Response(401, b"bad token t0ken-4711")

    async with serve(Refusing()) as url:
        with pytest.raises(StartError) as caught:
            async with apply(client(url, 'auth: { bearer: "${{ secrets.token }}" }'), TOKEN="t0ken-4711"):
                pass

    assert caught.value.code == "ERR_MCP_AUTH"
    assert caught.value.message == "HTTP 401 Odd: bad token ***"
    assert caught.value.hint == "give credentials: `headers: {Authorization: ...}` or `auth`"


async def test_a_proxy_of_the_environment_is_used_only_where_it_is_trusted(apply, monkeypatch):
    seen = []

    class Proxy(Endpoint):
        async def handle(self, request):
            seen.append(request.path)
            return await super().handle(request)

    async with serve(Proxy(), "") as proxy, serve(Endpoint()) as url:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("NO_PROXY", "")
        async with apply(client(url)):
            assert seen == []
        async with apply(client(url, "trustEnv: true")):
            assert seen[0] == url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> str:
    """A certificate for 127.0.0.1, with its key, that nobody trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    own = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(own + made.public_bytes(pem))
    return str(file)


async def test_an_authority_of_the_manifest_is_trusted(apply, certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with serve(Endpoint(), tls=context) as url:
        async with apply(client(url, f"tls: {{ caFile: {certificate} }}")) as live:
            result = await live["Web"].call_tool("echo", {"text": "safe"})
        with pytest.raises(StartError) as caught:
            async with apply(client(url)):
                pass

    assert result["content"][0]["text"] == "safe"
    assert caught.value.code == "ERR_MCP_TRANSPORT"
    assert "certificate verify failed" in caught.value.message


@pytest.mark.parametrize(
    "field, finding",
    [
        ("headers: { X: 1 }", "4:15 SCHEMA_TYPE"),
        ("transport: websocket", "4:12 SCHEMA_VALUE"),
        ("auth: {}", "4:7 SCHEMA_VALUE"),
        ("auth: { bearer: x, clientCredentials: { clientId: y } }", "4:7 SCHEMA_VALUE"),
        ("auth: { clientCredentials: {} }", "4:28 SCHEMA_REQUIRED"),
        ("shutdownGraceMs: 1", "4:1 SCHEMA_UNKNOWN_FIELD"),
    ],
)
def test_a_field_that_makes_no_sense_is_found_at_its_place(validate, field, finding):
    found = validate(client("http://127.0.0.1:1/mcp", field))

    assert [" ".join(line.split(" ")[:2]) for line in found if "UNUSED" not in line] == [finding]


def test_a_url_must_be_one(validate):
    [found] = [line for line in validate(client("ftp://x")) if "UNUSED" not in line]

    assert found.startswith("3:6 SCHEMA_VALUE")
