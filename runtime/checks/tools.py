"""The tools that agents will offer, by what the lock and the manifest know of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.ai.provider_rules import PORTABLE_NAME, RULES, find_name_fault
from runtime.ai.selection import find_idle, hint_at_names, hint_at_prefix, select
from runtime.checks.findings import Findings
from runtime.checks.own_rules import Inspected
from runtime.diagnostics.nearby import nearest
from runtime.known_tools import KnownTool, ToolOffer, ToolUse
from runtime.resource_set import Resource, ResourceSet

NAMES_LISTED = 10
"""Tools of a provider that a hint lists, rather than to guess which one is meant."""
NAMES_SHOWN = 5
"""Names of tools that a message about several lists."""


class Offered:
    """A tool as an agent offers it: `name` is the one that the model sees, `use` the entry that it comes by."""

    __slots__ = ("name", "tool", "use")

    def __init__(self, name: str, tool: KnownTool, use: ToolUse) -> None:
        self.name = name
        self.tool = tool
        self.use = use


def find_offered(offer: ToolOffer) -> Iterator[Offered]:
    """The tools that are known of an offer, filtered and named, in the order in which they are offered."""
    for use in offer.uses:
        for tool in select(use.tools or (), use.include, use.exclude):
            yield Offered(use.prefix + tool.name, tool, use)


def check_tools(resources: ResourceSet, findings: Findings, locked: Mapping[Resource, Sequence[KnownTool]]) -> None:
    """What is wrong with the tools of every resource that offers some; `locked` has those of its clients."""
    for resource, entry in resources.known():
        inspected = Inspected(resource, resources, findings, locked=locked)
        offer = entry.cls.find_offer(inspected)
        if offer is not None:
            check_offer(resource, offer, findings)


def check_offer(resource: Resource, offer: ToolOffer, findings: Findings) -> None:
    """TOOL_UNKNOWN, TOOL_COLLISION, TOOL_NAME_INVALID, TOOL_LIMIT, TOOL_SCHEMA_LOSSY of one agent."""
    check = _OfferCheck(resource, offer, findings)
    for use in offer.uses:
        check.check_filters(use)
    offered = list(find_offered(offer))
    check.check_collisions(offered)
    for each in offered:
        check.check_name(each)
        check.check_schema(each)
    check.check_limit(len(offered))


class _OfferCheck:
    """Reports what is wrong with one agent's tools."""

    def __init__(self, resource: Resource, offer: ToolOffer, findings: Findings) -> None:
        self._resource = resource
        self._offer = offer
        self._findings = findings
        count = Counter(use.provider for use in offer.uses)
        self._labels = {
            id(use): use.provider if count[use.provider] == 1 else f"{use.provider} (entry {number})"
            for number, use in enumerate(offer.uses, 1)
        }

    def check_filters(self, use: ToolUse) -> None:
        """Every entry of a filter that no tool fits."""
        if use.tools is None:
            return
        names = [tool.name for tool in use.tools]
        for field, entries in (("include", use.include or ()), ("exclude", use.exclude)):
            idle = set(find_idle(entries, names))
            for index, entry in enumerate(entries):
                if entry in idle:
                    is_prefixed = use.prefix and entry.startswith(use.prefix)
                    near = nearest(entry, names) if len(names) > NAMES_LISTED and not is_prefixed else None
                    hint = near or hint_at_names([entry], use.prefix, names)
                    message = f'the provider "{self._labels[id(use)]}" lists no tool "{entry}"'
                    self._report(use, (field, index), "TOOL_UNKNOWN", message, hint)

    def check_collisions(self, offered: Sequence[Offered]) -> None:
        """Names that two entries bring; one finding for each two of them, at the later one."""
        first: dict[str, ToolUse] = {}
        shared: dict[tuple[int, int], list[Offered]] = {}
        for each in offered:
            earlier = first.setdefault(self._name_seen(each.name), each.use)
            if earlier is not each.use:
                shared.setdefault((id(earlier), id(each.use)), []).append(each)
        for (earlier_id, _), tools in shared.items():
            use = tools[0].use
            earlier = next(each for each in self._offer.uses if id(each) == earlier_id)
            names = ", ".join(map(self._show, tools[:NAMES_SHOWN]))
            more = f" and {len(tools) - NAMES_SHOWN} more" if len(tools) > NAMES_SHOWN else ""
            what = f"a tool {names}" if len(tools) == 1 else f"the tools {names}{more}"
            message = f'the providers "{self._labels[id(earlier)]}" and "{self._labels[id(use)]}" both offer {what}'
            self._report(
                use, ("prefix" if use.prefix else "provider",), "TOOL_COLLISION", message, hint_at_prefix(use.provider)
            )

    def _name_seen(self, name: str) -> str:
        """The name as the model's format has it: two that differ may come to be one."""
        if PORTABLE_NAME.fullmatch(name) or self._offer.tool_format not in RULES:
            return name
        from runtime.ai.formats.names import legalise

        return legalise(name)

    def _show(self, each: Offered) -> str:
        seen = self._name_seen(each.name)
        return f'"{seen}"' if seen == each.name else f'"{seen}" (from "{each.name}")'

    def check_name(self, each: Offered) -> None:
        """A name that the model's provider does not take."""
        fault = find_name_fault(each.name, self._offer.tool_format)
        if fault is not None:
            hint = f'leave it out with `exclude: ["{each.tool.name}"]`, or take another prefix'
            place = self._place_of(each, "prefix" if each.use.prefix else "provider")
            self._report(each.use, place, "TOOL_NAME_INVALID", f'no tool can be called "{each.name}": {fault}', hint)

    def check_schema(self, each: Offered) -> None:
        """A schema that the model's format cannot express in full."""
        tool_format = self._offer.tool_format
        if not tool_format or (each.tool.lossy_for is not None and tool_format not in each.tool.lossy_for):
            return
        from runtime.ai.losses import find_losses

        losses = find_losses(each.tool.parameters, tool_format)
        if losses:
            more = f" (and {len(losses) - 1} more)" if len(losses) > 1 else ""
            message = f'the schema of "{each.name}" is not offered in full: {losses[0]}{more}'
            hint = f"`runtime tools --report --format {tool_format}` tells all that is rewritten"
            self._report(each.use, self._place_of(each, "provider"), "TOOL_SCHEMA_LOSSY", message, hint)

    def check_limit(self, count: int) -> None:
        """More tools than the model takes."""
        rule = RULES.get(self._offer.tool_format)
        most = self._offer.max_tools
        if most is None and rule is not None:
            most = rule.most_tools
        if not most or count <= most:
            return
        takes = f"{rule.provider} takes" if rule is not None else "its model takes"
        message = f"the agent offers {count} tools, and {takes} {most} in one request"
        self._findings.report(
            self._resource,
            _place_at(self._resource.body, self._offer.uses[0].path[:-1]),
            "TOOL_LIMIT",
            message,
            "choose among them with `include` or `exclude`",
        )

    def _place_of(self, each: Offered, otherwise: str) -> tuple[str | int, ...]:
        """The element of `include` that names the tool, or a field of the entry."""
        names = list(each.use.include or ())
        return ("include", names.index(each.tool.name)) if each.tool.name in names else (otherwise,)

    def _report(self, use: ToolUse, inside: tuple[str | int, ...], code: str, message: str, hint: str) -> None:
        place = _place_at(self._resource.body, (*use.path, *inside))
        self._findings.report(self._resource, place, code, message, hint)


def _place_at(body: Any, path: Sequence[str | int]) -> int:
    """Where a value of a resource stands in its source."""
    for step in path[:-1]:
        body = body[step]
    place = body.places[path[-1]]
    found: int = place[1] if isinstance(place, tuple) else place
    return found
