"""Schemas as nobody should publish them: each is offered to every provider, takes its valid calls and gives them back.

`tests/golden/tool-schemas` has a file for each: `schema`, `valid` (arguments that stay accepted) and `invalid`
(arguments that the providers in `refusedBy` can be made to refuse).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from legality import SCHEMA_OF, assert_legal, is_valid, read_message, rename

from runtime.ai import Tool
from runtime.ai.formats import FORMATS, convert

FOLDER = Path(__file__).parents[2] / "golden" / "tool-schemas"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
DESCRIBED_ELSEWHERE = ("not", "if", "then", "else", "propertyNames", "patternProperties", "dependentSchemas")


def read(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return case


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_schema_keeps_its_calls_in_every_format(name: str) -> None:
    case = read(name)
    tool = Tool("t", "d", case["schema"])
    for format in FORMATS:
        converted = convert([tool], format)
        [each] = converted.tools
        assert_legal(format, each.definition)
        schema = SCHEMA_OF[format](each.definition)
        schema = read_message(schema) if format == "gemini-parameters" else schema
        for arguments in case["valid"]:
            sent = rename(arguments, each.renames)
            assert is_valid(schema, sent), (format, arguments)
            assert converted.accept("t", sent) == (tool, arguments)
        for wrong in case["invalid"]:
            if format.partition("-")[0] in wrong["refusedBy"] and format != "gemini-parameters":
                assert not is_valid(schema, rename(wrong["arguments"], each.renames)), (format, wrong)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("desc-")])
def test_what_a_schema_describes_reaches_the_model_in_every_format(name: str) -> None:
    schema = read(name)["schema"]
    wanted = set(find_descriptions(schema))
    assert wanted
    for format in FORMATS:
        [each] = convert([Tool("t", "d", schema)], format).tools
        texts = list(find_texts(each.definition))
        assert {text for text in wanted if not any(text in told for told in texts)} == set(), format


def find_descriptions(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [text for part in schema for text in find_descriptions(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["description"]] if isinstance(schema.get("description"), str) else []
    return own + [
        text for word, part in schema.items() if word not in DESCRIBED_ELSEWHERE for text in find_descriptions(part)
    ]


def find_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in find_texts(part)]
