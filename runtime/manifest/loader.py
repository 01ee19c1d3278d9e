"""Text to documents.

A document that cannot be read costs that document alone: reading goes on at the next line that starts with `---`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from runtime.manifest.builder import Builder
from runtime.manifest.loaded import MOST_FAULTS, Fault, Loaded
from runtime.manifest.source import Source

MOST_CHARACTERS = 1 << 20
"""Of the text of one document (design.md section 3)."""

_DOCUMENT_START = re.compile(r"(?:^|(?<=[\r\n]))---(?=[ \t\r\n]|\Z)")
# What YAML 1.2 (5.1) does not allow. The set of what it does would be as right, and takes far longer to compile.
_UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
# Compiled where a document is lost.
_NAME = r"""\bname["']?:[ \t]*["']?([A-Za-z_][\w.-]*)"""
_KEY = r"""([A-Za-z_]\w*)["']?[ \t]*:"""
_APPLICATION = ".Application"


def load(source: Source) -> Loaded:
    """Read every document of a source; nothing is raised for what the text holds."""
    loaded = Loaded()
    stand_ins = _stand_ins(source.text)
    for start, end, fault in _segments(source.text):
        if len(loaded.diagnostics) > MOST_FAULTS:
            break
        if fault is not None:
            _lose(loaded, source, start, end, fault)
            continue
        while start < end and len(loaded.diagnostics) <= MOST_FAULTS:
            builder = Builder(source, loaded, start, stand_ins)
            try:
                builder.read(end)
                break
            except Fault as error:
                following = _DOCUMENT_START.search(source.text, max(error.index, start + 1), end)
                after = following.start() if following else end
                _lose(loaded, source, builder.document_start, after, error)
                start = after
    return loaded


def _lose(loaded: Loaded, source: Source, start: int, end: int, fault: Fault) -> None:
    loaded.report(source, fault.index, fault.code, fault.message, fault.hint)
    end = min(end, start + MOST_CHARACTERS)
    loaded.lost_names.update(re.compile(_NAME).findall(source.text, start, end))
    if source.text.find(_APPLICATION, start, end) >= 0:
        loaded.lost_keys.update(re.compile(_KEY).findall(source.text, start, end))


def _segments(text: str) -> Iterator[tuple[int, int, Fault | None]]:
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
            yield start, end, Fault("YAML_SYNTAX", bad.start(), _unreadable(bad[0]))
        else:
            yield start, end, Fault("YAML_TOO_LARGE", start, "the document has more than 1 MiB of text")
        begin = end
    if begin < len(text):
        yield begin, len(text), None


def _unreadable(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"the byte 0x{ord(character) - 0xDC00:02X} is not UTF-8"
    if character == "\ufeff":
        return "a byte order mark may stand at the start of a file alone"
    return f"the control character U+{ord(character):04X} is not allowed in YAML"


def _stand_ins(text: str) -> dict[int, str]:
    """Private characters that take the place of U+0085, U+2028 and U+2029, which end no line in YAML 1.2, while libyaml
    reads the text: to its YAML 1.1 they are line ends. Empty where there are none."""
    found = [] if text.isascii() else [character for character in "\x85\u2028\u2029" if character in text]
    free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    return {ord(character): stand_in for character, stand_in in zip(found, free, strict=False)}
