"""All faults of a value under a schema."""

from contextlib import suppress
from itertools import islice
from typing import Any

from runtime.ai.formats.checking.applicators import APPLICATORS
from runtime.ai.formats.checking.assertions import ASSERTIONS
from runtime.ai.formats.checking.validation import MOST_FAULTS, Fault, OutOfStepsError, Spot, Validation
from runtime.ai.formats.format import Schema

_CHECKS = {**ASSERTIONS, **APPLICATORS}


def find_faults(schema: Schema, value: Any) -> list[Fault]:
    """The first few faults of a JSON value under a schema that `repair` gave; none where it fits.

    What would take too many steps to check is not checked to its end: the server has the last word.
    """
    found: list[Fault] = []
    validation = Validation(schema.get("$defs", {}), _CHECKS)
    with suppress(OutOfStepsError, RecursionError):  # the latter from comparing values that are nested too deep
        found.extend(islice(validation.faults(schema, Spot(value)), MOST_FAULTS))
    return list(dict.fromkeys(found))  # several branches may find the same
