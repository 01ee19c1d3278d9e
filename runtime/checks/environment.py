"""The values of variables and secrets: from the process environment, `.env` beside the manifest, files, commands.

Only the names that something uses are looked up. The process environment wins over `.env`; a default is used where
neither has the name, so an empty value counts as one.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtime.checks.findings import Findings
from runtime.checks.includes import read_included
from runtime.checks.values import value_problem
from runtime.diagnostics import Diagnostic
from runtime.errors import ManifestError
from runtime.expressions import names_in
from runtime.manifest import Expression, Include
from runtime.manifest.places import places_in
from runtime.masking import MASK
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


def read_values(
    resources: ResourceSet,
    wanted: list[Resource],
    environment: Mapping[str, str] | None = None,
    *,
    reads_secrets: bool = True,
) -> Values:
    """The values that the expressions of `wanted` name; an inline resource is wanted by itself or not at all.

    Without `reads_secrets` no secret is looked for: each has the value `***`. Raises ManifestError with every
    VALUE_MISSING and VALUE_INVALID, before anything has started.
    """
    findings = Findings([])
    reader = _Reader(resources, os.environ if environment is None else environment)
    values = _read(resources, wanted, reader, findings, reads_secrets=reads_secrets)
    if findings.diagnostics:
        raise ManifestError(findings.sorted())
    return values


def preview_values(
    resources: ResourceSet, wanted: list[Resource], environment: Mapping[str, str]
) -> tuple[Values, list[Diagnostic]]:
    """The values of variables for show, each secret as `***` without being read; and what was found of the former."""
    findings = Findings([])
    values = _read(resources, wanted, _PreviewReader(resources, environment), findings)
    return values, findings.sorted()


def check_environment(resources: ResourceSet, findings: Findings) -> None:
    """VALUE_MISSING and VALUE_INVALID of the whole set, as `read_values` finds them; no command is run."""
    wanted = [resource for resource, _ in resources.known()]
    _read(resources, wanted, _Reader(resources, os.environ, runs_commands=False), findings)


def _read(
    resources: ResourceSet, wanted: list[Resource], reader: "_Reader", findings: Findings, *, reads_secrets: bool = True
) -> Values:
    values = Values()
    for block in ("variables", "secrets"):
        for name, (resource, place) in find_used(wanted, block).items():
            if block == "secrets" and not reads_secrets:
                values.scope[f"{block}.{name}"] = MASK
                continue
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


def find_used(wanted: Iterable[Resource], block: str) -> dict[str, tuple[Resource, int]]:
    """The names of a block that these resources use, each with the first expression that does."""
    used: dict[str, tuple[Resource, int]] = {}
    for resource in wanted:
        for expression in _expressions(resource):
            for name, offset in names_in(expression, block, is_tagged=expression.is_tagged).items():
                if name not in used:
                    used[name] = (resource, places_in(expression, resource.source)[offset])
    return used


def _expressions(resource: Resource) -> Iterator[Expression]:
    """The expressions of a resource, without those of the resources that are inline in it."""
    inline = {id(slot.inline.body) for slot in resource.slots if slot.inline is not None}
    todo: list[Any] = [resource.body]
    while todo:
        value = todo.pop()
        if id(value) in inline:
            continue
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
        self._unreadable: str | None = None  # why `.env` has nothing to say

    def read(self, block: str, name: str) -> Any:
        """The value; _Missing where there is none, ValueError where it does not fit."""
        declaration = self._declarations[block].get(name, {})
        variable = declaration.get("env") or environment_name(name)
        text = self._environment.get(variable)
        if text is None:
            text = self._from_dotenv(variable)
        if text is None and block == "secrets":
            if "command" in declaration and "file" not in declaration and not self._runs_commands:
                self._find_command(declaration["command"][0])
                return ""
            text = self._from_source(declaration)
        if text is None:
            if "default" in declaration:
                default = declaration["default"]
                return read_included(self._folder, default) if isinstance(default, Include) else default
            raise _Missing(self._advice(variable))
        value = _parsed(text, declaration.get("type", "string"))
        problem = value_problem(value, declaration, is_secret=block == "secrets")
        if problem is not None:
            raise ValueError(problem)
        return value

    def _advice(self, variable: str) -> str:
        advice = f'set {variable} in the environment or in ".env"'
        return advice if self._unreadable is None else f"{advice}, which {self._unreadable}"

    def _from_dotenv(self, variable: str) -> str | None:
        if self._dotenv is None:
            path = os.path.join(self._folder, ".env")
            self._dotenv = {}
            if os.path.isfile(path):
                from dotenv import dotenv_values

                try:
                    self._dotenv = dotenv_values(path, interpolate=False)
                except OSError as error:
                    self._unreadable = f"cannot be read: {(error.strerror or 'unknown').lower()}"
                except ValueError:
                    self._unreadable = "is not UTF-8 text"
        return self._dotenv.get(variable)

    def _from_source(self, declaration: Mapping[str, Any]) -> str | None:
        """The text of the secret's file, or what its command prints; one line end at the end is no part of it."""
        if "file" in declaration:
            shown = f'the file "{declaration["file"]}"'
            try:
                with open(os.path.join(self._folder, declaration["file"]), encoding="utf-8", newline="") as file:
                    return _without_line_end(file.read())
            except FileNotFoundError:
                raise _Missing(f"{shown} is not there") from None
            except OSError as error:
                raise ValueError(f"{shown} cannot be read: {(error.strerror or 'unknown').lower()}") from error
            except ValueError:
                raise ValueError(f"{shown} is not UTF-8 text") from None
        if "command" in declaration:
            return self._from_command(declaration["command"])
        return None

    def _find_command(self, name: str) -> None:
        import shutil

        path = os.path.join(self._folder, name) if os.sep in name else name
        if shutil.which(path, path=self._environment.get("PATH")) is None:
            raise _Missing(_not_there(name))

    def _from_command(self, command: list[str]) -> str:
        import subprocess

        shown = f'the command "{command[0]}"'
        try:
            done = subprocess.run(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
            )
            text = done.stdout.decode("utf-8")
        except FileNotFoundError:
            raise _Missing(_not_there(command[0])) from None
        except subprocess.TimeoutExpired:
            raise ValueError(f"{shown} took more than 60 s") from None
        except OSError as error:
            raise ValueError(f"{shown} did not run: {(error.strerror or 'unknown').lower()}") from error
        except UnicodeDecodeError:
            raise ValueError(f"{shown} printed what is not UTF-8 text") from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise ValueError(f"{shown} ended with exit code {done.returncode}" + (f': "{said}"' if said else ""))
        return _without_line_end(text)


def _not_there(command: str) -> str:
    return f'the command "{command}" is not {"there" if os.sep in command else "on PATH"}'


def _without_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


class _PreviewReader(_Reader):
    """Reads no secret."""

    def read(self, block: str, name: str) -> Any:
        return MASK if block == "secrets" else super().read(block, name)


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
        if re.fullmatch(r"[-+]?\d{1,19}", text) and -(1 << 63) <= int(text) < 1 << 63:
            return int(text)
        raise ValueError("it has to be a whole number of at most 64 bits")
    if declared == "number":
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
            return float(text)
        raise ValueError("it has to be a number")
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"it has to be the JSON text of an {declared}") from error
