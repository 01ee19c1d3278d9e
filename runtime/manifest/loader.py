"""Text to documents: the only importer of yaml.

libyaml gives events; the values are built here, without recursion, so that depth, size and aliases are bounded while
the text is read. A document that cannot be read costs that document alone: reading goes on at the next line that starts
with `---`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
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

from runtime.diagnostics import Diagnostic
from runtime.manifest.document import Broken, Document, Expression, Include, Mapping, Ref, Sequence
from runtime.manifest.merge import merge
from runtime.manifest.scalars import resolve, resolve_as
from runtime.manifest.source import Source

MOST_LEVELS = 100
MOST_VALUES = 100_000
MOST_CHARACTERS = 1 << 20
"""Bounds of one document (design.md section 3): levels, values with aliases expanded, characters of text."""

MOST_FAULTS = 1000
"""Of one source: whoever mends that many looks again."""

_DOCUMENT_START = re.compile(r"(?:^|(?<=[\r\n]))---(?=[ \t\r\n]|\Z)")
# What YAML 1.2 (5.1) does not allow. The set of what it does would be as right, and takes far longer to compile.
_UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_NAME = re.compile(r"""\bname["']?:[ \t]*["']?([A-Za-z_][\w.-]*)""")
_KEY = re.compile(r"""([A-Za-z_]\w*)["']?[ \t]*:""")
_APPLICATION = ".Application"
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = dict.fromkeys(("str", "int", "float", "bool", "null"))
_CONTAINER_TAGS = dict.fromkeys(("map", "seq"))


class Loaded:
    """What the text of one source holds: documents, findings, and what unreadable documents may declare.

    `lost_names` are names of resources, `lost_keys` all keys of what may be the application document.
    """

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.diagnostics: list[Diagnostic] = []
        self.lost_names: set[str] = set()
        self.lost_keys: set[str] = set()


class _Fault(Exception):
    """The document cannot be read on from here."""

    def __init__(self, code: str, index: int, message: str) -> None:
        self.code = code
        self.index = index
        self.message = message


def load(source: Source) -> Loaded:
    """Read every document of a source; nothing is raised for what the text holds."""
    loaded = Loaded()
    for start, end, fault in _segments(source.text):
        if len(loaded.diagnostics) > MOST_FAULTS:
            break
        if fault is not None:
            _lose(loaded, source, start, end, fault)
            continue
        while start < end and len(loaded.diagnostics) <= MOST_FAULTS:
            builder = _Builder(source, loaded, start)
            try:
                builder.read(end)
                break
            except _Fault as error:
                following = _DOCUMENT_START.search(source.text, max(error.index, start + 1), end)
                after = following.start() if following else end
                _lose(loaded, source, builder.document_start, after, error)
                start = after
    return loaded


def _lose(loaded: Loaded, source: Source, start: int, end: int, fault: _Fault) -> None:
    _report(loaded, source, fault.index, fault.code, fault.message)
    end = min(end, start + MOST_CHARACTERS)
    loaded.lost_names.update(_NAME.findall(source.text, start, end))
    if source.text.find(_APPLICATION, start, end) >= 0:
        loaded.lost_keys.update(_KEY.findall(source.text, start, end))


def _report(loaded: Loaded, source: Source, index: int, code: str, message: str, hint: str | None = None) -> None:
    from runtime.diagnostics.wording import one_line

    line, column = source.position(index)
    hint = one_line(hint) if hint is not None else None
    loaded.diagnostics.append(Diagnostic(source.name, line, column, code, one_line(message), hint))


def _segments(text: str) -> Iterator[tuple[int, int, _Fault | None]]:
    """Parts of the text that the parser can be given, and documents that it must not see, with the reason."""
    bad = _UNREADABLE.search(text)
    if bad is None and len(text) <= MOST_CHARACTERS:
        yield 0, len(text), None
        return
    starts = [0, *(found.start() for found in _DOCUMENT_START.finditer(text) if found.start()), len(text)]
    begin = 0
    for start, end in pairwise(starts):
        bad = _UNREADABLE.search(text, start, end)
        if bad is None and end - start <= MOST_CHARACTERS:
            continue
        if begin < start:
            yield begin, start, None
        if bad is not None:
            yield start, end, _Fault("YAML_SYNTAX", bad.start(), _unreadable(bad[0]))
        else:
            yield start, end, _Fault("YAML_TOO_LARGE", start, "the document has more than 1 MiB of text")
        begin = end
    if begin < len(text):
        yield begin, len(text), None


def _unreadable(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"the byte 0x{ord(character) - 0xDC00:02X} is not UTF-8"
    return f"the control character U+{ord(character):04X} is not allowed in YAML"


class _Level:
    """A mapping or list that is being built."""

    __slots__ = ("anchor", "container", "count", "discard", "index", "key", "key_index", "marks", "merges", "merging")

    def __init__(self, container: Mapping | Sequence, index: int, anchor: str | None, count: int) -> None:
        self.container = container
        self.index = index
        self.anchor = anchor
        self.count = count  # values of the document before this one, to know how many it stands for
        self.key: str | None = None
        self.key_index = 0
        self.merging = False  # whether the key is a merge key
        self.merges: list[Mapping] | None = None
        self.discard: Any = None  # what takes the container's place when its tag says so
        self.marks: tuple[int, int, int, int] | None = None


class _Builder:
    """Values from the events of one stretch of text."""

    def __init__(self, source: Source, loaded: Loaded, start: int) -> None:
        self.source = source
        self.loaded = loaded
        self.base = start
        self.document_start = start
        self.stack: list[_Level] = []
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
        """Read up to `end`; raises _Fault where it cannot go on."""
        text = self.source.text
        parser = CParser(text if self.base == 0 and end == len(text) else text[self.base : end])
        handlers = self.handlers
        next_event = parser.get_event
        try:
            while True:
                event = next_event()
                kind = type(event)
                if kind is StreamEndEvent:
                    return
                handlers[kind](event)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            index = self.base + (mark.index if mark is not None else 0)
            code = "YAML_TOO_LARGE" if error.problem and "nesting depth" in error.problem else "YAML_SYNTAX"
            raise _Fault(code, min(index, len(text)), _syntax_message(error)) from error
        finally:
            parser.dispose()

    def fail(self, code: str, index: int, message: str, hint: str | None = None) -> None:
        if len(self.loaded.diagnostics) >= MOST_FAULTS:
            raise _Fault("YAML_TOO_LARGE", index, f"the text has more than {MOST_FAULTS} faults; the rest is not read")
        _report(self.loaded, self.source, index, code, message, hint)

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
            raise _Fault("YAML_SYNTAX", index, "a key has to be a scalar")
        container.start = index
        level = _Level(container, index, event.anchor, self.count - 1)
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
            raise _Fault("YAML_TOO_LARGE", index, f'the alias "*{name}" stands inside its own anchor')
        if name not in self.anchors:
            raise _Fault("YAML_SYNTAX", index, f'there is no anchor "&{name}" before this alias')
        value, size, place = self.anchors[name]
        self.count += size
        if self.count > MOST_VALUES:
            self.too_large(index)
        level = self.stack[-1] if self.stack else None
        if level is not None and level.key is None and type(level.container) is Mapping:
            if not isinstance(value, str):
                raise _Fault("YAML_SYNTAX", index, "a key has to be a scalar")
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
            level.merges = [*(level.merges or ()), *self.merged(value, index)]
        elif key is not None and key not in container:
            container[key] = value
            container.places[key] = (level.key_index, index)

    def merged(self, value: Any, index: int) -> Iterator[Mapping]:
        """The mappings that a merge key brings in; anything else is at fault."""
        parts, places = (value, value.places) if type(value) is Sequence else ([value], [index])
        for part, place in zip(parts, places, strict=True):
            if type(part) is Mapping:
                yield part
            elif isinstance(part, Ref):
                self.fail("REF_MISPLACED", place, "a merge key takes no reference")
            elif isinstance(part, Expression):
                self.fail("CEL_MISPLACED", place, "a merge key is not evaluated", "write the value itself")
            elif not isinstance(part, Broken):
                self.fail("SCHEMA_TYPE", place, 'the merge key "<<" takes a mapping or a list of mappings')

    def set_key(self, level: _Level, event: Any, index: int) -> None:
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

    def begin_entry(self, level: _Level, key: str, index: int) -> None:
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

    def tag_container(self, tag: str, level: _Level) -> None:
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
        elif tag.startswith(_CORE) and tag.removeprefix(_CORE) in {**_SCALAR_TAGS, **_CONTAINER_TAGS}:
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

    def discarded(self, level: _Level) -> Any:
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
            raise _Fault("YAML_TOO_LARGE", index, f"the document has more than {MOST_LEVELS} levels")
        raise _Fault("YAML_TOO_LARGE", index, f"the document stands for more than {MOST_VALUES} values")


def _shown(tag: str) -> str:
    return "!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return ": ".join(parts) or "the text is not YAML"
