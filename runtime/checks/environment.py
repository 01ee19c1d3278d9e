"""The values of variables and secrets: from the process environment, `.env` beside the manifest, files, commands.

Only the names that something uses are looked up. The process environment wins over `.env`; a default is used where
neither has the name, so an empty value counts as one.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.checks.findings import Findings
from runtime.checks.values import value_problem
from runtime.errors import ManifestError
from runtime.expressions import names_in
from runtime.manifest import Expression
from runtime.manifest.places import places_in
from runtime.resource_set import Resource, ResourceSet

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Values:
    """`scope` has each value by its name in expressions (`secrets.token`); `secrets` are the texts to mask."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}
        self.secrets: list[str] = []


def environment_name(name: str) -> str:
    """The environment variable that an undeclared secret reads: `openaiApiKey` is OPENAI_API_KEY."""
    return _WORD.sub("_", name).upper()


def read_values(resources: ResourceSet, wanted: list[Resource], environment: Mapping[str, str] | None = None) -> Values:
    """The values that the expressions of `wanted` name.

    Raises ManifestError with every VALUE_MISSING and VALUE_INVALID, before anything has started.
    """
    findings = Findings([])
    values = _read(resources, wanted, _Reader(resources, os.environ if environment is None else environment), findings)
    if findings.diagnostics:
        raise ManifestError(findings.sorted())
    return values


def check_environment(resources: ResourceSet, findings: Findings) -> None:
    """VALUE_MISSING and VALUE_INVALID of the whole set, as `read_values` finds them; no command is run."""
    wanted = [resource for resource, _ in resources.known() if resource.owner is None]
    _read(resources, wanted, _Reader(resources, os.environ, runs_commands=False), findings)


def _read(resources: ResourceSet, wanted: list[Resource], reader: "_Reader", findings: Findings) -> Values:
    values = Values()
    for block in ("variables", "secrets"):
        for name, (resource, place) in _used(wanted, block).items():
            try:
                value = reader.read(block, name)
            except _Missing as missing:
                findings.report(resource, place, "VALUE_MISSING", f'"{block}.{name}" has no value', str(missing))
            except ValueError as problem:
                findings.report(
                    resource, place, "VALUE_INVALID", f'the value of "{block}.{name}" does not fit: {problem}'
                )
            else:
                values.scope[f"{block}.{name}"] = value
                if block == "secrets":
                    values.secrets.append(value)
    return values


def _used(wanted: list[Resource], block: str) -> dict[str, tuple[Resource, int]]:
    """Names in use, each with the first expression that uses it."""
    used: dict[str, tuple[Resource, int]] = {}
    for resource in wanted:
        for expression in _expressions(resource.body):
            for name, offset in names_in(expression, block, is_tagged=expression.is_tagged).items():
                if name not in used:
                    used[name] = (resource, places_in(expression, resource.source)[offset])
    return used


def _expressions(value: Any) -> Iterator[Expression]:
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, Expression):
            yield value
        elif isinstance(value, dict):
            todo.extend(reversed(value.values()))
        elif isinstance(value, list):
            todo.extend(reversed(value))


class _Missing(Exception):
    """A name without a value; the text says what to do."""


class _Reader:
    def __init__(self, resources: ResourceSet, environment: Mapping[str, str], *, runs_commands: bool = True) -> None:
        application = resources.application
        body: Any = application.body if application is not None else {}
        self._declarations = {block: body.get(block) or {} for block in ("variables", "secrets")}
        self._folder = application.source.folder if application is not None else _first_folder(resources)
        self._environment = environment
        self._runs_commands = runs_commands
        self._dotenv: Mapping[str, str | None] | None = None

    def read(self, block: str, name: str) -> Any:
        """The value; _Missing where there is none, ValueError where it does not fit."""
        declaration = self._declarations[block].get(name, {})
        variable = declaration.get("env") or environment_name(name)
        text = self._environment.get(variable)
        if text is None:
            text = self._from_dotenv(variable)
        if text is None and block == "secrets":
            text = self._from_source(declaration)
        if text is None:
            if "default" in declaration:
                return declaration["default"]
            raise _Missing(f'set {variable} in the environment or in ".env"')
        value = _parsed(text, declaration.get("type", "string"))
        problem = value_problem(value, declaration, is_secret=block == "secrets")
        if problem is not None:
            raise ValueError(problem)
        return value

    def _from_dotenv(self, variable: str) -> str | None:
        if self._dotenv is None:
            path = os.path.join(self._folder, ".env")
            self._dotenv = {}
            if os.path.isfile(path):
                from dotenv import dotenv_values

                self._dotenv = dotenv_values(path, interpolate=False)
        return self._dotenv.get(variable)

    def _from_source(self, declaration: Mapping[str, Any]) -> str | None:
        """The text of the secret's file, or what its command prints; one line end at the end is no part of it."""
        if "file" in declaration:
            path = os.path.join(self._folder, declaration["file"])
            try:
                with open(path, encoding="utf-8") as file:
                    return file.read().removesuffix("\n").removesuffix("\r")
            except FileNotFoundError:
                raise _Missing(f'the file "{declaration["file"]}" is not there') from None
            except (OSError, ValueError) as error:
                raise ValueError(f'the file "{declaration["file"]}" cannot be read') from error
        if "command" in declaration:
            return self._from_command(declaration["command"])
        return None

    def _from_command(self, command: list[str]) -> str:
        import shutil
        import subprocess

        if not self._runs_commands:
            if shutil.which(command[0]) is None:
                raise _Missing(f'the command "{command[0]}" is not on PATH')
            return ""
        try:
            done = subprocess.run(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
            )
        except FileNotFoundError:
            raise _Missing(f'the command "{command[0]}" is not on PATH') from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ValueError(f'the command "{command[0]}" did not run: {type(error).__name__}') from error
        if done.returncode != 0:
            raise ValueError(f'the command "{command[0]}" ended with exit code {done.returncode}')
        return done.stdout.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def _first_folder(resources: ResourceSet) -> str:
    return resources.documents[0].source.folder if resources.documents else os.getcwd()


def _parsed(text: str, declared: str) -> Any:
    """The value that a text stands for under a declared type; ValueError where it stands for none."""
    if declared == "string":
        return text
    if declared == "boolean":
        if text in ("true", "false"):
            return text == "true"
        raise ValueError('it has to be "true" or "false"')
    if declared == "integer":
        if re.fullmatch(r"[-+]?\d{1,300}", text):
            return int(text)
        raise ValueError("it has to be a whole number")
    if declared == "number":
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
            return float(text)
        raise ValueError("it has to be a number")
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"it has to be the JSON text of an {declared}") from error
