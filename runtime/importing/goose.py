"""A recipe of goose: an agent with its extensions, what it is asked, and the parameters that its texts name."""

import re
from typing import Any

from runtime.importing.assistant import declare_agent, declare_task
from runtime.importing.draft import Declared, Draft, prefix_for
from runtime.importing.foreign import elements_at, mapping_at, mappings_at, place_of, plain_value, text_at, whole_at
from runtime.importing.models import declare_model, set_options
from runtime.importing.servers import Server, convert_server
from runtime.importing.texts import Texts
from runtime.manifest import Mapping

_TEMPLATE = re.compile(r"\{\{\s*(?P<name>\w+)\s*\}\}")
_OTHER_TEMPLATE = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_TYPES = {"number": "number", "boolean": "boolean"}
_ABOUT = frozenset(("version", "title", "description", "author"))
_CONVERTED = frozenset(("instructions", "prompt", "parameters", "extensions", "settings", "response"))
_REASONS = {
    "activities": "they are for the desktop application",
    "sub_recipes": "import each recipe by itself, and offer its agent with Ai.Tools",
    "retry": "`expect` of Ai.Task says what has to hold of an answer; nothing is repeated",
}
_BUILT_IN = "it is a part of goose; an MCP server can take its place"


def is_recipe(body: Mapping) -> bool:
    """Whether a file is a recipe, in either of its two forms."""
    recipe = mapping_at(body, "recipe") if "recipe" in body else body
    return "title" in recipe and bool({"instructions", "prompt"} & recipe.keys())


def convert_goose(draft: Draft, body: Mapping) -> None:
    """A recipe; the form of the desktop application has it under `recipe`."""
    recipe = mapping_at(body, "recipe") if "recipe" in body else body
    for parameter in mappings_at(recipe, "parameters"):
        _declare_parameter(draft, parameter)
    offers = [offer for extension in mappings_at(recipe, "extensions") if (offer := _convert(draft, extension))]
    settings = mapping_at(recipe, "settings")
    model = _declare_model(draft, settings)
    agent = declare_agent(draft, text_at(recipe, "title") or "Assistant", model, offers)
    agent.comments.append(text_at(recipe, "description") or "")
    instructions = text_at(recipe, "instructions")
    if instructions:
        agent.fields["system"] = _filled(draft, agent, instructions, place_of(recipe, "instructions"))
    if whole_at(settings, "max_turns"):
        agent.fields["maxSteps"] = settings["max_turns"]
    schema = mapping_at(mapping_at(recipe, "response"), "json_schema")
    if schema:
        agent.fields["output"] = {"schema": plain_value(schema)}
    prompt = text_at(recipe, "prompt")
    if prompt:
        task = declare_task(draft, f"{agent.name}Task", agent, "")
        task.fields["prompt"] = _filled(draft, task, prompt, place_of(recipe, "prompt"))
        draft.targets.append(task)
    for key in recipe:
        if key not in _ABOUT | _CONVERTED:
            why = _REASONS.get(key, "a manifest has nothing like it")
            draft.left_out(place_of(recipe, key), f'"{key}"', why)


def _declare_parameter(draft: Draft, parameter: Mapping) -> None:
    """A parameter becomes a variable, which the environment gives."""
    declared: dict[str, Any] = {}
    kind = _TYPES.get(text_at(parameter, "input_type") or "", "")
    if kind:
        declared["type"] = kind
    if text_at(parameter, "description"):
        declared["description"] = text_at(parameter, "description")
    default = text_at(parameter, "default")
    if default is not None:
        declared["default"] = _typed(kind, default)
    options = [str(option) for option, _ in elements_at(parameter, "options")]
    if options:
        declared["enum"] = options
    key = text_at(parameter, "key")
    if key:
        draft.values.variable(key.upper(), **declared)


def _typed(kind: str, text: str) -> Any:
    if kind == "boolean":
        return text.lower() == "true"
    if kind == "number" and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    return text


def _filled(draft: Draft, document: Declared, text: str, place: int) -> str:
    """A text with the parameters that it names as expressions."""
    made, at = "", 0
    texts = Texts(draft, document, document.name)
    for found in _TEMPLATE.finditer(text):
        name = draft.values.known_variable(found["name"].upper())
        if name:
            made += texts.prose(text[at : found.start()], place) + f"${{{{ {name} }}}}"
            at = found.end()
    rest = texts.prose(text[at:], place)
    for other in _OTHER_TEMPLATE.finditer(text):
        if not (_TEMPLATE.fullmatch(other[0]) and draft.values.known_variable(other[0].strip("{} \t").upper())):
            draft.note(place, f'the template "{other[0]}" stands as it is', document)
    return made + rest


def _convert(draft: Draft, extension: Mapping) -> dict[str, Any] | None:
    name = text_at(extension, "name") or "extension"
    kind = text_at(extension, "type")
    if kind not in ("stdio", "streamable_http", "sse"):
        draft.left_out(extension.start, f'the extension "{name}"', _BUILT_IN if kind else "it has no type")
        return None
    server = Server(draft, name, extension, extension.start)
    server.take("name", "bundled", "display_name")
    keys = [str(key) for key, _ in elements_at(extension, server.take("env_keys"))]
    timeout = whole_at(extension, server.take("timeout"))
    client, entry = convert_server(server, {}, included=("available_tools",))
    if client is None or entry is None:
        return None
    if client.kind == "Mcp.StdioClient" and keys:
        values = {key: f"${{{{ {draft.values.secret(key)} }}}}" for key in keys}
        client.fields["env"] = {**values, **client.fields.get("env", {})}
    if timeout:
        client.fields["callTimeoutMs"] = timeout * 1000
    return {**entry, "prefix": f"{prefix_for(name)}_"}


def _declare_model(draft: Draft, settings: Mapping) -> Declared | None:
    provider, name = text_at(settings, "goose_provider"), text_at(settings, "goose_model")
    if provider is None or name is None:
        return None
    model = declare_model(draft, settings.start, "Model", provider, name)
    if isinstance(settings.get("temperature"), (int, float)):
        set_options(draft, place_of(settings, "temperature"), model, {"temperature": settings["temperature"]})
    return model
