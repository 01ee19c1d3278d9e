"""The agent that stands for the program whose file was read: it gets the tools of all its servers."""

from typing import Any

from runtime.importing.draft import Declared, Draft
from runtime.importing.models import declare_stand_in
from runtime.manifest import Ref


def declare_agent(
    draft: Draft, name: str, model: Declared | None, offers: list[dict[str, Any]], *, system: str = ""
) -> Declared:
    """An agent with these entries of `toolProviders`; without a model it gets one that needs no key."""
    model = model or declare_stand_in(draft)
    agent = draft.declare("Ai.Agent", name, model=Ref(model.name, 0))
    if system:
        agent.fields["system"] = system
    if offers:
        agent.fields["toolProviders"] = offers
    return agent


def declare_task(draft: Draft, name: str, agent: Declared, prompt: str) -> Declared:
    """Something that an agent is asked, by name."""
    return draft.declare("Ai.Task", name, agent=Ref(agent.name, 0), prompt=prompt)
