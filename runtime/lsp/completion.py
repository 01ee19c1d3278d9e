"""What may be typed at the cursor: kinds, fields, values, and names that fit the slot."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from runtime.lsp.cursor import Cursor, value_at
from runtime.lsp.folder import Declaration
from runtime.lsp.schema import fields_at, find_entry, find_place, kinds_at
from runtime.lsp.tree import Fields
from runtime.reference import Field, refer
from runtime.registry import APPLICATION_NAMES, Entry, Registry

_EXPRESSION = re.compile(r"\$\{\{(?:(?!\}\}).)*$", re.DOTALL)
_SCOPED = re.compile(r"\b(variables|secrets|metadata)\.\w*$")
_WORD = re.compile(r"\w*$")
_SCOPES = {
    "secrets": "Values that are never shown, by name.",
    "variables": "Values that are declared on the application document.",
    "metadata": "What the resource's own `metadata` holds.",
}
_TAGS = {
    "!ref ": "Points at a resource of the set.",
    "!cel ": "One expression for the whole value.",
    "!include-text ": "The text of a file beside the manifest.",
}


class Proposal(NamedTuple):
    """Something that may stand between `start` and `end` of the text: `sort` puts it into order."""

    label: str
    text: str
    kind: str
    detail: str
    documentation: str
    sort: str
    start: int
    end: int


def propose(cursor: Cursor, registry: Registry, declared: list[Declaration]) -> list[Proposal]:
    """Everything that may stand at the cursor; the editor picks what fits what was typed already."""
    proposals = _Proposals(cursor, registry, declared)
    if cursor.is_key:
        return list(proposals.fields(cursor.path))
    return list(proposals.values())


class _Proposals:
    def __init__(self, cursor: Cursor, registry: Registry, declared: list[Declaration]) -> None:
        self.cursor = cursor
        self.registry = registry
        self.declared = declared

    def fields(self, path: tuple[str | int, ...]) -> Iterator[Proposal]:
        """The keys that the mapping does not have yet, those first that it needs."""
        mapping = value_at(self.cursor.root, path)
        present = set(mapping.names()) if isinstance(mapping, Fields) else set()
        present.discard(self.cursor.token.text if self.cursor.has_colon else "")
        fields = fields_at(self.registry, self.cursor.root, path)
        for place, (name, field) in enumerate(fields.items()):
            if name not in present:
                text = name if self.cursor.has_colon else self._key(path, name, field)
                detail = f"{field.type} ({_need(field)})" if _need(field) else field.type
                sort = f"{'0' if field.is_required else '1'}{place:03}"
                yield self._proposal(name, text, "field", detail, field.description, sort)

    def _key(self, path: tuple[str | int, ...], name: str, field: Field) -> str:
        """The key with what follows it: a reference where it is a slot."""
        place = find_place(self.registry, self.cursor.root, (*path, name))
        if place.wanted:
            return f"{name}: !ref "
        is_long = self.cursor.is_alone and field.type.startswith(("list", "mapping")) and name != "metadata"
        return f"{name}:" if is_long else f"{name}: "

    def values(self) -> Iterator[Proposal]:
        cursor = self.cursor
        token, path = cursor.token, cursor.path
        if token.style in ("|", ">"):
            return
        if token.tag == "!cel" or _EXPRESSION.search(cursor.before):
            yield from self._names_in_scope()
            return
        if path[-1] == "kind" and not token.tag:
            yield from self._kinds()
            return
        place = find_place(self.registry, cursor.root, path)
        if token.tag == "!ref":
            yield from self._references(place.wanted, "!ref ")
        elif cursor.before.startswith("!"):
            if place.wanted:
                yield from self._references(place.wanted, "!ref ")
            yield from (self._proposal(tag, tag, "tag", "", text, tag) for tag, text in _TAGS.items())
        elif place.wanted:
            yield from self._references(place.wanted, "!ref ")
        elif not token.tag:
            yield from self._choices(place.choices())
        if cursor.is_alone and not token.tag:
            yield from self.fields(path)

    def _kinds(self) -> Iterator[Proposal]:
        for entry in kinds_at(self.registry, self.cursor.root, self.cursor.path):
            reference = refer(entry)
            summary, _, _ = reference.description.partition("\n")
            detail = ", ".join(reference.contracts)
            yield self._proposal(entry.name, entry.name, "kind", detail, reference.description, entry.name, summary)

    def _references(self, wanted: str, lead: str) -> Iterator[Proposal]:
        """Names that fit the slot; all of them where it is not known what the slot takes."""
        own = self.cursor.root.get("metadata")
        own_name = own.text("name") if isinstance(own, Fields) else ""
        for declaration in self.declared:
            entry = find_entry(self.registry, declaration.kind)
            fits = not wanted or (isinstance(entry, Entry) and entry.fits(wanted))
            if fits and declaration.name != own_name and declaration.kind not in APPLICATION_NAMES:
                text = f"{lead}{declaration.name}"
                yield self._proposal(declaration.name, text, "name", declaration.kind, "", declaration.name)

    def _choices(self, choices: Iterator[Any]) -> Iterator[Proposal]:
        for place, choice in enumerate(choices):
            text = choice if isinstance(choice, str) else msgspec.json.encode(choice).decode()
            yield self._proposal(text, text, "value", "", "", f"{place:03}")

    def _names_in_scope(self) -> Iterator[Proposal]:
        """The scopes of expressions, or behind `secrets.` the names in that scope."""
        before, index = self.cursor.before, self.cursor.at
        scoped = _SCOPED.search(before)
        names = _SCOPES if scoped is None else self._names_of(scoped[1])
        start = index - len(_WORD.search(before)[0])  # type: ignore[index]  # it matches every text
        for name, text in names.items():
            yield Proposal(name, name, "value", "", text, name, start, index)

    def _names_of(self, scope: str) -> dict[str, str]:
        if scope == "metadata":
            metadata = self.cursor.root.get("metadata")
            return dict.fromkeys(metadata.names(), "") if isinstance(metadata, Fields) else {}
        found: dict[str, str] = {}
        for declaration in self.declared:
            names = declaration.outline.get(scope)
            if declaration.kind in APPLICATION_NAMES and isinstance(names, Fields):
                for name in names.names():
                    value = names.get(name)
                    found[name] = value.text("description") if isinstance(value, Fields) else ""
        return found

    def _proposal(
        self, label: str, text: str, kind: str, detail: str, documentation: str, sort: str, summary: str = ""
    ) -> Proposal:
        return Proposal(label, text, kind, summary or detail, documentation, sort, self.cursor.start, self.cursor.end)


def _need(field: Field) -> str:
    return "required" if field.is_required else field.shown_default and f"default {field.shown_default}"
