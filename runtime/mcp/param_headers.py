"""`x-mcp-header`: arguments that a modern server wants mirrored in HTTP headers (MCP 2026-07-28, "Custom Headers")."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

ANNOTATION = "x-mcp-header"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
PRINTABLE = re.compile(r"[\x20-\x7e]*")
WRAPPED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)
PRIMITIVES = ("string", "integer", "boolean")
SINGLE = (
    "items",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
)
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
MAPS = ("patternProperties", "dependentSchemas", "$defs", "definitions")

Path = tuple[str, ...]


def encode_header(value: str) -> str:
    """The value as it is where it survives a header, else wrapped in base64."""
    if PRINTABLE.fullmatch(value) and value == value.strip() and not WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode('ascii')}?="


def list_param_headers(schema: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The `Mcp-Param-*` headers of one call; absent and null arguments have none."""
    headers = {}
    for path, annotated in walk(schema):
        token = annotated.get(ANNOTATION)
        if not path or type(token) is not str:
            continue
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if type(value) is bool:
            value = "true" if value else "false"
        if type(value) in (str, int, float):
            headers[f"mcp-param-{token.lower()}"] = encode_header(str(value))
    return headers


def find_header_fault(schema: Any) -> str | None:
    """Why the annotations of a tool's schema are invalid, which bars the tool; None when they are valid."""
    seen: set[str] = set()
    for path, annotated in walk(schema):
        if ANNOTATION not in annotated:
            continue
        token = annotated[ANNOTATION]
        where = ".".join(path or ())
        if not path:
            return f"{ANNOTATION} stands where no plain property is"
        if type(token) is not str or not TOKEN.fullmatch(token):
            return f'the {ANNOTATION} of "{where}" is no header name'
        if annotated.get("type") not in PRIMITIVES:
            return f'{ANNOTATION} stands at "{where}", which is no string, integer or boolean'
        if token.lower() in seen:
            return f'the {ANNOTATION} of "{where}" is there twice'
        seen.add(token.lower())
    return None


def walk(schema: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Every subschema with the chain of properties that leads to it; None once anything else was crossed."""
    todo: list[tuple[Path | None, Any]] = [((), schema)]
    while todo:
        path, node = todo.pop()
        if type(node) is not dict:
            continue
        yield path, node
        for keyword, value in node.items():
            if keyword == "properties" and type(value) is dict:
                todo += [(None if path is None else (*path, name), part) for name, part in value.items()]
            elif keyword in SINGLE:
                todo.append((None, value))
            elif keyword in LISTS and type(value) is list:
                todo += [(None, part) for part in value]
            elif keyword in MAPS and type(value) is dict:
                todo += [(None, part) for part in value.values()]
