"""What is known of the place under the mouse: a kind, a field, a resource, and the findings that stand there."""

from collections.abc import Iterator, Sequence

from runtime.diagnostics import CODES, Diagnostic
from runtime.lsp.cursor import Cursor
from runtime.lsp.folder import Declaration
from runtime.lsp.schema import fields_at, find_entry
from runtime.reference import Field, implementers, refer
from runtime.registry import Contract, Entry, Registry


def describe(
    cursor: Cursor | None, registry: Registry, declared: Sequence[Declaration], findings: Sequence[Diagnostic]
) -> str:
    """Markdown; empty where nothing is known."""
    parts = [_finding(found) for found in findings]
    if cursor is not None:
        parts += _token(cursor, registry, declared)
    return "\n\n---\n\n".join(parts)


def describe_kind(registry: Registry, name: str) -> str:
    """A kind or a contract in Markdown; empty where there is none of the name."""
    entry = find_entry(registry, name)
    if isinstance(entry, Contract):
        return f"**{name}** is a contract, which these kinds keep: {', '.join(implementers(registry, name))}."
    if not isinstance(entry, Entry):
        return ""
    reference = refer(entry)
    keeps = f"\n\nKeeps {', '.join(f'`{contract}`' for contract in reference.contracts)}." if entry.contracts else ""
    return f"**{reference.name}**\n\n{reference.description}{keeps}"


def describe_field(field: Field) -> str:
    """A field in Markdown."""
    need = "required" if field.is_required else field.shown_default and f"default `{field.shown_default}`"
    return f"**{field.path}**: {field.type}{f' ({need})' if need else ''}\n\n{field.description}"


def _token(cursor: Cursor, registry: Registry, declared: Sequence[Declaration]) -> Iterator[str]:
    path, token = cursor.path, cursor.token
    if cursor.is_key:
        field = fields_at(registry, cursor.root, path).get(token.text)
        if field is not None:
            yield describe_field(field)
    elif token.tag == "!ref":
        for declaration in declared:
            if declaration.name == token.text:
                yield f"`{declaration.name}`\n\n{describe_kind(registry, declaration.kind)}"
                return
    elif path[-1:] == ("kind",):
        text = describe_kind(registry, token.text)
        if text:
            yield text


def _finding(found: Diagnostic) -> str:
    meaning = CODES[found.code]
    return f"**{found.code}** ({meaning.severity}): {meaning.summary}\n\n{meaning.help}"
