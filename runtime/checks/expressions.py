"""Expressions: each is checked with the types of what is in scope where it stands, without any value."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from runtime.checks.findings import MOST_OF_ALL, MOST_OF_ONE, Findings
from runtime.checks.scopes import Scopes
from runtime.expressions import Fault, Scope, split
from runtime.manifest import Expression, Mapping, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet
from runtime.shape import Fixed, PerCall, Slot

_MOST_FAULTS = 100
"""Of one string: whoever mends that many looks again."""

FoundFault = tuple[Resource, Expression, int, Fault]
"""Whose, in which expression, at which place of the source, and what."""


def type_expressions(resources: ResourceSet, scopes: Scopes) -> list[FoundFault]:
    """Find the type of every expression (`Expression.type`), and what is wrong: CEL_SYNTAX, CEL_TYPE, CEL_UNKNOWN_NAME,
    CEL_MISPLACED. The faults are for `report_expressions`, once it is known what else was wrong around them."""
    faults: list[FoundFault] = []
    seen: dict[tuple[int, int], bool] = {}
    count: Counter[int] = Counter()
    for resource in resources.resources:
        if not resource.document.expressions:
            continue
        for expression, scope, node in _expressions(resource, scopes):
            if seen.setdefault((id(expression), id(scope)), False):
                continue
            seen[id(expression), id(scope)] = True
            if count[id(resource.root)] > MOST_OF_ONE or len(faults) > MOST_OF_ALL:
                expression.type = "any"
                continue
            found = [(resource, expression, *each) for each in _check(resource, expression, scope, node)]
            count[id(resource.root)] += len(found)
            faults += found
    return faults


def report_expressions(faults: list[FoundFault], findings: Findings) -> None:
    """Report the faults of expressions that do not stand below something else that is wrong."""
    for resource, expression, place, fault in faults:
        if findings.is_reached(resource, expression):
            findings.report(resource, place, fault.code, fault.message, fault.hint)


def _expressions(resource: Resource, scopes: Scopes) -> Iterator[tuple[Expression, Scope | None, Any]]:
    """The expressions of a resource, inline parts left out, each with its scope and its step of the shape.

    The scope is None where nothing is evaluated.
    """
    for key in ("kind", "metadata"):
        if key in resource.body:
            yield from _walk(resource.body[key], Fixed(), None, resource.body, scopes)
    if not isinstance(resource.entry, Entry):
        return
    scope = scopes.of(resource)
    shape = resource.entry.shape
    for key, value in resource.body.items():
        if key in shape.fields:
            yield from _walk(value, shape.tree.get(key), scope, resource.body, scopes)


def _walk(
    value: Any, node: Any, scope: Scope | None, container: Mapping, scopes: Scopes
) -> Iterator[tuple[Expression, Scope | None, Any]]:
    kind = type(value)
    if kind is Expression:
        if type(node) is PerCall and scope is not None:
            scope = scopes.with_call(scope, node, container)
        yield value, None if type(node) in (Fixed, Slot) else scope, node
        return
    if kind is not Mapping and kind is not Sequence:
        return
    if type(node) is Slot:
        return
    if type(node) is PerCall and scope is not None:
        scope = scopes.with_call(scope, node, container)
        node = None
    tree = node if type(node) is dict else None
    if kind is Mapping:
        for key, item in value.items():
            below = tree.get(key, tree.get("*")) if tree is not None else node
            yield from _walk(item, below, scope, value, scopes)
    else:
        below = tree.get("[]") if tree is not None else node
        for item in value:
            yield from _walk(item, below, scope, container, scopes)


def _check(resource: Resource, expression: Expression, scope: Scope | None, node: Any) -> Iterator[tuple[int, Fault]]:
    if scope is None:
        expression.type = "any"
        hint = 'write "!ref Name"' if type(node) is Slot else "write the value itself"
        yield expression.place, Fault("CEL_MISPLACED", 0, "this field is not evaluated", hint)
        return
    faults: list[tuple[int | None, Fault]] = []
    if expression.is_tagged:
        expression.type, found = _check_text(str(expression), scope)
        faults += [(_offset(fault, 0), fault) for fault in found]
    else:
        parts, unclosed = split(expression)
        for part in parts:
            if len(faults) >= _MOST_FAULTS:
                break
            found_type, found = _check_text(part.text, scope)
            if part.start == 0 and part.end == len(expression):
                expression.type = found_type
            faults += [(_offset(fault, part.at), fault) for fault in found]
        if unclosed is not None:
            hint = 'the "}}" behind it stands in a text or a map that is never closed'
            hint = hint if "}}" in expression[unclosed:] else 'close it with "}}"'
            faults.append((unclosed, Fault("CEL_SYNTAX", 0, '"${{" is never closed', hint)))
    if faults:
        from runtime.manifest.places import places_in

        places = places_in(expression, resource.source)
        for offset, fault in faults[:_MOST_FAULTS]:
            yield expression.place if offset is None else places[min(offset, len(expression))], fault


def _offset(fault: Fault, start: int) -> int | None:
    return None if fault.offset is None else start + fault.offset


def _check_text(text: str, scope: Scope) -> tuple[str, list[Fault]]:
    if not text.strip():
        return "any", [Fault("CEL_SYNTAX", 0, "the expression is empty")]
    return scope.check(text)
