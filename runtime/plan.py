"""What applying a set would do, as data, with nothing started: order, programs, addresses, the tools of each agent."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from runtime.checks import Checked
from runtime.checks.findings import Findings
from runtime.checks.locks import find_locked_tools
from runtime.checks.own_rules import Inspected
from runtime.checks.tools import Offered, find_offered
from runtime.effects import Connects, Effect, Starts
from runtime.graph import find_needs, start_order
from runtime.known_tools import KnownTool, ToolOffer
from runtime.lock.contents import Lock
from runtime.lock.definition import digest_definition, find_clients
from runtime.masking import MASK
from runtime.preview import Preview
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet

CHARACTERS_OF_A_TOKEN = 4
"""By which a token estimate divides: tokenizers of the big models take 3 to 5 characters of JSON for a token."""

_SIGN_IN = re.compile(r"(?<=://)[^/@]*@")


class PlannedUse(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One provider of an agent, and what the agent takes of it."""

    provider: str
    prefix: str = ""
    include: Sequence[str] | None = None
    exclude: Sequence[str] = ()


class PlannedTool(Struct, frozen=True):
    """A tool under the name by which the model sees it; `tool` is its name at its provider."""

    name: str
    tool: str
    provider: str


class PlannedOffer(Struct, frozen=True, rename="camel"):
    """The tools of an agent.

    Those of the providers in `unknown` are missing in `tools`. `tokens` is an estimate of what the list costs in each
    request, a quarter of the characters of its JSON; None while a provider is unknown.
    """

    providers: Sequence[PlannedUse]
    tool_format: str
    tools: Sequence[PlannedTool]
    unknown: Sequence[str]
    tokens: int | None


class PlannedResource(Struct, frozen=True, rename="camel"):
    """A resource in its place in the order; `needs` names what stands in its slots and is open before it."""

    name: str
    kind: str
    needs: Sequence[str]
    starts: Sequence[Starts]
    connects: Sequence[Connects]
    offers: PlannedOffer | None


class LockState(Struct, frozen=True):
    """How the lock fits the set: `missing` and `stale` clients, and those that are only in the lock."""

    path: str
    missing: Sequence[str]
    stale: Sequence[str]
    superfluous: Sequence[str]

    @property
    def fits(self) -> bool:
        """Whether every client is in the lock as it is in the set, and nothing else is."""
        return not (self.missing or self.stale or self.superfluous)


class Plan(Struct, frozen=True):
    """What `apply` would do: bring the resources up in this order, and run the targets."""

    resources: Sequence[PlannedResource]
    targets: Sequence[str]
    lock: LockState | None


def make_plan(checked: Checked, roots: list[Resource], targets: list[Resource], preview: Preview) -> Plan:
    """The plan for what is to be brought up and run."""
    resources = checked.resources
    locked = find_locked_tools(checked.lock, resources) if checked.lock is not None else {}
    ordered = start_order(resources, roots)
    application = resources.application
    if application is not None and application not in ordered:
        ordered.insert(0, application)
    planned = [_plan_resource(resource, resources, locked, preview) for resource in ordered]
    return Plan(
        [each for each, resource in zip(planned, ordered, strict=True) if resource is not application or each.starts],
        [target.title for target in targets],
        _compare(checked.lock, resources) if checked.lock is not None else None,
    )


def _plan_resource(
    resource: Resource,
    resources: ResourceSet,
    locked: Mapping[Resource, Sequence[KnownTool]],
    preview: Preview,
) -> PlannedResource:
    assert isinstance(resource.entry, Entry)
    kind = resource.entry.cls
    effects: Sequence[Effect] = kind.find_effects(preview.fields(resource))
    offer = kind.find_offer(Inspected(resource, resources, Findings([]), locked=locked))
    return PlannedResource(
        resource.title,
        resource.entry.name,
        [needed.title for needed in find_needs(resource, resources)] if not resource.is_application else [],
        [effect for effect in effects if isinstance(effect, Starts)],
        [_without_sign_in(effect) for effect in effects if isinstance(effect, Connects)],
        _plan_offer(offer) if offer is not None and offer.uses else None,
    )


def _without_sign_in(effect: Connects) -> Connects:
    """The address without the name and password that one from the environment may hold."""
    return Connects(_SIGN_IN.sub(f"{MASK}@", effect.url), effect.headers)


def _plan_offer(offer: ToolOffer) -> PlannedOffer:
    uses = [PlannedUse(use.provider, use.prefix, use.include, use.exclude) for use in offer.uses]
    unknown = [use.provider for use in offer.uses if use.tools is None]
    names, encoded = _encode(list(find_offered(offer)), offer.tool_format)
    tools = [PlannedTool(name, each.tool.name, each.use.provider) for name, each in names]
    return PlannedOffer(
        uses, offer.tool_format, tools, unknown, None if unknown else -(-len(encoded) // CHARACTERS_OF_A_TOKEN)
    )


def _encode(offered: list[Offered], tool_format: str) -> tuple[list[tuple[str, Offered]], str]:
    """The tools with the names that the model sees, and the list as it stands in a request."""
    from runtime.ai.contracts import Tool
    from runtime.ai.formats import FORMATS, convert

    tools = [Tool(each.name, each.tool.description, each.tool.parameters) for each in offered]
    if not tools:
        return [], ""
    if tool_format not in FORMATS:
        plain = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
        return [(each.name, each) for each in offered], msgspec.json.encode(plain).decode()
    converted = convert(tools, tool_format, max_tools=len(tools))
    by_tool = {id(tool): each for tool, each in zip(tools, offered, strict=True)}
    return [(each.name, by_tool[id(each.tool)]) for each in converted.tools], converted.encoded.decode()


def _compare(lock: Lock, resources: ResourceSet) -> LockState:
    clients = find_clients(resources)
    known = lock.servers
    return LockState(
        lock.path,
        [key for key in clients if key not in known],
        [key for key in clients if key in known and known[key].definition != digest_definition(clients[key])],
        [key for key in known if key not in clients],
    )


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as JSON has it."""
    data: dict[str, Any] = msgspec.to_builtins(plan)
    if plan.lock is not None:
        data["lock"]["fits"] = plan.lock.fits
    return data
