"""Whether structured content keeps the schema that its tool promised: bounded work, nothing fetched, never a crash."""

from typing import Any

from runtime.mcp.quoting import quote_line


def find_misfit(schema: Any, value: Any) -> str:
    """Where and how the value breaks the schema, in words; empty when it keeps it, or that cannot be told.

    References are resolved inside the schema only. What is wrong with a schema itself checks nothing: that is the
    server's fault, but no reason to lose its result.
    """
    if type(schema) is not dict or not schema:
        return ""
    from runtime.ai.value_check import ValueCheck

    try:
        return quote_line(ValueCheck(schema).find_faults(value), 300)
    except RecursionError:  # it is nested deeper than anything that is worth a check
        return ""
