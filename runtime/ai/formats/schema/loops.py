"""References that lead back to themselves where no value can: in place, or through what is always there."""

from collections.abc import Callable, Iterator
from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.keywords import MAPS, ONE, SAME_VALUE

_PREFIX = "#/$defs/"


def cut(schema: Schema, definitions: dict[str, Any], report: Report) -> Schema:
    """The schema with its definitions, in which no definition refers to itself about the very same value.

    A loop through an argument or an array's members is recursion and stays; it always ends, since values do.
    """
    return _open_loops(schema, definitions, _in_place, report)


def has_loop(definitions: dict[str, Any]) -> bool:
    """Whether a definition refers to itself about the very same value."""
    return bool(_find_closing(definitions, _in_place))


def end_required(schema: Schema, report: Report) -> Schema:
    """The schema without definitions that always hold themselves again, and so are never ended by any value."""
    return _open_loops(schema, schema["$defs"], _always_there, report)


Step = Callable[[Schema], Iterator[tuple[Any, ...]]]
"""The places in a schema through which a loop may run, each as the keys that lead there."""


def _open_loops(schema: Schema, definitions: dict[str, Any], step: Step, report: Report) -> Schema:
    closing = _find_closing(definitions, step)
    fresh = dict(definitions)
    for name, targets in closing.items():
        fresh[name] = _drop(definitions[name], targets, step)
        report(((None, "$defs"), name), "weakened", "a reference that only leads back to itself says nothing; left out")
    return {**schema, "$defs": fresh}


def _in_place(schema: Schema) -> Iterator[tuple[Any, ...]]:
    for word in schema:
        if word in SAME_VALUE:
            if word in ONE:
                yield (word,)
            else:
                value = schema[word]
                yield from ((word, key) for key in (value if word in MAPS else range(len(value))))


def _always_there(schema: Schema) -> Iterator[tuple[Any, ...]]:
    required = schema.get("required", ())
    yield from (("properties", key) for key in schema.get("properties", ()) if key in required)
    if schema.get("minItems", 0) > 0:
        length = len(schema.get("prefixItems", ()))
        yield from (("prefixItems", index) for index in range(min(length, schema["minItems"])))
        if "items" in schema and schema["minItems"] > length:
            yield ("items",)
    if len(schema.get("anyOf", ())) == 1:
        yield ("anyOf", 0)


def _find_closing(definitions: dict[str, Any], step: Step) -> dict[str, set[str]]:
    closing: dict[str, set[str]] = {}
    done: set[str] = set()
    for start in definitions:
        if start in done:
            continue
        path = {start: None}
        stack = [(start, _references(definitions[start], step))]
        while stack:
            name, following = stack[-1]
            target = next(following, None)
            if target is None:
                stack.pop()
                del path[name]
                done.add(name)
            elif target in path:
                closing.setdefault(name, set()).add(target)
            elif target not in done and target in definitions:
                path[target] = None
                stack.append((target, _references(definitions[target], step)))
    return closing


def _references(schema: Any, step: Step) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "$ref" in node:
                yield node["$ref"][len(_PREFIX) :]
            waiting += [_at(node, keys) for keys in step(node)]


def _at(schema: Any, keys: tuple[Any, ...]) -> Any:
    for key in keys:
        schema = schema[key]
    return schema


def _drop(schema: Any, targets: set[str], step: Step) -> Any:
    if not isinstance(schema, dict):
        return schema
    fresh = {word: value for word, value in schema.items() if word != "$ref" or value[len(_PREFIX) :] not in targets}
    for word, *key in step(schema):
        inner = _drop(_at(schema, (word, *key)), targets, step)
        if not key:
            fresh[word] = inner
            continue
        if fresh[word] is schema[word]:
            fresh[word] = schema[word].copy()
        fresh[word][key[0]] = inner
    return fresh
