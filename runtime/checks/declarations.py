"""What a resource says of itself: its kind, its name, and that each stands once."""

import re

from runtime.checks.findings import Findings, nearest
from runtime.manifest import Expression, Mapping
from runtime.registry import Contract
from runtime.resource_set import Resource, ResourceSet

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_declarations(resources: ResourceSet, findings: Findings) -> None:
    """KIND_MISSING, KIND_UNKNOWN, KIND_ABSTRACT, NAME_MISSING, NAME_INVALID, NAME_DUPLICATE, APPLICATION_DUPLICATE."""
    application = resources.application
    for resource in resources.resources:
        _check_kind(resource, resources, findings)
        if resource.owner is None:
            _check_name(resource, resources, findings)
        else:
            _check_inline_metadata(resource, findings)
        if resource.is_application and resource is not application and application is not None:
            place = resource.body.places["kind"][1]
            first = _shown_place(application, application.body.places["kind"][1])
            findings.report(
                resource,
                place,
                "APPLICATION_DUPLICATE",
                "the set has two application documents",
                f"the other is at {first}",
            )


def _check_kind(resource: Resource, resources: ResourceSet, findings: Findings) -> None:
    body, kind = resource.body, resource.kind
    if "kind" not in body:
        findings.report(resource, resource.source.start_of(body.start), "KIND_MISSING", 'a resource needs a "kind"')
        return
    if resource.entry is not None and not isinstance(resource.entry, Contract):
        return
    place = body.places["kind"][1]
    if kind is None or kind == "":
        findings.report(resource, place, "KIND_MISSING", 'a resource needs a "kind"')
    elif isinstance(resource.entry, Contract):
        fitting = [name for name in resources.registry.names() if _implements(resources, name, resource.entry.name)]
        findings.report(
            resource,
            place,
            "KIND_ABSTRACT",
            f'"{kind}" is a contract, not a kind',
            f"kinds that implement it: {', '.join(fitting)}" if fitting else None,
        )
    elif resource.problem is not None:
        findings.report(resource, place, "KIND_UNKNOWN", resource.problem.message)
    elif isinstance(kind, Expression) or findings.is_silenced(kind):
        return
    elif not isinstance(kind, str):
        findings.report(resource, place, "KIND_UNKNOWN", 'a kind is written "Module.Name"')
    elif not resources.registry.is_lost(kind):
        hint = nearest(kind, resources.registry.names())
        findings.report(resource, place, "KIND_UNKNOWN", f'there is no kind "{kind}"', hint)


def _implements(resources: ResourceSet, name: str, contract: str) -> bool:
    entry = resources.registry.find(name)
    return not isinstance(entry, Contract) and entry is not None and entry.fits(contract)


def _check_name(resource: Resource, resources: ResourceSet, findings: Findings) -> None:
    body, source = resource.body, resource.source
    metadata = body.get("metadata")
    if "metadata" not in body:
        findings.report(resource, source.start_of(body.start), "NAME_MISSING", 'a resource needs a "metadata.name"')
        return
    if type(metadata) is not Mapping:
        if not findings.is_silenced(metadata) and not isinstance(metadata, Expression):
            place = body.places["metadata"][1]
            findings.report(
                resource, place, "SCHEMA_TYPE", '"metadata" takes a mapping', 'write "metadata: { name: ... }"'
            )
        return
    if "name" not in metadata:
        place = source.start_of(metadata.start)
        findings.report(resource, place, "NAME_MISSING", 'a resource needs a "metadata.name"')
        return
    name, place = metadata["name"], metadata.places["name"][1]
    if name is None:
        findings.report(resource, place, "NAME_MISSING", 'a resource needs a "metadata.name"')
    elif isinstance(name, Expression) or findings.is_silenced(name):
        return
    elif not isinstance(name, str):
        findings.report(resource, place, "NAME_INVALID", "a name has to be text", "quote it if it looks like a number")
    elif _NAME.fullmatch(name) is None:
        suggestion = re.sub(r"\W", "_", name, flags=re.ASCII)
        suggestion = f"_{suggestion}" if suggestion[:1].isdigit() else suggestion
        findings.report(
            resource,
            place,
            "NAME_INVALID",
            f'the name "{name}" has to be made of letters, digits and underscores, and may not start with a digit',
            f'"{suggestion}" would be one' if suggestion else None,
        )
    elif resources.by_name[name] is not resource:
        first = resources.by_name[name]
        shown = _shown_place(first, first.body["metadata"].places["name"][1])
        findings.report(resource, place, "NAME_DUPLICATE", f'the name "{name}" is taken', f"it stands first at {shown}")


def _check_inline_metadata(resource: Resource, findings: Findings) -> None:
    metadata = resource.body.get("metadata")
    if metadata is None and "metadata" not in resource.body:
        return
    if type(metadata) is not Mapping:
        place = resource.body.places["metadata"][1]
        findings.report(resource, place, "SCHEMA_TYPE", '"metadata" takes a mapping')
    elif "name" in metadata:
        place = metadata.places["name"][0]
        findings.report(
            resource,
            place,
            "SCHEMA_UNKNOWN_FIELD",
            "an inline resource has no name",
            "declare it as a document to name it",
        )


def _shown_place(resource: Resource, place: int) -> str:
    line, column = resource.source.position(place)
    return f"{resource.source.name}:{line}:{column}"
