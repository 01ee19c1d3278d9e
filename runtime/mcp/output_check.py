"""Whether structured content keeps the schema that its tool promised: bounded work, nothing fetched, never a crash."""

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.mcp.message import encode
from runtime.mcp.quoting import quote_line

STEPS_LIMIT = 20_000  # keywords evaluated for one result; what is larger goes unchecked
UNCHECKED = ("pattern", "patternProperties", "uniqueItems")  # may take exponential or quadratic time


class TooDear(Exception):
    """The check would take too long."""


def find_misfit(schema: Any, value: Any) -> str | None:
    """Where and which rule of the schema the value breaks, in words; None when it keeps it, or that cannot be told.

    References are resolved inside the schema only. A schema that is invalid or refers to nowhere checks nothing.
    """
    if type(schema) is not dict or not schema:
        return None
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(make_validator(schema).iter_errors(value))
    except (TooDear, Unresolvable, RecursionError, TypeError, ValueError, KeyError, AttributeError):
        return None  # the schema is no schema; the server's fault, but no reason to lose its result
    if error is None:
        return None
    place = "/".join(str(step) for step in error.absolute_path) or "the value"
    rule = encode({str(error.validator): error.validator_value}).decode()[1:-1]
    return f'"{quote_line(place, 100)}" breaks the rule {quote_line(rule, 200)}'


def make_validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    steps = 0

    def counted(check: Any) -> Any:
        def run(validator: Any, rule: Any, instance: Any, subschema: Any) -> Iterator[Any]:
            nonlocal steps
            steps += 1
            if steps > STEPS_LIMIT:
                raise TooDear
            yield from check(validator, rule, instance, subschema) or ()

        return run

    checks = {
        keyword: counted(check)
        for keyword, check in Draft202012Validator.VALIDATORS.items()
        if keyword not in UNCHECKED
    }
    kind = validators.create(Draft202012Validator.META_SCHEMA, checks, type_checker=Draft202012Validator.TYPE_CHECKER)
    return kind(schema, registry=Registry())
