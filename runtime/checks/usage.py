"""What is declared and used nowhere; only said of a set without errors, since a fault may hide the use."""

import re

from runtime.checks.findings import Findings
from runtime.expressions import names_in
from runtime.manifest import Mapping, Ref
from runtime.resource_set import ResourceSet

_NAME = re.compile(r"[A-Za-z_]\w*")


def check_usage(resources: ResourceSet, findings: Findings) -> None:
    """RESOURCE_UNUSED, VARIABLE_UNUSED, SECRET_UNUSED. What can be run or tested is work in itself."""
    used = {slot.value.name for holder in resources.resources for slot in holder.slots if isinstance(slot.value, Ref)}
    for resource, entry in resources.known():
        is_work = resource.is_application or entry.fits("Runtime.Invocable") or entry.fits("Runtime.Case")
        if resource.owner is None and resource.name not in used and not is_work:
            place = resource.body["metadata"].places["name"][1]
            findings.report(resource, place, "RESOURCE_UNUSED", f'nothing refers to "{resource.name}"')
    _check_values(resources, findings)


def _check_values(resources: ResourceSet, findings: Findings) -> None:
    application = resources.application
    if application is None:
        return
    for block, code in (("variables", "VARIABLE_UNUSED"), ("secrets", "SECRET_UNUSED")):
        declarations = application.body.get(block)
        if type(declarations) is not Mapping or not declarations:
            continue
        used = {
            name
            for document in resources.documents
            for expression in document.expressions
            for name in names_in(expression, block, is_tagged=expression.is_tagged)
        }
        for name in declarations:
            if name in used:
                continue
            place = declarations.places[name][0]
            hint = None if _NAME.fullmatch(name) else "no expression can name it: use letters, digits and underscores"
            findings.report(application, place, code, f'"{block}.{name}" is used nowhere', hint)
