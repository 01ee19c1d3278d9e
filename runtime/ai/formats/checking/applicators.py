"""Keywords that apply other schemas to a value or to what is inside it, and the words for where it does not comply."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from runtime.ai.formats.checking.assertions import PER_STEP, show
from runtime.ai.formats.checking.matching import matches
from runtime.ai.formats.checking.validation import MOST_FAULTS, Check, Fault, Spot, Validation
from runtime.ai.formats.schema.phrases import count

Rules = dict[str, Any]


def _ref(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    yield from validation.referred(rule, spot)


def _properties(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict):
        for key, value in spot.value.items():
            if key in rule:
                yield from validation.faults(rule[key], spot.inside(key, value))


def _pattern_properties(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict):
        validation.count(len(rule) * len(spot.value))
        for pattern, part in rule.items():
            for key, value in spot.value.items():
                if matches(pattern, key):
                    yield from validation.faults(part, spot.inside(key, value))


def _additional_properties(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict) and rule is not True:
        known = _own_keys(validation, schema, spot)
        for key in spot.value:
            if key not in known:
                yield from _left_over(validation, rule, spot, key, schema)


def _left_over(validation: Validation, rule: Any, spot: Spot, key: str, schema: Rules) -> Iterator[Fault]:
    if rule is not False:
        yield from validation.faults(rule, spot.inside(key, spot.value[key]))
        return
    names = list(schema.get("properties", ()))
    known = f"known are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}" if names else "none is known"
    yield Fault(spot.at, f'"{key}" is not known; {known}', "additionalProperties")


def _property_names(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict):
        for key in spot.value:
            inner = Spot(key, f"{spot.at}/{key}\0name", spot.depth)
            for fault in islice(validation.faults(rule, inner), 1):
                yield Fault(spot.at, f'the key "{key}" {fault.message}', "propertyNames")


def _required(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict):
        validation.count(len(rule) // PER_STEP)
        for key in rule:
            if key not in spot.value:
                yield Fault(spot.at, f'"{key}" is missing', "required")


def _dependent_required(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict):
        validation.count(len(rule) // PER_STEP)
        for key, needs in rule.items():
            for need in needs:
                if key in spot.value and need not in spot.value:
                    yield Fault(spot.at, f'"{need}" is missing, which "{key}" needs', "dependentRequired")


def _dependent_schemas(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict):
        for key, part in rule.items():
            if key in spot.value:
                yield from validation.faults(part, spot)


def _prefix_items(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, list):
        for index, (part, value) in enumerate(zip(rule, spot.value, strict=False)):
            yield from validation.faults(part, spot.inside(index, value))


def _items(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, list):
        start = len(schema.get("prefixItems", ()))
        if rule is False and len(spot.value) > start:
            yield Fault(spot.at, f"must have at most {count(start, 'member')}, found {len(spot.value)}", "items")
            return
        for index in range(start, len(spot.value)):
            yield from validation.faults(rule, spot.inside(index, spot.value[index]))


def _contains(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, list):
        found = sum(validation.fits(rule, spot.inside(index, value)) for index, value in enumerate(spot.value))
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        if found < least or (most is not None and found > most):
            wanted = f"at least {least}" if found < least else f"at most {most}"
            yield Fault(spot.at, f"must have {wanted} members that fit {show(rule)}, found {found}", "contains")


def _all_of(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    for part in rule:
        yield from validation.faults(part, spot)


def _any_of(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    misfits = []
    for part in rule:
        faults = list(islice(validation.faults(part, spot), MOST_FAULTS))
        if not faults:
            return
        misfits.append(faults)
    yield from _explain(misfits, spot)


def _one_of(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    misfits = []
    for part in rule:
        faults = list(islice(validation.faults(part, spot), MOST_FAULTS))
        if faults:
            misfits.append(faults)
    fitting = len(rule) - len(misfits)
    if fitting > 1:
        yield Fault(spot.at, f"fits {fitting} of the forms of which it must fit exactly one", "oneOf")
    elif not fitting:
        yield from _explain(misfits, spot)


def _explain(misfits: list[list[Fault]], spot: Spot) -> Iterator[Fault]:
    """The faults of the branch that was meant, as far as one can tell: not one for another type or constant."""
    rank = [min(_rank(fault, spot) for fault in faults) for faults in misfits]
    meant = [faults for faults, place in zip(misfits, rank, strict=True) if place == max(rank)]
    if len(meant) == 1:
        yield from meant[0]
        return
    firsts = list(dict.fromkeys(str(Fault(fault.pointer[len(spot.at) :], fault.message, "")) for fault, *_ in meant))
    shown = "; or ".join(firsts[:4]) + ("; or …" if len(firsts) > 4 else "")
    yield Fault(spot.at, shown if len(firsts) == 1 else f"fits none of {len(misfits)} forms: {shown}", "anyOf")


def _rank(fault: Fault, spot: Spot) -> int:
    if fault.pointer == spot.at:
        return 0 if fault.keyword in ("type", "false") else 1 if fault.keyword in ("const", "enum") else 3
    return 2 if fault.keyword in ("const", "enum") else 3


def _not(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if validation.fits(rule, spot):
        yield Fault(spot.at, f"must not fit {show(rule)}", "not")


def _if(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    part = schema.get("then" if validation.fits(rule, spot) else "else", True)
    yield from validation.faults(part, spot)


def _unevaluated_properties(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, dict) and rule is not True:
        judged = _judged(validation, schema, spot)
        for key in spot.value:
            if key not in judged:
                yield from _left_over(validation, rule, spot, key, schema)


def _unevaluated_items(validation: Validation, rule: Any, spot: Spot, schema: Rules) -> Iterator[Fault]:
    if isinstance(spot.value, list) and rule is not True:
        judged = _judged(validation, schema, spot)
        for index, value in enumerate(spot.value):
            if index not in judged:
                yield from validation.faults(rule, spot.inside(index, value))


def _judged(validation: Validation, schema: Rules, spot: Spot) -> set[Any]:
    """The keys or positions that the keywords beside `unevaluated*` have judged."""
    found: set[Any]
    if isinstance(spot.value, dict):
        found = set(spot.value) if "additionalProperties" in schema else _own_keys(validation, schema, spot)
    else:
        found = set(_own_positions(validation, schema, spot))
    for part in _applied(validation, schema, spot):
        found |= _judged(validation, part, Spot(spot.value, spot.at, spot.depth + 1))
        if "unevaluatedProperties" in part and isinstance(spot.value, dict):
            found |= spot.value.keys()
        if "unevaluatedItems" in part and isinstance(spot.value, list):
            found |= set(range(len(spot.value)))
    return found


def _own_keys(validation: Validation, schema: Rules, spot: Spot) -> set[str]:
    """The keys that `properties` and `patternProperties` name; a pattern that cannot be tried may name any."""
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    validation.count(len(patterns) * len(spot.value))
    known: set[str] = spot.value.keys() & properties.keys()
    if patterns:
        rest = spot.value.keys() - known
        known |= {key for key in rest if any(matches(pattern, key) is not False for pattern in patterns)}
    return known


def _own_positions(validation: Validation, schema: Rules, spot: Spot) -> Iterator[int]:
    if "items" in schema:
        yield from range(len(spot.value))
        return
    yield from range(min(len(spot.value), len(schema.get("prefixItems", ()))))
    if "contains" in schema:
        for index, value in enumerate(spot.value):
            if validation.fits(schema["contains"], spot.inside(index, value)):
                yield index


def _applied(validation: Validation, schema: Rules, spot: Spot) -> Iterator[Rules]:
    validation.count()
    parts: list[Any] = [*schema.get("allOf", ())]
    if "$ref" in schema:
        parts.append(validation.definition(schema["$ref"]))
    if "if" in schema:
        is_so = validation.fits(schema["if"], spot)
        parts += [schema["if"], schema.get("then")] if is_so else [schema.get("else")]
    if isinstance(spot.value, dict):
        parts += [part for key, part in schema.get("dependentSchemas", {}).items() if key in spot.value]
    parts += [part for word in ("anyOf", "oneOf") for part in schema.get(word, ()) if validation.fits(part, spot)]
    yield from (part for part in parts if isinstance(part, dict))


APPLICATORS: dict[str, Check] = {
    "$ref": _ref,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "required": _required,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}
