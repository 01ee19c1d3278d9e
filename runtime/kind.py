"""Kind: what a plugin subclasses, and the words with which it types its fields.

The typed fields of a kind are the fields of its manifests, in camelCase. The JSON Schema, the editor's help and the
reference pages come from them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar

from msgspec import Meta, Struct

__all__ = ["FIXED", "NAMES", "Context", "Fields", "Kind", "Slot", "kind", "per_call"]

if TYPE_CHECKING:
    from pathlib import Path  # dear to import, and here for its name alone
    from typing import Annotated as Slot  # a checker reads `Slot[Client, "..."]` as `Client`: what it holds in `open()`

    from runtime.effects import Effect
    from runtime.imported_code import ImportedCode
    from runtime.known_inputs import KnownInputs
    from runtime.known_tools import KnownTool, ToolOffer  # likewise
else:

    class Slot:
        """`Slot[Client, "what for"]`: a field that takes a `!ref` to, or an inline resource of, that contract."""

        def __class_getitem__(cls, item: tuple[type, str]) -> Any:
            contract, description = item
            wanted = {"x-ref": contract.__contract__}
            return Annotated[Any, Meta(description=description, extra_json_schema=wanted)]


FIXED: dict[str, Any] = {"x-eval": False}
"""`extra_json_schema` of a field that is never evaluated: an expression in it is CEL_MISPLACED."""

NAMES: dict[str, Any] = {"x-names": True}
"""`extra_json_schema` of a field that names resources without `!ref`: by its text, the elements of its list or the keys
of its mapping. A language server renames them along."""


def per_call(*names: str, **typed_by: str) -> dict[str, Any]:
    """`extra_json_schema` of a field that is evaluated at each call, with more names in scope.

    `per_call("result")` brings in a value of any type; `per_call(arguments="parameters")` one name for each property of
    the JSON Schema that stands in the field `parameters` beside this one.
    """
    return {"x-scope": {**dict.fromkeys(names, ""), **typed_by}}


# Frozen for every subclass without a word: said by name, a type checker would ask each kind to repeat it.
_FROZEN = {"frozen": True}


class Fields(Struct, kw_only=True, rename="camel", forbid_unknown_fields=True, **_FROZEN):
    """A closed, frozen mapping of a manifest: what a kind and the mappings inside it have in common."""


class Context(Protocol):
    """What the runtime gives to a resource that opens."""

    name: str
    folder: "Path"

    code: "ImportedCode"

    def warn(self, message: str) -> None:
        """Tell the user of something that is wrong and does not end the run; secrets are masked."""

    def log(self, message: str) -> None:
        """A line for `--verbose`: what a server logged, what was retried; secrets are masked."""

    def mask(self, text: str) -> str:
        """The text with the values of secrets replaced by `***`."""

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        """The value of a `per_call` field with its expressions replaced by what they give in this scope."""

    @property
    def digest(self) -> str:
        """What the manifest makes of the resource and of all that it needs, in 16 hexadecimal digits: no secrets."""


class Inspection(Protocol):
    """A resource of a kind as `Kind.inspect` sees it: fields as they stand in the manifest, before any evaluation.

    `with_environment` says that the user asked to look at this machine as well (`validate --env`): at files, at PATH.
    """

    with_environment: bool
    folder: "Path"

    @property
    def code(self) -> "ImportedCode":
        """The Python that the application's `imports` bring in."""

    @property
    def kind(self) -> "type[Kind]":
        """The resource's kind."""

    @property
    def title(self) -> str:
        """How messages call the resource; its instance's context has this name."""

    @property
    def tools(self) -> "Sequence[KnownTool] | None":
        """The tools that the resource will list: those that the lock has of it, or what `Kind.known_tools` tells.

        None where that is not known with nothing started.
        """

    def at(self, *path: str | int) -> "Inspection | None":
        """The resource in a slot, where its kind is known."""

    def find(self, *path: str, expressions: bool = False) -> Iterator[tuple[tuple[str | int, ...], Any]]:
        """The values along a path, `*` standing for every element or value, each with its own path.

        Included files and what was reported already are left out; expressions too, unless they are asked for.
        """

    def has(self, field: str) -> bool:
        """Whether the resource has a field, whatever stands in it."""

    def names(self, *path: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """The names that the references along a path of slots give, each with its own path."""

    def named(self, contract: str) -> "Sequence[str]":
        """The resources of the set that keep a contract: their names, or `Tools.client` for an inline one.

        Recordings, which take the place of others in tests, are left out.
        """

    def report(self, code: str, path: tuple[str | int, ...], message: str, hint: str | None = None) -> None:
        """Report a diagnostic (a code of `runtime.diagnostics`) at a value."""


class Kind(Fields):
    """One resource as its manifest declares it: a value that can be opened.

    `open()` is an async context manager: entering starts, what it yields is the live instance, leaving stops. By then
    slots hold live instances and expressions their values.
    """

    __kind__: ClassVar[str] = ""
    __implements__: ClassVar[tuple[str, ...]] = ()
    runs_imported_code: ClassVar[bool] = False  # what it does is in files that `imports` bring in
    opens_first: ClassVar[bool] = False  # its opening starts a process: everything else is built while that boots

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """Report what no schema says; runs in `validate`, so it starts nothing and connects to nothing."""

    @classmethod
    def known_tools(cls, inspection: Inspection) -> "Sequence[KnownTool] | None":
        """The tools that a provider of this kind will list, in its order; None where that is not known.

        A provider that hands on what another resource lists asks for it: `inspection.at("client").tools`. Runs with
        nothing started, and only where there is a lock.
        """
        return None

    @classmethod
    def known_inputs(cls, inspection: Inspection) -> "KnownInputs | None":
        """The inputs that a resource of this kind takes when it is run; None where they are not known."""
        return None

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """What opening or using a resource of this kind does to the world, for `runtime plan`: programs, addresses.

        `fields` are those of the manifest by their names there: secrets masked, references as they are, and expressions
        where there is no value yet. Nothing is started, and no value of a variable or header goes into the answer.
        """
        return ()

    @classmethod
    def find_tool_rules(cls, inspection: Inspection) -> tuple[str, int | None]:
        """How a model of this kind takes tools: its format, and the most of them that a request takes.

        The format is a name in `runtime.ai.formats`, or empty where it takes tools as they are; None leaves the number
        to the format, and 0 is no limit. By default the format is what the class calls `tool_format`.
        """
        return getattr(cls, "tool_format", ""), None

    @classmethod
    def find_offer(cls, inspection: Inspection) -> "ToolOffer | None":
        """How a resource of this kind offers tools to a model; None where it offers none.

        The checks of names, filters and schemas, and `runtime plan`, are made of it.
        """
        return None

    def open(self, context: Context) -> AbstractAsyncContextManager[Any]:
        """Start the resource and yield its instance; raises `runtime.errors.Error`."""
        raise NotImplementedError(f"{type(self).__name__} has no open()")


K = TypeVar("K", bound=type[Kind])


def kind(name: str, *, implements: Any = ()) -> Callable[[K], K]:
    """Name a kind, such as `Mcp.StdioClient`, and say which contract (or tuple of contracts) its instances keep."""

    def named(cls: K) -> K:
        contracts = implements if isinstance(implements, tuple) else (implements,)
        cls.__kind__ = name
        cls.__implements__ = tuple(contract.__contract__ for contract in contracts)
        return cls

    return named
