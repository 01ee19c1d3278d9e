"""The models of a foreign file: which kind speaks with a provider, where it is, how its options are called there."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.importing.draft import Declared, Draft
from runtime.importing.values import camel

OPENAI = "AiOpenai.OpenaiModel"
ANTHROPIC = "AiAnthropic.AnthropicModel"
GEMINI = "AiGoogle.GeminiModel"
STAND_IN = (
    "Stands in for a model: it needs no key, picks a tool by the words of the prompt, and understands nothing.",
    "A real one: kind: AiOpenai.OpenaiModel, model: ..., apiKey: an expression such as secrets.openaiApiKey",
)


class Provider(NamedTuple):
    """A provider: the kind that speaks its API, the variable of its key, its address where the kind has another."""

    kind: str
    key: str
    base_url: str = ""


PROVIDERS = {
    "openai": Provider(OPENAI, "OPENAI_API_KEY"),
    "anthropic": Provider(ANTHROPIC, "ANTHROPIC_API_KEY"),
    "google": Provider(GEMINI, "GOOGLE_API_KEY"),
    "gemini": Provider(GEMINI, "GEMINI_API_KEY"),
    "ollama": Provider(OPENAI, "", "http://localhost:11434/v1"),
    "lmstudio": Provider(OPENAI, "", "http://localhost:1234/v1"),
    "dmr": Provider(OPENAI, "", "http://localhost:12434/engines/v1"),
    "openrouter": Provider(OPENAI, "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "mistral": Provider(OPENAI, "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    "groq": Provider(OPENAI, "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    "deepseek": Provider(OPENAI, "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    "xai": Provider(OPENAI, "XAI_API_KEY", "https://api.x.ai/v1"),
    "together": Provider(OPENAI, "TOGETHER_API_KEY", "https://api.together.xyz/v1"),
    "fireworks": Provider(OPENAI, "FIREWORKS_API_KEY", "https://api.fireworks.ai/inference/v1"),
    "cerebras": Provider(OPENAI, "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1"),
}
"""By the name that most programs give them."""

_OPTIONS: dict[str, dict[str, str]] = {
    "temperature": {},
    "topP": {},
    "topK": {OPENAI: ""},
    "maxTokens": {GEMINI: "maxOutputTokens"},
    "stop": {ANTHROPIC: "stopSequences", GEMINI: "stopSequences"},
    "frequencyPenalty": {ANTHROPIC: ""},
    "presencePenalty": {ANTHROPIC: ""},
    "parallelToolCalls": {ANTHROPIC: "", GEMINI: ""},
}
"""Options that most programs know, with the name that a kind has for it; an empty one: it has none."""

_SAMPLING = frozenset(("temperature", "topP", "topK"))
_PLAIN_VERSION = "2023-06-01"
"""Of Anthropic's API: those after it take no options of sampling."""


def declare_stand_in(draft: Draft) -> Declared:
    """A model that needs no key, for an agent whose own is not known."""
    model = draft.declare("Ai.ScriptedModel", "Model")
    model.comments += STAND_IN
    return model


def declare_model(
    draft: Draft, place: int, name: str, provider: str, model: str, *, key: str = "", base_url: str = ""
) -> Declared:
    """A model of a provider. `key` is an expression or a text for `apiKey`; without it the provider's variable is read.

    A provider that is not known here, and has no address, becomes a model that stands in for it.
    """
    if base_url and not base_url.lower().startswith(("http://", "https://", "${{")):
        draft.left_out(place, f'the address of "{model}"', "it is not of http")
        base_url = ""
    known = PROVIDERS.get(provider.lower())
    if not model:
        draft.left_out(place, f'the model "{name}"', "it has no name at its provider, so it got a stand-in")
        return declare_stand_in(draft)
    if known is None and not base_url:
        draft.left_out(place, f'the provider "{provider}"', f'it is not known here, so "{model}" got a stand-in')
        return declare_stand_in(draft)
    known = known or Provider(OPENAI, f"{camel(provider).upper()}_API_KEY")
    declared = draft.declare(known.kind, name, model=model)
    secret = f"${{{{ {draft.values.secret(known.key)} }}}}" if known.key and not key else ""
    declared.fields["apiKey"] = key or secret or "none"
    address = base_url or known.base_url
    if address:
        declared.fields["baseUrl"] = _address(known.kind, provider, address)
    return declared


def set_options(draft: Draft, place: int, model: Declared, given: Mapping[str, Any]) -> None:
    """The options of a model, under its kind's names for them; notes of those that it does not know."""
    options: dict[str, Any] = {}
    for key, value in given.items():
        name = _OPTIONS.get(key, {model.kind: ""}).get(model.kind, key)
        if name:
            options[name] = value
        else:
            draft.left_out(place, f'the option "{key}" of "{model.name}"', "its kind has none of this name", model)
    if model.kind == "Ai.ScriptedModel" or not options:
        return
    if model.kind == ANTHROPIC and _SAMPLING & options.keys():
        model.fields["apiVersion"] = _PLAIN_VERSION
    model.fields["options"] = options


def _address(kind: str, provider: str, address: str) -> str:
    """The address as the kind wants it: with the version for OpenAI's API, without for the others."""
    address = address.rstrip("/")
    if kind == OPENAI:
        return f"{address}/v1" if provider == "ollama" and not re.search(r"/v\d+$", address) else address
    return re.sub(r"/v\d\w*$", "", address)
