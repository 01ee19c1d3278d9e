"""What tests of agents share: a provider made of plain functions, and an agent over the scripted model."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from inspect import isawaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinds.ai.scripted_model import ScriptedModel
from runtime.ai.agent import Agent
from runtime.ai.contracts import Model, Tool
from runtime.ai.run import RunRules
from runtime.ai.tool_set import Source

TEXT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class PlainContext:
    """A context for kinds whose fields hold no expressions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = Path()
        self.warnings: list[str] = []
        self.lines: list[str] = []

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def log(self, message: str) -> None:
        self.lines.append(message)

    def mask(self, text: str) -> str:
        return text

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return value


class Toolbox:
    """A provider whose tools are functions of their arguments; `calls` tells what reached it."""

    def __init__(self, name: str, **tools: Callable[..., Any]) -> None:
        self.name = name
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.functions = tools
        self.listing: Sequence[Tool] = [Tool(tool, f"The tool {tool}.", {"type": "object"}) for tool in tools]

    def describe(self, tool: str, parameters: Mapping[str, Any]) -> "Toolbox":
        self.listing = [
            Tool(each.name, each.description, parameters) if each.name == tool else each for each in self.listing
        ]
        return self

    async def list_tools(self) -> Sequence[Tool]:
        return self.listing

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append((name, arguments))
        result = self.functions[name](**arguments)
        return await result if isawaitable(result) else result


@pytest.fixture
def toolbox() -> type[Toolbox]:
    return Toolbox


@pytest.fixture
def context() -> PlainContext:
    return PlainContext("Scripted")


@pytest.fixture
async def script(context: PlainContext) -> AsyncIterator[Callable[..., Awaitable[Model]]]:
    """Opens a scripted model from the fields of its manifest."""
    async with AsyncExitStack() as stack:

        async def open_model(**fields: Any) -> Model:
            return await stack.enter_async_context(msgspec.convert(fields, ScriptedModel).open(context))

        yield open_model


@pytest.fixture
def agent(context: PlainContext) -> Callable[..., Agent]:
    """Makes an agent: a model, then providers or sources, then rules by name."""

    def make(model: Model, *providers: Any, **rules: Any) -> Agent:
        sources = [each if isinstance(each, Source) else Source(each, each.name) for each in providers]
        return Agent("Assistant", model, sources, RunRules(**rules), context.warn)

    return make
