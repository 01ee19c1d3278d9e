"""Whether structured content keeps its schema, for schemas that mean well and others."""

import pytest

from runtime.mcp.output_check import find_misfit

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
        (CELSIUS, {"celsius": 21.5}, None),
        (CELSIUS, {"celsius": "hot"}, '"celsius" breaks the rule "type":"number"'),
        (CELSIUS, {}, '"the value" breaks the rule "required":["celsius"]'),
        ({"items": CELSIUS}, [{"celsius": 1}, {"celsius": None}], '"1/celsius" breaks the rule "type":"number"'),
        ({"type": "object", "$defs": {"c": CELSIUS}, "$ref": "#/$defs/c"}, {"celsius": 1}, None),
        (None, 1, None),
        ({}, 1, None),
        ({"type": 7}, 1, None),
        ({"$ref": "#/nowhere"}, 1, None),
        ({"$ref": "#"}, 1, None),
        ({"pattern": "^(a+)+$"}, "a" * 40 + "b", None),
    ],
)
def test_a_misfit_is_told_by_place_and_rule(schema, value, misfit):
    assert find_misfit(schema, value) == misfit


def test_a_check_that_would_take_too_long_is_left_out():
    assert find_misfit(doubling(4), 1) == '"the value" breaks the rule "type":"object"'
    assert find_misfit(doubling(40), {}) is None


def test_a_reference_to_the_network_is_never_followed():
    assert find_misfit({"$ref": "http://127.0.0.1:1/schema.json"}, 1) is None
