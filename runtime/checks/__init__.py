"""All that `validate` looks at: one module per check, in this order. Nothing is started and nothing is connected."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.checks.declarations import check_declarations
from runtime.checks.expressions import report_expressions, type_expressions
from runtime.checks.findings import Findings
from runtime.checks.imports import check_imports
from runtime.checks.includes import check_includes
from runtime.checks.literals import check_literals
from runtime.checks.own_rules import check_own_rules
from runtime.checks.references import check_references
from runtime.checks.schemas import check_schemas
from runtime.checks.scopes import Scopes
from runtime.checks.usage import check_usage
from runtime.checks.values import check_defaults
from runtime.diagnostics import CODES, Diagnostic
from runtime.lock.place import lock_path
from runtime.manifest import Source, load
from runtime.registry import Registry
from runtime.resource_set import ResourceSet

if TYPE_CHECKING:
    from runtime.lock.contents import Lock


class Checked:
    """A set of manifests that was looked at: its resources, what is in scope where, and every finding, sorted.

    `lock` is what the lock beside it holds, where there is one and it was asked for.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        resources: ResourceSet,
        scopes: Scopes,
        diagnostics: list[Diagnostic],
        lock: "Lock | None" = None,
    ) -> None:
        self.sources = sources
        self.resources = resources
        self.scopes = scopes
        self.diagnostics = diagnostics
        self.lock = lock

    @property
    def errors(self) -> int:
        return sum(CODES[found.code].severity == "error" for found in self.diagnostics)

    @property
    def warnings(self) -> int:
        return len(self.diagnostics) - self.errors


def check(
    sources: Sequence[Source],
    *,
    with_environment: bool = False,
    with_lock: bool = True,
    locked: bool = False,
    lock_file: str | None = None,
) -> Checked:
    """Check a set of manifests; all findings in one go, and none raised.

    `with_environment` looks for the values of secrets and variables, and for commands, in this process's environment as
    well; a secret's own command is not run. `with_lock` looks at the tools that the lock knows: `lock_file`, or the one
    beside the manifests; `locked` demands that it is there and fits.
    """
    loaded = [load(source) for source in sources]
    documents = [document for part in loaded for document in part.documents]
    lost_names = {name for part in loaded for name in part.lost_names}
    lost_keys = {key for part in loaded for key in part.lost_keys}
    findings = Findings([found for part in loaded for found in part.diagnostics])
    registry = Registry()
    registry.lost_prefixes |= lost_keys
    check_imports(documents, registry, findings)
    resources = ResourceSet(documents, registry)
    lost_names |= {str(resource.body["name"]) for resource in resources.resources if resource.is_misnamed}
    scopes = Scopes(resources, lost_keys)
    check_declarations(resources, findings)
    faults = type_expressions(resources, scopes)
    check_schemas(resources, findings)
    report_expressions(faults, findings)
    check_defaults(resources, findings)
    check_references(resources, findings, lost_names)
    check_includes(resources, findings)
    check_own_rules(resources, findings, with_environment=with_environment)
    lock = _check_lock(lock_file or lock_path(sources, resources), resources, findings, locked) if with_lock else None
    check_literals(resources, findings)
    if with_environment and not findings.has_errors:
        from runtime.checks.environment import check_environment

        check_environment(resources, findings)
    if not findings.has_errors:
        check_usage(resources, findings)
    return Checked(sources, resources, scopes, findings.sorted(), lock)


def _check_lock(path: str, resources: ResourceSet, findings: Findings, locked: bool) -> "Lock | None":
    """What the lock tells of the set; imported where there is one."""
    if not locked and not os.path.lexists(path):
        return None
    from runtime.checks.locks import check_lock, find_locked_tools

    lock = check_lock(path, resources, findings, locked=locked)
    if lock is not None:
        from runtime.checks.tools import check_tools

        check_tools(resources, findings, find_locked_tools(lock, resources))
    return lock
