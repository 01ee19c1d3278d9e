"""The tools of an agent: what its providers list, filtered and named, with the table that finds the way back."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, to_builtins
from msgspec import convert as convert_value

from runtime.ai.concurrency import run_all
from runtime.ai.content import flatten
from runtime.ai.contracts import Tool, ToolProvider, ToolResult
from runtime.ai.formats import SetAside, convert
from runtime.ai.formats.arguments import ArgumentCheck
from runtime.ai.formats.names import legalise
from runtime.ai.selection import NAMES_SHOWN, find_idle, hint_at_names, hint_at_prefix, make_filter, select
from runtime.errors import AgentError, Error, ToolError


class Source(Struct, frozen=True):
    """One entry of an agent's `toolProviders`; `label` is how messages name the provider."""

    provider: ToolProvider
    label: str
    prefix: str = ""
    include: Sequence[str] | None = None
    exclude: Sequence[str] = ()


class BoundTool:
    """A tool under the name by which the agent offers it, with the way to its provider."""

    def __init__(
        self,
        tool: Tool,
        name: str,
        source: Source,
        warn: Callable[[str], None],
        *,
        needs_approval: bool = False,
        is_callers: bool = False,
    ) -> None:
        """`is_callers` says that the caller of the run carries it out."""
        self.tool = tool
        self.name = name
        self.source = source
        self.needs_approval = needs_approval
        self.is_callers = is_callers
        self._warn = warn
        self.check = ArgumentCheck(tool.parameters)

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the tool; raises the `Error` that its provider raises, `ToolError` ERR_TOOL_FAILED for anything else."""
        try:
            result = await self.source.provider.call_tool(self.tool.name, arguments)
        except Error:
            raise
        except Exception as error:  # a border: a provider's mistake is the failure of its tool, not of the run
            place = f'the provider "{self.source.label}" raised {type(error).__name__} in the tool "{self.tool.name}"'
            self._warn(f"{place}: {error}")
            raise ToolError(f'the tool "{self.name}" failed', resource=self.source.label) from error
        return result if isinstance(result, ToolResult) else ToolResult(result)

    async def execute(self, arguments: Mapping[str, Any]) -> str:
        """The tool's output as one string, media as `[Image: image/png]`; raises as `call`."""
        return flatten((await self.call(arguments)).output)


class Offer:
    """The tools of one moment. `tools` are as the model sees them; `block` is them in the model's format, encoded."""

    def __init__(self, bound: Mapping[str, BoundTool], tool_format: str, max_tools: int | None = None) -> None:
        self.bound = bound
        plain = [Tool(name, each.tool.description, each.tool.parameters) for name, each in bound.items()]
        self._converted = convert(plain, tool_format, max_tools=max_tools) if tool_format and plain else None
        self.set_aside: Sequence[SetAside] = ()
        if self._converted is None:
            self.tools: Sequence[Tool] = plain
            self.block = b""
        else:
            self.tools = [
                Tool(each.name, each.tool.description, each.tool.parameters) for each in self._converted.tools
            ]
            self.block = self._converted.encoded
            self.set_aside = self._converted.set_aside
            self._own_names = {each.name: each.tool.name for each in self._converted.tools}

    def find(self, name: str) -> BoundTool | None:
        """The tool that the model means by this name, or None if it was not offered."""
        own = name if self._converted is None else self._own_names.get(name)
        return self.bound.get(own) if own is not None else None

    def accept(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of an offered tool in its own spelling; raises `ToolError` ERR_TOOL_ARGUMENTS when they misfit."""
        if self._converted is None:
            return self.bound[name].check.accept(name, arguments)
        return self._converted.accept(name, arguments)[1]

    def choose(self, choice: str) -> str:
        """A choice of tool as the model sees it; raises `AgentError` ERR_AGENT_TOOL_CHOICE."""
        if choice in ("auto", "none", "required"):
            return choice
        for seen in self.tools:
            tool = self.find(seen.name)
            if tool is not None and tool.name == choice:
                return seen.name
        raise AgentError(
            f'`toolChoice` names the tool "{choice}", which is not offered',
            code="ERR_AGENT_TOOL_CHOICE",
            hint=f"the tools are: {', '.join(self.bound) or 'none'}",
        )


class Offering(Protocol):
    """The tools of a run."""

    @property
    def instructions(self) -> list[str]:
        """What the system text is to say of them."""

    async def offer(self) -> Offer:
        """The tools as they are now; the same object as long as nothing changed."""


class ToolSet:
    """Lists lazily, in provider order, and again when a provider's list is another object than last time."""

    def __init__(
        self,
        agent: str,
        sources: Sequence[Source],
        tool_format: str,
        max_tools: int | None,
        warn: Callable[[str], None],
        approval: Sequence[str] = (),
    ) -> None:
        """`approval` are the names and globs of the tools, as they are offered, whose calls need approval."""
        self.agent = agent
        self._approval = approval
        self._warn = warn
        self._sources = sources
        self._format = tool_format
        self._max_tools = sys.maxsize if max_tools == 0 else max_tools
        self._lists: list[Sequence[Tool]] | None = None
        self._offer = Offer({}, "")

    @property
    def instructions(self) -> list[str]:
        """What providers want an agent's system text to say of their tools, each under the name of its provider."""
        found = []
        for source in self._sources:
            text = getattr(source.provider, "instructions", "")
            if text:
                names = f', whose names start with "{source.prefix}" here' if source.prefix else ""
                found.append(f"How to use the tools of {source.label}{names}:\n{text}")
        return found

    async def offer(self) -> Offer:
        """The tools as they are now; the same object as long as no list changed.

        Raises `AgentError`: ERR_AGENT_TOOL_COLLISION, ERR_AGENT_TOOL_FILTER, ERR_AGENT_APPROVAL; and what the
        providers raise.
        """
        known = self._lists
        if known is None:
            lists = await run_all([source.provider.list_tools for source in self._sources])
        else:
            lists = [await source.provider.list_tools() for source in self._sources]
            if all(new is old for new, old in zip(lists, known, strict=True)):
                return self._offer
        self._offer = self._assemble(lists)
        self._lists = lists
        return self._offer

    def _assemble(self, lists: Sequence[Sequence[Tool]]) -> Offer:
        bound: dict[str, BoundTool] = {}
        needs_approval = make_filter(self._approval)
        for source, tools in zip(self._sources, lists, strict=True):
            for tool in self._filter(source, tools):
                name = source.prefix + tool.name
                if name in bound:
                    raise self._collision(name, bound[name], source)
                bound[name] = BoundTool(tool, name, source, self._warn, needs_approval=needs_approval(name))
        self._check_approval(bound)
        if self._format:
            self._check_alike(bound)
        offer = self.convert(bound)
        for aside in offer.set_aside:
            self._warn(f'the tool "{aside.tool.name}" is not offered: {aside.reason}')
        return offer

    def convert(self, bound: Mapping[str, BoundTool]) -> Offer:
        """Tools as the agent's model takes them."""
        return Offer(bound, self._format, self._max_tools)

    def spell(self, offer: Offer) -> list[dict[str, Any]]:
        """An offer as a JSON value: its tools under their names, each with the provider that it is of."""
        return [
            {"name": name, "of": each.source.label, "tool": to_builtins(each.tool)}
            for name, each in offer.bound.items()
        ]

    def restore(self, spelled: Sequence[Mapping[str, Any]]) -> Offer:
        """An offer as it was spelled; the tools of a provider that is no more are not in it."""
        sources = {source.label: source for source in self._sources}
        needs_approval = make_filter(self._approval)
        bound = {}
        for each in spelled:
            name, tool = each["name"], convert_value(each["tool"], Tool)
            if each["of"] in sources:
                needs = needs_approval(name)
                bound[name] = BoundTool(tool, name, sources[each["of"]], self._warn, needs_approval=needs)
        return self.convert(bound)

    def _filter(self, source: Source, tools: Sequence[Tool]) -> Sequence[Tool]:
        entries = (*(source.include or ()), *source.exclude)
        if entries and _is_available(source):  # what is not there is no fault of the filter
            names = [tool.name for tool in tools]
            idle = find_idle(entries, names)
            if idle:
                raise self._idle_filter(source, idle, names)
        return select(tools, source.include, source.exclude)

    def _check_approval(self, bound: Mapping[str, BoundTool]) -> None:
        """A name that no tool has is a rule that guards nothing, unless the tool may be that of an absent server."""
        idle = find_idle(self._approval, bound)
        if not idle or not all(map(_is_available, self._sources)):
            return
        entries = ", ".join(f'"{entry}"' for entry in idle)
        names = sorted(bound)
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        raise AgentError(
            f"`requireApproval` names what is not offered: {entries}",
            code="ERR_AGENT_APPROVAL",
            resource=self.agent,
            hint=f"the tools are: {', '.join(names[:NAMES_SHOWN]) or 'none'}{more}",
            details={"entries": idle, "tools": names},
        )

    def _collision(self, name: str, first: BoundTool, second: Source) -> AgentError:
        if first.source is second:
            message = f'the provider "{second.label}" lists the tool "{first.tool.name}" twice'
            hint = "a provider must give each tool a name of its own"
        else:
            message = f'the providers "{first.source.label}" and "{second.label}" both offer a tool "{name}"'
            hint = hint_at_prefix(second.label)
        return AgentError(
            message,
            code="ERR_AGENT_TOOL_COLLISION",
            resource=self.agent,
            hint=hint,
            details={"tool": name, "providers": [first.source.label, second.label]},
        )

    def _check_alike(self, bound: Mapping[str, BoundTool]) -> None:
        """Two names may come to be one once they are legal; only within one provider are such tools kept apart."""
        first: dict[str, BoundTool] = {}
        for each in bound.values():
            name = legalise(each.name)
            earlier = first.setdefault(name, each)
            if earlier.source is not each.source:
                raise AgentError(
                    f'the tools "{earlier.name}" of "{earlier.source.label}" and "{each.name}" of '
                    f'"{each.source.label}" both come to be "{name}", with the characters that models take in names',
                    code="ERR_AGENT_TOOL_COLLISION",
                    resource=self.agent,
                    hint=hint_at_prefix(each.source.label),
                    details={"tool": name, "providers": [earlier.source.label, each.source.label]},
                )

    def _idle_filter(self, source: Source, idle: Sequence[str], names: Sequence[str]) -> AgentError:
        entries = ", ".join(f'"{entry}"' for entry in idle)
        return AgentError(
            f'the filter of the provider "{source.label}" names what it does not list: {entries}',
            code="ERR_AGENT_TOOL_FILTER",
            resource=self.agent,
            hint=hint_at_names(idle, source.prefix, names),
            details={"provider": source.label, "entries": list(idle), "tools": sorted(names)},
        )


def _is_available(source: Source) -> bool:
    """Whether a provider is there: one may say of itself that it is not, as that of an optional server does."""
    return bool(getattr(source.provider, "is_available", True))


def label_sources(providers: Sequence[Any]) -> list[str]:
    """How messages name providers: by the name of the resource, else by the place in the agent's list."""
    names = [getattr(provider, "name", None) or f"toolProviders[{index}]" for index, provider in enumerate(providers)]
    count = Counter(map(id, providers))
    return [
        f"{name} (entry {index + 1})" if count[id(provider)] > 1 else name
        for index, (name, provider) in enumerate(zip(names, providers, strict=True))
    ]
