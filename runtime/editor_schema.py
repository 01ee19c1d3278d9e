"""One JSON Schema for a set of kinds, as editors take it: a document is judged by the kind that it names.

Slots take the name behind `!ref` (a tag that the editor is told of, as a scalar) or an inline resource. Where a field
is evaluated, text that can be an expression may stand for any value: the editor does not see whether its tag is `!cel`.
"""

from collections.abc import Mapping
from typing import Any

from runtime.reference import implementers, kinds
from runtime.registry import APPLICATION, APPLICATION_NAMES, Registry

_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
_EXPRESSION = {"type": "string", "pattern": r"\$\{\{|\w\.\w|\("}


def make_schema(registry: Registry) -> dict[str, Any]:
    """The schema of one document of a manifest (JSON Schema, draft 7 words only, which every editor knows)."""
    definitions: dict[str, Any] = {}
    names = []
    for entry in kinds(registry):
        names.append(entry.name)
        schema = entry.shape.schema
        root = schema["$ref"].rpartition("/")[2]
        for name, part in schema["$defs"].items():
            own = entry.name if name == root else f"{entry.name}.{name}"
            local = {f"#/$defs/{other}": _home(entry.name, other, root) for other in schema["$defs"]}
            definitions[own] = _editable(part, local, is_evaluated=entry.name != APPLICATION)
        fields = definitions[entry.name]
        fields["properties"] = {"kind": {"type": "string"}, "metadata": {}, **fields.get("properties", {})}
    aliases = sorted(APPLICATION_NAMES - {APPLICATION})
    imported = _imported([*names, *aliases])
    contracts = sorted({part for entry in kinds(registry) for part in entry.contracts})
    for contract in (*contracts, *names):
        definitions[f"slot.{contract}"] = _slot(implementers(registry, contract), imported)
    metadata = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "pattern": _NAME, "description": "The resource's name."}},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A document of a manifest",
        "type": ["object", "null"],
        "required": ["kind", "metadata"],
        "properties": {"kind": {"anyOf": [_kind_names(registry, names), imported]}, "metadata": metadata},
        "allOf": [_when(name) for name in names] + [_when(alias, APPLICATION) for alias in aliases],
        "definitions": definitions,
    }


def _kind_names(registry: Registry, names: list[str]) -> dict[str, Any]:
    texts = {entry.name: entry.shape.schema for entry in kinds(registry)}
    described = [_first_line(texts[name]) for name in names]
    aliases = sorted(APPLICATION_NAMES - {APPLICATION})
    return {
        "type": "string",
        "enum": [*names, *aliases],
        "enumDescriptions": [*described, *(f"Another name of {APPLICATION}." for _ in aliases)],
        "description": "What is declared.",
    }


def _imported(names: list[str]) -> dict[str, Any]:
    """Kinds behind a prefix that an application document brings in, of which nothing is known here."""
    prefixes = "|".join(sorted({name.partition(".")[0] for name in names}))
    return {"type": "string", "pattern": rf"^(?!(?:{prefixes})\.)[A-Z]\w*\.[A-Z]\w*$"}


def _first_line(schema: Mapping[str, Any]) -> str:
    root = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return str(root.get("description", "")).partition("\n")[0]


def _when(name: str, definition: str = "") -> dict[str, Any]:
    return {
        "if": {"type": "object", "required": ["kind"], "properties": {"kind": {"const": name}}},
        "then": {"$ref": _pointer(definition or name)},
    }


def _slot(fitting: list[str], imported: dict[str, Any]) -> dict[str, Any]:
    """`!ref Name`, or a mapping of one of the kinds that fit, or of an imported one."""
    inline = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"anyOf": [{"enum": fitting}, imported]}},
        "allOf": [_when(name) for name in fitting],
    }
    return {"anyOf": [{"type": "string", "description": "!ref Name"}, inline]}


def _editable(part: Any, local: Mapping[str, str], *, is_evaluated: bool) -> Any:
    """A part of a kind's schema with slots, references and expressions as an editor has to know them."""
    if isinstance(part, list):
        return [_editable(item, local, is_evaluated=is_evaluated) for item in part]
    if not isinstance(part, dict):
        return part
    notes = {key: part[key] for key in ("description", "default") if key in part}
    if "x-ref" in part:
        return {"allOf": [{"$ref": _pointer(f"slot.{part['x-ref']}")}], **notes}
    if "$ref" in part:
        return {"allOf": [{"$ref": _pointer(local[part["$ref"]])}], **notes}
    evaluated = is_evaluated and part.get("x-eval") is not False
    made: dict[str, Any] = {}
    for key, value in part.items():
        if key == "properties":
            made[key] = {name: _editable(item, local, is_evaluated=evaluated) for name, item in value.items()}
        elif key in ("items", "additionalProperties", "anyOf", "oneOf", "allOf"):
            made[key] = _editable(value, local, is_evaluated=evaluated)
        elif key != "title" and not key.startswith("x-"):  # an editor would offer the title as if it were a field
            made[key] = value
    kind = made.get("type")
    takes_text = kind == "string" and "pattern" not in made
    if evaluated and (kind is not None or "enum" in made) and kind != "object" and not takes_text:
        return {"anyOf": [made, _EXPRESSION], **notes}
    return made


def _home(kind: str, name: str, root: str) -> str:
    return kind if name == root else f"{kind}.{name}"


def _pointer(name: str) -> str:
    return f"#/definitions/{name.replace('~', '~0').replace('/', '~1').replace(' ', '%20')}"
