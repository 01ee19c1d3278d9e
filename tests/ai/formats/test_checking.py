"""Our check of values: the verdict of the JSON Schema library, in words for a model, and always in time."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry

from runtime.ai.formats.checking.faults import find_faults
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.repair import repair


@pytest.mark.parametrize(
    ("schema", "value", "faults"),
    [
        ({"type": "integer"}, "x", ['must be an integer, found "x"']),
        ({"type": ["string", "null"]}, True, ["must be a string or null, found true"]),
        ({"required": ["a", "b"]}, {}, ['"a" is missing', '"b" is missing']),
        (
            {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
            {"c": 1},
            ['"c" is not known; known are a, b'],
        ),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [4, 2]}, ["/a/1: must be at least 3, found 2"]),
        ({"properties": {"a/b": {"exclusiveMaximum": 3}}}, {"a/b": 3}, ["/a~1b: must be less than 3, found 3"]),
        ({"enum": ["x", None]}, 1, ['must be one of "x", null, found 1']),
        ({"const": {"a": [1]}}, {"a": [2]}, ['must be {"a":[1]}, found {"a":[2]}']),
        ({"minLength": 1}, "", ["must have at least 1 character, found 0"]),
        ({"maxItems": 2}, [1, 2, 3], ["must have at most 2 members, found 3"]),
        ({"multipleOf": 0.1}, 0.25, ["must be a multiple of 0.1, found 0.25"]),
        ({"uniqueItems": True}, [1, 1.0], ["must not have the same member twice"]),
        ({"pattern": "^a"}, "b", ['must match the regular expression ^a, found "b"']),
        ({"pattern": "^\\p{L}+$"}, "ü1", ['must match the regular expression ^\\p{L}+$, found "ü1"']),
        ({"properties": {"a": False}}, {"a": 1}, ["/a: must not be given"]),
        ({"not": {"required": ["a"]}}, {"a": 1}, ['must not fit {"required":["a"]}']),
        (
            {"propertyNames": {"pattern": "^a"}},
            {"b": 1},
            ['the key "b" must match the regular expression ^a, found "b"'],
        ),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ['"b" is missing, which "a" needs']),
        ({"contains": {"const": 1}}, [2], ['must have at least 1 members that fit {"const":1}, found 0']),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            None,
            ["fits none of 2 forms: must be a string, found null; or must be an integer, found null"],
        ),
        (
            {
                "oneOf": [
                    {"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k", "x"]},
                    {"properties": {"k": {"const": "b"}}, "required": ["k"]},
                ]
            },
            {"k": "a", "x": "1"},
            ['/x: must be an integer, found "1"'],
        ),
        (
            {"oneOf": [{"type": "integer"}, {"type": "number"}]},
            1,
            ["fits 2 of the forms of which it must fit exactly one"],
        ),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "a", ["must have at least 2 characters, found 1"]),
        (
            {"items": {"type": "integer"}},
            list("abcdefgh"),
            [f'/{n}: must be an integer, found "{c}"' for n, c in enumerate("abcde")],
        ),
        (
            {"type": "string"},
            list(range(100)),
            ["must be a string, found " + json.dumps([*range(100)]).replace(" ", "")[:80] + "…"],
        ),
    ],
)
def test_faults_say_where_what_was_expected_and_what_was_found(schema: Any, value: Any, faults: list[str]) -> None:
    assert [str(fault) for fault in find_faults(repair(schema, Report(), {}), value)] == faults


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([0.5, 1.0, -2.0, 1e300]),
    st.sampled_from(["", "a", "b", "ab"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
KEYS = st.sampled_from("abc")
PATTERNS = st.sampled_from(["^a", "b$", "^a+$", "a|b", "[ab]", "^(a|b)*$"])
SMALL = st.integers(0, 3)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    one, some, named = inner, st.lists(inner, min_size=1, max_size=3), st.dictionaries(KEYS, inner, max_size=2)
    optional = {
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "required": st.lists(KEYS, max_size=2, unique=True),
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "uniqueItems": st.booleans(),
        "multipleOf": st.sampled_from([1, 2, 0.5, 0.1]),
        "pattern": PATTERNS,
        "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2),
        "dependentSchemas": named,
        "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"]),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), SMALL),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), SMALL),
        **dict.fromkeys(("minContains", "maxContains"), SMALL),
        **dict.fromkeys(
            ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"), one
        ),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), one),
    }
    return st.one_of(st.booleans(), st.fixed_dictionaries({}, optional=optional))


SCHEMAS = st.recursive(st.one_of(st.booleans(), schemas(st.just({}))), schemas, max_leaves=5)


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=120)
@given(SCHEMAS, SCHEMAS, SCHEMAS, VALUES)
def test_the_verdict_is_that_of_the_library(root: Any, a: Any, b: Any, value: Any) -> None:
    schema = {"allOf": [root], "$defs": {"a": a, "b": b}}
    report = Report()
    sound = repair(schema, report, {})
    if report.weakened:  # a definition that only refers to itself, on which the library does not end
        return
    expected = Draft202012Validator(schema, registry=Registry()).is_valid(value)
    assert (not find_faults(sound, value)) == expected, json.dumps([schema, value])


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ('{"$ref": "#"}', "{}"),
        ('{"allOf": [{"$ref": "#"}]}', "{}"),
        ('{"properties": {"a": {"pattern": "^(a+)+$"}}}', '{"a": "a" * 5000 + "!"}'),
        ('{"properties": {"a": {"pattern": "^(?=x?)(a+)+$"}}}', '{"a": "a" * 5000 + "!"}'),
        ('{"properties": {"a": {"pattern": "a*a*a*a*a*b"}}}', '{"a": "a" * 5000}'),
        ('{"patternProperties": {"(a|a)*$": {}}}', '{"a" * 3000 + "!": 1}'),
        (
            '{"$ref": "#/$defs/d0", "$defs": {**{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n+1}"}] * 2} '
            'for n in range(90)}, "d90": {"type": "object"}}}',
            "{}",
        ),
        (
            '{"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}, '
            '"required": ["b"]}] * 8}}}',
            "nest(60)",
        ),
        ('{"properties": {"a": {"$ref": "#"}}}', "nest(900)"),
        ('{"uniqueItems": True, "items": {"type": "array"}}', "[[n] for n in range(20000)]"),
        ('{"enum": [[n] for n in range(20000)]}', "[1]"),
        ('{"contains": {"enum": [*range(5000)]}}', '["x"] * 5000'),
        ('{"items": {"required": [str(n) for n in range(5000)]}}', "[{}] * 5000"),
        ('{"patternProperties": {f"a+{n}": {} for n in range(2000)}}', '{f"a{n}": 1 for n in range(2000)}'),
    ],
)
def test_a_check_ends_in_time_whatever_the_schema(schema: str, value: str) -> None:
    code = f"""
def nest(depth):
    value = 1
    for _ in range(depth):
        value = {{"a": value}}
    return value
from runtime.ai.formats.arguments import ArgumentCheck
from runtime.errors import ToolError
try:
    ArgumentCheck({schema}).accept("t", {value} if isinstance({value}, dict) else {{"v": {value}}})
except ToolError:
    pass
from runtime.ai.formats.checking.faults import find_faults
from runtime.ai.formats.schema.repair import repair
from runtime.ai.formats.report import Report
find_faults(repair({schema}, Report(), {{}}), {value})
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_reference_is_never_fetched() -> None:
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    assert find_faults(repair(schema, Report(), {}), {"a": 1}) == []
