"""A cassette as files: one of YAML for each resource, what is no text to read beside them."""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runtime.cassette.beside import FOLDER, FilesBeside
from runtime.cassette.borders import MODEL
from runtime.cassette.contents import LAYOUT, Exchange, Recording
from runtime.errors import UsageError
from runtime.yaml_text import write_mapping

MARK = "# A recording of the runtime: "
HEAD = f"{MARK}what went to this resource, and what came back. Only `ignore` is to be edited.\n"
ENDING = ".yaml"
_BESIDE = re.compile(r"[0-9a-f]{20}\.[a-z0-9]{3,4}")


def check_place(folder: str, keys: Iterable[str]) -> None:
    """Raises UsageError where a cassette cannot be written, before anything is recorded for it."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    for key in keys:
        path = os.path.join(folder, key + ENDING)
        if os.path.lexists(path) and not is_recording_file(path):
            raise UsageError(f'"{path}" is there and is no recording', hint="give the cassette a folder of its own")


def write_cassette(folder: str, recordings: Sequence[Recording]) -> None:
    """Put a cassette into its folder, each file whole or not at all; what an older one had beside it is removed.

    The folder is 0700 where it is new, the files are 0600. Raises UsageError where they cannot be written.
    """
    beside = FilesBeside()
    texts = {f"{each.key}{ENDING}": recording_text(each, beside) for each in recordings}
    inner = os.path.join(folder, FOLDER)
    try:
        os.makedirs(inner if beside.contents else folder, mode=0o700, exist_ok=True)
        for name, data in beside.contents.items():
            _write(os.path.join(inner, name), data)
        for name, text in texts.items():
            _write(os.path.join(folder, name), text.encode("utf-8", "surrogatepass"))
        _remove_old(folder, texts.keys(), beside.contents.keys())
    except OSError as error:
        raise _unwritable(folder, error) from error


def _write(path: str, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or ".")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _remove_old(folder: str, names: Iterable[str], beside: Iterable[str]) -> None:
    """Remove the recordings and files of an older cassette, and nothing else."""
    kept = {*names, FOLDER}
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name not in kept and name.endswith(ENDING) and is_recording_file(path):
            os.unlink(path)
    inner = os.path.join(folder, FOLDER)
    if os.path.isdir(inner):
        for name in set(os.listdir(inner)) - set(beside):
            if _BESIDE.fullmatch(name):
                os.unlink(os.path.join(inner, name))


def is_recording_file(path: str) -> bool:
    """Whether a file is one that we wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().startswith(MARK)
    except (OSError, ValueError):
        return False


def recording_text(recording: Recording, beside: FilesBeside) -> str:
    """The text of a recording: documents of its head, its lists of tools and its exchanges, in their order."""
    return HEAD + "---\n".join(
        "".join(f"{line}\n" for line in write_mapping(document, 0, is_sorted=False))
        for document in _documents(recording, beside)
    )


def _documents(recording: Recording, beside: FilesBeside) -> Iterator[dict[str, Any]]:
    yield {
        "recording": LAYOUT,
        "resource": recording.key,
        "contract": recording.contract,
        "ignore": list(recording.ignore),
        "facts": beside.put_out(recording.facts),
    }
    lists: list[Any] = []
    for each in recording.tool_lists:
        lists.append(each.tools)
        yield {"toolList": len(lists), "after": each.after, **beside.put_out({"tools": each.tools})}
    for number, exchange in enumerate(recording.exchanges, 1):
        if recording.contract == MODEL:
            tools = exchange.request["tools"]
            if tools not in lists:
                lists.append(tools)
                yield {"toolList": len(lists), **beside.put_out({"tools": tools})}
            yield _turn(number, exchange, recording.exchanges, 1 + lists.index(tools), beside)
        else:
            yield {"exchange": number, **_rest(exchange, exchange.request, beside)}


def _turn(
    number: int, exchange: Exchange, exchanges: Sequence[Exchange], tool_list: int, beside: FilesBeside
) -> dict[str, Any]:
    """A model's exchange. `continues` names the one whose messages come first; only what follows them is written."""
    request = exchange.request
    before = find_continued(request, exchanges[: number - 1])
    new = request["messages"][len(exchanges[before - 1].request["messages"]) if before else 0 :]
    document: dict[str, Any] = {"exchange": number}
    if before:
        document["continues"] = before
    return document | _rest(exchange, {**request, "tools": tool_list, "messages": new}, beside)


def _rest(exchange: Exchange, request: dict[str, Any], beside: FilesBeside) -> dict[str, Any]:
    masked = {"masked": True} if exchange.is_masked else {}
    return {**masked, "request": beside.put_out(request), "answer": beside.put_out(exchange.answer)}


def find_continued(request: dict[str, Any], before: Sequence[Exchange]) -> int:
    """The number of the latest exchange whose messages are the start of this request's, and are most; 0 for none."""
    messages = request["messages"]
    found, longest = 0, 0
    for number, exchange in enumerate(before, 1):
        length = len(exchange.request["messages"])
        if longest <= length < len(messages) and exchange.request["messages"] == messages[:length]:
            found, longest = number, length
    return found


def _unwritable(folder: str, error: OSError) -> UsageError:
    return UsageError(f'the cassette "{folder}" cannot be written: {(error.strerror or "unknown").lower()}')
