"""Which agents, providers and offered tools no case has used."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

from msgspec import Struct

from runtime.ai.events import ToolCalled, collect
from runtime.cassette.borders import INVOCABLE, PROVIDER, find_borders
from runtime.checks import Checked
from runtime.errors import Error
from runtime.kind import Context
from runtime.lifecycle import Opener, open_kind
from runtime.resolver import Node
from runtime.resource_set import Resource


class ToolUse(Struct):
    """A tool that an agent offers, the provider it comes from, and whether it was called."""

    name: str
    provider: str
    is_called: bool = False


class AgentUse(Struct):
    """An agent, or another thing that can be run. `tools` is empty where it never ran, for then nobody knows them."""

    name: str
    is_run: bool = False
    tools: Sequence[ToolUse] = ()


class Coverage:
    """What the cases of one set use, as they use it; `open` is the opener of their runs."""

    def __init__(self, checked: Checked, opener: Opener = open_kind) -> None:
        borders = find_borders(checked.resources)
        known = list(checked.resources.known())
        self._opener = opener
        self._agents = {
            resource: AgentUse(resource.title)
            for resource, entry in known
            if entry.fits(INVOCABLE) and resource not in borders
        }
        self._providers = {resource: False for resource, entry in known if entry.fits(PROVIDER)}
        self._tools: dict[Resource, dict[str, ToolUse]] = {}

    @property
    def agents(self) -> list[AgentUse]:
        """Agents in the order of the files, with the tools that they offered to any case."""
        return [
            AgentUse(each.name, each.is_run, list(self._tools.get(resource, {}).values()))
            for resource, each in self._agents.items()
        ]

    @property
    def providers(self) -> dict[str, bool]:
        """Whether a tool of a provider was called, by the provider's name."""
        return {resource.title: is_used for resource, is_used in self._providers.items()}

    def open(self, node: Node, instances: Mapping[Node, Any], context: Context) -> AbstractAsyncContextManager[Any]:
        if node.resource not in self._agents:
            return self._opener(node, instances, context)
        return self._open(node, instances, context)

    @asynccontextmanager
    async def _open(self, node: Node, instances: Mapping[Node, Any], context: Context) -> AsyncIterator[Any]:
        async with self._opener(node, instances, context) as instance:
            observed = Observed(instance)
            yield observed
            if observed.is_run:
                await self._take(node.resource, observed, {id(live): other for other, live in instances.items()})

    async def _take(self, resource: Resource, observed: "Observed", nodes: Mapping[int, Node]) -> None:
        self._agents[resource].is_run = True
        if not hasattr(observed.instance, "tools"):
            return
        known = self._tools.setdefault(resource, {})
        try:
            offered = await observed.instance.tools()
        except Error:
            return  # the case itself has told of it
        for bound in offered:
            provider = nodes.get(id(bound.source.provider))
            use = known.setdefault(bound.name, ToolUse(bound.name, bound.source.label))
            if bound.name in observed.called:
                use.is_called = True
                if provider is not None and provider.resource in self._providers:
                    self._providers[provider.resource] = True


class Observed:
    """Something that can be run, with its eyes open."""

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self.is_run = False
        self.called: set[str] = set()
        if hasattr(instance, "run"):
            self.run = self._run

    def __getattr__(self, name: str) -> Any:
        return getattr(self.instance, name)

    async def _run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        self.is_run = True
        async with aclosing(self.instance.run(inputs)) as events:
            async for event in events:
                if isinstance(event, ToolCalled):
                    self.called.add(event.name)
                yield event

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        self.is_run = True
        if not hasattr(self.instance, "run"):
            return await self.instance.invoke(inputs)
        return await collect(self._run(inputs))


class Totals(Struct, frozen=True):
    """How many of how many: agents that ran, providers with a tool that was called, offered tools that were called."""

    agents: tuple[int, int]
    providers: tuple[int, int]
    tools: tuple[int, int]


def count(coverage: Coverage) -> Totals:
    tools = [tool for agent in coverage.agents for tool in agent.tools]
    return Totals(
        _share([agent.is_run for agent in coverage.agents]),
        _share(list(coverage.providers.values())),
        _share([tool.is_called for tool in tools]),
    )


def _share(flags: Sequence[bool]) -> tuple[int, int]:
    return sum(flags), len(flags)


def find_unused(coverage: Coverage) -> list[str]:
    """What no case has used, in words."""
    lines = [f"agent {agent.name}: run by no case" for agent in coverage.agents if not agent.is_run]
    lines += [
        f"provider {name}: no tool of it was called" for name, is_used in coverage.providers.items() if not is_used
    ]
    lines += [
        f"tool {tool.name} of {agent.name}: called by no case"
        for agent in coverage.agents
        for tool in agent.tools
        if not tool.is_called
    ]
    return lines
