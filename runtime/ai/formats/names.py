"""Tool names that every provider takes: legal, deterministic, distinct.

One rule serves all providers, so that a tool has the same name in every trace: letters, digits, `_` and `-`, a letter
or `_` first, at most 64 characters (OpenAI's alphabet and length, Gemini's first character).
"""

import re
from collections import Counter
from collections.abc import Sequence

from runtime.ai.provider_rules import PORTABLE_NAME

LIMIT = 64
_ILLEGAL_RUN = re.compile(r"[^A-Za-z0-9_-]+")


def offer(names: Sequence[str]) -> list[str]:
    """The names under which tools are offered, in the order given; each of `names` must occur once.

    A legal name stays as it is, whatever the others are called. Any other has its illegal characters replaced by `_`,
    and a digest of the whole name at its end where it was cut or where another name would look the same; which name
    gets one does not depend on the order.
    """
    if all(map(PORTABLE_NAME.fullmatch, names)):
        return list(names)
    candidates = {name: legalise(name) for name in names}
    shared = Counter(candidates.values())
    taken = {name for name in names if PORTABLE_NAME.fullmatch(name)}
    offered: dict[str, str] = {name: name for name in taken}
    for name in sorted(set(names) - taken):
        candidate = candidates[name]
        if shared[candidate] > 1:
            candidate = mark(candidate, name, taken, LIMIT)
        taken.add(candidate)
        offered[name] = candidate
    return [offered[name] for name in names]


def legalise(name: str) -> str:
    """The name that a tool gets when no other is beside it; one that is cut has a digest of the whole at its end.

    Within one list, `offer` tells tools apart that get the same: nobody who connects a server can change its names. Two
    providers of an agent can be told apart by a prefix, so there the agent refuses such a pair.
    """
    if PORTABLE_NAME.fullmatch(name):
        return name
    candidate = _ILLEGAL_RUN.sub("_", strip_accents(name))
    if not (candidate[:1].isalpha() or candidate[:1] == "_"):
        candidate = f"_{candidate}"
    return candidate if len(candidate) <= LIMIT else mark(candidate, name, set(), LIMIT)


def mark(candidate: str, name: str, taken: set[str], limit: int) -> str:
    """`candidate`, cut to `limit` with a digest of `name` at its end, and not in `taken`."""
    from hashlib import sha256

    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for length in range(8, len(digest)):
        marked = f"{candidate[: limit - length - 1]}_{digest[:length]}"
        if marked not in taken:
            return marked
    raise AssertionError(f"no free name for {name!r}")  # 56 names of one digest cannot be


def strip_accents(text: str) -> str:
    """The text with letters such as `ş` or `ü` as the letters they are made from."""
    from unicodedata import combining, normalize

    return "".join(letter for letter in normalize("NFKD", text) if not combining(letter))
