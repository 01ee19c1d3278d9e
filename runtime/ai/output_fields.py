"""The words of a manifest for a structured answer, and the rule that they make."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, UnsetType

from runtime.json_schema import find_schema_faults
from runtime.kind import FIXED, Context, Fields, Inspection

if TYPE_CHECKING:
    from runtime.ai.output import OutputRule


class StructuredOutput(Fields):
    """The form of a structured answer."""

    schema: Annotated[
        dict[str, Any],
        Meta(
            description="The JSON Schema of the answer. The model is told of it, and its text is read as JSON; where"
            " that does not fit, the model gets one more turn, and then the run fails with ERR_AGENT_OUTPUT.",
            extra_json_schema=FIXED,
        ),
    ]


OutputField = (
    Annotated[
        StructuredOutput,
        Meta(description="Makes the answer a JSON value: `output` of the answer, beside its text."),
    ]
    | UnsetType
)


def report_output_faults(inspection: Inspection) -> None:
    """SCHEMA_VALUE: an `output.schema` that is no JSON Schema, at the faulty place."""
    for place, schema in inspection.find("output", "schema"):
        for inside, wrong in find_schema_faults(schema):
            inspection.report("SCHEMA_VALUE", (*place, *inside), wrong)


def make_output_rule(output: StructuredOutput | UnsetType, context: Context) -> "OutputRule | None":
    """The rule of a run's answer; parts of the schema that say nothing are warned of."""
    if isinstance(output, UnsetType):
        return None
    from runtime.ai.output import OutputRule

    rule = OutputRule(output.schema)
    for note in rule.notes:
        context.warn(f"a part of `output.schema` is not checked: {note}")
    return rule
