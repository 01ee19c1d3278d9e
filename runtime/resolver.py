"""Documents to values: expressions and included files become what they give, references what they will refer to.

Everything that can fail for want of a value fails here, before anything starts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from runtime.changes import AS_IT_STANDS, Changes, Links
from runtime.checks import Checked
from runtime.checks.environment import Values, read_values
from runtime.checks.findings import Findings
from runtime.checks.includes import read_included
from runtime.errors import ManifestError, ToolError
from runtime.expressions import ExpressionError, Scope, split
from runtime.imported_code import ImportedCode
from runtime.kind import Kind
from runtime.manifest import Expression, Include, Ref, Sequence
from runtime.manifest import Mapping as Fields
from runtime.masking import Masker
from runtime.registry import Entry
from runtime.resource_set import Resource
from runtime.shape import PerCall


class PerCallExpression(str):
    """An expression that waits for a call, in the place of what it will give; a string, so that text fields take it."""

    __slots__ = ("_expression", "_scope", "_values")

    _expression: Expression
    _scope: Scope
    _values: Mapping[str, Any]

    @classmethod
    def of(cls, expression: Expression, scope: Scope, values: Mapping[str, Any]) -> "PerCallExpression":
        """`values` are those that are known already."""
        waiting = cls(expression)
        waiting._expression, waiting._scope, waiting._values = expression, scope, values
        return waiting

    def evaluate(self, call: Mapping[str, Any]) -> Any:
        """The value in a call's scope, such as `{"arguments": {...}}`. Raises ToolError."""
        values = dict(self._values)
        for name in self._scope.types:
            root, _, part = name.partition(".")
            if root in call and not part:
                values[name] = call[root]
            elif root in call and isinstance(call[root], Mapping) and part in call[root]:
                values[name] = call[root][part]
        try:
            return evaluate(self._expression, self._scope, values)
        except ExpressionError as error:
            message = f'"{self._expression.strip()}" has no value in this call: {error}'
            raise ToolError(message, code="ERR_TOOL_EXPRESSION") from error


class Node:
    """A resource that is to be opened: its fields with all values in place, and what has to be open before it.

    Nodes stand for the live instances in the slots until `kind()` puts the instances there.
    """

    def __init__(self, resource: Resource, entry: Entry) -> None:
        self.resource = resource
        self.entry = entry
        self.fields: dict[str, Any] = {}
        self.needs: list[Node] = []
        self.needed_by: list[Node] = []

    @property
    def name(self) -> str:
        return self.resource.title

    def kind(self, instances: Mapping["Node", Any]) -> Kind:
        """The kind's value with live instances in its slots."""
        return _convert(self.entry, _with_instances(self.fields, instances))


class Resolved:
    """What `apply` brings up: nodes in an order in which each follows what it needs, the texts to mask, and the Python
    that is imported."""

    def __init__(self, nodes: list[Node], values: Values, code: ImportedCode) -> None:
        self.nodes = nodes
        self.values = values
        self.code = code

    def find(self, name: str) -> Node | None:
        """The node of a named resource."""
        return next((node for node in self.nodes if node.resource.owner is None and node.resource.name == name), None)


def resolve(
    checked: Checked,
    roots: list[Resource],
    environment: Mapping[str, str] | None = None,
    changes: Changes = AS_IT_STANDS,
) -> Resolved:
    """Values for the resources that `roots` need, themselves included.

    `checked` has no errors. Raises ManifestError: VALUE_MISSING, VALUE_INVALID.
    """
    links = Links(checked.resources, changes)
    nodes = _order(links, roots)
    wanted = [node.resource for node in nodes if node.resource not in changes.stand_ins]
    values = read_values(checked.resources, wanted, environment, reads_secrets=changes.reads_secrets)
    by_resource = {node.resource: node for node in nodes}
    findings = Findings([])
    for node in nodes:
        if node.resource not in changes.stand_ins:
            given = links.substitutes_for(node.resource)
            seen = {**by_resource, **{old: by_resource[new] for old, new in given.items() if new in by_resource}}
            _fill(node, checked, values, seen, findings)
    if findings.diagnostics:
        raise ManifestError(findings.sorted())
    return Resolved(nodes, values, checked.resources.registry.code)


def evaluate(expression: Expression, scope: Scope, values: Mapping[str, Any]) -> Any:
    """The value of a string with expressions: that of its only one where it is nothing else, or else text."""
    if expression.is_tagged:
        return scope.evaluate(str(expression), values)
    parts, _ = split(expression)
    if len(parts) == 1 and parts[0].start == 0 and parts[0].end == len(expression):
        return scope.evaluate(parts[0].text, values)
    pieces, at = [], 0
    for part in parts:
        pieces += [expression[at : part.start], _as_text(scope.evaluate(part.text, values))]
        at = part.end
    return "".join(pieces) + expression[at:]


def evaluate_per_call(value: Any, call: Mapping[str, Any]) -> Any:
    """A `per_call` field with its expressions replaced by what they give in a call's scope. Raises ToolError."""
    if isinstance(value, PerCallExpression):
        return value.evaluate(call)
    if isinstance(value, msgspec.Struct):
        changed = {name: evaluate_per_call(getattr(value, name), call) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **changed)
    if isinstance(value, dict):
        return {key: evaluate_per_call(item, call) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [evaluate_per_call(item, call) for item in value]
    return value


def digest_declared(node: Node) -> str:
    """What the manifest declares of a resource and of all that it needs, as 16 hexadecimal digits.

    Expressions count by their text, so that no secret is in it; how runs are kept does not count.
    """

    import hashlib

    def plain(value: Any, folder: str) -> Any:
        if isinstance(value, Include):
            return {"text": read_included(folder, value)}
        if isinstance(value, Ref):
            return {"ref": value.name}
        if isinstance(value, Mapping):
            return {key: plain(item, folder) for key, item in value.items() if key != "durable"}
        return [plain(item, folder) for item in value] if isinstance(value, list) else value

    found = {
        (each.resource.source.folder, each.name): plain(each.resource.body, each.resource.source.folder)
        for each in _reach(node)
        if not each.entry.fits("Durable.Store")
    }
    declared = [[name, body] for (_, name), body in sorted(found.items(), key=lambda item: item[0])]
    encoded = msgspec.json.encode(declared, enc_hook=repr, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:16]


def _reach(node: Node) -> list[Node]:
    found = [node]
    for each in found:
        found += [needed for needed in each.needs if needed not in found]
    return found


def _as_text(value: Any) -> str:
    """A value inside a text: text as it is, everything else as JSON has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _order(links: Links, roots: list[Resource]) -> list[Node]:
    """Depth first, what is needed before what needs it; the checks have made sure that there is no circle."""
    nodes: dict[Resource, Node] = {}
    ordered: list[Node] = []
    work: list[tuple[Resource, Iterator[Resource]]] = []

    def visit(resource: Resource) -> None:
        if resource not in nodes and isinstance(resource.entry, Entry):
            nodes[resource] = Node(resource, resource.entry)
            work.append((resource, iter(links.needs(resource))))

    for root in roots:
        visit(root)
        while work:
            resource, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                ordered.append(nodes[resource])
            else:
                visit(following)
    for node in ordered:
        node.needs = list(dict.fromkeys(nodes[needed] for needed in links.needs(node.resource)))
        for needed in node.needs:
            needed.needed_by.append(node)
    return ordered


def _fill(
    node: Node, checked: Checked, values: Values, by_resource: Mapping[Resource, Node], findings: Findings
) -> None:
    """Put values into a node's fields; `by_resource` has the node of each resource that it may refer to."""
    resource = node.resource
    by_body = {id(other.body): found for other, found in by_resource.items()}
    by_name = {other.name: found for other, found in by_resource.items() if other.owner is None}
    metadata = resource.body.get("metadata") or {}
    scope = checked.scopes.of(resource)
    own = {f"metadata.{key}": _plain(resource, value) for key, value in metadata.items()}
    faults: list[tuple[int, str]] = []
    filler = _Filler(resource, checked, {**values.scope, **own}, by_body, by_name, faults)
    shape = node.entry.shape
    for key, value in resource.body.items():
        if key not in ("kind", "metadata"):
            node.fields[key] = filler.fill(value, shape.tree.get(key), scope, resource.body)
    if not faults:
        try:
            _convert(node.entry, node.fields)
        except msgspec.ValidationError:
            from runtime.checks.schema_faults import find_value_faults

            faults += find_value_faults(resource, node.entry, node.fields, is_secret=bool(values.secrets))
    mask = Masker(values.secrets)
    for place, message in faults:
        findings.report(resource, place, "VALUE_INVALID", mask(message))


def _plain(resource: Resource, value: Any) -> Any:
    """A value of the metadata, which is never evaluated."""
    return read_included(resource.source.folder, value) if isinstance(value, Include) else value


class _Filler:
    """Puts values into the fields of one resource."""

    def __init__(
        self,
        resource: Resource,
        checked: Checked,
        values: Mapping[str, Any],
        by_body: Mapping[int, Node],
        by_name: Mapping[str | None, Node],
        faults: list[tuple[int, str]],
    ) -> None:
        self._resource = resource
        self._checked = checked
        self._values = values
        self._by_body = by_body
        self._by_name = by_name
        self._faults = faults

    def fill(self, value: Any, node: Any, scope: Scope, container: Fields) -> Any:
        if isinstance(value, Expression):
            return self._evaluate(value, node, scope, container)
        if isinstance(value, Include):
            return read_included(self._resource.source.folder, value)
        if isinstance(value, Ref):
            return self._by_name[value.name]
        if isinstance(value, Fields):
            if id(value) in self._by_body:
                return self._by_body[id(value)]
            tree = node if isinstance(node, dict) else None
            # what stands beside a `per_call` field types its names, however deep in the field an expression is
            home = container if isinstance(node, PerCall) else value
            return {
                key: self.fill(item, tree.get(key, tree.get("*")) if tree is not None else node, scope, home)
                for key, item in value.items()
            }
        if isinstance(value, Sequence):
            below = node.get("[]") if isinstance(node, dict) else node
            return [self.fill(item, below, scope, container) for item in value]
        return value

    def _evaluate(self, expression: Expression, node: Any, scope: Scope, container: Fields) -> Any:
        if isinstance(node, PerCall):
            return PerCallExpression.of(
                expression, self._checked.scopes.with_call(scope, node, container), self._values
            )
        try:
            return evaluate(expression, scope, self._values)
        except ExpressionError as error:
            self._faults.append((expression.place, f"the expression has no value: {error}"))
            return None


def _convert(entry: Entry, fields: dict[str, Any]) -> Kind:
    kind: Kind = msgspec.convert(fields, entry.cls)
    return kind


def _with_instances(value: Any, instances: Mapping[Node, Any]) -> Any:
    if isinstance(value, Node):
        return instances[value]
    if isinstance(value, dict):
        return {key: _with_instances(item, instances) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_instances(item, instances) for item in value]
    return value
