"""What the model providers take: the names of tools, and how many of them. Cheap to import; `formats` go by it too.

OpenAI and Anthropic publish `^[a-zA-Z0-9_-]{1,64}$` and `{1,128}` for the names of tools; Gemini wants a letter or an
underscore first, then letters, digits, `_`, `.`, `:` and `-`, 64 in all. OpenAI publishes 128 tools for a request,
Gemini 512, Anthropic no bound.
"""

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """One provider's rules: `pattern` is of a name's characters, without its length; `most_tools` of a request."""

    provider: str
    pattern: str
    allowed: str
    longest: int
    most_tools: int | None


OPENAI = Rule("OpenAI", r"[A-Za-z0-9_-]*", 'letters, digits, "_" and "-"', 64, 128)
ANTHROPIC = Rule("Anthropic", r"[A-Za-z0-9_-]*", 'letters, digits, "_" and "-"', 128, None)
GEMINI = Rule(
    "Gemini", r"([A-Za-z_][A-Za-z0-9_.:-]*)?", 'letters, digits, "_", ".", ":" and "-", a letter or "_" first', 64, 512
)
PORTABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""The names that every provider takes, which are offered as they are."""

RULES = {
    "openai": OPENAI,
    "openai-responses": OPENAI,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "gemini-parameters": GEMINI,
}
"""By tool format (`runtime.ai.formats`)."""


def find_prefix_fault(prefix: str, tool_format: str) -> str | None:
    """Why no tool's name with this prefix can be legal in a tool format; None where it can, or nothing is known."""
    rule = RULES.get(tool_format)
    if rule is None:
        return None
    if re.fullmatch(rule.pattern, prefix) is None:
        return _wrong_characters(rule)
    if len(prefix) >= rule.longest:
        return (
            f"{rule.provider} takes {rule.longest} characters in the name of a tool, and the prefix has {len(prefix)}"
        )
    return None


def find_name_fault(name: str, tool_format: str) -> str | None:
    """Why a tool's name is not legal in a tool format; None where it is, or nothing is known."""
    rule = RULES.get(tool_format)
    if rule is None:
        return None
    if re.fullmatch(rule.pattern, name) is None:
        return _wrong_characters(rule)
    if not 0 < len(name) <= rule.longest:
        return f"{rule.provider} takes {rule.longest} characters in the name of a tool, and this has {len(name)}"
    return None


def _wrong_characters(rule: Rule) -> str:
    return f"{rule.provider} takes {rule.allowed} in the names of tools"
