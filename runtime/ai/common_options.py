"""Options in words that models share, for callers who do not know which model an agent has."""

from collections.abc import Mapping
from typing import Any

from runtime.ai.contracts import Model, ModelRequest
from runtime.errors import AgentError

COMMON = ("temperature", "topP", "maxTokens", "stop")
"""`stop` is a list of texts, after any of which a turn ends; `maxTokens` are those of one turn."""


def merge_options(own: Mapping[str, Any], request: ModelRequest, names: Mapping[str, str]) -> dict[str, Any]:
    """The options of a request: those of the model, then of the run, then the common ones by the model's `names`.

    Of two limits of tokens the lower one holds: a caller cannot have more than the manifest allows.
    """
    options = {**own, **request.options}
    for word, value in request.common.items():
        name = names[word]
        limit = options.get(name)
        options[name] = min(value, limit) if word == "maxTokens" and isinstance(limit, int) else value
    return options


def check_common(options: Mapping[str, Any], model: Model, agent: str) -> None:
    """Raises `AgentError` ERR_AGENT_OPTION for an option that the model of this agent cannot be given."""
    taken: Mapping[str, str] = getattr(model, "common_options", {})
    for name in options:
        if name not in taken:
            raise AgentError(
                f'the model of the agent "{agent}" takes no `{name}`',
                code="ERR_AGENT_OPTION",
                resource=agent,
                hint=f"it takes: {', '.join(taken) or 'none of the common options'}",
                details={"option": name},
            )
