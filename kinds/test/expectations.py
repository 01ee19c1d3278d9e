"""The fields of a case that say what is expected."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from runtime.kind import FIXED, Fields, per_call


class TextExpectation(Fields):
    """What has to hold of the answer's text."""

    equals: Annotated[str, Meta(description="The whole text.")] | UnsetType = UNSET
    contains: (
        Annotated[str | list[str], Meta(description="A text that is in it, or several, in whatever order.")] | UnsetType
    ) = UNSET
    regex: (
        Annotated[str, Meta(description="A regular expression that is found somewhere in it.", extra_json_schema=FIXED)]
        | UnsetType
    ) = UNSET


class ExpectedCall(Fields):
    """A tool call."""

    name: Annotated[str, Meta(description="The tool's name, with its prefix.", min_length=1)]
    arguments: Annotated[dict[str, Any], Meta(description="Arguments that the call has, among others.")] = {}


class ToolExpectation(Fields):
    """Which tools were called in the whole run."""

    called: Annotated[
        list[str | ExpectedCall],
        Meta(description="Tools that were called, each as often as it stands here: names, or names with arguments."),
    ] = []
    not_called: Annotated[list[str], Meta(description="Tools that were not called: names or globs.")] = []
    in_order: Annotated[bool, Meta(description="Whether the calls came in the order of `called`.")] = False
    only: Annotated[bool, Meta(description="Whether there were no calls but those of `called`.")] = False


class Expectations(Fields):
    """What has to hold of what was run; all that does not is told."""

    text: Annotated[TextExpectation, Meta(description="What has to hold of the answer's text.")] | UnsetType = UNSET
    schema: (
        Annotated[
            dict[str, Any],
            Meta(
                description="A JSON Schema of the answer: of a structured one, or else of the text read as JSON.",
                extra_json_schema=FIXED,
            ),
        ]
        | UnsetType
    ) = UNSET
    that: Annotated[
        list[Any],
        Meta(
            description="Expressions over `result`, the whole of it, that have to be true:"
            ' `!cel result.steps[0].toolCalls[0].name == "fs_read_file"`.',
            extra_json_schema=per_call("result"),
        ),
    ] = []
    tools: Annotated[ToolExpectation, Meta(description="Which tools were called.")] | UnsetType = UNSET
    max_steps: Annotated[int, Meta(description="Most turns that the model had.", ge=0)] | UnsetType = UNSET
    max_tokens: Annotated[int, Meta(description="Most tokens that the run used.", ge=0)] | UnsetType = UNSET
    error: (
        Annotated[
            str,
            Meta(
                description="The code that the run fails with, such as `ERR_AGENT_MAX_STEPS`.",
                pattern="^ERR_[A-Z0-9_]+$",
            ),
        ]
        | UnsetType
    ) = UNSET
