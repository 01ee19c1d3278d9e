"""`allOf`, and what stands beside a reference, merged into one schema, for formats that read neither."""

from typing import Any

from runtime.ai.formats.encoding import encode
from runtime.ai.formats.format import Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.keywords import words
from runtime.ai.formats.schema.merging import both
from runtime.ai.formats.schema.phrases import say, state, write_out

NOTES = words("title description default deprecated examples example readOnly writeOnly $comment discriminator")
"""Keywords that may stand beside a reference without ruling anything."""

_REFERENCE = NOTES | {"$ref"}
_PREFIX = "#/$defs/"
_ROOM = 20_000
_LEAST = 50


class Combining:
    """Merges schemas of one tool; what it unfolds is bounded in all, so that references cannot multiply.

    Definitions that are `hidden` from the model are written out where a rule is only stated in words.
    """

    def __init__(self, definitions: dict[str, Any], report: Report, hidden: dict[str, Any]) -> None:
        self._definitions = definitions
        self._hidden = hidden
        self._report = report
        self._room = _ROOM
        self.unfolded: frozenset[str] = frozenset()
        """The definitions inside whose unfolded text the schema at hand stands; the caller takes its own copy back."""

    def combine(self, part: Schema, place: Place, said: list[str]) -> Any:
        """The schema without `allOf`, and with a reference only beside notes; what that loses goes into `said`."""
        return _Merge(self, place, said).run(part)

    def open(self, reference: str, merged: frozenset[str]) -> Any:
        """The definition to merge; an empty one if it is part of the merge already, None if it cannot be unfolded."""
        name = reference[len(_PREFIX) :]
        if name in merged:
            return {}
        definition = self._definitions[name]
        size = max(_LEAST, len(encode(definition)))
        if name in self.unfolded or size > self._room:
            return None
        self._room -= size
        return definition

    def lose(self, word: str, value: Any, place: Place, said: list[str]) -> None:
        shown = write_out({word: value}, self._hidden)
        said.append(say(word, shown.get(word)) or state("Must also fit", shown))
        self._report((place, word), "weakened", f'"{word}" cannot be merged here; only stated in words')


class _Merge:
    def __init__(self, combining: Combining, place: Place, said: list[str]) -> None:
        self._combining = combining
        self._place = place
        self._said = said
        self._merged: frozenset[str] = frozenset()

    def run(self, part: Schema) -> Any:
        own = {word: value for word, value in part.items() if word != "allOf"}
        parts = [own, *part.get("allOf", ())]
        ruling = [one for one in parts if not isinstance(one, dict) or not one.keys() <= NOTES]
        if len(ruling) == 1 and isinstance(ruling[0], dict) and ruling[0].keys() <= _REFERENCE:
            return self._join(parts)
        if "$ref" in own and self._combining.open(own["$ref"], frozenset()) is None:
            return self._keep_reference(part)
        merged = self._join([self._unfold(one) for one in parts])
        self._combining.unfolded |= self._merged
        return merged

    def _join(self, parts: list[Any]) -> Any:
        merged = parts[0]
        for part in parts[1:]:
            merged = both(merged, part, self._lose)
        return merged

    def _unfold(self, part: Any) -> Any:
        if not isinstance(part, dict) or not ("$ref" in part or "allOf" in part):
            return part
        parts = [{word: value for word, value in part.items() if word not in ("$ref", "allOf")}]
        if "$ref" in part:
            definition = self._combining.open(part["$ref"], self._merged)
            if definition is None:
                self._lose("$ref", part["$ref"])
            else:
                self._merged |= {part["$ref"][len(_PREFIX) :]}
                parts.append(self._unfold(definition))
        return self._join([*parts, *map(self._unfold, part.get("allOf", ()))])

    def _keep_reference(self, part: Schema) -> Schema:
        for word, value in part.items():
            if word not in _REFERENCE:
                self._lose(word, value)
        return {word: value for word, value in part.items() if word in _REFERENCE}

    def _lose(self, word: str, value: Any) -> None:
        self._combining.lose(word, value, self._place, self._said)
