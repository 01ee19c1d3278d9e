"""Whether a prefix leaves room for legal tool names, by the rules of the model providers.

OpenAI and Anthropic publish `^[a-zA-Z0-9_-]{1,64}$` and `{1,128}` for the names of tools; Gemini wants a letter or an
underscore first, then letters, digits, `_`, `.`, `:` and `-`, 64 in all.
"""

import re
from typing import NamedTuple


class _Rule(NamedTuple):
    provider: str
    pattern: str
    allowed: str
    longest: int


_OPENAI = _Rule("OpenAI", r"[A-Za-z0-9_-]*", 'letters, digits, "_" and "-"', 64)
_ANTHROPIC = _Rule("Anthropic", r"[A-Za-z0-9_-]*", 'letters, digits, "_" and "-"', 128)
_GEMINI = _Rule(
    "Gemini", r"([A-Za-z_][A-Za-z0-9_.:-]*)?", 'letters, digits, "_", ".", ":" and "-", a letter or "_" first', 64
)
_RULES = {
    "openai": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI,
    "gemini-parameters": _GEMINI,
}


def find_prefix_fault(prefix: str, tool_format: str) -> str | None:
    """Why no tool's name with this prefix can be legal in a tool format; None where it can, or nothing is known."""
    rule = _RULES.get(tool_format)
    if rule is None:
        return None
    if re.fullmatch(rule.pattern, prefix) is None:
        return f"{rule.provider} takes {rule.allowed} in the names of tools"
    if len(prefix) >= rule.longest:
        return (
            f"{rule.provider} takes {rule.longest} characters in the name of a tool, and the prefix has {len(prefix)}"
        )
    return None
