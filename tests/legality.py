"""What the model providers take of a tool, by their documents and observed answers, written down once more."""

import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry


def words(text: str) -> list[str]:
    return text.split()


SCHEMA_OF = {
    "openai": lambda definition: definition["function"]["parameters"],
    "openai-responses": lambda definition: definition["parameters"],
    "anthropic": lambda definition: definition["input_schema"],
    "gemini": lambda definition: definition["parametersJsonSchema"],
    "gemini-parameters": lambda definition: definition["parameters"],
}
GEMINI_READS = set(
    words(
        "$defs $ref type format title description enum items prefixItems minItems maxItems minimum maximum anyOf"
        " properties additionalProperties required propertyOrdering default"
    )
)
MESSAGE_FIELDS = set(
    words(
        "type format title description nullable enum maxItems minItems properties required minProperties maxProperties"
        " minLength maxLength pattern anyOf propertyOrdering default items minimum maximum"
    )
)
ONE = words("items additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties")


def walk(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [schema[word] for word in ONE if word in schema]
    inner += [part for word in ("allOf", "anyOf", "oneOf", "prefixItems") for part in schema.get(word, ())]
    for word in ("properties", "patternProperties", "$defs", "dependentSchemas"):
        inner += schema.get(word, {}).values()
    for part in inner:
        yield from walk(part)


def types(schema: dict[str, Any]) -> list[str]:
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else named


def assert_legal(format: str, definition: dict[str, Any]) -> None:
    schema = SCHEMA_OF[format](definition)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    if format == "gemini-parameters":
        assert_message(schema)
        return
    Draft202012Validator.check_schema(without_odd_patterns(schema))
    for part in walk(schema):
        if "$ref" in part:
            assert part["$ref"].removeprefix("#/$defs/") in schema["$defs"]
    if format.startswith("openai"):
        assert not {"oneOf", "anyOf", "allOf", "enum", "const", "not"} & schema.keys()
        for part in walk(schema):
            assert "items" in part or "array" not in types(part)
            patterns = [part["pattern"]] if "pattern" in part else []
            for pattern in [*patterns, *part.get("patternProperties", ())]:
                re.compile(pattern)
                assert not re.search(r"\(\?<?[=!]", pattern)
    if format == "anthropic":
        assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", key) for key in schema["properties"])
    if format == "gemini":
        for part in walk(schema):
            assert part.keys() <= GEMINI_READS
            assert "$ref" not in part or part.keys() <= {"$ref", "description", "default"}
            assert all(isinstance(value, (str, int, float)) and value is not True for value in part.get("enum", ()))


def assert_message(schema: dict[str, Any]) -> None:
    assert schema.keys() <= MESSAGE_FIELDS
    assert ("type" in schema) != ("anyOf" in schema)
    assert isinstance(schema.get("type", ""), str)
    assert "items" in schema or schema.get("type") != "array"
    if "enum" in schema:
        assert schema["type"] == "string"
        assert all(isinstance(value, str) and value for value in schema["enum"])
    assert set(schema.get("required", ())) <= set(schema.get("properties", {}))
    for part in [*schema.get("anyOf", ()), *schema.get("properties", {}).values()]:
        assert_message(part)
    if "items" in schema:
        assert_message(schema["items"])


def rename(arguments: dict[str, Any], renames: Any) -> dict[str, Any]:
    table = {each.original: each.offered for each in renames}
    return {table.get(key, key): value for key, value in arguments.items()}


def is_valid(schema: Any, value: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(Draft202012Validator(without_odd_patterns(schema), registry=Registry()).is_valid(value))


def without_odd_patterns(schema: Any) -> Any:
    """The schema with named groups as Python spells them."""
    return json.loads(json.dumps(schema).replace("(?<x>", "(?P<x>"))


def read_message(message: dict[str, Any]) -> dict[str, Any]:
    """What a Schema message means, as JSON Schema."""
    schema = {
        word: value for word, value in message.items() if word not in ("nullable", "anyOf", "items", "properties")
    }
    if "anyOf" in message:
        schema["anyOf"] = [read_message(part) for part in message["anyOf"]]
    if "items" in message:
        schema["items"] = read_message(message["items"])
    if "properties" in message:
        schema["properties"] = {key: read_message(part) for key, part in message["properties"].items()}
    return {"anyOf": [schema, {"type": "null"}]} if message.get("nullable") else schema
