"""`config.yaml` of Continue: its models, rules, prompts and MCP servers, as one agent."""

from typing import Any

from runtime.importing.assistant import declare_agent, declare_task
from runtime.importing.draft import Declared, Draft
from runtime.importing.foreign import elements_at, mapping_at, mappings_at, place_of, plain_value, text_at, whole_at
from runtime.importing.models import declare_model, set_options
from runtime.importing.servers import Server, convert_server, read_texts
from runtime.importing.texts import Resolver, Texts
from runtime.importing.values import snake
from runtime.manifest import Mapping

_ABOUT = frozenset(("name", "version", "schema"))
_CONVERTED = frozenset(("models", "rules", "prompts", "mcpServers"))
_MODEL_FIELDS = frozenset(
    (
        "name",
        "provider",
        "model",
        "apiKey",
        "apiBase",
        "roles",
        "capabilities",
        "defaultCompletionOptions",
        "requestOptions",
        "chatOptions",
    )
)
_LOCAL = frozenset(("contextLength", "stream", "promptCaching", "n"))
"""Options of Continue itself, not of a provider."""
_BLOCK = "it is a block of a hub; write here what it holds"


def is_continue(body: Mapping) -> bool:
    """Whether a file is a configuration of Continue."""
    return "schema" in body and bool({"models", "mcpServers", "rules"} & body.keys())


def convert_continue(draft: Draft, body: Mapping) -> None:
    """One agent: with the first model that is for chat, all rules, all servers; each prompt becomes a task."""
    resolve = _resolver(draft)
    offers = [offer for server in _own(draft, body, "mcpServers") if (offer := _convert(draft, server, resolve))]
    models = [_declare_model(draft, each, resolve) for each in _own(draft, body, "models") if _is_for_chat(draft, each)]
    for other, _ in models[1:]:
        other.is_off = True
        other.comments.append("Another model for chat: it can take the place of the agent's.")
    model, message = models[0] if models else (None, "")
    agent = declare_agent(draft, "Assistant", model, offers)
    texts = Texts(draft, agent, agent.name)
    rules = [message, *_rules(draft, body, agent)]
    system = "\n\n".join(rule.strip("\n") for rule in rules if rule.strip())
    if system:
        agent.fields["system"] = texts.prose(f"{system}\n", place_of(body, "rules"))
    for prompt in _own(draft, body, "prompts"):
        text = text_at(prompt, "prompt")
        if text:
            task = declare_task(draft, text_at(prompt, "name") or "Prompt", agent, "")
            task.comments.append(text_at(prompt, "description") or "")
            task.fields["prompt"] = Texts(draft, task, task.name).prose(text, place_of(prompt, "prompt"))
    for key in body:
        if key not in _ABOUT | _CONVERTED:
            draft.left_out(place_of(body, key), f'"{key}"', "it is about the editor, not about an agent")


def _own(draft: Draft, body: Mapping, key: str) -> list[Mapping]:
    """The entries of a list that stand in the file itself."""
    found = []
    for entry in mappings_at(body, key):
        if "uses" in entry:
            draft.left_out(place_of(entry, "uses"), f'"{text_at(entry, "uses")}" of "{key}"', _BLOCK)
        else:
            found.append(entry)
    return found


def _resolver(draft: Draft) -> Resolver:
    """`secrets.NAME` and `inputs.NAME` of an expression, the name behind the last slash of a longer one."""

    def resolve(inside: str, place: int) -> str | None:
        scope, _, name = inside.partition(".")
        name = name.rpartition("/")[2]
        if scope == "secrets" and name:
            return draft.values.secret(name)
        return draft.values.variable(name) if scope == "inputs" and name else None

    return resolve


def _convert(draft: Draft, entry: Mapping, resolve: Resolver) -> dict[str, Any] | None:
    name = text_at(entry, "name") or "server"
    server = Server(draft, name, entry, entry.start, resolve)
    server.take("name")
    timeout = whole_at(entry, server.take("connectionTimeout"))
    options = mapping_at(entry, server.take("requestOptions"))
    client, offer = convert_server(server, {})
    if client is None:
        return None
    if timeout:
        client.fields["connectTimeoutMs"] = timeout
    _set_headers(draft, client, name, options, resolve)
    return offer


def _set_headers(draft: Draft, document: Declared, owner: str, options: Mapping, resolve: Resolver) -> None:
    texts = Texts(draft, document, owner, resolve)
    headers = read_texts(texts, mapping_at(options, "headers"), texts.header)
    if headers:
        document.fields["headers"] = headers
    for key in options:
        if key != "headers":
            draft.left_out(place_of(options, key), f'"{key}" of "{owner}"', "it has no field of its own here", document)


def _is_for_chat(draft: Draft, model: Mapping) -> bool:
    roles = [str(role) for role, _ in elements_at(model, "roles")]
    if not roles or "chat" in roles:
        return True
    draft.left_out(model.start, f'the model "{text_at(model, "name")}"', f"its roles are {', '.join(roles)}, not chat")
    return False


def _declare_model(draft: Draft, entry: Mapping, resolve: Resolver) -> tuple[Declared, str]:
    """A model, and what it adds to the system text."""
    provider, model = text_at(entry, "provider") or "", text_at(entry, "model") or ""
    name = text_at(entry, "name") or model
    texts = Texts(draft, Declared("", "", {}), provider, resolve)
    key, base = text_at(entry, "apiKey"), text_at(entry, "apiBase")
    declared = declare_model(
        draft,
        place_of(entry, "provider"),
        name,
        provider,
        model,
        key=texts.named(f"{snake(provider)}_API_KEY", key, place_of(entry, "apiKey")) if key else "",
        base_url=texts.url(base, place_of(entry, "apiBase")) if base else "",
    )
    options = plain_value(mapping_at(entry, "defaultCompletionOptions"))
    set_options(
        draft, entry.start, declared, {option: value for option, value in options.items() if option not in _LOCAL}
    )
    if declared.kind != "Ai.ScriptedModel":
        _set_headers(draft, declared, name, mapping_at(entry, "requestOptions"), resolve)
    for field in entry:
        if field not in _MODEL_FIELDS:
            draft.left_out(place_of(entry, field), f'"{field}" of "{name}"', "it is about the editor", declared)
    chat = mapping_at(entry, "chatOptions")
    return declared, text_at(chat, "baseAgentSystemMessage") or text_at(chat, "baseSystemMessage") or ""


def _rules(draft: Draft, body: Mapping, agent: Declared) -> list[str]:
    """The texts of the rules that hold everywhere."""
    found = [str(rule) for rule, _ in elements_at(body, "rules") if isinstance(rule, str)]
    for rule in _own(draft, body, "rules"):
        name = text_at(rule, "name") or "rule"
        if "globs" in rule or rule.get("alwaysApply") is False:
            draft.left_out(rule.start, f'the rule "{name}"', "it is for some files alone", agent)
        else:
            found.append(text_at(rule, "rule") or "")
    return found
