"""A set that comes up otherwise than it stands: some resources in the place of others, some opened by the caller."""

from collections.abc import Iterable, Iterator, Mapping, Set

from msgspec import Struct

from runtime.manifest import Ref
from runtime.resource_set import Resource, ResourceSet


class Changes(Struct, frozen=True, kw_only=True):
    """`substitutes`: whoever refers to a key gets its value, the value itself and what that needs excepted.

    `stand_ins` are opened by the caller's own opener, so that neither their fields nor what they need is looked at.
    Without `reads_secrets` no secret is read from anywhere: each is `***`.
    """

    substitutes: Mapping[Resource, Resource] = {}
    stand_ins: Set[Resource] = frozenset()
    reads_secrets: bool = True


AS_IT_STANDS = Changes()


class Links:
    """Who needs whom under changes."""

    def __init__(self, resources: ResourceSet, changes: Changes) -> None:
        self.changes = changes
        self._resources = resources
        self._substitutes = {old: new for old, new in changes.substitutes.items() if old is not new}
        self._unchanged = self._find_all(self._substitutes.values()) if self._substitutes else set()

    def substitutes_for(self, holder: Resource) -> Mapping[Resource, Resource]:
        """What takes the place of what `holder` refers to: nothing for a substitute, which may need the original."""
        return {} if holder in self._unchanged else self._substitutes

    def needs(self, holder: Resource) -> list[Resource]:
        """What has to be open before `holder`."""
        if holder in self.changes.stand_ins:
            return []
        substitutes = self.substitutes_for(holder)
        return [substitutes.get(needed, needed) for needed in find_needs(holder, self._resources)]

    def _find_all(self, roots: Iterable[Resource]) -> Set[Resource]:
        found: set[Resource] = set()
        todo = list(roots)
        while todo:
            resource = todo.pop()
            if resource not in found:
                found.add(resource)
                todo += find_needs(resource, self._resources)
        return found


def find_needs(resource: Resource, resources: ResourceSet) -> list[Resource]:
    """What stands in the slots of a resource."""
    targets: Iterator[Resource | None] = (
        resources.by_name[slot.value.name] if isinstance(slot.value, Ref) else slot.inline for slot in resource.slots
    )
    return [target for target in targets if target is not None]
