"""What a provider's tool format consists of."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from runtime.ai.formats.report import Rename, Report

Schema = dict[str, Any]
"""A JSON Schema that is an object. Nobody changes one in place: it may be shared with the tool and between formats."""


class Adapted(Struct, frozen=True):
    """A schema as the provider takes it, what the tool's description has to say besides, and the keys that changed."""

    schema: Schema
    remarks: Sequence[str] = ()
    renames: Sequence[Rename] = ()


class Format(Struct, frozen=True):
    """One provider's way of writing tools.

    `adapt` makes an arguments schema acceptable, `declare` writes one tool (name, description, schema), `collect`
    writes the list of them. `max_tools` is the most that the provider takes in a request; None where none is known.
    """

    name: str
    adapt: Callable[[Any, Report], Adapted]
    declare: Callable[[str, str, Schema], dict[str, Any]]
    collect: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list
    max_tools: int | None = None
