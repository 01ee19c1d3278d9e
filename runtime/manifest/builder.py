"""Events of one stretch of text to values: the only importer of yaml.

libyaml gives events; the values are built here, without recursion, so that depth, size and aliases are bounded while
the text is read.
"""

from typing import Any

import yaml
from yaml._yaml import CParser  # the class under yaml.CSafeLoader; the loader's own constructors are not needed
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from runtime.manifest.document import Broken, Document, Expression, Include, Mapping, Ref, Sequence
from runtime.manifest.level import Level
from runtime.manifest.loaded import MOST_FAULTS, Fault, Loaded
from runtime.manifest.merge import merge, mergeable
from runtime.manifest.scalars import resolve, resolve_as
from runtime.manifest.source import Source

MOST_LEVELS = 100
MOST_VALUES = 100_000
"""Bounds of one document (design.md section 3): levels, and values with aliases expanded."""

_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(("str", "int", "float", "bool", "null"))
_CONTAINER_TAGS = frozenset(("map", "seq"))


class Builder:
    """Values from the events of one stretch of text."""

    def __init__(self, source: Source, loaded: Loaded, start: int, stand_ins: dict[int, str]) -> None:
        self.source = source
        self.stand_ins = stand_ins
        self.originals = {ord(stand_in): chr(code) for code, stand_in in stand_ins.items()}
        self.loaded = loaded
        self.base = start
        self.document_start = start
        self.stack: list[Level] = []
        self.count = 0
        self.anchors: dict[str, tuple[Any, int, int]] = {}  # the value, how many it stands for, its place
        self.open_anchors: set[str] = set()
        self.document = Document(source, Mapping())
        self.handlers: dict[type, Any] = {
            ScalarEvent: self.on_scalar,
            MappingStartEvent: self.on_mapping,
            SequenceStartEvent: self.on_sequence,
            MappingEndEvent: self.on_end,
            SequenceEndEvent: self.on_end,
            AliasEvent: self.on_alias,
            DocumentStartEvent: self.on_document,
            DocumentEndEvent: lambda event: None,
            StreamStartEvent: lambda event: None,
        }

    def read(self, end: int) -> None:
        """Read up to `end`; raises Fault where it cannot go on."""
        text = self.source.text
        part = text if self.base == 0 and end == len(text) else text[self.base : end]
        parser = CParser(part.translate(self.stand_ins) if self.stand_ins else part)
        handlers = self.handlers
        next_event = parser.get_event
        try:
            while True:
                event: Any = next_event()
                kind = type(event)
                if kind is StreamEndEvent:
                    return
                if self.originals and kind is ScalarEvent:
                    event.value = event.value.translate(self.originals)
                handlers[kind](event)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            index = self.base + (mark.index if mark is not None else 0)
            code = "YAML_TOO_LARGE" if error.problem and "nesting depth" in error.problem else "YAML_SYNTAX"
            raise Fault(code, min(index, len(text)), _syntax_message(error), self.opening(error)) from error
        finally:
            parser.dispose()

    def opening(self, error: yaml.MarkedYAMLError) -> str | None:
        """Where what could not be read on starts, when that is another line."""
        start, end = error.context_mark, error.problem_mark
        if start is None or end is None or start.line == end.line:
            return None
        line, column = self.source.position(self.base + start.index)
        return f"it starts in line {line}, column {column}"

    def fail(self, code: str, index: int, message: str, hint: str | None = None) -> None:
        if len(self.loaded.diagnostics) >= MOST_FAULTS:
            raise Fault("YAML_TOO_LARGE", index, f"the text has more than {MOST_FAULTS} faults; the rest is not read")
        self.loaded.report(self.source, index, code, message, hint)

    # events

    def on_document(self, event: Any) -> None:
        self.document_start = self.base + event.start_mark.index
        self.document = Document(self.source, Mapping())
        self.count = 0
        self.anchors.clear()

    def on_scalar(self, event: Any) -> None:
        text = event.value
        mark = event.start_mark
        index = self.base + mark.index
        stack = self.stack
        if stack and stack[-1].key is None and type(stack[-1].container) is Mapping:
            self.set_key(stack[-1], event, index)
            return
        self.count += 1
        if self.count > MOST_VALUES:
            self.too_large(index)
        tag = event.tag
        value: Any
        if tag is not None:
            value = self.tagged_scalar(tag, event, index)
        elif event.implicit[0]:
            value = resolve(text)
        else:
            value = text
        if type(value) is str and "${{" in value:
            value = self.expression(value, event, index, is_tagged=False)
        if event.anchor:
            self.anchors[event.anchor] = (value, 1, index)
        if stack:
            if value is None and event.end_mark.index == mark.index and type(stack[-1].container) is Mapping:
                index = stack[-1].key_index  # an empty value has no text of its own: it stands at its key
            self.put(value, index)
        elif text or tag is not None or not event.implicit[0]:
            self.not_mapping(index, value)

    def on_mapping(self, event: Any) -> None:
        container = Mapping()
        container.places = {}
        self.push(container, event)

    def on_sequence(self, event: Any) -> None:
        container = Sequence()
        container.places = []
        self.push(container, event)

    def push(self, container: Any, event: Any) -> None:
        index = self.base + event.start_mark.index
        stack = self.stack
        self.count += 1
        if len(stack) >= MOST_LEVELS or self.count > MOST_VALUES:
            self.too_large(index)
        if stack and stack[-1].key is None and type(stack[-1].container) is Mapping:
            raise Fault("YAML_SYNTAX", index, "a key has to be a scalar")
        container.start = index
        level = Level(container, index, event.anchor, self.count - 1)
        if event.anchor:
            self.open_anchors.add(event.anchor)
        tag = event.tag
        if tag is not None and tag != "!":
            self.tag_container(tag, level)
        stack.append(level)

    def on_end(self, event: Any) -> None:
        level = self.stack.pop()
        value: Any = level.container
        if level.merges is not None:
            self.count += merge(value, level.merges, MOST_VALUES - self.count)
            if self.count > MOST_VALUES:
                self.too_large(level.index)
        if level.marks is not None:
            value = self.discarded(level)
        if level.anchor:
            self.open_anchors.discard(level.anchor)
            self.anchors[level.anchor] = (value, self.count - level.count, level.index)
        if self.stack:
            self.put(value, level.index)
        elif type(value) is Mapping:
            self.document.body = value
            self.loaded.documents.append(self.document)
        else:
            self.not_mapping(level.index, value)

    def on_alias(self, event: Any) -> None:
        index = self.base + event.start_mark.index
        name = event.anchor
        if name in self.open_anchors:
            raise Fault("YAML_TOO_LARGE", index, f'the alias "*{name}" stands inside its own anchor')
        if name not in self.anchors:
            raise Fault("YAML_SYNTAX", index, f'there is no anchor "&{name}" before this alias')
        value, size, place = self.anchors[name]
        self.count += size
        if self.count > MOST_VALUES:
            self.too_large(index)
        level = self.stack[-1] if self.stack else None
        if level is not None and level.key is None and type(level.container) is Mapping:
            if not isinstance(value, str):
                raise Fault("YAML_SYNTAX", index, "a key has to be a scalar")
            self.begin_entry(level, str(value), index)
        else:
            self.put(value, place)  # a fault in an aliased part is one finding, at the part

    # values

    def put(self, value: Any, index: int) -> None:
        level = self.stack[-1]
        container: Any = level.container
        if type(container) is Sequence:
            container.append(value)
            container.places.append(index)
            return
        key = level.key
        level.key = None
        if level.merging:
            level.merging = False
            level.merges = [*(level.merges or ()), *mergeable(value, index, self.fail)]
        elif key is not None and key not in container:
            container[key] = value
            container.places[key] = (level.key_index, index)

    def set_key(self, level: Level, event: Any, index: int) -> None:
        key = event.value
        if event.tag is not None and event.tag != "!" and event.tag.removeprefix(_CORE) not in _SCALAR_TAGS:
            self.fail("YAML_UNKNOWN_TAG", index, f'a key takes no tag "{_shown(event.tag)}"')
        if event.anchor:
            self.anchors[event.anchor] = (key, 1, index)
        if key == "<<" and event.implicit[0]:
            if level.merges is not None:
                self.fail("YAML_DUPLICATE_KEY", index, 'the key "<<" stands twice in this mapping')
            level.key, level.key_index, level.merging = key, index, True
            return
        if "${{" in key:
            self.fail("CEL_MISPLACED", index, "a key is not evaluated")
        self.begin_entry(level, key, index)

    def begin_entry(self, level: Level, key: str, index: int) -> None:
        level.key = key
        level.key_index = index
        container: Any = level.container
        if key in container:
            first = self.source.position(container.places[key][0])
            self.fail(
                "YAML_DUPLICATE_KEY",
                index,
                f'the key "{key}" stands twice in this mapping',
                f"it stands first in line {first[0]}, column {first[1]}, and that value counts",
            )

    def expression(self, text: str, event: Any, index: int, *, is_tagged: bool) -> Expression:
        value = Expression(text)
        value.place = index
        value.type = "string"
        value.end = self.base + event.end_mark.index
        value.style = event.style or ""
        value.is_tagged = is_tagged
        self.document.expressions.append(value)
        return value

    def tagged_scalar(self, tag: str, event: Any, index: int) -> Any:
        text = event.value
        if tag == "!ref":
            ref = Ref(text, index)
            self.document.refs.append(ref)
            return ref
        if tag == "!cel":
            return self.expression(text, event, index, is_tagged=True)
        if tag == "!include-text":
            include = Include(text)
            include.place = index
            self.document.includes.append(include)
            return include
        if tag == "!":
            return text
        name = tag.removeprefix(_CORE)
        if name in _SCALAR_TAGS and name != tag:
            try:
                return resolve_as(name, text)
            except ValueError as error:
                self.fail("YAML_SYNTAX", index, str(error))
                return Broken(index)
        if name in _CONTAINER_TAGS and name != tag:
            self.fail("YAML_SYNTAX", index, f'the tag "!!{name}" stands before a scalar')
        else:
            self.unknown_tag(tag, index)
        return Broken(index)

    def tag_container(self, tag: str, level: Level) -> None:
        """A mapping or list under a tag: what cannot be said of it is said once it has been read and let go."""
        own = _CORE + ("map" if type(level.container) is Mapping else "seq")
        if tag == own:
            return
        index = level.index
        document = self.document
        if tag == "!ref":
            level.discard = Ref("", index)
        elif tag == "!cel":
            self.fail("CEL_SYNTAX", index, '"!cel" takes one expression')
        elif tag == "!include-text":
            self.fail("INCLUDE_NOT_FOUND", index, '"!include-text" takes one path')
        elif tag.startswith(_CORE) and tag.removeprefix(_CORE) in _SCALAR_TAGS | _CONTAINER_TAGS:
            what = "mapping" if type(level.container) is Mapping else "list"
            self.fail("YAML_SYNTAX", index, f'the tag "{_shown(tag)}" stands before a {what}')
        else:
            self.unknown_tag(tag, index)
        level.marks = (
            len(self.loaded.diagnostics),
            len(document.refs),
            len(document.expressions),
            len(document.includes),
        )

    def discarded(self, level: Level) -> Any:
        """What stands in the place of a tagged container; nothing inside it was noticed."""
        assert level.marks is not None
        found, refs, expressions, includes = level.marks
        del self.loaded.diagnostics[found:], self.document.refs[refs:]
        del self.document.expressions[expressions:], self.document.includes[includes:]
        if level.discard is None:
            return Broken(level.index)
        self.document.refs.append(level.discard)
        return level.discard

    def unknown_tag(self, tag: str, index: int) -> None:
        shown = _shown(tag)
        hint = next(
            (f'did you mean "{known}"?' for known in ("!ref", "!cel", "!include-text") if known in shown.lower()), None
        )
        self.fail("YAML_UNKNOWN_TAG", index, f'unknown tag "{shown}"', hint)

    def not_mapping(self, index: int, value: Any) -> None:
        if not isinstance(value, Broken):
            self.fail("DOCUMENT_NOT_MAPPING", index, "a document has to be a mapping that declares a resource")

    def too_large(self, index: int) -> None:
        if len(self.stack) >= MOST_LEVELS:
            raise Fault("YAML_TOO_LARGE", index, f"the document has more than {MOST_LEVELS} levels")
        raise Fault("YAML_TOO_LARGE", index, f"the document stands for more than {MOST_VALUES} values")


def _shown(tag: str) -> str:
    return "!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return ": ".join(parts) or "the text is not YAML"
