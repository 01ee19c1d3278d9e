"""The inputs that something takes which can be run, as far as they are known with nothing started."""

from collections.abc import Iterable, Sequence

from msgspec import Struct


class KnownInputs(Struct, frozen=True):
    """The names of inputs; with `takes_more` any other is taken as well."""

    required: Sequence[str] = ()
    optional: Sequence[str] = ()
    takes_more: bool = False

    def find_missing(self, given: Iterable[str]) -> list[str]:
        """The required ones that are not given."""
        names = set(given)
        return [name for name in self.required if name not in names]

    def find_unknown(self, given: Iterable[str]) -> list[str]:
        """Those given that nothing takes."""
        known = {*self.required, *self.optional}
        return [] if self.takes_more else [name for name in given if name not in known]

    def describe(self) -> str:
        """What is taken, for a hint."""
        names = [*self.required, *(f"{name} (optional)" for name in self.optional)]
        if self.takes_more:
            names.append("any other")
        return f"the inputs are: {', '.join(names)}" if names else "it takes no inputs"
