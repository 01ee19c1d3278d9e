"""What a provider's tool format consists of."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from runtime.ai.formats.report import Rename, Report

Schema = dict[str, Any]
"""A JSON Schema that is an object. Nobody changes one in place: it may be shared with the tool and between formats."""


class Adapted(Struct, frozen=True):
    """A schema as the provider takes it, what the tool's description has to say besides, and the keys that changed.

    `is_strict` says that the provider may hold the model to the schema.
    """

    schema: Schema
    remarks: Sequence[str] = ()
    renames: Sequence[Rename] = ()
    is_strict: bool = False


Plain = dict[bytes, bool]
"""Parts of schemas that need no change, by their JSON texts, and whether they have references."""


class Whole(Struct, frozen=True):
    """The arguments as an object with properties and required ones, and what has to be said of them in words.

    `text` is the JSON text of the arguments where nothing in them needs a look for OpenAI or Anthropic, else empty.
    """

    schema: Schema
    remarks: Sequence[str] = ()
    text: bytes = b""


class Memory:
    """What was found out while a list of tools is converted; hand it on to convert the same list into another format.

    Arguments are remembered by their JSON texts: tools of one server often take the same ones, and generated tools
    repeat whole components.
    """

    def __init__(self) -> None:
        self.plain: Plain = {}
        """Arguments and definitions that need no change."""
        self.rewritten: dict[str, dict[tuple[bytes, str], tuple[Any, Report]]] = {}
        """By format: what parts become in it, by their purpose, where nothing around them matters."""
        self.wholes: dict[int, tuple[Any, Whole, Report]] = {}
        """By the published schema's identity: itself, so that it stays, and what all formats start from."""


class InexpressibleError(Exception):
    """A tool cannot be said in a format at all; the text says why."""


class Format(Struct, frozen=True):
    """One provider's way of writing tools.

    `adapt` makes an arguments schema acceptable, or raises `InexpressibleError`; `declare` writes one tool (name,
    description, schema), `collect` the list of them. `max_tools` is the most that the provider takes in a request, None
    where no limit is known. `adapt_strictly` takes the provider's strict form where a schema allows it.
    """

    name: str
    adapt: Callable[[Any, Report, Memory], Adapted]
    declare: Callable[[str, str, Adapted], dict[str, Any]]
    collect: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list
    max_tools: int | None = None
    adapt_strictly: Callable[[Any, Report, Memory], Adapted] | None = None
