"""A tool's output, as parts and as one string."""

from typing import Any

import pytest

from runtime.ai import Image, Text
from runtime.ai.content import EMPTY, flatten, parts_of


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ([Text("a"), Image("aGk=", "image/png"), Text("b")], "a\n[Image: image/png]\nb"),
        (Image("aGk=", "image/gif"), "[Image: image/gif]"),
        ([], ""),
        (
            [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            ],
            "a\n[Image: image/png]\n[Audio: audio/wav]",
        ),
        ([{"type": "hologram", "x": 1}, {"type": "text"}], '{"type":"hologram","x":1}\n{"type":"text"}'),
        ({"n": 3, "ü": None}, '{"n":3,"ü":null}'),
        ([1, 2], "[1,2]"),
        (None, "null"),
        (True, "true"),
    ],
)
def test_flat_text_of_an_output(output: Any, text: str) -> None:
    assert flatten(output) == text


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        ("plain", [Text("plain")]),
        ("", [Text(EMPTY)]),
        ([], [Text(EMPTY)]),
        ([Text("")], [Text(EMPTY)]),
        ([Text(""), Image("aGk=", "image/png")], [Text(""), Image("aGk=", "image/png")]),
        (Text("one"), [Text("one")]),
        ({}, [Text("{}")]),
        ([1, 2], [Text("[1,2]")]),
        (None, [Text("null")]),
        ([{"type": "resource_link", "uri": "a:b"}], [Text('[{"type":"resource_link","uri":"a:b"}]')]),
    ],
)
def test_parts_of_an_output_are_never_none(output: Any, parts: list[Any]) -> None:
    assert parts_of(output) == parts
