"""Older dialects of JSON Schema, keyword by keyword, in the words of 2020-12."""

from collections.abc import Callable
from typing import Any

from runtime.ai.formats.place import Place
from runtime.ai.formats.schema.keywords import SAME_VALUE, types_of, words

MARKS = words(
    "$ref $dynamicRef $recursiveRef nullable exclusiveMinimum exclusiveMaximum items additionalItems dependencies"
    " required properties"
)
"""Keywords that may need more than a look at their own value."""

_OUTSIDE = words("title description default deprecated examples example readOnly writeOnly")

_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))

Inner = Callable[[Any, Place], Any]
"""Repairs a schema inside the one at hand."""


def modernise(published: dict[str, Any], fresh: dict[str, Any], inner: Inner, place: Place) -> list[str]:
    """Say in `fresh`, the repaired copy of `published`, what old keywords said; the keywords that this replaced."""
    replaced = [word for word, limit in _BOUNDS if _bound(fresh, limit, word)]
    if isinstance(published.get("items"), list):
        _tuple(published, fresh, inner, place)
        replaced.append("items")
    if "additionalItems" in fresh:
        del fresh["additionalItems"]
        replaced.append("additionalItems")
    if "dependencies" in fresh:
        _dependencies(fresh.pop("dependencies"), fresh, inner, (place, "dependencies"))
        replaced.append("dependencies")
    if isinstance(fresh.get("required"), bool):  # of draft-03; the schema around it takes it over
        del fresh["required"]
        replaced.append("required")
    if "properties" in published and _take_over_required(published["properties"], fresh):
        replaced.append("required")
    if "nullable" in fresh:
        if fresh.pop("nullable") is True:
            _allow_null(fresh)
        replaced.append("nullable")
    return replaced


def name_listed(properties: list[Any]) -> Any:
    """A list of properties by name, where each has a `name`; anything else as it is."""
    if not all(isinstance(listed, dict) and isinstance(listed.get("name"), str) for listed in properties):
        return properties
    return {listed["name"]: {word: value for word, value in listed.items() if word != "name"} for listed in properties}


def _bound(fresh: dict[str, Any], limit: str, exclusive: str) -> bool:
    flag = fresh.get(exclusive)
    if not isinstance(flag, bool):
        return False
    del fresh[exclusive]
    if flag and limit in fresh:
        fresh[exclusive] = fresh.pop(limit)
    return True


def _tuple(published: dict[str, Any], fresh: dict[str, Any], inner: Inner, place: Place) -> None:
    listed = (place, "items")
    items = [inner(schema, (listed, str(index))) for index, schema in enumerate(published["items"])]
    if items:
        fresh.setdefault("prefixItems", items)
    rest = published.get("additionalItems", True)
    if rest is not True and rest is not None:
        fresh["items"] = inner(rest, (place, "additionalItems"))


def _dependencies(value: Any, fresh: dict[str, Any], inner: Inner, place: Place) -> None:
    if not isinstance(value, dict):
        return
    names = {key: list(dict.fromkeys(needs)) for key, needs in value.items() if _is_names(needs)}
    schemas = {key: inner(needs, (place, key)) for key, needs in value.items() if isinstance(needs, (dict, bool))}
    if names:
        fresh["dependentRequired"] = {**names, **fresh.get("dependentRequired", {})}
    if schemas:
        fresh["dependentSchemas"] = {**schemas, **fresh.get("dependentSchemas", {})}


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _take_over_required(properties: Any, fresh: dict[str, Any]) -> bool:
    if isinstance(properties, list):
        properties = name_listed(properties)
    if not isinstance(properties, dict):
        return False
    already = fresh.get("required", [])
    needed = [
        key
        for key, schema in properties.items()
        if isinstance(schema, dict) and schema.get("required") is True and "default" not in schema
    ]
    if not needed or isinstance(already, bool):
        return False
    fresh["required"] = list(dict.fromkeys([*already, *needed]))
    return True


def _allow_null(fresh: dict[str, Any]) -> None:
    if "$ref" in fresh or "const" in fresh or not SAME_VALUE.isdisjoint(fresh):
        inside = {word: fresh.pop(word) for word in list(fresh) if word not in _OUTSIDE}
        fresh["anyOf"] = [inside, {"type": "null"}]
        return
    types = types_of(fresh)
    if types and "null" not in types:
        fresh["type"] = [*types, "null"]
    if "enum" in fresh and None not in fresh["enum"]:
        fresh["enum"] = [*fresh["enum"], None]
