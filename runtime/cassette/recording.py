"""Recording a run: proxies in the place of what stands on the border, which write down what passes."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

import anyio
import msgspec

from runtime.ai.contracts import Model, ModelRequest, TextDelta, Tool, ToolProvider, TurnEnd
from runtime.cassette.borders import CLIENT, MODEL, PROVIDER, Border
from runtime.cassette.contents import Recording
from runtime.cassette.spelling import spell_end, spell_request, spell_result, spell_server, spell_tools
from runtime.cassette.tape import Tape
from runtime.contracts import Invocable
from runtime.errors import Error
from runtime.kind import Context
from runtime.lifecycle import Opener, open_kind
from runtime.masking import Masker
from runtime.mcp.contracts import Client
from runtime.resolver import Node
from runtime.resource_set import Resource


class Recorder:
    """Records what stands on the border of one run; `open` is the run's opener."""

    def __init__(self, borders: Mapping[Resource, Border], masker: Masker, opener: Opener = open_kind) -> None:
        self._borders = borders
        self._masker = masker
        self._opener = opener
        self._tapes: dict[str, Tape] = {}
        self._bare: dict[Node, Any] = {}

    def open(self, node: Node, instances: Mapping[Node, Any], context: Context) -> AbstractAsyncContextManager[Any]:
        border = self._borders.get(node.resource)
        return self._open(border, node, instances, context) if border else self._opener(node, instances, context)

    @asynccontextmanager
    async def _open(
        self, border: Border, node: Node, instances: Mapping[Node, Any], context: Context
    ) -> AsyncIterator[Any]:
        # What the border itself uses, as a client does that lends its server a model, lies beyond it.
        async with self._opener(node, {**instances, **self._bare}, context) as instance:
            tape = self._tapes[border.key] = Tape(border, self._masker)
            self._bare[node] = instance
            yield self._wrap(border, _PROXIES.get(border.contract, RecordedInvocable)(tape, instance))
            facts = _FACTS[border.contract](instance) if border.contract in _FACTS else {}
            tape.facts = {"name": str(getattr(instance, "name", "")), **facts}

    def _wrap(self, border: Border, recorded: Any) -> Any:
        """What stands in the place of an instance, given what records it."""
        return recorded

    def finish(self, ignore: Mapping[str, Sequence[str]]) -> list[Recording]:
        """The recordings, with the rules of those that they take the place of."""
        return [tape.finish(ignore.get(key, ())) for key, tape in sorted(self._tapes.items())]


class _Proxy:
    """Hands on what an instance has beside its contract."""

    def __init__(self, tape: Tape, instance: Any) -> None:
        self._tape = tape
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instance, name)


class RecordedModel(_Proxy):
    """Keeps the contract `Ai.Model`."""

    _instance: Model

    def __init__(self, tape: Tape, instance: Model) -> None:
        super().__init__(tape, instance)
        self._tools: Sequence[Tool] = ()
        self._spelled: Sequence[Any] = []

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        if request.tools is not self._tools:
            self._tools, self._spelled = request.tools, spell_tools(request.tools)
        entry = self._tape.begin(spell_request(request, self._spelled))
        pieces: list[str] = []
        try:
            async with aclosing(self._instance.generate(request)) as turn:
                async for piece in turn:
                    if isinstance(piece, TextDelta):
                        pieces.append(piece.text)
                    else:
                        entry.end(spell_end(piece), pieces)
                    yield piece
        except Error as error:
            entry.fail(error, pieces)
            raise
        except (anyio.get_cancelled_exc_class(), GeneratorExit):
            entry.cancel(pieces)
            raise


class RecordedClient(_Proxy):
    """Keeps the contract `Mcp.Client`."""

    _instance: Client

    def __init__(self, tape: Tape, instance: Client) -> None:
        super().__init__(tape, instance)
        self._listed: Sequence[Mapping[str, Any]] | None = None

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        listed = await self._instance.list_tools()
        if listed is not self._listed:
            self._listed = listed
            self._tape.add_list(listed)
        return listed

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, timeout_ms: int | None = None
    ) -> Mapping[str, Any]:
        request: dict[str, Any] = {"name": name, "arguments": arguments}
        if timeout_ms is not None:
            request["timeoutMs"] = timeout_ms
        result: Mapping[str, Any] = await _record(
            self._tape, request, self._instance.call_tool(name, arguments, timeout_ms=timeout_ms)
        )
        return result

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        request = {"method": method, "params": params}
        result: Mapping[str, Any] = await _record(self._tape, request, self._instance.request(method, params))
        return result


class RecordedProvider(_Proxy):
    """Keeps the contract `Ai.ToolProvider`."""

    _instance: ToolProvider

    def __init__(self, tape: Tape, instance: ToolProvider) -> None:
        super().__init__(tape, instance)
        self._listed: Sequence[Tool] | None = None

    async def list_tools(self) -> Sequence[Tool]:
        listed = await self._instance.list_tools()
        if listed is not self._listed:
            self._listed = listed
            self._tape.add_list(spell_tools(listed))
        return listed

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        request = {"name": name, "arguments": arguments}
        return await _record(self._tape, request, self._instance.call_tool(name, arguments), spell_result)


class RecordedInvocable(_Proxy):
    """Keeps the contract `Runtime.Invocable`."""

    _instance: Invocable

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        return await _record(self._tape, {"inputs": inputs}, self._instance.invoke(inputs))


async def _record(tape: Tape, request: dict[str, Any], work: Any, spell: Any = msgspec.to_builtins) -> Any:
    entry = tape.begin(msgspec.to_builtins(request))
    try:
        result = await work
    except Error as error:
        entry.fail(error)
        raise
    except anyio.get_cancelled_exc_class():
        entry.cancel()
        raise
    entry.end({"result": spell(result)})
    return result


def _model_facts(model: Any) -> dict[str, Any]:
    return {"toolFormat": model.tool_format, "maxTools": model.max_tools}


def _client_facts(client: Any) -> dict[str, Any]:
    return {
        "server": spell_server(client.server),
        "lifetime": getattr(client, "lifetime", "shared"),
        "instructions": getattr(client, "instructions", ""),
    }


def _provider_facts(provider: Any) -> dict[str, Any]:
    return {
        "instructions": getattr(provider, "instructions", ""),
        "isAvailable": bool(getattr(provider, "is_available", True)),
    }


_PROXIES: dict[str, Any] = {MODEL: RecordedModel, CLIENT: RecordedClient, PROVIDER: RecordedProvider}
_FACTS: dict[str, Any] = {MODEL: _model_facts, CLIENT: _client_facts, PROVIDER: _provider_facts}
