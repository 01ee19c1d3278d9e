"""Any published schema as a well-formed one of JSON Schema 2020-12 that means what its author meant.

The result has every reference as `#/$defs/NAME`, only definitions that something refers to, no reference that only
leads back to itself, and no keyword whose value is not what 2020-12 wants there. Older dialects (draft-03 to
2019-09, OpenAPI 3.0) are rewritten; what makes no sense is left out, which weakens the schema but refuses nobody.
"""

from collections.abc import Mapping
from typing import Any

from runtime.ai.formats.format import Plain, Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Effect, Report
from runtime.ai.formats.schema import dialects, loops
from runtime.ai.formats.schema.keywords import MANY, MAPS, ONE, words
from runtime.ai.formats.schema.plain import is_plain_part
from runtime.ai.formats.schema.references import References
from runtime.ai.formats.schema.values import ANYTHING, FIXES, LOST, NOTES_ONLY, type_name

MAX_DEPTH = 100
_OPEN_OR_CLOSED = frozenset(("additionalProperties", "unevaluatedProperties", "unevaluatedItems"))
_BOOKKEEPING = words(
    "$schema $id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $defs definitions $dynamicRef $recursiveRef"
)


def repair(published: Any, report: Report, known: Plain) -> Schema:
    """The well-formed schema; the same object where nothing had to change. `published` stays as it is.

    `known` remembers parts that need no change, by their JSON texts.
    """
    if not isinstance(published, Mapping):
        if published is not None and published is not True:
            report(None, "rewritten", "the schema is no object, so any arguments are taken")
        return {}
    root = published if isinstance(published, dict) else dict(published)
    return _Repair(root, report, known).run()


class _Repair:
    def __init__(self, root: dict[str, Any], report: Report, known: Plain) -> None:
        self._root = root
        self._report = report
        self._known = known
        self._references = References(root)

    def run(self) -> Schema:
        schema: Schema = self._schema(self._root, None, 0)
        self._report.origins = {name: place for name, _, place in self._references.targets()}
        definitions = {name: self._definition(target, place) for name, target, place in self._references.targets()}
        return loops.cut(schema, definitions, self._report) if definitions else schema

    def _definition(self, target: Any, place: Place) -> Any:
        if self._references.are_plain and is_plain_part(target, self._known):
            return target
        return self._schema(target, place, 0, is_target=True)

    def _schema(self, published: Any, place: Place, depth: int, *, is_target: bool = False) -> Any:
        if not isinstance(published, dict):
            return self._odd(published, place)
        name = None if is_target else self._references.name_of(published)
        if name is not None:
            return {"$ref": f"#/$defs/{name}"}
        if depth > MAX_DEPTH:
            self._report(place, "weakened", f"nested more than {MAX_DEPTH} levels deep, so any value is taken")
            return {}
        fresh: dict[str, Any] = {}
        changed = False
        for word, value in published.items():
            fixed = self._keyword(word, value, (place, word), depth)
            if fixed is LOST:
                changed = True
            else:
                changed = changed or fixed is not value
                fresh[word] = fixed
        if not dialects.MARKS.isdisjoint(published):
            changed = self._refer(published, fresh, place) or changed
            replaced = dialects.modernise(published, fresh, lambda value, at: self._schema(value, at, depth + 1), place)
            for word in replaced:
                self._report((place, word), "rewritten", f'an older "{word}" is in the words of JSON Schema 2020-12')
            changed = changed or bool(replaced)
        return fresh if changed else published

    def _odd(self, published: Any, place: Place) -> Any:
        if isinstance(published, bool):
            return {} if published else False
        if isinstance(published, str):
            named = type_name(published)
            self._report(place, "rewritten", "text stands where a schema belongs")
            return {"type": named} if named else {"description": published}
        self._report(place, "weakened", "there is no schema here, so any value is taken")
        return {}

    def _keyword(self, word: str, value: Any, place: Place, depth: int) -> Any:
        fix = FIXES.get(word)
        if fix is not None:
            if isinstance(value, bool) and word in dialects.MARKS:
                return value
            return self._fixed(word, value, fix(value), place)
        if word in ONE:
            if word in _OPEN_OR_CLOSED and (isinstance(value, bool) or value is None):
                return value if value is not None else self._fixed(word, value, LOST, place)
            is_tuple = word == "items" and isinstance(value, list)
            return LOST if is_tuple else self._schema(value, place, depth + 1)
        if word in MANY:
            return self._branches(word, value, place, depth)
        if word in _BOOKKEEPING:
            return LOST
        if word in MAPS:
            return self._named(word, value, place, depth)
        return value

    def _fixed(self, word: str, value: Any, fixed: Any, place: Place) -> Any:
        if fixed is LOST:
            effect: Effect = "dropped" if word in NOTES_ONLY or value in (None, False, *ANYTHING) else "weakened"
            self._report(place, effect, f'"{word}" has a value that says nothing; left out')
        elif fixed is not value:
            self._report(place, "rewritten", f'"{word}" has the value that JSON Schema 2020-12 wants')
        return fixed

    def _branches(self, word: str, value: Any, place: Place, depth: int) -> Any:
        branches = [value] if isinstance(value, dict) else value
        if not isinstance(branches, list) or not branches:
            return self._fixed(word, value, LOST, place)
        fresh = [self._schema(branch, (place, str(index)), depth + 1) for index, branch in enumerate(branches)]
        if branches is value and all(one is other for one, other in zip(fresh, branches, strict=True)):
            return value
        return fresh

    def _named(self, word: str, value: Any, place: Place, depth: int) -> Any:
        schemas = dialects.name_listed(value) if word == "properties" and isinstance(value, list) else value
        if not isinstance(schemas, dict):
            return self._fixed(word, value, LOST, place)
        is_trusted = depth == 0 and self._references.are_plain
        fresh = {
            key: schema
            if is_trusted and is_plain_part(schema, self._known)
            else self._schema(schema, (place, key), depth + 1)
            for key, schema in schemas.items()
        }
        if schemas is value and all(one is other for one, other in zip(fresh.values(), schemas.values(), strict=True)):
            return value
        return fresh

    def _refer(self, published: dict[str, Any], fresh: dict[str, Any], place: Place) -> bool:
        name = self._references.meaning(published)
        reference = f"#/$defs/{name}"
        if name is not None and fresh.get("$ref") == reference:
            return False
        if name is not None:
            fresh["$ref"] = reference
            return True
        if "$ref" in fresh:
            shown = str(fresh.pop("$ref"))[:200]
            self._report(place, "weakened", f'the reference "{shown}" leads nowhere, so it says nothing')
            return True
        return False
