"""Kind name to class: the file is where the name says, and is imported when a manifest first names it.

`AiMcp.ToolProvider` is `tool_provider.py` in the folder `ai_mcp/` of a package on the kind path. A contract stands in a
file of the same form. Ours is the package `kinds`, known here by its name as text; third parties add theirs through the
entry-point group `runtime.kinds`, which is only looked at for a prefix that is not ours.
"""

import os
import re
import sys
from typing import Any

from runtime.errors import Error
from runtime.imported_code import ImportedCode
from runtime.shape import Shape, shape_of

OURS = "kinds"
ENTRY_POINTS = "runtime.kinds"
APPLICATION = "Runtime.Application"
INSTALLED = "python:"
_OTHER_NAMES = {"Telo.Application": APPLICATION}
APPLICATION_NAMES = frozenset((APPLICATION, *_OTHER_NAMES))
_MODULES = {"mcp-client": "Mcp"}
"""Modules of the dialect that design.md section 3 promises to read, where their names are not spelt as ours."""

_NAME = re.compile(r"[A-Z]\w*\.[A-Z]\w*")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_MODULE = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Contract:
    """A contract, which no resource can be of."""

    def __init__(self, name: str) -> None:
        self.name = name


class Entry:
    """A kind that was found: its class, the shape of its fields, and for a local file a digest of its `code`."""

    def __init__(self, cls: Any, code: str = "") -> None:
        self.cls = cls
        self.code = code
        self.name: str = cls.__kind__
        self.contracts: tuple[str, ...] = cls.__implements__
        self.has_rules: bool = "inspect" in vars(cls)
        self._shape: Shape | None = None

    @property
    def shape(self) -> Shape:
        if self._shape is None:
            self._shape = shape_of(self.cls)
        return self._shape

    def check_shape(self) -> None:
        """Raises TypeError where no schema can be made of the fields."""
        try:
            self.shape.schema  # noqa: B018  # made when it is asked for
        except (TypeError, NameError) as error:  # what msgspec raises for types that it does not know
            raise TypeError(f'no schema can be made of the fields of "{self.name}"') from error

    def fits(self, wanted: str) -> bool:
        """Whether a slot that asks for a contract or a kind takes this one."""
        return wanted == self.name or wanted in self.contracts


class Registry:
    """The kinds that a set of manifests can name.

    `lost_prefixes` are those of imports that failed, `local_files` the files and folders that imports brought in.
    """

    def __init__(self) -> None:
        self.code = ImportedCode()
        self.lost_prefixes: set[str] = self.code.lost_names
        self.local_files: list[str] = []
        self._found: dict[str, Entry | Contract | None] = {}
        self._prefixes: dict[str, str] = {}
        self._local: dict[str, dict[str, Entry]] = {}
        self._third_parties: list[str] | None = None
        self._names: list[str] | None = None

    def find(self, name: str) -> Entry | Contract | None:
        """The kind or contract of a name, or None. Raises Error where its module is there and cannot be imported."""
        if name not in self._found:
            self._found[name] = self._look_up(_OTHER_NAMES.get(name, name))
        return self._found[name]

    def is_lost(self, name: str) -> bool:
        """Whether the name's prefix is that of an import that failed: nothing can be said of it."""
        return name.partition(".")[0] in self.lost_prefixes

    def add_import(self, alias: str, source: str, folder: str) -> str | None:
        """Make `alias` a prefix for a module that we ship, or for a local file or folder; or say why it is none.

        A local file and `python:` with an installed module are code as well, for whoever asks for a function in it.
        """
        self._found.clear()
        self._names = None
        if source.startswith(("./", "../")):
            problem = self._add_local(alias, os.path.normpath(os.path.join(folder, source)))
        elif source.startswith(INSTALLED):
            problem = self._add_installed(alias, source.removeprefix(INSTALLED))
        else:
            problem = self._add_module(alias, source)
        if problem is not None:
            self.lost_prefixes.add(alias)
        return problem

    def names(self) -> list[str]:
        """Every kind there is to name, for hints and listings: ours, third parties', imported ones.

        All of them are imported for that; a file that holds no kind, or cannot be imported, is left out.
        """
        if self._names is None:
            self._names = [name for name in self._names_of_files() if self._is_kind(name)]
        return self._names

    def _is_kind(self, name: str) -> bool:
        try:
            return isinstance(self.find(name), Entry)
        except Error:
            return False

    def _names_of_files(self) -> list[str]:
        found: set[str] = set()
        for package in self._path():
            for root in _folders(package):
                for folder in os.scandir(root):
                    if folder.is_dir() and not folder.name.startswith(("_", ".")):
                        files = [entry.name for entry in os.scandir(folder.path)]
                        prefix = _camel(folder.name)
                        stems = (name[:-3] for name in files if name.endswith(".py") and not name.startswith("_"))
                        found.update(f"{prefix}.{_camel(stem)}" for stem in stems)
        found.update(f"{alias}.{name}" for alias, entries in self._local.items() for name in entries)
        for alias, prefix in self._prefixes.items():
            found.update(f"{alias}.{name.partition('.')[2]}" for name in list(found) if name.startswith(prefix + "."))
        return sorted(found)

    def _look_up(self, name: str) -> Entry | Contract | None:
        if _NAME.fullmatch(name) is None:
            return None
        prefix, _, bare = name.partition(".")
        if prefix in self._local:
            return self._local[prefix].get(bare)
        prefix = self._prefixes.get(prefix, prefix)
        own = f"{prefix}.{bare}"
        packages = [OURS] if _has_module(OURS, _snake(prefix)) else self._path()
        for package in packages:
            entry = _import(f"{package}.{_snake(prefix)}.{_snake(bare)}", own)
            if entry is not None:
                return entry
        return None

    def _path(self) -> list[str]:
        if self._third_parties is None:
            from importlib.metadata import entry_points

            self._third_parties = sorted({entry.value for entry in entry_points(group=ENTRY_POINTS)})
        return [OURS, *self._third_parties]

    def _add_module(self, alias: str, source: str) -> str | None:
        module = re.split(r"[@#]", source.rstrip("/").rpartition("/")[2])[0]
        prefix = _MODULES.get(module) or _camel(module.replace("-", "_"))
        is_known = any(_has_module(package, _snake(prefix)) for package in self._path())
        if not is_known or _MODULE.fullmatch(module) is None:
            advice = f'; a local file is written "./{source}"' if source.endswith(".py") else ""
            return f'there is no module "{module}"{advice}'
        self._prefixes[alias] = prefix
        return None

    def _add_local(self, alias: str, path: str) -> str | None:
        if os.path.isdir(path):
            files = sorted(entry.path for entry in os.scandir(path) if entry.name.endswith(".py"))
        elif os.path.isfile(path):
            files = [path]
        else:
            return f'there is no file or folder "{os.path.basename(path)}"'
        self.local_files += [path, *files]
        entries: dict[str, Entry] = {}
        has_functions = False
        for file in files:
            shown = os.path.basename(file)
            try:
                code, namespace = _digest(file), _run_file(file)
                found = [Entry(value, code) for value in namespace.values() if getattr(value, "__kind__", "")]
                for entry in found:
                    entry.check_shape()
            except (Exception, SystemExit) as error:  # whatever the foreign module raises is the finding
                return f'"{shown}" cannot be imported: {_reason(error)}'
            entries |= {entry.name.rpartition(".")[2]: entry for entry in found}
            has_functions = has_functions or _has_functions(namespace)
            self.code.add_file(alias if file == path else f"{alias}.{shown.removesuffix('.py')}", namespace, code)
        if not entries and not has_functions:
            return f'"{os.path.basename(path)}" holds no kind, and no function'
        self._local[alias] = entries
        return None

    def _add_installed(self, alias: str, module: str) -> str | None:
        from importlib.util import find_spec

        if _DOTTED.fullmatch(module) is None:
            return f'"{module}" is no name of a Python module'
        package = module.partition(".")[0]
        if package not in sys.modules and find_spec(package) is None:  # what is below it is found when it is used
            return f'no Python module "{package}" is installed'
        self.code.add_installed(alias, module)
        return None


def _has_functions(namespace: dict[str, Any]) -> bool:
    own = namespace["__name__"]
    return any(
        callable(value) and getattr(value, "__module__", None) == own and not name.startswith("_")
        for name, value in namespace.items()
    )


def _import(module: str, name: str) -> Entry | Contract | None:
    package, _, stem = module.rpartition(".")
    if not _has_module(package, stem):
        return None
    try:
        __import__(module)
    except (Exception, SystemExit) as error:  # a third party's module may raise whatever it likes
        message = f'the kind "{name}" cannot be imported: {_reason(error)}'
        raise Error(message, code="ERR_KIND_IMPORT", resource=name) from error
    for value in vars(sys.modules[module]).values():
        if getattr(value, "__kind__", None) == name:
            return Entry(value)
        if getattr(value, "__contract__", None) == name:
            return Contract(name)
    return None


def _reason(error: BaseException) -> str:
    """The first line of what an exception says, or what it is."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _has_module(package: str, stem: str) -> bool:
    return any(
        os.path.exists(os.path.join(folder, stem + ".py")) or os.path.isdir(os.path.join(folder, stem))
        for folder in _folders(package)
    )


def _folders(package: str) -> list[str]:
    """The folders of a package; importing it runs its `__init__` alone."""
    try:
        __import__(package)
    except ImportError:
        return []
    return list(sys.modules[package].__path__)


def _digest(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _run_file(path: str) -> dict[str, Any]:
    from contextlib import redirect_stdout
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    name = "_manifest_kinds_" + re.sub(r"\W", "_", os.path.abspath(path))
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = module_from_spec(spec)
    is_again = name in sys.modules
    sys.modules[name] = module  # msgspec looks its annotations up there
    with redirect_stdout(sys.stderr):  # our own output is for programs to read
        if is_again and isinstance(spec.loader, SourceFileLoader):
            # The compiled file that Python keeps may be that of an edit ago: it goes by seconds.
            exec(spec.loader.source_to_code(spec.loader.get_data(path), path), vars(module))
        else:
            spec.loader.exec_module(module)
    return vars(module)


def _snake(name: str) -> str:
    return _WORD.sub("_", name).lower()


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))
