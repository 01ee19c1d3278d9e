"""Expressions: where they are in a text, their types, their values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.expressions import ExpressionError, Fault, Scope, names_in, split

TYPES = {
    "variables.n": "integer",
    "variables.f": "number",
    "variables.s": "string",
    "variables.b": "boolean",
    "variables.l": "array",
    "variables.o": "object",
    "secrets.key": "string",
    "arguments.n": "integer",
    "arguments.a-b": "any",
    "result": "any",
}
VALUES: dict[str, Any] = {
    "variables.n": 3,
    "variables.f": 1.5,
    "variables.s": "text",
    "variables.b": True,
    "variables.l": [1, "a"],
    "variables.o": {"z": 1, "a": {"b": None}},
    "secrets.key": "s3cret",
    "arguments.a-b": 7,
    "result": {"text": "hello", "steps": []},
}


def faults(text: str) -> list[tuple[str, int | None]]:
    return [(fault.code, fault.offset) for fault in Scope(TYPES).check(text)[1]]


@pytest.mark.parametrize(
    ("text", "expressions", "unclosed"),
    [
        ("no expression", [], None),
        ("${{ a }}", [" a "], None),
        ("x ${{a}} y ${{ b }} z", ["a", " b "], None),
        ("${{ '}}' }}", [" '}}' "], None),
        ("${{ {'a': {'b': 1}} }}", [" {'a': {'b': 1}} "], None),
        ("${{ r'\\' }} ${{ b }}", [" r'\\' ", " b "], None),
        ("${{ '''it's }}''' }}", [" '''it's }}''' "], None),
        ("${{ 'it\\'s }}' }}", [" 'it\\'s }}' "], None),
        ("${{ 1 }}}}", [" 1 "], None),
        ("$${{ 1 }}", [" 1 "], None),
        ("${{ 'a }} b", [], 0),
        ("${{", [], 0),
        ("a ${{ 1 }} ${{ 2 }", [" 1 "], 11),
        ("${ 1 } {{ 2 }} }}", [], None),
    ],
)
def test_finding_the_expressions_of_a_text(text: str, expressions: list[str], unclosed: int | None) -> None:
    parts, opened = split(text)

    assert ([part.text for part in parts], opened) == (expressions, unclosed)
    assert [text[part.start : part.end] for part in parts] == [f"${{{{{each}}}}}" for each in expressions]
    assert all(text[part.at :].startswith(part.text) for part in parts)


@given(st.text("${} '\"ab\\", max_size=40))
def test_parts_lie_in_order_and_hold_what_the_text_has(text: str) -> None:
    parts, unclosed = split(text)

    ends = [0, *(part.end for part in parts)]
    assert all(end <= part.start for end, part in zip(ends, parts, strict=False))
    assert unclosed is None or (unclosed >= ends[-1] and text.startswith("${{", unclosed))
    assert all(text[part.at : part.end - 2] == part.text for part in parts)


@pytest.mark.parametrize(
    ("text", "json_type"),
    [
        ("variables.n + 1", "integer"),
        ("variables.f * 2.0", "number"),
        ("variables.s + 'x'", "string"),
        ("variables.n > 2 && variables.b", "boolean"),
        ("variables.l", "array"),
        ("[1, 2].map(x, x * 2)", "array"),
        ("variables.o", "object"),
        ("{'a': 1}", "object"),
        ("{}", "object"),
        ("null", "null"),
        ("variables.o.a.b", "any"),
        ("result.text", "any"),
        ("has(arguments.n) ? arguments.n : 0", "integer"),
        ("arguments.`a-b`", "any"),
        ("string(variables.n)", "string"),
    ],
)
def test_the_type_of_an_expression(text: str, json_type: str) -> None:
    assert Scope(TYPES).check(text) == (json_type, [])


@pytest.mark.parametrize("json_type", ["string", "integer", "number", "boolean", "array", "object", "null", "any"])
@pytest.mark.parametrize("name", ["x", "variables.x", "a.b.c", "secrets.in", "if", "metadata.true", "metadata.as"])
@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u00a0"])
def test_a_name_alone_is_judged_as_the_library_judges_it_in_brackets(json_type: str, name: str, blank: str) -> None:
    scope = Scope({name: json_type})

    given, found = scope.check(blank + name)
    in_brackets, found_in_brackets = scope.check(f"({blank}{name})")

    assert (given, [fault.code for fault in found]) == (in_brackets, [fault.code for fault in found_in_brackets])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("variables.m", [("CEL_UNKNOWN_NAME", 0)]),
        ("1 + nothing.here", [("CEL_UNKNOWN_NAME", 4)]),
        ("variables", [("CEL_UNKNOWN_NAME", 0)]),
        ("variables['n']", [("CEL_UNKNOWN_NAME", 0)]),
        ("upper(variables.s)", [("CEL_UNKNOWN_NAME", 0)]),
        ("left + right", [("CEL_UNKNOWN_NAME", 0), ("CEL_UNKNOWN_NAME", 7)]),
        ("variables.n + variables.s", [("CEL_TYPE", 12)]),
        ("variables.n.x.y", [("CEL_TYPE", 11)]),
        ("secrets.key-card", [("CEL_UNKNOWN_NAME", 12)]),
        ("timestamp('2026-01-01T00:00:00Z')", [("CEL_TYPE", None)]),
        ("b'bytes'", [("CEL_TYPE", None)]),
        ("{1: 2}", [("CEL_TYPE", None)]),
        ("variables.n +", [("CEL_SYNTAX", 13)]),
        ("'a' 'b'", [("CEL_SYNTAX", 4)]),
        ("variables.n ===", [("CEL_SYNTAX", 14)]),
        ("if", [("CEL_SYNTAX", 0)]),
        ("99999999999999999999", [("CEL_SYNTAX", 0)]),
        ("'never closed", [("CEL_SYNTAX", 0)]),
        ("has(variables)", [("CEL_SYNTAX", 4)]),
        ("'🌊' + wave", [("CEL_UNKNOWN_NAME", 6)]),
        ("variables.n\n  + variables.m", [("CEL_UNKNOWN_NAME", 16)]),
    ],
)
def test_what_is_wrong_with_an_expression_and_where(text: str, expected: list[tuple[str, int | None]]) -> None:
    assert faults(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("variables.nn", '"variables.nn" is not in scope', 'did you mean "variables.n"?'),
        ("variable.n", '"variable.n" is not in scope', 'did you mean "variables.n"?'),
        ("variables", '"variables" is not in scope', '"variables" has: b, f, l, n, o, s'),
        ("sice(variables.s)", 'there is no function "sice"', 'did you mean "size"?'),
        ("size(1, 2)", 'the function "size" does not take these arguments', None),
        ("1 + 'a'", '"+" does not take a whole number and text', 'convert the other one with "string(...)"'),
        ("1 + 1.5", '"+" does not take a whole number and a number', 'convert the whole number with "double(...)"'),
        ("1 && true", '"&&" does not take a whole number and true or false', "compare it with something first"),
        ("true ? 1 : 'a'", '"?:" gives a whole number or text, and both have to be of one type', None),
        ("variables.l['a']", '"[]" does not take a list and text', None),
        ("{'a': 1}[1.5]", '"[]" does not take a mapping and a number', None),
        ("variables.s.x", "text has no fields", None),
        ("1 +", "the expression does not parse: it ends too soon", None),
        ("(1", 'the expression does not parse: ")" is missing', None),
        ("1 ; 2", 'the expression does not parse: unexpected ";"', None),
        ("'a", "the expression does not parse: the text that starts here is never closed", None),
    ],
)
def test_what_is_said_of_a_faulty_expression(text: str, message: str, hint: str | None) -> None:
    [fault] = Scope(TYPES).check(text)[1]

    assert (fault.message, fault.hint) == (message, hint)


def test_a_scope_is_closed_even_where_nothing_is_in_it() -> None:
    assert Scope({}).check("variables.n")[1] == [
        Fault("CEL_UNKNOWN_NAME", 0, '"variables.n" is not in scope', "in scope are: metadata, secrets, variables")
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("${{ secrets.a + secrets.b }} secrets.c", {"a": 4, "b": 16}),
        ("${{ 'secrets.a' + \"secrets.b\" }} ${{ secrets.c }}", {"c": 37}),
        ("${{ r'\\' + secrets.a }}", {"a": 11}),
        ("${{ '''a'secrets.b''' + secrets.c }}", {"c": 24}),
        ("${{ secrets.a // secrets.b\n + secrets.c }}", {"a": 4, "c": 30}),
        ("${{ variables.secrets.a + mysecrets.b }}", {}),
        ("${{ secrets . a }}", {"a": 4}),
        ("${{ secrets.a + secrets.a }}", {"a": 4}),
    ],
)
def test_the_names_that_a_text_uses(text: str, names: dict[str, int]) -> None:
    assert names_in(text, "secrets") == names
    assert names_in("secrets.a + 'x'", "secrets", is_tagged=True) == {"a": 0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("variables.n + 1", 4),
        ("variables.f", 1.5),
        ("variables.o", {"z": 1, "a": {"b": None}}),
        ("variables.l[1]", "a"),
        ("result.text + '!'", "hello!"),
        ("variables.b ? 'yes' : 'no'", "yes"),
        ("has(arguments.n)", False),
        ("has( arguments.n ) ? arguments.n : 5", 5),
        ("'has(arguments.n)'", "has(arguments.n)"),
        ("!has(arguments.n) && has(result.text)", True),
        ("arguments.`a-b`", 7),
        ("size('größe')", 5),
    ],
)
def test_the_value_of_an_expression(text: str, value: object) -> None:
    scope = Scope(TYPES)

    assert scope.check(text)[1] == []
    assert scope.evaluate(text, VALUES) == value


def test_a_plain_name_gives_its_value_as_it_is() -> None:
    odd = {"z": "\0", "a": "\ud800", "n": 10**30}

    value = Scope({"variables.o": "object"}).evaluate(" variables.o ", {"variables.o": odd})

    assert value is odd
    assert list(value) == ["z", "a", "n"]


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("arguments.n", {}, '"arguments.n" has no value'),
        ("arguments.n + 1", {}, '"arguments.n" has no value'),
        ("1 / variables.n", {"variables.n": 0}, "divide by zero"),
        ("variables.l[5]", {"variables.l": []}, "Index error: index=5 size=0"),
        (
            "'x' + secrets.key",
            {"secrets.key": "a\0b"},
            '"secrets.key" holds a NUL character, which no expression can take',
        ),
        ("result.a + 'x'", {"result": {"a": ["\0"]}}, '"result" holds a NUL character, which no expression can take'),
        ("'x' + secrets.key", {"secrets.key": "\ud800"}, "a value is no Unicode text"),
        ("variables.n +", {}, "the expression does not parse: it ends too soon"),
    ],
)
def test_an_expression_that_the_values_do_not_allow(text: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Scope(TYPES).evaluate(text, values)

    assert str(caught.value) == message


def test_a_value_is_never_evaluated_again() -> None:
    value = "${{ secrets.key }} }} !cel 1"

    assert Scope(TYPES).evaluate("variables.s + ''", {**VALUES, "variables.s": value}) == value


def test_the_language_reaches_nothing_outside() -> None:
    for text in (
        "__import__('os')",
        "variables.s.__class__",
        "open('/etc/passwd')",
        "().__class__",
        "env.HOME",
        "import os",
    ):
        assert Scope(TYPES).check(text)[1] != []
