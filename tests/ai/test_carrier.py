"""The way of requests to a provider, over real HTTP on loopback: what stands in them, what comes back, what is lost."""

import asyncio
import gzip
import ssl
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import anyio
import pytest
from command import environment
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from runtime.ai.carrier import Carrier, Lost, read_address

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"


class Server:
    """Gives one answer after the other, and closes the connection after each where `closes` says so."""

    def __init__(self, *answers: bytes, closes: bool = False) -> None:
        self.answers = list(answers)
        self.closes = closes
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.closed = anyio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"CONNECT "):
                    self.heads.append(head)
                    await self._tunnel(head, reader, writer)
                    return
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(length))
                writer.write(self.answers.pop(0))
                if self.closes:
                    writer.close()
                    await writer.wait_closed()
                    return
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went
        finally:
            writer.close()
            self.closed.set()

    async def _tunnel(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = head.split()[1].decode().split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")

        async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                to.write(data)
            to.close()

        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))


@asynccontextmanager
async def serving(server: Server, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    async with listening:
        yield server


@asynccontextmanager
async def carrying(url: str, timeout: float = 10.0) -> AsyncIterator[Carrier]:
    carrier = Carrier(url, {"authorization": "Bearer key"}, timeout=timeout, connect_timeout=5.0)
    try:
        with anyio.fail_after(20):
            yield carrier
    finally:
        await carrier.aclose()


async def post(carrier: Carrier, body: bytes = b"{}") -> tuple[int, bytes]:
    answer = await carrier.post(body)
    try:
        return answer.status, b"".join([piece async for piece in answer.pieces()])
    finally:
        await answer.aclose()


def packed(body: bytes, packing: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {packing}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture
def certificate(tmp_path: Path) -> str:
    """A certificate for 127.0.0.1 with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = tmp_path / "server.pem"
    file.write_bytes(
        made.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, plain)
    )
    return str(file)


def serving_context(certificate: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.anyio
async def test_a_request_names_its_host_and_length_and_carries_our_headers() -> None:
    async with serving(Server(HELLO)) as server, carrying(f"{server.url}/v1/a b?q=1&r=é") as carrier:
        assert await post(carrier, b"body") == (200, b"hello")

    lines = server.heads[0].decode().split("\r\n")
    host = server.url.removeprefix("http://")
    assert lines[0] == "POST /v1/a%20b?q=1&r=%C3%A9 HTTP/1.1"
    assert sorted(lines[1:-2]) == ["authorization: Bearer key", "content-length: 4", f"host: {host}"]
    assert server.bodies == [b"body"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "packing"),
    [
        (gzip.compress(b"hello" * 1000), "gzip"),
        (gzip.compress(b"hello" * 1000), "X-GZIP"),
        (zlib.compress(b"hello" * 1000), "deflate"),
        (b"hello" * 1000, "identity"),
    ],
)
async def test_an_answer_is_unpacked_though_we_asked_for_none_packed(body: bytes, packing: str) -> None:
    async with serving(Server(packed(body, packing))) as server, carrying(server.url) as carrier:
        assert await post(carrier) == (200, b"hello" * 1000)


@pytest.mark.anyio
async def test_what_unpacks_to_much_comes_in_pieces() -> None:
    body = gzip.compress(bytes(5 << 20))
    async with serving(Server(packed(body, "gzip"))) as server, carrying(server.url) as carrier:
        answer = await carrier.post(b"{}")
        sizes = [len(piece) async for piece in answer.pieces()]
        await answer.aclose()

    assert (sum(sizes), max(sizes)) == (5 << 20, 1 << 20)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "stage"),
    [
        (packed(b"no zip at all", "gzip"), "carry"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello", "carry"),
        (b"no HTTP at all\r\n\r\n", "carry"),
        (b"", "carry"),
    ],
)
async def test_what_breaks_is_lost_where_it_broke(answer: bytes, stage: str) -> None:
    async with serving(Server(answer, closes=True)) as server, carrying(server.url) as carrier:
        with pytest.raises(Lost) as lost:
            await post(carrier)

    assert lost.value.stage == stage


@pytest.mark.anyio
async def test_a_silent_provider_is_lost_while_waiting() -> None:
    silent = Server(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")
    async with serving(silent) as server, carrying(server.url, timeout=0.05) as carrier:
        with pytest.raises(Lost) as lost:
            await post(carrier)

    assert lost.value.stage == "wait"


@pytest.mark.anyio
async def test_a_provider_that_is_not_there_is_lost_on_the_way() -> None:
    async with serving(Server()) as server:
        url = server.url
    async with carrying(url) as carrier:
        with pytest.raises(Lost) as lost:
            await post(carrier)

    assert lost.value.stage == "connect"


@pytest.mark.anyio
async def test_a_connection_serves_again_and_one_that_was_closed_meanwhile_is_made_anew() -> None:
    async with serving(Server(HELLO, HELLO, HELLO)) as server, carrying(server.url) as carrier:
        assert [await post(carrier) for _ in range(3)] == [(200, b"hello")] * 3
    assert server.connections == 1

    async with serving(Server(HELLO, HELLO, HELLO, closes=True)) as server, carrying(server.url) as carrier:
        for _ in range(3):
            assert await post(carrier) == (200, b"hello")
            await server.closed.wait()
            server.closed = anyio.Event()
    assert server.connections == 3


@pytest.mark.anyio
async def test_https_is_spoken_with_a_provider_that_is_trusted_and_with_no_other(
    certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(Server(HELLO), serving_context(certificate)) as server:
        async with carrying(server.url) as carrier:
            with pytest.raises(Lost) as lost:
                await post(carrier)
        assert (lost.value.stage, "certificate verify failed" in str(lost.value)) == ("connect", True)

        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        async with carrying(server.url) as carrier:
            assert await post(carrier) == (200, b"hello")


@pytest.mark.anyio
async def test_https_goes_through_a_proxy_in_a_tunnel(certificate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    async with serving(Server()) as proxy, serving(Server(HELLO), serving_context(certificate)) as server:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("http://", "http://us%40er:pass@"))
        async with carrying(server.url) as carrier:
            assert await post(carrier) == (200, b"hello")

    head = proxy.heads[0].decode()
    assert head.startswith(f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic dXNAZXI6cGFzcw==" in head


@pytest.mark.parametrize("proxy", ["ftp://127.0.0.1:1", "http://", "http://127.0.0.1:port"])
def test_a_proxy_that_is_none_cannot_be_used(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)

    with pytest.raises(ValueError):
        Carrier("http://model.example", {}, timeout=1.0, connect_timeout=1.0)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://model.example", (b"http", b"model.example", None, b"/")),
        ("https://Model.Example:8443/v1/chat", (b"https", b"model.example", 8443, b"/v1/chat")),
        ("http://[::1]:80/", (b"http", b"::1", 80, b"/")),
        ("https://bücher.example/ü?a=b c", (b"https", b"xn--bcher-kva.example", None, b"/%C3%BC?a=b%20c")),
        ("http://host/a%20b/%2F", (b"http", b"host", None, b"/a%20b/%2F")),
        ("http://user:word@host/x", (b"http", b"host", None, b"/x")),
    ],
)
def test_the_parts_of_an_address(url: str, parts: Sequence[object]) -> None:
    address = read_address(url)

    assert (address.scheme, address.host, address.port, address.target) == parts


@pytest.mark.parametrize(
    "url", ["ftp://host", "host/path", "http://", "http://host:0", "http://host:port", "http://[::"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError):
        read_address(url)


def test_the_library_is_as_after_a_plain_import_though_less_is_loaded(tmp_path: Path) -> None:
    program = """
import sys
from runtime.ai.quick_import import import_httpcore
httpcore2 = import_httpcore()
assert not {"importlib.metadata", "email", "zipfile"} & sys.modules.keys()
from importlib.metadata import PackageNotFoundError, version
assert httpcore2.__version__ == version("httpcore2")
print("as it should be")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )

    assert (done.stdout, done.stderr) == ("as it should be\n", "")


def test_what_else_asks_for_metadata_meanwhile_gets_it(tmp_path: Path) -> None:
    (tmp_path / "httpcore2.py").write_text(
        "from importlib import metadata\nfrom importlib.metadata import PackageNotFoundError, distribution\n"
        "name = distribution('anyio').metadata['Name']\n"
        "try:\n    metadata.version('no-such-package')\nexcept PackageNotFoundError:\n    missing = True\n"
    )
    program = """
import sys
from runtime.ai.quick_import import import_httpcore
httpcore2 = import_httpcore()
import importlib.metadata
print(httpcore2.name, httpcore2.missing, importlib.metadata.version("anyio") == importlib.metadata.version("anyio"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment(tmp_path), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("anyio True True\n", "")
