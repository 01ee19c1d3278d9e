"""What holds for every schema: legal, deterministic, nothing refused that was taken, and the way back."""

import copy
import json
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from legality import ONE, SCHEMA_OF, assert_legal, is_valid, read_message, rename, types, walk, words

from runtime.ai import Tool
from runtime.ai.formats import FORMATS, convert

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


# ---- schemas: sound ones, and anything that somebody might publish

KEYS = st.sampled_from("abc")
SMALL = st.integers(0, 3)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([0.5, 1.0, -2.0]),
    st.sampled_from(["", "a", "b", "ab"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
PATTERNS = st.sampled_from(["^a", "b$", "a|b", "[ab]", "(?=a)", "^(?<x>a)"])
REFERENCES = st.sampled_from(["#/$defs/a", "#/$defs/b", "#/properties/a", "#/properties/b/properties/a", "#"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    optional = {
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "required": st.lists(KEYS, max_size=2, unique=True),
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "uniqueItems": st.booleans(),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "pattern": PATTERNS,
        "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2),
        "dependentSchemas": named,
        "$ref": REFERENCES,
        "title": st.just("T"),
        "description": st.just("D"),
        "default": SCALARS,
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), SMALL),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), SMALL),
        **dict.fromkeys(("minContains", "maxContains"), SMALL),
        **dict.fromkeys([*ONE], inner),
    }
    return st.one_of(st.booleans(), st.fixed_dictionaries({}, optional=optional))


PARTS = st.recursive(st.one_of(st.booleans(), schemas(st.just({}))), schemas, max_leaves=6)
FLAT_PARTS = schemas(st.just({}))
WORDS = words(
    "type enum const required properties patternProperties additionalProperties items prefixItems anyOf allOf oneOf not"
    " if then else $ref $defs definitions minimum exclusiveMinimum exclusiveMaximum minLength pattern nullable"
    " dependencies dependentRequired title description format examples default $id $anchor uniqueItems a b x-y $schema"
    " propertyNames contains unevaluatedProperties additionalItems"
)
TEXTS = st.sampled_from(
    [
        "",
        *words(
            "a string object any Integer #/$defs/a #/properties/a # #a #/definitions/b http://x/y ( ^a (?!a) null array"
        ),
    ]
)
ANYTHING = st.recursive(
    st.one_of(SCALARS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)),
    max_leaves=25,
)


@SETTINGS
@given(
    st.one_of(
        ANYTHING,
        st.builds(
            lambda root, a, b: {**root, "$defs": {"a": a, "b": b}},
            schemas(PARTS).filter(dict.__instancecheck__),
            PARTS,
            PARTS,
        ),
    )
)
def test_anything_published_becomes_legal_and_stays_untouched(published: Any) -> None:
    before = copy.deepcopy(published)
    tool = Tool("t", "d", published)
    for format in FORMATS:
        converted = convert([tool], format)
        for each in converted.tools:
            assert_legal(format, each.definition)
            assert all(entry.message for entry in each.entries)
        assert json.loads(converted.encoded) == converted.payload
        assert convert([tool], format).encoded == converted.encoded
    assert_legal("openai", convert([tool], "openai", strict=True).tools[0].definition)
    assert published == before


# ---- valid calls stay accepted, and come back as they were


LIBRARY_GIVES_UP = ("RecursionError", "PanicException", "_WrappedReferencingError", "PointerToNowhere", "TypeError")
"""On references that lead nowhere, or back to themselves."""


def assert_taken(schema: dict[str, Any], arguments: dict[str, Any], formats: list[str]) -> None:
    try:
        fits = is_valid(schema, arguments)
    except BaseException as error:  # its Rust part raises what is no Exception
        if type(error).__name__ not in LIBRARY_GIVES_UP:
            raise
        return
    assume(fits)
    tool = Tool("t", "d", schema)
    for format in formats:
        converted = convert([tool], format)
        [each] = converted.tools
        sent = rename(arguments, each.renames)
        assert is_valid(SCHEMA_OF[format](each.definition), sent), (format, each.definition)
        assert converted.accept("t", sent) == (tool, arguments)


JSON_SCHEMA_FORMATS = ["openai", "openai-responses", "anthropic", "gemini"]
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)


@SETTINGS
@given(PARTS, PARTS, PARTS, PARTS, ARGUMENTS, st.lists(KEYS, unique=True, max_size=2))
def test_valid_arguments_stay_accepted(a: Any, b: Any, one: Any, other: Any, arguments: Any, required: Any) -> None:
    definitions = {"a": one, "b": other}
    schema = {"type": "object", "properties": {"a": a, "b": b}, "required": required, "$defs": definitions}
    assert_taken(schema, arguments, JSON_SCHEMA_FORMATS)


@SETTINGS
@given(FLAT_PARTS, FLAT_PARTS, ARGUMENTS)
def test_a_call_that_the_conversion_lets_through_is_in_the_report(a: Any, b: Any, arguments: Any) -> None:
    schema = {"type": "object", "properties": {"a": a, "b": b}}
    assume(not has_reference(schema))
    assume(not is_valid(schema, arguments))
    for format in JSON_SCHEMA_FORMATS:
        [each] = convert([Tool("t", "d", schema)], format).tools
        if not any(entry.effect == "weakened" for entry in each.entries):
            assert not is_valid(SCHEMA_OF[format](each.definition), rename(arguments, each.renames)), format


def has_reference(schema: Any) -> bool:
    return any("$ref" in part for part in walk(schema))


def closed(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    must = {
        "type": st.just("object"),
        "properties": st.dictionaries(KEYS, part, max_size=3),
        "required": st.lists(KEYS, max_size=2, unique=True),
        "additionalProperties": st.just(False),
    }
    return st.fixed_dictionaries(
        must, optional={"description": st.sampled_from("DE"), "not": part, "title": st.just("T")}
    )


def choices(name: str) -> st.SearchStrategy[Any]:
    return st.lists(st.one_of(closed(FLAT_PARTS), st.just({"$ref": f"#/$defs/{name}"})), min_size=1, max_size=3)


ROOTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("object"),
        "properties": st.dictionaries(KEYS, FLAT_PARTS, max_size=2),
        "required": st.lists(KEYS, max_size=1),
        "anyOf": choices("A"),
        "oneOf": choices("B"),
        "allOf": st.lists(
            FLAT_PARTS.filter(lambda part: isinstance(part, dict) and not {"anyOf", "oneOf", "$ref"} & part.keys()),
            min_size=1,
            max_size=2,
        ),
        "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B"]),
        "dependentSchemas": st.dictionaries(KEYS, FLAT_PARTS, max_size=2),
        "patternProperties": st.dictionaries(PATTERNS, FLAT_PARTS, max_size=1),
        **dict.fromkeys(("not", "if", "then", "else", "unevaluatedProperties"), FLAT_PARTS),
        **dict.fromkeys(("additionalProperties", "propertyNames"), FLAT_PARTS),
    },
)


@SETTINGS
@given(ROOTS, closed(FLAT_PARTS), closed(FLAT_PARTS), ARGUMENTS)
def test_valid_arguments_stay_accepted_when_the_root_is_flattened(root: Any, a: Any, b: Any, arguments: Any) -> None:
    assert_taken({**root, "$defs": {"A": a, "B": b}}, arguments, JSON_SCHEMA_FORMATS)


ODD_KEYS = st.sampled_from(["$a", "a b", "a_b", "ü", "a", "_a", "x" * 70, "x" * 71, ""])


@SETTINGS
@given(
    st.dictionaries(ODD_KEYS, FLAT_PARTS, max_size=5),
    st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(ODD_KEYS, max_size=2, unique=True),
            "not": st.fixed_dictionaries({"required": st.lists(ODD_KEYS, max_size=2, unique=True)}),
            "dependentRequired": st.dictionaries(ODD_KEYS, st.lists(ODD_KEYS, max_size=1), max_size=1),
            "patternProperties": st.dictionaries(st.sampled_from(["^_", "^x", "^[$]"]), FLAT_PARTS, max_size=1),
            "propertyNames": FLAT_PARTS,
            "additionalProperties": FLAT_PARTS,
        },
    ),
    st.dictionaries(ODD_KEYS, VALUES, max_size=4),
)
def test_keys_that_are_renamed_come_back(properties: Any, rules: Any, arguments: Any) -> None:
    schema = {"type": "object", "properties": properties, **rules}
    [each] = convert([Tool("t", "d", schema)], "anthropic").tools
    assert_legal("anthropic", each.definition)
    assume(not {rename.offered for rename in each.renames} & (arguments.keys() - properties.keys()))
    assert_taken(schema, arguments, ["anthropic"])


# ---- the older parameters: schemas with a type each


def typed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(KEYS, inner, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"type": TYPES}, optional={"items": inner, "properties": named, "minItems": SMALL}),
        st.fixed_dictionaries(
            {"type": st.lists(TYPES, min_size=1, max_size=3, unique=True)}, optional={"maxLength": SMALL}
        ),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": named},
            optional={
                "anyOf": st.lists(
                    st.fixed_dictionaries({"required": st.lists(KEYS, max_size=2, unique=True)}), min_size=1, max_size=2
                )
            },
        ),
        st.fixed_dictionaries(
            {"anyOf": st.lists(inner, min_size=1, max_size=3)}, optional={"description": st.just("D")}
        ),
        st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=3)}),
    )


FEW_ARRAYS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(SCALARS, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@SETTINGS
@given(
    st.recursive(typed(st.just({})), typed, max_leaves=6),
    st.recursive(typed(st.just({})), typed, max_leaves=6),
    st.dictionaries(KEYS, FEW_ARRAYS, max_size=3),
)
def test_valid_arguments_stay_accepted_by_the_older_parameters(a: Any, b: Any, arguments: Any) -> None:
    schema = {"type": "object", "properties": {"a": a, "b": b}}
    assume(is_valid(schema, arguments))
    converted = convert([Tool("t", "d", schema)], "gemini-parameters")
    [each] = converted.tools
    assert_legal("gemini-parameters", each.definition)
    assert is_valid(read_message(each.definition["parameters"]), arguments), each.definition
    assert converted.accept("t", arguments)[1] == arguments


# ---- the strict form


def strict_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["string", "integer", "boolean", "null"])}, optional={"description": st.just("D")}
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries(
            {"enum": st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=2, unique=True)}
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(KEYS, inner, max_size=3),
                "required": st.just([]),
                "additionalProperties": st.just(False),
            }
        ),
    )


def fill_nulls(schema: dict[str, Any], value: Any) -> Any:
    """What a model sends in strict mode: null for every top-level property that it leaves out."""
    return {**dict.fromkeys(schema["properties"]), **value}


@SETTINGS
@given(
    st.dictionaries(
        KEYS, st.recursive(strict_parts(st.just({"type": "string"})), strict_parts, max_leaves=4), max_size=3
    ),
    ARGUMENTS,
)
def test_what_the_strict_form_fills_in_is_left_out_again(properties: Any, arguments: Any) -> None:
    schema = {"type": "object", "properties": properties, "required": [], "additionalProperties": False}
    arguments = {key: value for key, value in arguments.items() if value is not None}
    assume(is_valid(schema, arguments))
    converted = convert([Tool("t", "d", schema)], "openai", strict=True)
    function = converted.tools[0].definition["function"]
    assert function["strict"] is True
    for part in walk(function["parameters"]):
        if "object" in types(part):
            assert part["additionalProperties"] is False
            assert set(part["required"]) == set(part["properties"])
    filled = fill_nulls(function["parameters"], arguments)
    restored = converted.accept("t", filled)[1]
    assert {key: value for key, value in restored.items() if value is not None} == arguments
    assert is_valid(schema, restored)
