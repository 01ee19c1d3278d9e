"""Which way imports go: down the rows of the architecture, wherever in a module they stand."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent

ROWS = (
    ("runtime.cli", "runtime.serve", "runtime.lsp", "runtime.embedding"),
    ("runtime.picture", "runtime.plan", "runtime.preview", "runtime.testing"),
    ("runtime.cassette", "runtime.sessions"),
    ("runtime.reconcile",),
    ("runtime.lifecycle", "runtime.resolver", "runtime.changes"),
    ("runtime.checks", "runtime.importing", "runtime.reference", "runtime.editor_schema"),
    ("runtime.lock",),
    ("runtime.graph", "runtime.resource_set", "runtime.registry", "runtime.shape"),
    (
        "runtime.effects",
        "runtime.imported_code",
        "runtime.kind",
        "runtime.known_inputs",
        "runtime.known_tools",
        "runtime.manifest",
        "runtime.ai",
        "runtime.mcp",
    ),
    (
        "runtime.masking",
        "runtime.expressions",
        "runtime.contracts",
        "runtime.durable",
        "runtime.json_schema",
        "runtime.runs",
        "runtime.telemetry",
        "runtime.version",
        "runtime.yaml_text",
    ),
    ("runtime.errors",),
    ("runtime.diagnostics",),
)
"""From the top down. A module may use its own row and every row under it."""

STRANGERS = {"runtime.ai", "runtime.mcp"}
"""They share a row and know nothing of each other."""

BRIDGES = {"kinds.ai_mcp", "kinds.test"}
"""Alone in knowing both: the bridge, and test cases, which put something in the place of either."""

CROSSINGS = {
    # A client's `sampling` lends a model to its server: what lies between is the bridge's, imported when asked for.
    ("kinds.mcp.stdio_client", "kinds.ai_mcp.sampling"),
    ("kinds.mcp.http_client", "kinds.ai_mcp.sampling"),
    # A library call, no kind: for programs without a manifest it makes the clients that one would declare.
    ("kinds.ai_mcp.loading", "kinds.mcp.stdio_client"),
}
"""Imports from one folder of kinds into another, each with its reason."""


@cache
def read_modules() -> dict[str, Path]:
    """Our modules by name."""
    files = [*(ROOT / "runtime").rglob("*.py"), *(ROOT / "kinds").rglob("*.py")]
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imports(name: str, *, at_start: bool = False) -> set[str]:
    """The modules of ours that a module imports; with `at_start` only those that it imports when it is imported."""
    tree = ast.parse(read_modules()[name].read_text(encoding="utf-8"))
    statements = list(_statements(tree) if at_start else ast.walk(tree))
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names if alias.name in read_modules()}
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{name} has a relative import"
            module = statement.module or ""
            for alias in statement.names:
                full = f"{module}.{alias.name}"
                found |= {full if full in read_modules() else module} & read_modules().keys()
    return found - {name}


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """What runs when a module is imported: nothing of its functions, and nothing that is for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for statement in child.orelse:
                yield statement
                yield from _statements(statement)
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from _statements(child)


def edges() -> Iterator[tuple[str, str]]:
    return ((name, target) for name in sorted(read_modules()) for target in sorted(imports(name)))


def part(name: str) -> str:
    """The part of the architecture that a module belongs to: `runtime.checks`, `kinds.ai`."""
    return ".".join(name.split(".")[:2])


def row(name: str) -> int:
    return next(number for number, parts in enumerate(ROWS) if part(name) in parts)


def test_every_part_of_the_engine_stands_in_a_row() -> None:
    parts = {part(name) for name in read_modules() if name.startswith("runtime.")}

    assert parts - {each for parts in ROWS for each in parts} == set()


def test_the_engine_imports_downward_only() -> None:
    upward = [
        (name, target)
        for name, target in edges()
        if name.startswith("runtime.") and target.startswith("runtime.") and row(target) < row(name)
    ]

    assert upward == []


def test_agents_and_mcp_are_strangers() -> None:
    assert [(a, b) for a, b in edges() if {part(a), part(b)} == STRANGERS] == []


def test_the_engine_knows_no_kind() -> None:
    assert [(a, b) for a, b in edges() if a.startswith("runtime") and b.startswith("kinds")] == []


def test_the_engine_does_not_import_its_own_public_face() -> None:
    assert [(a, b) for a, b in edges() if a.startswith("runtime.") and b == "runtime"] == []


def test_no_kind_imports_another_kind() -> None:
    kinds = {name for name in read_modules() if name.startswith("kinds.")}
    across = {(a, b) for a, b in edges() if {a, b} <= kinds and part(a) != part(b)}
    siblings = [(a, b) for a, b in edges() if _is_kind(a) and _is_kind(b)]

    assert (across, siblings) == (CROSSINGS, [])


def _is_kind(name: str) -> bool:
    return name.startswith("kinds.") and "\n@kind(" in read_modules()[name].read_text(encoding="utf-8")


def test_the_bridges_alone_know_agents_and_mcp() -> None:
    known: dict[str, set[str]] = {}
    for name, target in edges():
        if name.startswith("kinds."):
            known.setdefault(part(name), set()).update({part(target)} & STRANGERS)

    assert {name for name, both in known.items() if both == STRANGERS} == BRIDGES


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: imports(name, at_start=True) - {name.rpartition(".")[0]} for name in read_modules()}

    TopologicalSorter(graph).prepare()  # raises CycleError with the circle
