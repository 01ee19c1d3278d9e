"""Credentials written into a manifest, known by the forms that their issuers give them."""

import re

from runtime.checks.findings import Findings
from runtime.manifest import Expression, strings
from runtime.resource_set import ResourceSet

_CREDENTIAL = re.compile(
    r"""
    (?<![A-Za-z0-9_-])(?:
        sk-(?:proj-|ant-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}   # OpenAI, Anthropic, OpenRouter
      | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,}
      | glpat-[A-Za-z0-9_-]{20,}
      | xox[abeoprs]-[A-Za-z0-9-]{20,}
      | AIza[A-Za-z0-9_-]{35}
      | (?:AKIA|ASIA)[A-Z0-9]{16}
      | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{50,}
      | [rs]k_(?:live|test)_[A-Za-z0-9]{20,}
      | gsk_[A-Za-z0-9]{40,} | xai-[A-Za-z0-9]{40,} | pplx-[A-Za-z0-9]{40,}
      | SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}
      | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}   # a JSON web token
      | -----BEGIN[ ](?:[A-Z]+[ ])*PRIVATE[ ]KEY-----
    )
    """,
    re.VERBOSE,
)


def check_literals(resources: ResourceSet, findings: Findings) -> None:
    """SECRET_LITERAL at each string that holds something with the form of a real credential."""
    suspects = {
        id(source) for source in {resource.source for resource in resources.resources} if _is_suspect(source.text)
    }
    for resource in resources.resources:
        if resource.owner is not None or id(resource.source) not in suspects:
            continue
        for text, place in strings(resource.body, resource.body.start):
            if _CREDENTIAL.search(text):
                hint = 'take it out: "${{ secrets.name }}" reads it from the environment'
                if isinstance(text, Expression):
                    hint = "take the credential out of the text around the expression"
                message = "this looks like a real credential"
                findings.report(resource, place, "SECRET_LITERAL", message, hint)


def _is_suspect(text: str) -> bool:
    """A quick look at the whole text, escapes and folding included, before any value is looked at."""
    return _CREDENTIAL.search(text) is not None or "\\" in text
