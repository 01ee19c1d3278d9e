"""Python that the application's `imports` bring in, for whoever asks for a function in it."""

from collections.abc import Mapping
from typing import Any


class ImportedCode:
    """Namespaces of modules, by the names by which functions are asked for.

    `birds` is the local file, or the installed module, that is imported as `birds`; `birds.nests` is `nests.py` in the
    local folder of that name. Local files have been run; an installed module is imported when it is loaded.
    """

    def __init__(self) -> None:
        self._files: dict[str, Mapping[str, Any]] = {}
        self._digests: dict[str, str] = {}
        self._installed: dict[str, str] = {}
        self.lost_names: set[str] = set()

    def add_file(self, name: str, namespace: Mapping[str, Any], digest: str = "") -> None:
        """What a local file holds that was run; `digest` is of its text."""
        self._files[name] = namespace
        self._digests[name] = digest

    def add_installed(self, name: str, module: str) -> None:
        """A module by its dotted name."""
        self._installed[name] = module

    @property
    def digest(self) -> str:
        """Equal for code that is equal, of installed modules by their names."""
        return repr(sorted((self._digests | self._installed).items()))

    @property
    def names(self) -> list[str]:
        """Every name that there is, sorted."""
        return sorted({*self._files, *self._installed})

    def is_lost(self, name: str) -> bool:
        """Whether the name is that of an import that failed: nothing can be said of what it holds."""
        return name.partition(".")[0] in self.lost_names

    def find(self, name: str) -> Mapping[str, Any] | None:
        """What a local file holds; None for an installed module, and for what is not imported."""
        return self._files.get(name)

    def load(self, name: str) -> Mapping[str, Any]:
        """The same, and what an installed module holds.

        Raises KeyError for a name that is not there, and whatever the import of an installed module raises.
        """
        if name in self._files:
            return self._files[name]
        from importlib import import_module

        return vars(import_module(self._installed[name]))
