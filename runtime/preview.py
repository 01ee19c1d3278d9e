"""A set of manifests as it will be, for people: values of variables in place, secrets as `***`, references by name.

No secret is read for it. What has no value here stays the expression that it is.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.checks import Checked
from runtime.checks.environment import Values, preview_values
from runtime.checks.includes import read_included
from runtime.diagnostics import Diagnostic
from runtime.diagnostics.credentials import replace_credentials
from runtime.expressions import ExpressionError, Scope
from runtime.manifest import Expression, Include, Sequence
from runtime.manifest import Mapping as Fields
from runtime.masking import MASK
from runtime.registry import Entry
from runtime.resolver import evaluate
from runtime.resource_set import Resource
from runtime.shape import PerCall


class Preview:
    """Fields of resources, as plain values, references, and expressions that wait for a call or have no value.

    `missing` are the findings of variables without a value (VALUE_MISSING, VALUE_INVALID).
    """

    def __init__(
        self,
        checked: Checked,
        wanted: Iterable[Resource],
        environment: Mapping[str, str] | None = None,
        *,
        interpolates: bool = True,
    ) -> None:
        self._checked = checked
        self._interpolates = interpolates
        self._inline = {id(resource.body): resource for resource in checked.resources.resources if resource.owner}
        self._values, self.missing = Values(), list[Diagnostic]()
        if interpolates:
            environment = os.environ if environment is None else environment
            self._values, self.missing = preview_values(checked.resources, list(wanted), environment)

    def fields(self, resource: Resource) -> dict[str, Any]:
        """The fields of a resource that has no fault, `kind` (as the registry calls it) and `metadata` too."""
        assert isinstance(resource.entry, Entry)
        metadata = resource.body.get("metadata") or {}
        known = {**self._values.scope, **{f"metadata.{key}": value for key, value in metadata.items()}}
        scope = self._checked.scopes.of(resource)
        tree = resource.entry.shape.tree
        shown = {key: self._show(value, tree.get(key), scope, known, resource) for key, value in resource.body.items()}
        if resource.is_application:
            for secret in shown.get("secrets", {}).values():
                secret.update({key: MASK for key in ("default",) if key in secret})
        return {**shown, "kind": resource.entry.name}

    def _show(self, value: Any, node: Any, scope: Scope, known: Mapping[str, Any], resource: Resource) -> Any:
        if isinstance(value, Expression):
            return self._evaluate(value, node, scope, known)
        if isinstance(value, Include):
            return _starred(read_included(resource.source.folder, value)) if self._interpolates else value
        if isinstance(value, str):
            return _starred(value)
        if isinstance(value, Fields):
            inline = self._inline.get(id(value))
            if inline is not None and inline is not resource:
                return self.fields(inline)
            tree = node if isinstance(node, dict) else None
            return {
                key: self._show(
                    item, tree.get(key, tree.get("*")) if tree is not None else node, scope, known, resource
                )
                for key, item in value.items()
            }
        if isinstance(value, Sequence):
            below = node.get("[]") if isinstance(node, dict) else node
            return [self._show(item, below, scope, known, resource) for item in value]
        return value

    def _evaluate(self, expression: Expression, node: Any, scope: Scope, known: Mapping[str, Any]) -> Any:
        if isinstance(node, PerCall) or not self._interpolates:
            return expression
        try:
            value = evaluate(expression, scope, known)
        except ExpressionError:
            return expression
        return _starred(value) if isinstance(value, str) else value


def _starred(text: str) -> str:
    """The text without what looks like a credential that was written into the manifest."""
    return replace_credentials(text, MASK)
