"""Declared values against what is declared next to them; a manifest that is only validated is not trusted."""

import socket
import time

import pytest
from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY

from runtime.checks import check
from runtime.manifest import Source
from runtime.registry import Entry, Registry

MOST_SECONDS = 10.0


def problems(declaration: str) -> list[str]:
    """What is said of a default, without the words before it."""
    text = f"kind: Runtime.Application\nmetadata: {{ name: App }}\nvariables: {{ v: {{ {declaration} }} }}\n"
    started = time.thread_time()
    found = check([Source("m.yaml", text.encode(), ".")]).diagnostics
    assert time.thread_time() - started < MOST_SECONDS
    return [each.message.partition("does not fit: ")[2] for each in found if each.code == "VALUE_INVALID"]


UNAPPLIED = "the keywords of its declaration cannot be applied to it"


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("type: integer, default: 1.0", "it has to be a whole number, not the number 1.0"),
        ("type: integer, default: true", "it has to be a whole number, not true"),
        ("type: integer, default: 9223372036854775808", "it has to be a whole number of at most 64 bits"),
        ("type: number, default: '1'", "it has to be a number, not text"),
        ("default: 1", "it has to be text, not the number 1"),
        ("default: ", "it has to be text, not an empty value"),
        ("type: boolean, default: 1", "it has to be true or false, not the number 1"),
        ("type: array, default: {}", "it has to be a list, not a mapping"),
        ("type: object, default: []", "it has to be a mapping, not a list"),
        ("type: integer, minimum: 2, default: 1", "it has to be 2 or more, not 1"),
        ("type: integer, maximum: 2, default: 3", "it has to be 2 or less, not 3"),
        ("type: number, exclusiveMinimum: 2, default: 2", "it has to be more than 2, not 2"),
        ("type: number, exclusiveMaximum: 2.5, default: 2.5", "it has to be less than 2.5, not 2.5"),
        ("type: integer, multipleOf: 3, default: 4", "it has to be a multiple of 3, not 4"),
        ("minLength: 3, default: ab", "it has to have 3 characters at least"),
        ("minLength: 1, default: ''", "it may not be empty"),
        ("maxLength: 1, default: ab", "it may have 1 characters at most"),
        ('pattern: "^[0-9]+$", default: a', 'it has to have the form "^[0-9]+$"'),
        ('pattern: "^(?=a)b", default: ab', 'it has to have the form "^(?=a)b"'),
        ("enum: [a, b], default: c", 'it cannot be "c"'),
        ("type: integer, enum: [true], default: 1", "it cannot be the number 1"),
        ("const: a, default: b", 'it has to be "a"'),
        ("type: array, minItems: 2, default: [1]", "it has to have 2 elements at least"),
        ("type: array, maxItems: 1, default: [1, 2]", "it may have 1 elements at most"),
        ("type: array, uniqueItems: true, default: [1, 1.0]", "it may not have the same element twice"),
        ("type: array, items: { type: string }, default: [a, 1]", '"[1]" has to be text, not the number 1'),
        ("type: object, required: [a], default: {}", 'it needs "a"'),
        (
            "type: object, properties: { a: { type: string } }, default: { a: 1 }",
            '"a" has to be text, not the number 1',
        ),
        ("type: object, additionalProperties: false, default: { a: 1 }", "it has a part that it may not have"),
        (
            "type: integer, anyOf: [{ minimum: 3 }, { multipleOf: 2 }], default: 1",
            'it does not fit "anyOf" of its schema',
        ),
        ("type: integer, not: { const: 4 }, default: 4", 'it does not fit "not" of its schema'),
        ("type: integer, if: { minimum: 3 }, then: { maximum: 5 }, default: 7", "it has to be 5 or less, not 7"),
        (
            'type: object, $defs: { p: { type: string } }, properties: { a: { $ref: "#/$defs/p" } }, default: { a: 1 }',
            '"a" has to be text, not the number 1',
        ),
        ("type: object, minProperties: 1, default: {}", "it may not be empty"),
        ("type: array, contains: { const: 1 }, default: [2]", 'it does not fit "contains" of its schema'),
        ("type: number, multipleOf: 2.5, default: .nan", UNAPPLIED),
        ("type: object, properties: { a: { $ref: '#/properties/a' } }, default: { a: 1 }", UNAPPLIED),
        ("type: array, items: { $ref: '#/nowhere' }, default: [1]", UNAPPLIED),
        ("type: array, items: { $ref: 'file:///etc/passwd' }, default: [1]", UNAPPLIED),
    ],
)
def test_a_default_that_does_not_fit(declaration: str, problem: str) -> None:
    assert problems(declaration) == [problem]


@pytest.mark.parametrize(
    "declaration",
    [
        "type: number, default: 1",
        "type: array, uniqueItems: true, default: [1, true, '1', [1], { a: 1 }]",
        "type: object, additionalProperties: { type: integer }, default: { a: 1 }",
        "type: integer, enum: [1, 2], default: 2",
        "type: number, enum: [1], default: 1.0",
        'pattern: "^(?=a)a", default: ab',
    ],
)
def test_a_default_that_fits(declaration: str) -> None:
    assert problems(declaration) == []


def test_a_reference_in_a_declaration_fetches_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema"

        found = problems(f"type: array, items: {{ $ref: '{address}' }}, default: [1]")

        assert found == [UNAPPLIED]
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "declaration",
    [
        f'pattern: "^(a+)+$", default: "{"a" * 60}!"',
        f'pattern: "^(?=a)(a+)+$", default: "{"a" * 60}!"',
        "type: array, uniqueItems: true, default: [" + ", ".join(f"{{ a: {n} }}" for n in range(5000)) + "]",
        f"type: integer, minimum: 1{'0' * 400}, default: 1",
    ],
    ids=["a pattern", "a pattern with lookaround", "many elements", "a long number"],
)
def test_a_declaration_that_is_made_to_hurt(declaration: str) -> None:
    assert len(problems(declaration)) <= 1


def test_every_keyword_of_json_schema_may_stand_in_a_declaration() -> None:
    meta = Draft202012Validator.META_SCHEMA
    vocabularies = [REGISTRY.contents(f"{meta['$id'].rpartition('/')[0]}/{part['$ref']}") for part in meta["allOf"]]
    keywords = {name for vocabulary in vocabularies for name in vocabulary["properties"]}
    identity = {"$id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary"}
    entry = Registry().find("Runtime.Application")
    assert isinstance(entry, Entry)

    known = entry.shape.schema["$defs"]["Variable"]["properties"].keys()

    assert keywords - known == identity  # what names a schema, which nobody refers to
