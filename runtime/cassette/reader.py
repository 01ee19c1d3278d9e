"""The files of a cassette back to values."""

import os
import re
from typing import Any

from runtime.cassette.beside import take_in
from runtime.cassette.borders import MODEL
from runtime.cassette.contents import LAYOUT, CassetteError, Exchange, Recording, ToolList
from runtime.cassette.writer import ENDING
from runtime.manifest import Source, load

_BORDER = re.compile(r"^---[ \t]*\n", re.MULTILINE)


class CassetteReader:
    """Reads cassettes. What several recordings have in common, such as their lists of tools, is parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[str, Any] = {}
        self._read: dict[str, Recording] = {}

    def read(self, folder: str, key: str) -> Recording:
        """The recording of one resource; the same object each time. Raises CassetteError."""
        path = os.path.join(folder, key + ENDING)
        if path not in self._read:
            self._read[path] = self._parse(path, folder)
        return self._read[path]

    def forget(self, folder: str) -> None:
        """A cassette was recorded anew."""
        self._read = {path: read for path, read in self._read.items() if os.path.dirname(path) != folder}

    def _parse(self, path: str, folder: str) -> Recording:
        try:
            with open(path, encoding="utf-8-sig") as file:
                text = file.read()
        except FileNotFoundError as error:
            raise CassetteError(f'there is no recording "{path}"', hint="record the run with this resource") from error
        except (OSError, UnicodeDecodeError) as error:
            reason = (error.strerror or "unknown").lower() if isinstance(error, OSError) else "it is not UTF-8"
            raise CassetteError(f'the recording "{path}" cannot be read: {reason}') from error
        starts = [0, *(found.end() for found in _BORDER.finditer(text))]
        ends = [*(found.start() for found in _BORDER.finditer(text)), len(text)]
        documents = [
            take_in(self._load(text[start:end], path, text.count("\n", 0, start)), folder)
            for start, end in zip(starts, ends, strict=True)
        ]
        try:
            return _assemble(documents)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise CassetteError(
                f'"{path}" is no recording as the runtime writes them', hint="record it anew"
            ) from error

    def _load(self, text: str, path: str, lines_above: int) -> Any:
        if text not in self._parsed:
            loaded = load(Source(path, text.encode("utf-8", "surrogatepass"), ""))
            fault = next((found for found in loaded.diagnostics), None)
            if fault is not None or len(loaded.documents) != 1:
                line, message = (fault.line, fault.message) if fault is not None else (1, "nothing stands here")
                raise CassetteError(f"{path}:{lines_above + line}: {message}", hint="mend it, or record it anew")
            self._parsed[text] = _plain(loaded.documents[0].body)
        return self._parsed[text]


def read_rules(folder: str) -> dict[str, list[str]]:
    """The `ignore` of each recording of a cassette, as far as they can be read: whoever records anew keeps them."""
    rules = {}
    reader = CassetteReader()
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for key in sorted(name.removesuffix(ENDING) for name in names if name.endswith(ENDING)):
        try:
            rules[key] = list(reader.read(folder, key).ignore)
        except CassetteError:
            continue
    return rules


def _assemble(documents: list[dict[str, Any]]) -> Recording:
    head, *rest = documents
    if head["recording"] != LAYOUT:
        raise CassetteError(f"the recording has the version {head['recording']}, and {LAYOUT} is known")
    recording = Recording(head["resource"], head["contract"], head["facts"], head["ignore"])
    lists: list[Any] = []
    for document in rest:
        if "toolList" in document:
            lists.append(document["tools"])
            if "after" in document:
                recording.tool_lists.append(ToolList(document["after"], document["tools"]))
            continue
        request = document["request"]
        if recording.contract == MODEL:
            start = document.get("continues", 0)
            before = recording.exchanges[start - 1].request["messages"] if start else []
            request = {**request, "tools": lists[request["tools"] - 1], "messages": [*before, *request["messages"]]}
        recording.exchanges.append(Exchange(request, document["answer"], document.get("masked", False)))
    return recording


def _plain(value: Any) -> Any:
    """The value without the places that the loader keeps."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
