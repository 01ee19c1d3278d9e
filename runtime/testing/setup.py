"""How a case comes up: what takes the place of models and clients, what a cassette answers for, what stays live."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from runtime.cassette.borders import CLIENT, MODEL, Border
from runtime.cassette.contents import Mode
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
        return os.path.isdir(self.folder)


class Setup(Struct, frozen=True):
    """`borders` is what is recorded or replayed: all of the set but `substitutes` and what they need."""

    case: Resource
    resources: ResourceSet
    all_borders: Mapping[Resource, Border]
    borders: Mapping[Resource, Border]
    substitutes: Mapping[Resource, Resource]
    cassette: CassettePlace | None

    def changes(self, *, is_replayed: bool) -> Changes:
        """Secrets are read where something on the border that really opens asks for one, and only then."""
        stand_ins = self.borders.keys() if is_replayed else frozenset()
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
    by_key = {border.key: resource for resource, border in borders.items() if border.contract == CLIENT}
    mcp = case.body.get("mcp")
    for slot in case.slots:
        target = _target(slot, resources)
        if target is None:
            continue
        if slot.container is mcp:
            substitutes[by_key[slot.key]] = target
        elif slot.container is case.body and slot.key == "model":
            substitutes |= dict.fromkeys(find_models(case, resources), target)
    own = find_all(substitutes.values(), lambda resource: find_needs(resource, resources))
    left = {resource: border for resource, border in borders.items() if resource not in own}
    return Setup(case, resources, borders, left, substitutes, _find_cassette(case))


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
    if given is None:
        return None
    folder = os.path.relpath(case.source.folder)
    if isinstance(given, str):
        return CassettePlace(os.path.normpath(os.path.join(folder, given)))
    ignore = {str(key): list(map(str, rules)) for key, rules in given.get("ignore", {}).items()}
    return CassettePlace(
        os.path.normpath(os.path.join(folder, str(given["path"]))), given.get("mode", "strict"), ignore
    )
