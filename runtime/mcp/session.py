"""One conversation with a server: the era that both speak, and requests in that era's form.

Handshake era (2024-11-05 to 2025-11-25): `initialize`, then plain requests. Modern era (2026-07-28): no handshake; each
request carries version, client and capabilities in `_meta`, over HTTP in headers too, and a result may ask for input.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from runtime.errors import McpError
from runtime.mcp.connection import Call, Connection, Progress, Refusal
from runtime.mcp.contracts import ServerInfo
from runtime.mcp.param_headers import encode_header, list_param_headers
from runtime.telemetry import tool_span

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
UNSUPPORTED_VERSION = -32022
METHOD_NOT_FOUND = -32601

PROBE_QUIET = 0.8  # seconds without an answer to `server/discover` before a ping asks whether the server reads at all
PROBE_AFTER_PING = 0.3  # seconds that the answer may still come after the ping's
PROBE_LIMIT = 1.5  # seconds after which `initialize` is sent as well; whichever is answered first counts
ROUNDS_LIMIT = 10  # times that one request may ask for input
STATE_PAUSE, LONGEST_STATE_PAUSE = 0.05, 0.25  # seconds before a request is repeated that asked for no input
LONGEST_NAME = 200
LOG_LEVEL = "info"  # what a modern server, which logs only when asked to, is asked for
META = "io.modelcontextprotocol/"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Ask = Callable[[str, Mapping[str, Any]], Any]


class Session:
    """Requests in the era that was agreed on; `negotiate` comes first."""

    def __init__(
        self, connection: Connection, client_info: Mapping[str, str], capabilities: Mapping[str, Any], *, is_http: bool
    ) -> None:
        self.connection = connection
        self.client_info = dict(client_info)
        self.capabilities = dict(capabilities)
        self.is_http = is_http
        self.version = ""
        self.info = ServerInfo("", "", "", {})
        self.log_level: str | None = None

    @property
    def is_modern(self) -> bool:
        return self.version in MODERN_VERSIONS

    # -- requests --------------------------------------------------------------------------

    def start(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        deadline: float,
        *,
        version: str | None = None,
        tool: Mapping[str, Any] | None = None,
        patience: float = 0.0,
        last: float = 0.0,
        on_progress: Progress | None = None,
    ) -> Call:
        """Send one request; `tool` is the listed tool that a `tools/call` names."""
        version = self.version if version is None else version
        body = dict(params or {})
        headers: dict[str, str] = {}
        if version in MODERN_VERSIONS:
            meta = {
                f"{META}protocolVersion": version,
                f"{META}clientInfo": self.client_info,
                f"{META}clientCapabilities": self.capabilities,
            }
            if self.log_level:
                meta[f"{META}logLevel"] = self.log_level
            body["_meta"] = {**(body.get("_meta") or {}), **meta}
            if self.is_http:
                headers = make_headers(method, body, version, tool)
        elif "_meta" in body:
            body["_meta"] = dict(body["_meta"])
        return self.connection.start(
            method, body, deadline, headers=headers, patience=patience, last=last, on_progress=on_progress
        )

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        deadline: float,
        *,
        ask: Ask | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """The raw result, after as many rounds of input as the server asks for; raises `McpError`."""
        body = dict(params or {})
        pause = STATE_PAUSE
        for _ in range(ROUNDS_LIMIT + 1):
            call = self.start(method, body, deadline, **more)
            if (span := tool_span()).is_recorded:
                span.set({"jsonrpc.request.id": str(call.id)})
            result = await self.connection.finish(call)
            if type(result) is not dict:
                raise self.error(f'the result of "{method}" is no JSON object', "ERR_MCP_PROTOCOL")
            if result.get("resultType") != "input_required":
                return result
            asked = result.get("inputRequests")
            body = dict(params or {})
            if result.get("requestState") is not None:
                body["requestState"] = result["requestState"]
            if type(asked) is dict and asked and ask:
                body["inputResponses"] = await self._answer_inputs(asked, ask)
            elif not asked:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_STATE_PAUSE)
            else:
                raise self.error(f'the server wants input for "{method}", which is not offered', "ERR_MCP_PROTOCOL")
        raise self.error(f'the server asked more than {ROUNDS_LIMIT} times for input to "{method}"', "ERR_MCP_LIMIT")

    async def _answer_inputs(self, asked: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for key, wish in asked.items():
            fields = wish if type(wish) is dict else {}
            method, params = fields.get("method"), fields.get("params")
            try:
                answer = ask(str(method), params if type(params) is dict else {})
                answers[key] = answer if isinstance(answer, Mapping) else await answer
            except Refusal as refusal:
                shown = self.connection.quote(method, 60) if type(method) is str else "no method"
                raise self.error(
                    f'the server wants input that is not offered: "{shown}" ({refusal.message})', "ERR_MCP_PROTOCOL"
                ) from None
        return answers

    def error(self, message: str, code: str, **more: Any) -> McpError:
        return McpError(message, code=code, resource=self.connection.name, **more)

    # -- the era ---------------------------------------------------------------------------

    async def negotiate(self, protocol: str, deadline: float) -> None:
        """Agree on a revision: `auto`, `legacy`, or a modern revision by its date. Raises `McpError`."""
        if protocol == "legacy":
            await self._initialize(deadline)
        elif protocol in MODERN_VERSIONS:
            await self._discover(protocol, deadline)
        elif self.is_http:
            await self._try_discover(
                self.start("server/discover", None, deadline, version=MODERN_VERSIONS[-1]), deadline
            )
        else:
            await self._probe(deadline)

    def adopt(self) -> None:
        """Join a session that somebody else opened: the handshake is done, what was agreed on is not known."""
        self._adopt(HANDSHAKE_VERSIONS[-1], {"capabilities": {"tools": {}}}, None)

    async def _probe(self, deadline: float) -> None:
        """Find the era of a stdio server, which may not know `server/discover`, or ignore what it does not know.

        A ping shows that a silent server reads its input: no answer to the probe will follow then. A server that is
        still booting answers neither; it finds `initialize` as well in its input, and its first answer counts.
        """
        probe = self.start("server/discover", None, deadline, version=MODERN_VERSIONS[-1])
        ping = hand = None
        try:
            if not await settle(PROBE_QUIET, probe):
                ping = self.connection.start("ping", {}, deadline)
                if await settle(PROBE_LIMIT - PROBE_QUIET, probe, ping) and not probe.future.done():
                    await settle(PROBE_AFTER_PING, probe)
            if not probe.future.done():
                hand = self._start_initialize(deadline)
                await asyncio.wait({probe.future, hand.future}, return_when=asyncio.FIRST_COMPLETED)
            if hand and hand.future.done() and not hand.future.exception():
                self._take_handshake(hand.future.result())
            elif hand and probe.future.done() and not probe.future.exception():
                self._take_discovery(probe.future.result(), MODERN_VERSIONS[-1])
            elif hand:
                if not await settle(PROBE_AFTER_PING, probe):
                    await self.connection.finish(hand)  # refused, and the probe is not heard
                await self._try_discover(probe, deadline, hand)
            else:
                await self._try_discover(probe, deadline)
        finally:
            for call in (probe, ping, hand):
                if call:
                    self.connection.release(call, "the era is known")

    async def _try_discover(self, probe: Call, deadline: float, hand: Call | None = None) -> None:
        """Take the probe's answer; where it is no positive sign of the modern era, shake hands."""
        try:
            found = await self.connection.finish(probe)
        except McpError as error:
            offered = read_offered(error)
            if not is_era_sign(error):
                raise
            if chosen := choose_modern(offered):
                return await self._discover(chosen, deadline)
            if offered and not any(version in HANDSHAKE_VERSIONS for version in offered):
                raise self._no_common_version(offered) from error
        else:
            if type(found) is dict and (versions := found.get("supportedVersions")):
                if choose_modern(versions):
                    return self._take_discovery(found, MODERN_VERSIONS[-1])
                if not any(version in HANDSHAKE_VERSIONS for version in versions):
                    raise self._no_common_version(versions)
        try:
            self._take_handshake(await self.connection.finish(hand or self._start_initialize(deadline)))
        except McpError as error:
            # the server settled on the modern era after all, such as by a probe that it answered late
            chosen = choose_modern(read_offered(error))
            if not chosen:
                raise
            await self._discover(chosen, deadline)
        return None

    async def _discover(self, version: str, deadline: float) -> None:
        try:
            found = await self.connection.finish(self.start("server/discover", None, deadline, version=version))
        except McpError as error:
            if error.details.get("rpcCode") != METHOD_NOT_FOUND:
                raise
            found = {"supportedVersions": [version], "capabilities": {"tools": {}}}
        self._take_discovery(found, version)

    async def _initialize(self, deadline: float) -> None:
        self._take_handshake(await self.connection.finish(self._start_initialize(deadline)))

    def _start_initialize(self, deadline: float) -> Call:
        params = {
            "protocolVersion": HANDSHAKE_VERSIONS[-1],
            "capabilities": self.capabilities,
            "clientInfo": self.client_info,
        }
        self.connection.wire.protocol_version = ""
        return self.start("initialize", params, deadline, version="")

    def _take_handshake(self, result: Any) -> None:
        fields = result if type(result) is dict else {}
        version = fields.get("protocolVersion")
        if version not in HANDSHAKE_VERSIONS:
            raise self._no_common_version([version] if type(version) is str else [])
        self._adopt(version, fields, fields.get("serverInfo"))
        self.connection.notify("notifications/initialized")

    def _take_discovery(self, result: Any, version: str) -> None:
        fields = result if type(result) is dict else {}
        versions = fields.get("supportedVersions")
        if not (type(versions) is list and version in versions):
            raise self._no_common_version(versions if type(versions) is list else [])
        meta = fields.get("_meta")
        self._adopt(version, fields, meta.get(f"{META}serverInfo") if type(meta) is dict else None)

    def _adopt(self, version: str, fields: Mapping[str, Any], server: Any) -> None:
        about = server if type(server) is dict else {}
        capabilities, instructions = fields.get("capabilities"), fields.get("instructions")
        self.version = self.connection.wire.protocol_version = version
        if type(capabilities) is dict and "logging" in capabilities:
            self.log_level = LOG_LEVEL
        self.info = ServerInfo(
            name=self.connection.quote(str(about.get("name") or ""), LONGEST_NAME),
            version=self.connection.quote(str(about.get("version") or ""), LONGEST_NAME),
            protocol_version=version,
            capabilities=capabilities if type(capabilities) is dict else {},
            instructions=instructions if type(instructions) is str else "",
        )

    def _no_common_version(self, versions: Any) -> McpError:
        named = [f'"{self.connection.quote(version, 40)}"' for version in versions[:5] if type(version) is str]
        ours = f'"{HANDSHAKE_VERSIONS[0]}" to "{HANDSHAKE_VERSIONS[-1]}" and "{MODERN_VERSIONS[-1]}"'
        found = f"the server speaks protocol {', '.join(named)}" if named else "the server named no protocol version"
        return self.error(
            f"{found}; known here are {ours}", "ERR_MCP_PROTOCOL", hint="update the server, or the runtime"
        )


async def settle(seconds: float, *calls: Call) -> bool:
    """Wait until one of the calls has ended; False when the time ran out."""
    futures = {call.future for call in calls}
    done, _ = await asyncio.wait(futures, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)


def choose_modern(versions: Any) -> str | None:
    known = [version for version in MODERN_VERSIONS if type(versions) is list and version in versions]
    return known[-1] if known else None


def read_offered(error: McpError) -> list[Any]:
    """The versions that an unsupported-version error (-32022) names."""
    data = error.details.get("rpcData")
    offered = data.get("supported") if type(data) is dict else None
    is_it = error.details.get("rpcCode") == UNSUPPORTED_VERSION
    return offered if is_it and type(offered) is list else []


def is_era_sign(error: McpError) -> bool:
    """Whether a refused probe may mean that the server knows the handshake only."""
    if error.code == "ERR_MCP_JSON_RPC_ERROR" or error.code == "ERR_MCP_SESSION_INVALID":
        return True
    status = error.details.get("status")
    return type(status) is int and 400 <= status < 500 and status not in (401, 403, 408, 429)


def make_headers(
    method: str, params: Mapping[str, Any], version: str, tool: Mapping[str, Any] | None
) -> dict[str, str]:
    """The headers that mirror a modern request, so that proxies can route it without reading the body."""
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    name = params.get(NAMED_BY.get(method, ""))
    if type(name) is str:
        headers["mcp-name"] = encode_header(name)
    if method == "tools/call" and tool:
        headers |= list_param_headers(tool.get("inputSchema"), params.get("arguments") or {})
    return headers
