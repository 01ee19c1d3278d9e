"""Values held against a JSON Schema that a manifest gives."""

from collections.abc import Mapping
from typing import Any

from runtime.ai.formats.checking.faults import find_faults
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.objects import make_sound


class ValueCheck:
    """Holds values against one schema; `notes` tells which parts of the schema say nothing, such as a lost `$ref`."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        report = Report()
        self._sound = make_sound(dict(schema), report)
        self.notes = [
            f"{entry.pointer}: {entry.message}" if entry.pointer else entry.message
            for entry in report.entries()
            if entry.effect == "weakened"
        ]

    def find_faults(self, value: Any) -> str:
        """What does not fit, with the place of each, as one line; empty where the value fits."""
        return "; ".join(map(str, find_faults(self._sound, value)))
