"""Write the reference pages, of kinds and of codes, into a folder: `make reference` writes `docs/reference/`."""

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from runtime.diagnostics import CODES
from runtime.reference import Field, Reference, implementers, kinds, refer
from runtime.registry import Registry

NOTE = "Written by `make reference` from the kinds themselves.\n"
EXPRESSIONS = "`*` marks a field in which no expression may stand.\n"


def write_pages(folder: Path) -> None:
    """Every page; what else lies in the folder is left alone."""
    registry = Registry()
    references = [refer(entry) for entry in kinds(registry)]
    folder.mkdir(parents=True, exist_ok=True)
    for prefix, group in groupby(references, lambda each: each.name.partition(".")[0]):
        (folder / f"{prefix}.md").write_text(module_page(prefix, list(group)), encoding="utf-8")
    (folder / "README.md").write_text(index_page(registry, references), encoding="utf-8")
    (folder / "codes.md").write_text(codes_page(), encoding="utf-8")


def index_page(registry: Registry, references: list[Reference]) -> str:
    """All kinds, all contracts with the kinds that keep them."""
    rows = [(link(each.name), first_line(each.description)) for each in references]
    contracts = sorted({contract for each in references for contract in each.contracts})
    kept = [(f"`{name}`", ", ".join(map(link, implementers(registry, name)))) for name in contracts]
    return (
        f"# Reference\n\n{NOTE}\n{table(('kind', 'what it is'), rows)}\n"
        "A slot asks for a contract, and takes any kind that keeps it.\n\n"
        f"{table(('contract', 'kinds that keep it'), kept)}\n"
        "[The codes of findings](codes.md) are explained on a page of their own.\n"
    )


def module_page(prefix: str, references: list[Reference]) -> str:
    """The kinds of one prefix, each with its fields and those inside them."""
    parts = [f"# {prefix}\n", f"{NOTE}{EXPRESSIONS}"]
    for each in references:
        parts.append(f"## {each.name}\n")
        parts.append(f"{each.description}\n")
        if each.contracts:
            parts.append(f"Keeps the contract {', '.join(f'`{name}`' for name in each.contracts)}.\n")
        rows = [(name_of(field), field.type, default_of(field), field.description) for field in each.fields]
        if rows:
            parts.append(table(("field", "type", "default", "what for"), rows))
    return "\n".join(parts)


def codes_page() -> str:
    """Every code of a finding."""
    rows = [(f"`{code}`", meaning.severity, f"{meaning.summary}. {meaning.help}") for code, meaning in CODES.items()]
    return f"# Codes of findings\n\n{NOTE}\n{table(('code', 'severity', 'what it says, and what to do'), rows)}"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def link(kind: str) -> str:
    return f"[{kind}]({kind.partition('.')[0]}.md#{kind.replace('.', '').lower()})"


def name_of(field: Field) -> str:
    return f"`{field.path}`" if field.is_evaluated or field.type.startswith("reference") else f"`{field.path}` *"


def default_of(field: Field) -> str:
    if field.is_required:
        return "required"
    return f"`{field.shown_default}`" if field.shown_default else ""


def first_line(text: str) -> str:
    return text.partition("\n")[0]


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
