"""Credentials written into a manifest."""

from runtime.checks.findings import Findings
from runtime.diagnostics.credentials import has_credential
from runtime.manifest import Expression, strings
from runtime.resource_set import ResourceSet


def check_literals(resources: ResourceSet, findings: Findings) -> None:
    """SECRET_LITERAL at each string that holds something with the form of a real credential."""
    suspects = {
        id(source) for source in {resource.source for resource in resources.resources} if _is_suspect(source.text)
    }
    for resource in resources.resources:
        if resource.owner is not None or id(resource.source) not in suspects:
            continue
        for text, place in strings(resource.body, resource.body.start):
            if has_credential(text) and not findings.is_full(resource, "warning"):
                hint = 'take it out: "${{ secrets.name }}" reads it from the environment'
                if isinstance(text, Expression):
                    hint = "take the credential out of the text around the expression"
                message = "this looks like a real credential"
                findings.report(resource, place, "SECRET_LITERAL", message, hint)


def _is_suspect(text: str) -> bool:
    """A quick look at the whole text, escapes and folding included, before any value is looked at."""
    return "\\" in text or has_credential(text)
