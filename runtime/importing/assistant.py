"""The agent that stands for the program whose file was read: it gets the tools of all its servers."""

from typing import Any

from runtime.importing.draft import Declared, Draft
from runtime.manifest import Ref

_STAND_IN = (
    "Stands in for a model: it needs no key, picks a tool by the words of the prompt, and understands nothing.",
    "A real one: kind: AiOpenai.OpenaiModel, model: ..., apiKey: an expression such as secrets.openaiApiKey",
)


def declare_assistant(draft: Draft, offers: list[dict[str, Any]], model: Declared | None = None) -> Declared:
    """An agent with these entries of `toolProviders`; without a model it gets one that needs no key."""
    if model is None:
        model = draft.declare("Ai.ScriptedModel", "Model")
        model.comments += _STAND_IN
    agent = draft.declare("Ai.Agent", "Assistant", model=Ref(model.name, 0))
    if offers:
        agent.fields["toolProviders"] = offers
    return agent
