"""Whether structured content keeps its schema, for schemas that mean well and others."""

import pytest

from kinds.ai_mcp.output_check import find_misfit

CELSIUS = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}


def doubling(depth: int) -> dict:
    """A schema that takes 2**depth steps."""
    names = [f"s{number}" for number in range(depth)]
    pairs = zip(names, [*names[1:], "end"], strict=True)
    steps = {name: {"allOf": [{"$ref": f"#/$defs/{after}"}] * 2} for name, after in pairs}
    return {"$defs": {**steps, "end": {"type": "object"}}, "$ref": "#/$defs/s0"}


@pytest.mark.parametrize(
    "schema, value, misfit",
    [
        (CELSIUS, {"celsius": 21.5}, ""),
        (CELSIUS, {"celsius": "hot"}, '/celsius: must be a number, found "hot"'),
        (CELSIUS, {}, '"celsius" is missing'),
        ({"items": CELSIUS}, [{"celsius": 1}, {"celsius": None}], "/1/celsius: must be a number, found null"),
        ({"type": "object", "$defs": {"c": CELSIUS}, "$ref": "#/$defs/c"}, {"celsius": 1}, ""),
        (None, 1, ""),
        ({}, 1, ""),
        ({"type": 7}, 1, ""),
        ({"$ref": "#/nowhere"}, 1, ""),
        ({"$ref": "#"}, 1, ""),
        ({"pattern": "^(a+)+$"}, "a" * 40 + "!", f'must match the regular expression ^(a+)+$, found "{"a" * 40}!"'),
    ],
)
def test_a_misfit_is_told_by_place_and_rule(schema, value, misfit):
    assert find_misfit(schema, value) == misfit


def test_a_check_that_would_take_too_long_is_left_out():
    assert find_misfit(doubling(4), 1) == "must be an object, found 1"
    assert find_misfit(doubling(40), {}) == ""


def test_a_reference_to_the_network_is_never_followed():
    assert find_misfit({"$ref": "http://127.0.0.1:1/schema.json"}, 1) == ""


def test_a_schema_that_is_nested_too_deep_checks_nothing():
    deep: dict = {}
    for _ in range(100_000):
        deep = {"items": deep}

    assert find_misfit(deep, []) == ""
    while deep:  # taken apart from the outside: freeing it in one go would nest as deep
        deep = deep["items"]
