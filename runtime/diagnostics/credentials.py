"""What real credentials look like, by the forms that their issuers give them."""

import re

CREDENTIAL = re.compile(
    r"""
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
    """,
    re.VERBOSE,
)


def starred(text: str) -> str:
    """The text with a star for each character of a credential in it: findings go where everybody reads them."""
    return CREDENTIAL.sub(lambda found: "*" * len(found[0]), text)
