"""`Runtime.Application`: what a set of manifests needs from outside, and what applying it runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from runtime.contracts import Invocable
from runtime.kind import FIXED, Fields, Kind, Slot, kind

if TYPE_CHECKING:
    from runtime.effects import Effect

JsonType = Literal["string", "integer", "number", "boolean", "object", "array"]


Schema = bool | dict[str, Any]
"""A JSON Schema inside a declaration."""


class Keywords(Fields):
    """What a variable and a secret have in common: where the value comes from, keywords of JSON Schema (2020-12)."""

    env: (
        Annotated[str, Meta(description="The environment variable that holds the value.", min_length=1)] | UnsetType
    ) = UNSET
    description: Annotated[str, Meta(description="What the value is for.")] | UnsetType = UNSET
    title: Annotated[str, Meta(description="A short name for people.")] | UnsetType = UNSET
    pattern: Annotated[str, Meta(description="A regular expression the text has to match.")] | UnsetType = UNSET
    format: Annotated[str, Meta(description="A format of JSON Schema, as a note to the reader.")] | UnsetType = UNSET
    min_length: Annotated[int, Meta(description="Fewest characters.", ge=0)] | UnsetType = UNSET
    max_length: Annotated[int, Meta(description="Most characters.", ge=0)] | UnsetType = UNSET
    enum: Annotated[list[Any], Meta(description="The values that are allowed.", min_length=1)] | UnsetType = UNSET
    const: Annotated[Any, Meta(description="The only value that is allowed.")] | UnsetType = UNSET
    examples: (
        Annotated[list[Any], Meta(description="Values that would be right, as a note to the reader.")] | UnsetType
    ) = UNSET
    all_of: Annotated[list[Schema], Meta(description="Schemas that all hold.", min_length=1)] | UnsetType = UNSET
    any_of: (
        Annotated[list[Schema], Meta(description="Schemas of which one holds at least.", min_length=1)] | UnsetType
    ) = UNSET
    one_of: (
        Annotated[list[Schema], Meta(description="Schemas of which exactly one holds.", min_length=1)] | UnsetType
    ) = UNSET
    not_: Annotated[Schema, Meta(description="A schema that may not hold.")] | UnsetType = field(
        default=UNSET, name="not"
    )
    if_: Annotated[Schema, Meta(description="A schema that decides between `then` and `else`.")] | UnsetType = field(
        default=UNSET, name="if"
    )
    then: Annotated[Schema, Meta(description="The schema where `if` holds.")] | UnsetType = UNSET
    else_: Annotated[Schema, Meta(description="The schema where `if` does not hold.")] | UnsetType = field(
        default=UNSET, name="else"
    )
    comment: Annotated[str, Meta(description="A note to those who maintain the declaration.")] | UnsetType = field(
        default=UNSET, name="$comment"
    )
    deprecated: (
        Annotated[bool, Meta(description="Whether the value should not be used any more, as a note to the reader.")]
        | UnsetType
    ) = UNSET
    read_only: Annotated[bool, Meta(description="A note of JSON Schema to the reader.")] | UnsetType = UNSET
    write_only: Annotated[bool, Meta(description="A note of JSON Schema to the reader.")] | UnsetType = UNSET
    content_encoding: (
        Annotated[str, Meta(description="How the text is encoded, such as `base64`, as a note to the reader.")]
        | UnsetType
    ) = UNSET
    content_media_type: (
        Annotated[str, Meta(description="What the text is, such as `application/json`, as a note to the reader.")]
        | UnsetType
    ) = UNSET
    content_schema: (
        Annotated[Schema, Meta(description="The schema of what the text holds, as a note to the reader.")] | UnsetType
    ) = UNSET


class Variable(Keywords):
    """A value that may be shown."""

    type: Annotated[JsonType, Meta(description="The type of the value.")] = "string"
    default: Annotated[Any, Meta(description="The value where the environment has none.")] | UnsetType = UNSET
    minimum: Annotated[float, Meta(description="The least number.")] | UnsetType = UNSET
    maximum: Annotated[float, Meta(description="The greatest number.")] | UnsetType = UNSET
    exclusive_minimum: Annotated[float, Meta(description="Numbers have to be greater.")] | UnsetType = UNSET
    exclusive_maximum: Annotated[float, Meta(description="Numbers have to be less.")] | UnsetType = UNSET
    multiple_of: Annotated[float, Meta(description="Numbers have to be a multiple.", gt=0)] | UnsetType = UNSET
    items: Annotated[Schema, Meta(description="The schema of the elements of a list.")] | UnsetType = UNSET
    prefix_items: (
        Annotated[list[Schema], Meta(description="The schemas of the first elements of a list.", min_length=1)]
        | UnsetType
    ) = UNSET
    contains: Annotated[Schema, Meta(description="A schema that some element of a list fits.")] | UnsetType = UNSET
    min_contains: Annotated[int, Meta(description="Fewest elements that fit `contains`.", ge=0)] | UnsetType = UNSET
    max_contains: Annotated[int, Meta(description="Most elements that fit `contains`.", ge=0)] | UnsetType = UNSET
    min_items: Annotated[int, Meta(description="Fewest elements.", ge=0)] | UnsetType = UNSET
    max_items: Annotated[int, Meta(description="Most elements.", ge=0)] | UnsetType = UNSET
    unique_items: Annotated[bool, Meta(description="No element twice.")] | UnsetType = UNSET
    unevaluated_items: (
        Annotated[Schema, Meta(description="The schema of the elements that no other keyword is about.")] | UnsetType
    ) = UNSET
    properties: Annotated[dict[str, Schema], Meta(description="The schemas of the parts of an object.")] | UnsetType = (
        UNSET
    )
    required: Annotated[list[str], Meta(description="The parts an object must have.")] | UnsetType = UNSET
    additional_properties: Annotated[Schema, Meta(description="The schema of the other parts.")] | UnsetType = UNSET
    pattern_properties: (
        Annotated[dict[str, Schema], Meta(description="The schemas of parts by patterns of their names.")] | UnsetType
    ) = UNSET
    property_names: Annotated[Schema, Meta(description="The schema of the names of parts.")] | UnsetType = UNSET
    min_properties: Annotated[int, Meta(description="Fewest parts.", ge=0)] | UnsetType = UNSET
    max_properties: Annotated[int, Meta(description="Most parts.", ge=0)] | UnsetType = UNSET
    dependent_required: (
        Annotated[dict[str, list[str]], Meta(description="The parts that a part asks for.")] | UnsetType
    ) = UNSET
    dependent_schemas: (
        Annotated[dict[str, Schema], Meta(description="The schemas that a part asks for.")] | UnsetType
    ) = UNSET
    unevaluated_properties: (
        Annotated[Schema, Meta(description="The schema of the parts that no other keyword is about.")] | UnsetType
    ) = UNSET
    reference: (
        Annotated[str, Meta(description="A reference into `$defs`; none leads out of the declaration.")] | UnsetType
    ) = field(default=UNSET, name="$ref")
    definitions: Annotated[dict[str, Schema], Meta(description="Schemas to refer to.")] | UnsetType = field(
        default=UNSET, name="$defs"
    )


class Secret(Keywords):
    """A value that is never shown: masked in everything that is printed, logged or stored."""

    type: Annotated[Literal["string"], Meta(description="Secrets are text.")] = "string"
    default: Annotated[Any, Meta(description="The text where no source has one; for tests.")] | UnsetType = UNSET
    file: Annotated[str, Meta(description="A file that holds the value, relative to the manifest.", min_length=1)] | (
        UnsetType
    ) = UNSET
    command: (
        Annotated[
            list[Annotated[str, Meta(min_length=1)]],
            Meta(description="A command that prints the value; `apply` alone runs it.", min_length=1),
        ]
        | UnsetType
    ) = UNSET


Variables = Annotated[dict[str, Variable], Meta(description="Values by name: `${{ variables.name }}`.")]
Secrets = Annotated[dict[str, Secret], Meta(description="Secrets by name: `${{ secrets.name }}`.")]
Imports = Annotated[
    dict[str, str],
    Meta(
        description="Prefixes for kinds and names for functions, and the modules or local files behind them:"
        " `./birds.py`, `./birds` for a folder, `python:statistics` for the functions of an installed module."
    ),
]


@kind("Runtime.Application")
class Application(Kind):
    """What a set of manifests needs from outside, and what applying it runs. At most one in a set."""

    variables: Annotated[Variables, Meta(extra_json_schema=FIXED)] | UnsetType = UNSET
    secrets: Annotated[Secrets, Meta(extra_json_schema=FIXED)] | UnsetType = UNSET
    imports: Annotated[Imports, Meta(extra_json_schema=FIXED)] = {}
    description: Annotated[str, Meta(description="What the set does.", extra_json_schema=FIXED)] = ""
    targets: list[Slot[Invocable, "What `apply` runs, in this order, when no prompt is given."]] = []

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The commands that print secrets."""
        from runtime.effects import Starts

        commands = [secret["command"] for secret in fields.get("secrets", {}).values() if "command" in secret]
        return [Starts(command[0], command[1:]) for command in commands]
