"""The walk over a schema and a value together, with its bounds."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

MOST_FAULTS = 5
_MOST_STEPS = 200_000
_DEEPEST = 150
_PREFIX = "#/$defs/"


class Fault(msgspec.Struct, frozen=True):
    """What does not fit: a JSON pointer into the value, what was expected and found there, and the keyword's word."""

    pointer: str
    message: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.pointer else self.message


class OutOfStepsError(Exception):
    """The schema takes too many steps on this value."""


class Spot:
    """A value and its place in the whole; `depth` counts the schemas around the one that looks at it."""

    __slots__ = ("at", "depth", "value")

    def __init__(self, value: Any, at: str = "", depth: int = 0) -> None:
        self.value = value
        self.at = at
        self.depth = depth

    def inside(self, key: str | int, value: Any) -> "Spot":
        """The spot of a property or a member."""
        step = str(key).replace("~", "~0").replace("/", "~1")
        return Spot(value, f"{self.at}/{step}", self.depth)


class Validation:
    """One check of one value: the definitions at hand, what each keyword demands, and the steps taken so far."""

    def __init__(self, definitions: Mapping[str, Any], checks: "Mapping[str, Check]") -> None:
        self._definitions = definitions
        self._checks = checks
        self._steps = 0
        self._known: dict[tuple[str, str], list[Fault]] = {}

    def faults(self, schema: Any, spot: Spot) -> Iterator[Fault]:
        """The faults of a value, in the order of the schema's keywords."""
        self.count()
        if spot.depth > _DEEPEST:
            return
        if schema is False:
            yield Fault(spot.at, "must not be given", "false")
        if not isinstance(schema, dict):
            return
        inner = Spot(spot.value, spot.at, spot.depth + 1)
        for word, rule in schema.items():
            check = self._checks.get(word)
            if check is not None:
                yield from check(self, rule, inner, schema)

    def fits(self, schema: Any, spot: Spot) -> bool:
        """Whether the value has no fault."""
        return next(self.faults(schema, spot), None) is None

    def referred(self, reference: str, spot: Spot) -> list[Fault]:
        """The faults under a definition, looked for once at each place, however many references lead to it."""
        key = (reference, spot.at)
        if key not in self._known:
            self._known[key] = list(islice(self.faults(self.definition(reference), spot), MOST_FAULTS))
        return self._known[key]

    def definition(self, reference: str) -> Any:
        """The schema that a reference means."""
        return self._definitions[reference[len(_PREFIX) :]]

    def count(self, steps: int = 1) -> None:
        """Some steps more; raises `OutOfStepsError` when they are too many."""
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise OutOfStepsError


Check = Callable[[Validation, Any, Spot, dict[str, Any]], Iterator[Fault]]
"""Faults of a value under one keyword: the validation, the keyword's value, the spot, the schema around the keyword."""
