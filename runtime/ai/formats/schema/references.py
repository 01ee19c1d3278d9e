"""References of a schema as it was published: what each one means, and the name of its target under `$defs`.

Only what stands in the schema itself is ever a target; nothing is fetched. Resolved are JSON pointers (with `~0`, `~1`
and percent escapes), `#`, anchors, `$id`s, the dynamic and recursive references of 2020-12 and 2019-09 (as plain ones),
and a bare name of a definition, which is how sloppy generators write it.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from runtime.ai.formats.encoding import encode
from runtime.ai.formats.place import Place, steps_of
from runtime.ai.formats.schema.keywords import MANY, MAPS, ONE, words

_NESTING = ONE | MANY | {"additionalItems"}
_MAPS = MAPS | {"definitions", "dependencies"}
_REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
_HOLDERS = words("properties $defs definitions patternProperties components schemas")
_NAMING = words("$id id $anchor $dynamicAnchor")
_PERCENT = re.compile("%([0-9A-Fa-f]{2})")
_ILLEGAL_RUN = re.compile("[^A-Za-z0-9_.-]+")
_NAME_LIMIT = 64


class References:
    """All references of one published schema, found and named when this is made."""

    def __init__(self, root: dict[str, Any]) -> None:
        text = encode(root)
        self._root = root
        self._places: dict[int, Place] = {}
        self._resources: dict[str, dict[str, Any]] = {}
        self._addresses: dict[int, str] = {}
        self._tails: dict[str, dict[str, Any]] = {}
        self._anchors: dict[str, dict[str, Any]] = {}
        self._base: dict[int, dict[str, Any]] = {}
        self._names: dict[int, str] = {}
        self._inside: set[int] = set()
        self._taken: Counter[str] = Counter()
        self._targets: deque[tuple[str, dict[str, Any] | bool, Place]] = deque()
        self._meaning: dict[int, str | None] = {}
        self.are_plain = True
        """Whether each reference is one to a definition at the root, under the name that the definition keeps."""
        if b'Ref":' in text or b'$ref":' in text:
            self._find(root)

    def name_of(self, schema: dict[str, Any]) -> str | None:
        """The definition that a schema inside of another has become, because something refers to it there."""
        return self._names.get(id(schema)) if id(schema) in self._inside else None

    def meaning(self, schema: dict[str, Any]) -> str | None:
        """The definition that a schema with a reference refers to; None where the reference leads nowhere."""
        return self._meaning.get(id(schema))

    def targets(self) -> Iterator[tuple[str, dict[str, Any] | bool, Place]]:
        """Name, published schema and place of each target, in the order of the references."""
        return iter(self._targets)

    def _find(self, root: dict[str, Any]) -> None:
        referring = self._scan(root, None, root)
        while referring:
            found: list[dict[str, Any]] = []
            for schema in referring:
                target = self._resolve(schema)
                if target is None:
                    self.are_plain = False
                    continue
                node, place = target
                if isinstance(node, dict) and id(node) not in self._places:
                    found += self._scan(node, place, self._base[id(schema)])
                name = self._give_name(node, place)
                self._meaning[id(schema)] = name
                self.are_plain = self.are_plain and schema.get("$ref") == f"#/$defs/{name}"
            referring = found

    def _scan(self, start: dict[str, Any], place: Place, base: dict[str, Any]) -> list[dict[str, Any]]:
        referring = []
        waiting: list[tuple[Any, Place, dict[str, Any]]] = [(start, place, base)]
        while waiting:
            schema, place, base = waiting.pop()
            if not isinstance(schema, dict) or id(schema) in self._places:
                continue
            self._places[id(schema)] = place
            if not _NAMING.isdisjoint(schema):
                base = self._register(schema, base)
            if any(isinstance(schema.get(word), str) for word in _REFERRING):
                self._base[id(schema)] = base
                referring.append(schema)
            inner = [(value, step, base) for value, step in _published_children(schema, place)]
            waiting += reversed(inner)
        return referring

    def _register(self, schema: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(word), str):
                self._anchors.setdefault(schema[word], schema)
        identity = schema.get("$id", schema.get("id"))  # draft-04 has no `$` there
        if not isinstance(identity, str):
            return base
        if identity.startswith("#"):  # up to draft-07, an anchor is spelled so
            self._anchors.setdefault(identity[1:], schema)
            return base
        address = _join(self._addresses.get(id(base), ""), identity.removesuffix("#"))
        self._resources.setdefault(address, schema)
        self._tails.setdefault(_tail(address), schema)
        if "$id" not in schema:  # as like as not a note of a generator, which no reference goes by
            return base
        self._addresses[id(schema)] = address
        return schema

    def _resolve(self, schema: dict[str, Any]) -> tuple[dict[str, Any] | bool, Place] | None:
        reference = next(schema[word] for word in _REFERRING if isinstance(schema.get(word), str))
        address, _, fragment = reference.partition("#")
        base = self._base[id(schema)]
        if address:
            resource = self._resource(address, base)
            if resource is None:
                return self._resolve_loosely(reference)
            base = resource
        found: Any = None
        place: Place = None
        if not fragment:
            found, place = base, self._places.get(id(base))
        elif fragment.startswith("/"):
            found, place = _follow(base, fragment)
            if found is None and base is not self._root:
                found, place = _follow(self._root, fragment)
        else:
            found = self._anchors.get(fragment)
        if isinstance(found, dict):
            return found, place or self._places.get(id(found))
        return (found, place) if isinstance(found, bool) else None

    def _resource(self, address: str, base: dict[str, Any]) -> dict[str, Any] | None:
        joined = _join(self._addresses.get(id(base), ""), address)
        if joined in self._resources or "://" in address:
            return self._resources.get(joined)
        return self._tails.get(_tail(address))

    def _resolve_loosely(self, reference: str) -> tuple[dict[str, Any] | bool, Place] | None:
        steps = [reference] if reference.startswith("/") else [f"/$defs/{reference}", f"/definitions/{reference}"]
        for step in [*steps, "/" + reference]:
            found, place = _follow(self._root, step)
            if isinstance(found, (dict, bool)):
                return found, place
        return None

    def _give_name(self, schema: dict[str, Any] | bool, place: Place) -> str:
        key = id(schema)
        if key in self._names:
            return self._names[key]
        wanted = name = _suggest_name(place)
        while name in self._taken:
            self._taken[wanted] += 1
            name = f"{wanted}_{self._taken[wanted]}"
        self._taken[name] = 1
        self._names[key] = name
        if place is not None and not _is_definition(place):
            self._inside.add(key)
        self._targets.append((name, schema, place))
        return name


def _published_children(schema: dict[str, Any], place: Place) -> Iterator[tuple[Any, Place]]:
    for word, value in schema.items():
        if word in _MAPS and isinstance(value, dict):
            for key, branch in value.items():
                yield branch, ((place, word), key)
        elif word in _NESTING:
            if isinstance(value, list):
                for index, branch in enumerate(value):
                    yield branch, ((place, word), str(index))
            else:
                yield value, (place, word)


def _follow(node: Any, fragment: str) -> tuple[Any, Place]:
    place: Place = None
    for raw in fragment[1:].split("/"):
        step = _unescape(raw)
        if isinstance(node, dict) and (step in node or raw in node):
            step = step if step in node else raw
            node = node[step]
        elif isinstance(node, list) and step.isdecimal() and len(step) < 10 and int(step) < len(node):
            node = node[int(step)]
        else:
            return None, None
        place = (place, step)
    return node, place


def _is_definition(place: Place) -> bool:
    steps = steps_of(place)
    return len(steps) == 2 and steps[0] in ("$defs", "definitions")


def _join(base: str, address: str) -> str:
    """An address that may be relative to the one of the schema around it (RFC 3986)."""
    if not base:
        return address
    from urllib.parse import urljoin

    try:
        return urljoin(base, address)
    except ValueError:  # what has a bracket where an IPv6 address would be
        return address


def _tail(address: str) -> str:
    return address.rsplit("/", 1)[-1]


def _unescape(step: str) -> str:
    if "%" in step:
        octets = _PERCENT.sub(lambda match: chr(int(match[1], 16)), step)
        try:
            step = octets.encode("latin-1").decode()
        except UnicodeError:
            step = octets
    return step.replace("~1", "/").replace("~0", "~")


def _suggest_name(place: Place) -> str:
    if place is None:
        return "root"
    steps = steps_of(place)
    words = [step for step in steps if step not in _HOLDERS] or steps
    name = _ILLEGAL_RUN.sub("_", "_".join(words))
    return name[-_NAME_LIMIT:]
