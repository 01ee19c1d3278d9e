"""How a case comes up: what takes the place of models and clients, what a cassette answers for, what stays live."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from runtime.cassette.borders import CLIENT, MODEL, Border, is_recording
from runtime.cassette.contents import Mode
from runtime.cassette.writer import ENDING
from runtime.changes import Changes, Links, find_needs
from runtime.checks import Checked
from runtime.checks.environment import find_used
from runtime.manifest import Ref
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet, SlotValue


class CassettePlace(Struct, frozen=True):
    """A case's cassette: its folder, and the rules of the case."""

    folder: str
    mode: Mode = "strict"
    ignore: Mapping[str, Sequence[str]] = {}

    @property
    def is_there(self) -> bool:
        """Whether something was recorded: the folder is there as soon as a recording begins."""
        return os.path.isdir(self.folder) and any(name.endswith(ENDING) for name in os.listdir(self.folder))


class Setup(Struct, frozen=True):
    """`taped` is what a cassette answers for, each cassette with its part of the border: all of the set but
    `substitutes` and what they need."""

    case: Resource
    resources: ResourceSet
    all_borders: Mapping[Resource, Border]
    taped: Sequence[tuple[CassettePlace, Mapping[Resource, Border]]]
    substitutes: Mapping[Resource, Resource]

    def changes(self, replayed: Iterable[CassettePlace]) -> Changes:
        """Secrets are read where something on the border that really opens asks for one, and only then."""
        given = list(replayed)
        stand_ins = {resource for place, borders in self.taped if place in given for resource in borders}
        links = Links(self.resources, Changes(substitutes=self.substitutes, stand_ins=stand_ins))
        opened = find_all([self.case], links.needs)
        asking = [each for each in opened if each in self.all_borders and each not in stand_ins]
        return Changes(
            substitutes=self.substitutes, stand_ins=stand_ins, reads_secrets=bool(find_used(asking, "secrets"))
        )


def find_setup(case: Resource, checked: Checked, borders: Mapping[Resource, Border]) -> Setup:
    """The setup of a case in a set without errors; `borders` are those of the whole set."""
    resources = checked.resources
    substitutes: dict[Resource, Resource] = {}
    places: dict[Resource, CassettePlace] = {}
    by_key = {border.key: resource for resource, border in borders.items() if border.contract == CLIENT}
    mcp = case.body.get("mcp")
    for slot in case.slots:
        target = _target(slot, resources)
        if target is None:
            continue
        is_model = slot.container is case.body and slot.key == "model"
        replaced = [by_key[slot.key]] if slot.container is mcp else find_models(case, resources) if is_model else []
        if is_recording(target):
            # models that ask others are no border, the ones they ask are; what a client uses lies beyond it
            asked = find_all(replaced, lambda resource: find_needs(resource, resources)) if is_model else replaced
            places |= dict.fromkeys(asked, _read_place(target.body, target))
        else:
            substitutes |= dict.fromkeys(replaced, target)
    own = find_all(substitutes.values(), lambda resource: find_needs(resource, resources))
    rest = _find_cassette(case)
    taped: list[tuple[CassettePlace, dict[Resource, Border]]] = []
    for resource, border in borders.items():
        place = places.get(resource, rest)
        if place is not None and resource not in own:
            part = next((part for other, part in taped if other == place), None)
            if part is None:
                taped.append((place, part := {}))
            part[resource] = border
    return Setup(case, resources, borders, taped, substitutes)


def find_models(case: Resource, resources: ResourceSet) -> list[Resource]:
    """The models that the work of a case asks: of models that ask others only the outermost."""
    work = [
        target
        for slot in case.slots
        if slot.container is case.body and slot.key in ("agent", "task")
        if (target := _target(slot, resources)) is not None
    ]
    found: list[Resource] = []
    seen: set[Resource] = set()
    while work:
        resource = work.pop()
        if resource in seen:
            continue
        seen.add(resource)
        if isinstance(resource.entry, Entry) and resource.entry.fits(MODEL):
            found.append(resource)
        else:
            work += find_needs(resource, resources)
    return found


def find_all(roots: Iterable[Resource], needs: Callable[[Resource], Iterable[Resource]]) -> set[Resource]:
    """The roots and all that they need."""
    found: set[Resource] = set()
    todo = list(roots)
    while todo:
        resource = todo.pop()
        if resource not in found:
            found.add(resource)
            todo += needs(resource)
    return found


def find_cases(checked: Checked) -> list[Resource]:
    """The named cases of a set, in the order of its files."""
    return [
        resource
        for resource, entry in checked.resources.known()
        if resource.owner is None and entry.fits("Runtime.Case")
    ]


def _target(slot: SlotValue, resources: ResourceSet) -> Resource | None:
    return resources.by_name[slot.value.name] if isinstance(slot.value, Ref) else slot.inline


def _find_cassette(case: Resource) -> CassettePlace | None:
    """The field `cassette`, which is fixed: nothing in it is evaluated."""
    given = case.body.get("cassette")
    return None if given is None else _read_place({"path": given} if isinstance(given, str) else given, case)


def _read_place(given: Mapping[str, Any], declared_in: Resource) -> CassettePlace:
    folder = os.path.relpath(declared_in.source.folder)
    ignore = {str(key): list(map(str, rules)) for key, rules in given.get("ignore", {}).items()}
    return CassettePlace(
        os.path.normpath(os.path.join(folder, str(given["path"]))), given.get("mode", "strict"), ignore
    )
