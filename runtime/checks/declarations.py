"""What a resource says of itself: its kind, its name, and that each stands once."""

import re
from functools import cached_property

from runtime.checks.findings import Findings
from runtime.diagnostics.nearby import Nearby, nearest
from runtime.diagnostics.wording import described, quoted
from runtime.manifest import Broken, Expression, Include, Mapping, Ref
from runtime.registry import Contract, Entry
from runtime.resource_set import Resource, ResourceSet

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KIND = re.compile(r"[A-Z]\w*\.[A-Z]\w*")


def check_declarations(resources: ResourceSet, findings: Findings) -> None:
    """KIND_MISSING, KIND_UNKNOWN, KIND_ABSTRACT, NAME_MISSING, NAME_INVALID, NAME_DUPLICATE, APPLICATION_DUPLICATE."""
    kinds = _Kinds(resources)
    for resource in resources.resources:
        if findings.is_full(resource):
            continue
        _check_kind(resource, kinds, findings)
        if resource.owner is None:
            _check_name(resource, resources, findings)
        else:
            _check_inline_metadata(resource, findings)
    applications = resources.applications
    for other in applications[1:]:
        place = other.body.places["kind"][1]
        hint = f"the other is at {_shown_place(applications[0], applications[0].body.places['kind'][1])}"
        findings.report(other, place, "APPLICATION_DUPLICATE", "the set has two application documents", hint)


class _Kinds:
    """The kinds there are, listed when a hint asks for them: all of them are imported for that."""

    def __init__(self, resources: ResourceSet) -> None:
        self.registry = resources.registry

    @cached_property
    def _nearby(self) -> Nearby:
        return Nearby(self.registry.names())

    def fitting(self, contract: str) -> str:
        """The kinds that implement a contract."""
        found = ((name, self.registry.find(name)) for name in self.registry.names())
        return ", ".join(name for name, entry in found if isinstance(entry, Entry) and entry.fits(contract))

    def hint(self, kind: str) -> str | None:
        """What to write in the place of a kind that is none."""
        near = self._nearby.hint(kind)
        beside = [name for name in self.registry.names() if name.partition(".")[0] == kind.partition(".")[0]]
        if beside and near is None:
            return f"kinds of that module: {', '.join(beside)}"
        return near or ('a kind is written "Module.Name"' if _KIND.fullmatch(kind) is None else None)


def _check_kind(resource: Resource, kinds: _Kinds, findings: Findings) -> None:
    body, kind = resource.body, resource.kind
    if "kind" not in body:
        findings.report(resource, resource.source.start_of(body.start), "KIND_MISSING", 'a resource needs a "kind"')
        return
    if isinstance(resource.entry, Entry) or isinstance(kind, (Expression, Broken, Ref)):
        return
    place = body.places["kind"][1]
    if kind is None:
        findings.report(resource, place, "KIND_MISSING", 'a resource needs a "kind"')
    elif isinstance(resource.entry, Contract):
        fitting = kinds.fitting(resource.entry.name)
        findings.report(
            resource,
            place,
            "KIND_ABSTRACT",
            f'"{kind}" is a contract, not a kind',
            f"kinds that implement it: {fitting}" if fitting else None,
        )
    elif resource.problem is not None:
        findings.report(resource, place, "KIND_UNKNOWN", resource.problem.message)
    elif type(kind) is not str:
        findings.report(resource, place, "KIND_UNKNOWN", 'a kind is written "Module.Name"')
        findings.cut(resource, body, "kind")
    elif not kinds.registry.is_lost(kind):
        findings.report(resource, place, "KIND_UNKNOWN", f'there is no kind "{kind}"', kinds.hint(kind))


def _check_name(resource: Resource, resources: ResourceSet, findings: Findings) -> None:
    body = resource.body
    metadata = body.get("metadata")
    if type(metadata) is Mapping:
        if "name" in metadata:
            _check_given_name(resource, metadata, resources, findings)
        elif not resource.is_misnamed:
            place = resource.source.start_of(metadata.start)
            near = next((key for key in metadata if nearest(key, ["name"])), None)
            hint = f'did you mean "name" by "{near}"?' if near is not None else None
            findings.report(resource, place, "NAME_MISSING", 'a resource needs a "metadata.name"', hint)
    elif "metadata" in body:
        _check_no_mapping(resource, findings, 'write "metadata: { name: ... }"')
    elif not resource.is_misnamed:
        place = resource.source.start_of(body.start)
        findings.report(resource, place, "NAME_MISSING", 'a resource needs a "metadata.name"')


def _check_no_mapping(resource: Resource, findings: Findings, hint: str | None = None) -> None:
    """A `metadata` that is no mapping."""
    body = resource.body
    if isinstance(body["metadata"], (Expression, Broken, Ref)):
        return
    place = body.places["metadata"][1]
    message = f'"metadata" has to be a mapping, not {described(body["metadata"])}'
    findings.report(resource, place, "SCHEMA_TYPE", message, hint)
    findings.cut(resource, body, "metadata")


def _check_given_name(resource: Resource, metadata: Mapping, resources: ResourceSet, findings: Findings) -> None:
    name, place = metadata["name"], metadata.places["name"][1]
    if isinstance(name, (Expression, Broken, Ref)):
        return
    if name is None:
        findings.report(resource, place, "NAME_MISSING", 'a resource needs a "metadata.name"')
    elif type(name) is not str:
        hint = "quote it" if isinstance(name, bool) else None
        found = "an included file" if isinstance(name, Include) else described(name)
        findings.report(resource, place, "NAME_INVALID", f"a name has to be text, not {found}", hint)
        findings.cut(resource, metadata, "name")
    elif _NAME.fullmatch(name) is None:
        suggestion = re.sub(r"\W", "_", name.strip(), flags=re.ASCII)
        suggestion = f"_{suggestion}" if suggestion[:1].isdigit() else suggestion
        findings.report(
            resource,
            place,
            "NAME_INVALID",
            f"the name {quoted(name)} may have letters, digits and underscores, and may not start with a digit",
            f"{quoted(suggestion)} would be one" if suggestion.strip("_") else None,
        )
    elif resources.by_name[name] is not resource:
        first = resources.by_name[name]
        shown = _shown_place(first, first.body["metadata"].places["name"][1])
        findings.report(resource, place, "NAME_DUPLICATE", f'the name "{name}" is taken', f"it stands first at {shown}")


def _check_inline_metadata(resource: Resource, findings: Findings) -> None:
    """An inline resource takes no name, neither in its metadata nor beside it."""
    body = resource.body
    metadata = body.get("metadata")
    if type(metadata) is Mapping:
        if "name" in metadata:
            _report_inline_name(resource, metadata, findings)
    elif "metadata" in body:
        _check_no_mapping(resource, findings)
    if "name" in body and isinstance(resource.entry, Entry) and "name" not in resource.entry.shape.fields:
        _report_inline_name(resource, body, findings)


def _report_inline_name(resource: Resource, mapping: Mapping, findings: Findings) -> None:
    findings.report(
        resource,
        mapping.places["name"][0],
        "SCHEMA_UNKNOWN_FIELD",
        "an inline resource has no name",
        "declare it as a document to name it",
        about="name",
    )
    findings.cut(resource, mapping, "name")


def _shown_place(resource: Resource, place: int) -> str:
    line, column = resource.source.position(place)
    return f"{resource.source.name}:{line}:{column}"
