"""Rules of a schema in words, for where a provider's format has no place for them."""

from typing import Any

from runtime.ai.formats.encoding import write_json
from runtime.ai.formats.format import Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.schema.keywords import rebuild

_LONGEST = 400


def add(text: str, sentence: str) -> str:
    """The text with a sentence at its end, unless it says that already."""
    if not sentence or sentence in text:
        return text
    return f"{text} {sentence}" if text else sentence


def describe(schema: Schema, *sentences: str) -> Schema:
    """The schema with sentences at the end of its description."""
    said = schema.get("description", "")
    text = said
    for sentence in sentences:
        text = add(text, sentence)
    return schema if text is said else {**schema, "description": text}


def count(number: int, noun: str) -> str:
    """`1 key`, `2 keys`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def list_values(values: list[Any]) -> str:
    """`One of "a", 2.` or, for a single value, `Must be "a".`"""
    if len(values) == 1:
        return f"Must be {write_json(values[0])}."
    return f"One of {write_json(values)[1:-1]}." if values else ""


def write_default(value: Any) -> str:
    """A sentence for a default that has no other place."""
    return f"Default: {write_json(value)}."


def say(word: str, value: Any) -> str:
    """A sentence for a keyword and its value; empty where it says nothing to a model."""
    if word in _TEMPLATES and value != "":
        return _TEMPLATES[word].format(value)
    if word in _COUNTS:
        lead, noun = _COUNTS[word]
        return f"{lead} {count(value, noun)}."
    if word in _SWITCHES and isinstance(value, bool):
        return _SWITCHES[word][not value]
    if word == "enum":
        return list_values(value)
    if word == "const":
        return list_values([value])
    if word == "propertyNames" and isinstance(value, dict) and "pattern" in value:
        return f"Keys match the regular expression {value['pattern'][:_LONGEST]}"
    if word == "patternProperties":
        return " ".join(
            state(f"Keys that match {pattern[:_LONGEST]} hold", schema) for pattern, schema in value.items()
        )
    if word == "dependentRequired":
        return " ".join(f"{key} needs {', '.join(needs)}." for key, needs in value.items() if needs)
    if word == "dependentSchemas":
        return " ".join(state(f"With {key}, it fits", schema) for key, schema in value.items())
    if word == "not":  # what its descriptions say is no advice
        return f"Must not fit {write_json(value)}."
    return state(_FITS[word], value) if word in _FITS else ""


def state(lead: str, rule: Any) -> str:
    """A sentence that ends in a rule as JSON, which may be cut; and in full what the rule's descriptions say."""
    texts: dict[str, None] = {}

    def strip(part: Any, place: Place = None) -> Any:
        if isinstance(part, list):
            return [strip(branch) for branch in part]
        if not isinstance(part, dict):
            return part
        if isinstance(part.get("description"), str):
            texts[part["description"]] = None
            part = {word: value for word, value in part.items() if word != "description"}
        return rebuild(part, place, strip)

    sentence = f"{lead} {write_json(strip(rule))}."
    return " ".join([sentence, *filter(None, texts)])


def write_out(value: Any, definitions: dict[str, Any], levels: int = 2) -> Any:
    """A rule with its references written out, a few levels deep, for where the definitions are not at hand."""
    if isinstance(value, list):
        return [write_out(inner, definitions, levels) for inner in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and levels and reference.removeprefix("#/$defs/") in definitions:
        target = definitions[reference.removeprefix("#/$defs/")]
        rest = {word: inner for word, inner in value.items() if word != "$ref"}
        return write_out({**target, **rest} if isinstance(target, dict) else target, definitions, levels - 1)
    return {word: write_out(inner, definitions, levels) for word, inner in value.items()}


def say_condition(schema: Schema) -> str:
    """A sentence for `if`, `then` and `else` of a schema."""
    if "if" not in schema or not ("then" in schema or "else" in schema):
        return ""
    branches = [
        f"{lead} {write_json(schema[word])}"
        for word, lead in (("then", "then it fits"), ("else", "else it fits"))
        if word in schema
    ]
    return f"If it fits {write_json(schema['if'])}, {', '.join(branches)}."


_TEMPLATES = {
    "pattern": "Matches the regular expression {:.400}",
    "multipleOf": "A multiple of {}.",
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "exclusiveMinimum": "Greater than {}.",
    "exclusiveMaximum": "Less than {}.",
    "contentEncoding": "Encoded as {}.",
    "contentMediaType": "Holds {}.",
    "format": "In the format {}.",
}
_COUNTS = {
    "minLength": ("At least", "character"),
    "maxLength": ("At most", "character"),
    "minItems": ("At least", "member"),
    "maxItems": ("At most", "member"),
    "minProperties": ("At least", "key"),
    "maxProperties": ("At most", "key"),
}
_SWITCHES = {
    "uniqueItems": ("No member occurs twice.", ""),
    "deprecated": ("Deprecated.", ""),
    "unevaluatedProperties": ("", "No other keys."),
    "unevaluatedItems": ("", "No other members."),
}
_FITS = {
    "contains": "Has a member that fits",
    "propertyNames": "Keys fit",
    "contentSchema": "Its content fits",
    "unevaluatedProperties": "Other keys hold",
    "unevaluatedItems": "Other members fit",
}
