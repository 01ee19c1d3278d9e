"""The fields that say which recording answers, and how closely requests have to fit it."""

from typing import Annotated, Literal

from msgspec import Meta

from runtime.kind import FIXED, NAMES, Fields, Inspection

PathField = Annotated[
    str, Meta(description="The recording's folder, beside the manifest.", min_length=1, extra_json_schema=FIXED)
]
ModeField = Annotated[
    Literal["strict", "lenient"],
    Meta(
        description="`strict`: a request that was not recorded fails the case; `lenient`: the order of requests and the"
        " names of tools decide.",
        extra_json_schema=FIXED,
    ),
]
IgnoreField = Annotated[
    dict[str, list[str]],
    Meta(
        description="What may differ, by resource: JSON pointers into requests, such as `/messages/0/content`, `*`"
        " standing for any one step.",
        extra_json_schema=FIXED | NAMES,
    ),
]


class CassetteUse(Fields):
    """A recording, and how closely requests have to fit it."""

    path: PathField
    mode: ModeField = "strict"
    ignore: IgnoreField = {}


def report_pointer_faults(inspection: Inspection, *path: str) -> None:
    """SCHEMA_VALUE: what is no JSON pointer among the rules at a path."""
    for place, pointer in inspection.find(*path, "*", "*"):
        if isinstance(pointer, str) and not pointer.startswith("/"):
            message, hint = f'"{pointer}" is no JSON pointer', 'write one such as "/messages/0/content"'
            inspection.report("SCHEMA_VALUE", place, message, hint)
