"""What real credentials look like, by the forms that their issuers give them."""

from collections.abc import Callable
from functools import cache
from re import VERBOSE, Match, Pattern, compile

# fmt: off
_MARKS = (
    "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "AIza", "GOCSPX-", "ya29.",
    "AKIA", "ASIA", "hf_", "npm_", "pypi-", "r8_", "k_live_", "k_test_", "shpat_", "shpca_", "shppa_", "shpss_",
    "gsk_", "xai-", "pplx-", "tvly-", "SG.", "_v1_", "hvs.", "ntn_", "lin_api_", "dapi", "sbp_", "eyJ", "PRIVATE KEY",
)
# fmt: on
"""What every credential below has in it, looked for first: the pattern costs more to compile than a small manifest
takes to check."""

_FORMS = r"""
    (?<![A-Za-z0-9_-])(?:
        sk-(?=[A-Za-z_-]*[A-Z0-9])[A-Za-z0-9_-]{20,}               # OpenAI, Anthropic, OpenRouter, DeepSeek
      | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,} | glpat-[A-Za-z0-9_-]{20,}
      | xox[abeoprs]-[A-Za-z0-9-]{20,} | xapp-[0-9]-[A-Za-z0-9-]{20,}
      | AIza[A-Za-z0-9_-]{35} | GOCSPX-[A-Za-z0-9_-]{20,} | ya29\.[A-Za-z0-9_-]{20,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}
      | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{50,} | r8_[A-Za-z0-9]{30,}
      | [rs]k_(?:live|test)_[A-Za-z0-9]{20,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}
      | gsk_[A-Za-z0-9]{40,} | xai-[A-Za-z0-9]{40,} | pplx-[A-Za-z0-9]{40,} | tvly-[A-Za-z0-9-]{25,}
      | SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,} | do[opr]_v1_[a-f0-9]{60,} | hvs\.[A-Za-z0-9_-]{24,}
      | ntn_[A-Za-z0-9]{40,} | lin_api_[A-Za-z0-9]{40} | dapi[a-f0-9]{32} | sbp_[a-f0-9]{40}
      | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}   # a JSON web token
      | -----BEGIN[ ](?:[A-Z]+[ ])*PRIVATE[ ]KEY-----
    )
    """

_SHORTEST = 20
"""Characters of the shortest credential that a form below describes."""


@cache
def _pattern() -> Pattern[str]:
    return compile(_FORMS, VERBOSE)


def has_credential(text: str) -> bool:
    """Whether something in a text has the form of a real credential."""
    if len(text) < _SHORTEST:
        return False
    return any(mark in text for mark in _MARKS) and _pattern().search(text) is not None


def replace_credentials(text: str, replacement: str | Callable[[Match[str]], str]) -> str:
    """The text with each credential in it replaced, as `re.sub` does."""
    return _pattern().sub(replacement, text) if has_credential(text) else text


def starred(text: str) -> str:
    """The text with a star for each character of a credential in it: findings go where everybody reads them."""
    return replace_credentials(text, lambda found: "*" * len(found[0]))
