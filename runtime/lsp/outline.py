"""What a person means by a document while it is typed: mappings, lists and scalars by indentation, whatever is broken.

The manifest loader stops where the text is no YAML. This reader goes on: a line without a colon is a key that is not
finished, a bracket that nobody closed ends where the indentation does. On documents that YAML takes, both see the same
(a test holds them to it).
"""

import re
from contextlib import suppress

from runtime.lsp.tree import Entry, Fields, Items, Outline, Scalar

PROPERTIES = re.compile(r"(?:[!&][^\s,\[\]{}]*[ \t]*)+")
_TAG = re.compile(r"![^\s,\[\]{}]*")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'", re.DOTALL)
_KEY = re.compile(
    r"(?P<key>\"(?:\\.|[^\"\\\r\n])*\"|'(?:''|[^'\r\n])*'"
    r"|[^\s#,\[\]{}\"'&*!|>%@`-](?:[^\r\n:#]|:(?=\S)|(?<=\S)#)*?"
    r"|[-?](?=\S)(?:[^\r\n:#]|:(?=\S)|(?<=\S)#)*?)"
    r"[ \t]*:(?=[ \t\r\n]|\Z)"
)
_PLAIN = re.compile(r"(?:[^\s#]|(?<=\S)#|[ \t]+(?=[^\s#]))*")
_FLOW_PLAIN = re.compile(r"(?:[^\s,\[\]{}:#]|:(?=[^\s,\[\]{}])|(?<=\S)#|[ \t]+(?=[^\s,\[\]{}:#]))*")
_FLOW_BLANKS = re.compile(r"(?:[ \t]+|(?:(?<=\s)|\A)#[^\r\n]*)*")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_DIRECTIVE = re.compile(r"\.\.\.(?=[ \t\r\n]|\Z)|%(?:YAML|TAG)[ \t]")
_LINE_END = re.compile(r"(?:\r\n|\r|\n)(?P<indentation>[ ]*)")
_LOOKS_LIKE_KEY = re.compile(r"[ ]*(?:- +)?[\"']?[A-Za-z_][\w.-]*[\"']?[ ]*:(?=[ \t\r\n]|\Z)|[ ]*-(?=[ \t])")


def read_outline(text: str) -> Fields:
    """The mapping at the root of one document, whose text may start with its `---`.

    Where it is nested more deeply than anybody writes, it ends there.
    """
    root = Fields()
    with suppress(RecursionError):
        _Reader(text).read(root)
    return root


class _Reader:
    """Goes through the lines of a document once; `at` is the next character to read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self, root: Fields) -> None:
        if self.text.startswith("---"):
            self.at = 3
        while self.skip_blank():
            before = self.at
            if PROPERTIES.match(self.text, self.at):
                self.properties()
            elif self.text[self.at] in "{[":
                value = self.flow(-1)
                root.entries += value.entries if isinstance(value, Fields) else ()
            else:
                self.mapping(self.column(), root)
            if self.at == before:
                self.skip_line()

    # where we are

    def line_start(self, index: int) -> int:
        return max(self.text.rfind("\n", 0, index), self.text.rfind("\r", 0, index)) + 1

    def column(self) -> int:
        return self.at - self.line_start(self.at)

    def skip_blank(self) -> bool:
        """Go to the next character that says something, over empty lines and comments; whether there is one."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t\r\n":
                self.at += 1
            elif self.is_comment() or (_DIRECTIVE.match(text, self.at) and self.at == self.line_start(self.at)):
                self.skip_line()
            else:
                return True
        return False

    def is_comment(self) -> bool:
        text = self.text
        return text.startswith("#", self.at) and (self.at == 0 or text[self.at - 1] in " \t\r\n")

    def skip_line(self) -> None:
        found = _LINE.match(self.text, self.at)
        self.at = found.end() if found is not None else len(self.text)

    def is_at_line_end(self) -> bool:
        """Whether nothing but a comment follows on this line."""
        rest = _LINE.match(self.text, self.at)
        return rest is None or not rest[1].strip(" \t") or self.is_comment()

    def is_dash(self) -> bool:
        text = self.text
        return text.startswith("-", self.at) and (self.at + 1 >= len(text) or text[self.at + 1] in " \t\r\n")

    # block style

    def mapping(self, column: int, fields: Fields) -> None:
        """Entries of a mapping at a column; a line that is further right than it should be is one of them too."""
        while self.skip_blank():
            if self.column() < column:
                return
            if self.is_dash():
                if self.column() == column and not fields.entries:
                    return
                self.at += 1
                continue
            self.entry(column, fields)

    def entry(self, column: int, fields: Fields) -> None:
        place, tag = self.properties()
        found = _KEY.match(self.text, self.at)
        if found is None:
            start = self.at
            scalar = self.plain() if not self.is_at_line_end() else Scalar("", start, start)
            scalar.place, scalar.tag = place, tag
            fields.entries.append(Entry(scalar, None, has_colon=False))
            self.skip_line()
            return
        start, end = found.span("key")
        key = Scalar(_unquoted(found["key"]), start, end, style=found["key"][0] if found["key"][0] in "\"'" else "")
        self.at = found.end()
        fields.entries.append(Entry(key, self.value(column), has_colon=True))

    def value(self, column: int) -> Outline | None:
        """What follows a colon or a dash in a mapping or list at a column; None where nothing does."""
        self.skip_spaces()
        place, tag = self.properties()
        start = self.at
        if not self.is_at_line_end():
            return self.inline(column, place, tag)
        self.skip_line()
        if self.skip_blank():
            mine = self.column()
            if mine > column or (mine == column and self.is_dash()):
                return self.block(mine, column)
            self.at = self.line_start(self.at)
        return Scalar("", start, start, tag=tag, place=place) if tag else None

    def block(self, mine: int, column: int) -> Outline:
        """A value that starts on a line of its own, or behind a dash."""
        if self.is_dash():
            return self.sequence(mine)
        if self.starts_mapping(mine):
            fields = Fields()
            self.mapping(mine, fields)
            return fields
        start = self.at
        value = self.value(column)
        return Scalar("", start, start) if value is None else value

    def starts_mapping(self, mine: int) -> bool:
        """Whether there is a key here, or, on the next line, at the same column: then this one is not finished."""
        if _KEY.match(self.text, self.at) is not None:
            return True
        if self.text[self.at] in "{[\"'|>&!":
            return False
        before = self.at
        self.skip_line()
        follows = self.skip_blank() and self.column() == mine and _KEY.match(self.text, self.at) is not None
        self.at = before
        return follows

    def sequence(self, column: int) -> Items:
        items = Items()
        while self.skip_blank() and self.column() == column and self.is_dash():
            self.at += 1
            self.skip_spaces()
            if self.is_at_line_end():
                start = self.at
                value = self.value(column) if not self.dash_follows(column) else None
                items.items.append(Scalar("", start, start) if value is None else value)
            else:
                items.items.append(self.block(self.column(), column))
        return items

    def dash_follows(self, column: int) -> bool:
        """Whether the next line that says something is an item of the same list: this one is empty."""
        before = self.at
        self.skip_line()
        follows = self.skip_blank() and self.column() == column
        self.at = before
        return follows

    def inline(self, column: int, place: int, tag: str) -> Outline:
        """A value on the line where we are; it may go on below, further right than the column."""
        character = self.text[self.at]
        if character in "{[":
            value = self.flow(column)
            self.skip_line()
            return value
        scalar = self.quoted(column)
        if scalar is not None:
            self.skip_line()
        else:
            scalar = self.block_scalar(column) if character in "|>" else self.long_plain(column)
        scalar.place, scalar.tag = place, tag
        return scalar

    def skip_spaces(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def properties(self) -> tuple[int, str]:
        """Tag and anchor: where they start, and the tag."""
        place = self.at
        found = PROPERTIES.match(self.text, self.at)
        if found is None:
            return place, ""
        self.at = found.end()
        tag = _TAG.search(found[0])
        return place, tag[0] if tag is not None else ""

    def plain(self) -> Scalar:
        """A plain scalar as far as this line goes."""
        found = _PLAIN.match(self.text, self.at)
        assert found is not None
        start, self.at = found.span()
        if self.at == start:
            self.at = start + 1  # a character that starts no scalar is one by itself
        return Scalar(self.text[start : self.at], start, self.at)

    def long_plain(self, column: int) -> Scalar:
        """A plain scalar with the lines that go on with it."""
        scalar = self.plain()
        while True:
            before = self.at
            self.skip_line()
            if not self.skip_blank() or self.column() <= column or _LOOKS_LIKE_KEY.match(self.text, self.at):
                self.at = before
                self.skip_line()
                return scalar
            more = self.plain()
            scalar.text, scalar.end = f"{scalar.text} {more.text}", more.end

    def quoted(self, column: int) -> Scalar | None:
        """A quoted scalar; where nobody closes it above the next line that is no part of it, it ends with its line."""
        start = self.at
        style = self.text[start]
        if style not in "\"'":
            return None
        found = _QUOTED.match(self.text, start)
        if found is None or self.is_left_before(found.end(), column):
            self.at = start
            line = _LINE.match(self.text, start)
            assert line is not None
            self.at = line.end(1)
            return Scalar(self.text[start + 1 : self.at], start, self.at, style=style)
        self.at = found.end()
        return Scalar(_unquoted(found[0]), start, self.at, style=style)

    def is_left_before(self, end: int, column: int) -> bool:
        """Whether a line above `end` is not further right than the column."""
        for line in self.text[self.at : end].splitlines()[1:]:
            if line.strip() and len(line) - len(line.lstrip(" ")) <= column:
                return True
        return False

    def block_scalar(self, column: int) -> Scalar:
        """`|` or `>`: all lines that are empty or further right than the column."""
        start = self.at
        style = self.text[start]
        self.skip_line()
        body = end = self.at
        while self.at < len(self.text):
            line = _LINE.match(self.text, self.at)
            assert line is not None
            if line[1].strip(" ") and len(line[1]) - len(line[1].lstrip(" ")) <= column:
                break
            self.at = end = line.end()
        return Scalar(self.text[body:end], start, end, style=style)

    # flow style

    def flow(self, column: int) -> Outline:
        """`{...}` or `[...]`."""
        opened = self.text[self.at]
        closing = "}" if opened == "{" else "]"
        self.at += 1
        fields, items = Fields(), Items()
        while self.flow_blanks(column) and self.text[self.at] not in "}]":
            if self.text[self.at] == ",":
                self.at += 1
            elif opened == "{":
                fields.entries.append(self.flow_entry(column))
            else:
                items.items.append(self.flow_item(column))
        if self.text[self.at : self.at + 1] == closing:
            self.at += 1
        return fields if opened == "{" else items

    def flow_blanks(self, column: int) -> bool:
        """Go to what comes next; whether it is a part of what was opened: a key further left is not."""
        while self.at < len(self.text):
            found = _FLOW_BLANKS.match(self.text, self.at)
            assert found is not None
            self.at = found.end()
            line_end = _LINE_END.match(self.text, self.at)
            if line_end is None:
                return self.at < len(self.text)
            if len(line_end["indentation"]) <= column and _LOOKS_LIKE_KEY.match(self.text, line_end.end()):
                return False
            self.at = line_end.end()
        return False

    def flow_entry(self, column: int) -> Entry:
        key = self.flow_value(column)
        if not isinstance(key, Scalar):
            key = Scalar("", self.at, self.at)
        return self.flow_colon(key, column)

    def flow_colon(self, key: Scalar, column: int) -> Entry:
        self.skip_spaces()
        if self.text[self.at : self.at + 1] != ":":
            return Entry(key, None, has_colon=False)
        self.at += 1
        self.skip_spaces()
        if not self.flow_blanks(column) or self.text[self.at] in ",}]":
            return Entry(key, None, has_colon=True)
        return Entry(key, self.flow_value(column), has_colon=True)

    def flow_item(self, column: int) -> Outline:
        """An element of `[...]`; `a: b` is a mapping of one entry there."""
        value = self.flow_value(column)
        self.skip_spaces()
        if isinstance(value, Scalar) and self.text[self.at : self.at + 1] == ":":
            fields = Fields()
            fields.entries.append(self.flow_colon(value, column))
            return fields
        return value

    def flow_value(self, column: int) -> Outline:
        place, tag = self.properties()
        start = self.at
        if self.text[start : start + 1] in ("{", "["):
            return self.flow(column)
        scalar = self.quoted(column) if start < len(self.text) else None
        if scalar is None:
            found = _FLOW_PLAIN.match(self.text, start)
            assert found is not None
            self.at = found.end()
            if self.at == place:
                self.at += self.text[start : start + 1] not in (",", "}", "]", ":", "\r", "\n", "")
            scalar = Scalar(self.text[start : self.at], start, self.at)
        scalar.place, scalar.tag = place, tag
        return scalar


def _unquoted(text: str) -> str:
    """The value of a scalar on one line, as far as names and keys need it."""
    if text[:1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text[1:-1].replace("''", "'") if text[:1] == "'" else text
