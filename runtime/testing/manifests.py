"""Tests in Python: a set of manifests run once, with scripts in the place of its models and servers."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from runtime.cassette.contents import Mode
from runtime.checks import check
from runtime.errors import ExpectationError, ManifestError
from runtime.manifest import Source, read_sources
from runtime.testing.running import CaseRunner, Outcome
from runtime.yaml_text import write_mapping

CASE = "_RunManifestCase"


class Script(Struct, frozen=True):
    """A resource that stands in no manifest: its kind, and its fields as a manifest has them."""

    kind: str
    fields: Mapping[str, Any]


def scripted_model(**fields: Any) -> Script:
    """A model that follows a script: the fields of `Ai.ScriptedModel`, such as `turns` or `rules`."""
    return Script("Ai.ScriptedModel", fields)


def scripted_server(**fields: Any) -> Script:
    """A client of an MCP server that is no process: the fields of `Mcp.ScriptedServer`, such as `tools`."""
    return Script("Mcp.ScriptedServer", fields)


class ManifestRun(Struct, frozen=True):
    """What came of a run: the whole result, as `apply --output json` prints it; `error` has the code it ended with."""

    result: Any
    error: str | None = None

    @property
    def text(self) -> str:
        """The answer's text, also of a run that failed."""
        return str(self.result["text"])

    @property
    def output(self) -> Any:
        """A structured answer."""
        return self.result["output"]

    @property
    def tools_called(self) -> list[tuple[str, Any]]:
        """Each tool call of the run, in order: the tool's name, as the agent offers it, and the arguments."""
        return [(call["name"], call["arguments"]) for step in self.result["steps"] for call in step["toolCalls"]]


def run_manifest(
    *paths: str | os.PathLike[str],
    agent: str,
    prompt: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    model: Script | None = None,
    mcp: Mapping[str, Script] | None = None,
    cassette: str | os.PathLike[str] | None = None,
    mode: Mode = "strict",
    approve: Sequence[str] = (),
    timeout: float = 60.0,
    environment: Mapping[str, str] | None = None,
) -> ManifestRun:
    """Run an agent, or anything else that can be run, once on an event loop of its own, and give what came of it.

    `model` answers in the place of every model, `mcp` in the place of the clients of those names, `cassette` for the
    rest; what none of them answers for is live. `approve` are tools whose calls are approved: names or globs. `timeout`
    is in seconds. `environment` stands in for the process's own. A run that fails is no exception: `error` of what is
    given tells its code. Raises ManifestError with every finding, UsageError, StartError, and ExpectationError where
    the cassette does not fit (ERR_CASSETTE_MISMATCH) or the time is over (ERR_TEST_TIMEOUT).
    """
    import anyio

    sources = read_sources([os.fspath(path) for path in paths])
    declared: dict[str, Any] = {
        "kind": "Test.Case",
        "metadata": {"name": CASE},
        "inputs": {},
        "approve": list(approve),
        "timeoutMs": max(1, int(timeout * 1000)),
    }
    if model is not None:
        declared["model"] = _declare(model)
    if mcp:
        declared["mcp"] = {name: _declare(script) for name, script in mcp.items()}
    if cassette is not None:
        declared["cassette"] = {"path": os.path.abspath(cassette), "mode": mode}
    text = f"agent: !ref {agent}\n" + "".join(f"{line}\n" for line in write_mapping(declared, 0, is_sorted=False))
    checked = check([*sources, Source("run_manifest()", text.encode(), sources[0].folder)], with_lock=False)
    if checked.errors:
        raise _explain(ManifestError(checked.diagnostics))
    given = {**(inputs or {}), **({"prompt": prompt} if prompt is not None else {})}
    runner = CaseRunner(checked, environment=environment)
    outcome = anyio.run(runner.run, checked.resources.by_name[CASE], lambda case: case.answer(given))
    return _read(outcome)


def _declare(script: Script) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(dict(script.fields))
    return {"kind": script.kind, **fields}


def _explain(error: ManifestError) -> ManifestError:
    """The error with its findings as notes, which a traceback shows."""
    for found in error.diagnostics:
        hint = f" ({found.hint})" if found.hint else ""
        error.add_note(f"{found.file}:{found.line}:{found.column}: {found.code} {found.message}{hint}")
    return error


def _read(outcome: Outcome) -> ManifestRun:
    if outcome.fault is not None:
        raise _explain(outcome.fault) if isinstance(outcome.fault, ManifestError) else outcome.fault
    for failure in outcome.failures:
        code = "ERR_TEST_TIMEOUT" if failure.expectation == "timeoutMs" else None
        raise ExpectationError(failure.message, code=code)
    error = outcome.result.get("error") if isinstance(outcome.result, Mapping) else None
    code = error["code"] if isinstance(error, Mapping) and "steps" in outcome.result else None
    return ManifestRun(outcome.result, code)
