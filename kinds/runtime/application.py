"""`Runtime.Application`: what a set of manifests needs from outside, and what applying it runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.contracts import Invocable
from runtime.kind import FIXED, Fields, Kind, Slot, kind

if TYPE_CHECKING:
    from runtime.effects import Effect

JsonType = Literal["string", "integer", "number", "boolean", "object", "array"]


class Keywords(Fields):
    """What a variable and a secret have in common: where the value comes from, and keywords of JSON Schema."""

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


class Variable(Keywords):
    """A value that may be shown."""

    type: Annotated[JsonType, Meta(description="The type of the value.")] = "string"
    default: Annotated[Any, Meta(description="The value where the environment has none.")] | UnsetType = UNSET
    const: Annotated[Any, Meta(description="The only value that is allowed.")] | UnsetType = UNSET
    minimum: Annotated[float, Meta(description="The least number.")] | UnsetType = UNSET
    maximum: Annotated[float, Meta(description="The greatest number.")] | UnsetType = UNSET
    exclusive_minimum: Annotated[float, Meta(description="Numbers have to be greater.")] | UnsetType = UNSET
    exclusive_maximum: Annotated[float, Meta(description="Numbers have to be less.")] | UnsetType = UNSET
    multiple_of: Annotated[float, Meta(description="Numbers have to be a multiple.", gt=0)] | UnsetType = UNSET
    items: Annotated[dict[str, Any], Meta(description="The schema of the elements of a list.")] | UnsetType = UNSET
    min_items: Annotated[int, Meta(description="Fewest elements.", ge=0)] | UnsetType = UNSET
    max_items: Annotated[int, Meta(description="Most elements.", ge=0)] | UnsetType = UNSET
    unique_items: Annotated[bool, Meta(description="No element twice.")] | UnsetType = UNSET
    properties: Annotated[dict[str, Any], Meta(description="The schemas of the parts of an object.")] | UnsetType = (
        UNSET
    )
    required: Annotated[list[str], Meta(description="The parts an object must have.")] | UnsetType = UNSET
    additional_properties: (
        Annotated[bool | dict[str, Any], Meta(description="The schema of the other parts.")] | UnsetType
    ) = UNSET


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
Imports = Annotated[dict[str, str], Meta(description="Prefixes for kinds, and the modules or local files behind them.")]


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
