"""An agent file of docker-agent: its agents with their models, MCP toolsets and sub-agents."""

import re
from typing import Any

from runtime.importing.assistant import declare_agent, declare_task
from runtime.importing.docker_toolsets import Toolsets
from runtime.importing.draft import Declared, Draft
from runtime.importing.foreign import elements_at, mapping_at, place_of, plain_value, text_at, whole_at
from runtime.importing.models import declare_model, set_options
from runtime.importing.texts import Texts
from runtime.importing.values import camel
from runtime.manifest import Include, Mapping, Ref

_OPTIONS = ("temperature", "max_tokens", "top_p", "frequency_penalty", "presence_penalty", "parallel_tool_calls")
_MODEL_FIELDS = frozenset(("provider", "model", "base_url", "token_key", *_OPTIONS))
_TOP = frozenset(("version", "agents", "models", "providers", "mcps", "metadata", "permissions"))
_CONVERTED = frozenset(
    (
        "model",
        "description",
        "instruction",
        "instruction_file",
        "toolsets",
        "sub_agents",
        "max_iterations",
        "num_history_items",
        "fallback",
        "commands",
        "structured_output",
    )
)
_REASONS = {
    "add_date": "an MCP server such as mcp-server-time tells the time",
    "handoffs": "an agent gives its answer back; `sub_agents` become tools",
    "code_mode_tools": "a model calls each tool by itself",
    "rag": "an MCP server can search instead",
    "hooks": "nothing runs beside an agent",
    "budgets": "`limits` of an agent are its own",
    "budget": "`limits` of an agent are its own",
    "flavors": "a manifest is what it is; `variables` differ from run to run",
}
_PROMPT = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What the agent is asked."}},
    "required": ["prompt"],
}


def convert_docker_agent(draft: Draft, body: Mapping) -> None:
    """All agents of the file; those that are sub-agents become tools of the others."""
    _AgentFile(draft, body).convert()


class _AgentFile:
    def __init__(self, draft: Draft, body: Mapping) -> None:
        self.draft = draft
        self.body = body
        self.bodies = {name: found for name, found in mapping_at(body, "agents").items() if type(found) is Mapping}  # type: dict[str, Mapping]
        self.agents: dict[str, Declared] = {}
        self.models: dict[str, Declared] = {}
        self.approved: set[str] = set()
        self.teams: dict[str, set[str]] = {}
        self.toolsets = Toolsets(draft, mapping_at(body, "mcps"))

    def convert(self) -> None:
        for name, agent in self.bodies.items():
            self.agents[name] = self._declare_agent(name, agent)
        for name, agent in self.bodies.items():
            self._offer_sub_agents(name, agent)
        self._report_permissions()
        self._report_unused("models", set(self.models))
        self._report_unused("mcps", self.toolsets.used)
        for key in self.body:
            if key not in _TOP:
                self._left_out(self.body, key, f'"{key}"')

    def _left_out(self, mapping: Mapping, key: str, what: str, document: Declared | None = None) -> None:
        why = _REASONS.get(key, "a manifest has nothing like it")
        self.draft.left_out(place_of(mapping, key), what, why, document)

    def _declare_agent(self, name: str, body: Mapping) -> Declared:
        agent = declare_agent(self.draft, name, self._model_of(name, body), [])
        agent.comments.append(text_at(body, "description") or "")
        offers, instructions = self.toolsets.offer(name, body, agent)
        self._set_system(agent, body, instructions)
        if offers:
            agent.fields["toolProviders"] = offers
        self._set_limits(agent, body)
        output = mapping_at(mapping_at(body, "structured_output"), "schema")
        if output:
            agent.fields["output"] = {"schema": plain_value(output)}
        self._require_approval(agent, offers)
        self._declare_commands(agent, mapping_at(body, "commands"))
        for key in body:
            if key not in _CONVERTED:
                self._left_out(body, key, f'"{key}" of "{name}"', agent)
        return agent

    def _set_system(self, agent: Declared, body: Mapping, more: list[str]) -> None:
        file = text_at(body, "instruction_file")
        if file is not None and not more:
            agent.fields["system"] = Include(file)
            return
        texts = [text_at(body, "instruction") or "", *more]
        text = "\n\n".join(text.strip("\n") for text in texts if text.strip())
        if text:
            place = place_of(body, "instruction")
            agent.fields["system"] = Texts(self.draft, agent, agent.name).prose(f"{text}\n", place)

    def _set_limits(self, agent: Declared, body: Mapping) -> None:
        if whole_at(body, "max_iterations"):
            agent.fields["maxSteps"] = body["max_iterations"]
        elif "max_iterations" in body:
            self.draft.left_out(place_of(body, "max_iterations"), "no limit of turns", "`maxSteps` is 8 here", agent)
        if whole_at(body, "num_history_items"):
            agent.fields["history"] = {"maxMessages": body["num_history_items"]}

    def _require_approval(self, agent: Declared, offers: list[dict[str, Any]]) -> None:
        """The tools to ask for of those that the agent has: a name that fits none would be an error."""
        asked = [str(each) for each, _ in elements_at(mapping_at(self.body, "permissions"), "ask")]
        own = [
            each
            for each in asked
            if re.fullmatch(r"[\w*?-]+", each) and any(_may_have(offer, each) for offer in offers)
        ]
        self.approved.update(own)
        if own:
            agent.fields["requireApproval"] = own

    def _declare_commands(self, agent: Declared, commands: Mapping) -> None:
        for name in commands:
            prompt = text_at(commands, name) or text_at(mapping_at(commands, name), "instruction")
            if prompt:
                task = declare_task(self.draft, f"{agent.name}-{name}", agent, "")
                task.fields["prompt"] = Texts(self.draft, task, name).prose(prompt, place_of(commands, name))
            else:
                self._left_out(commands, name, f'the command "{name}"', agent)

    def _report_permissions(self) -> None:
        permissions = mapping_at(self.body, "permissions")
        for key in permissions:
            for each, place in elements_at(permissions, key):
                if key != "ask" or str(each) not in self.approved:
                    why = "an agent asks for the tools of `requireApproval`, and for no other"
                    self.draft.left_out(place, f'"{each}" of the permissions ({key})', why)

    def _report_unused(self, key: str, used: set[str]) -> None:
        shared = mapping_at(self.body, key)
        for name in shared:
            if name not in used:
                self.draft.left_out(place_of(shared, name), f'"{name}" of "{key}"', "no agent uses it")

    # models

    def _model_of(self, agent: str, body: Mapping) -> Declared | None:
        """The model of an agent, with those that stand in when it fails."""
        wanted = text_at(body, "model") or ""
        if not wanted or wanted == "auto":
            self.draft.note(place_of(body, "model"), f'"{agent}" names no model, so it got a stand-in')
            return None
        first, *others = [each.strip() for each in wanted.split(",")]
        if others:
            why = "an agent has one model; Ai.FallbackModel takes several"
            self.draft.left_out(place_of(body, "model"), f"the alternation with {', '.join(others)}", why)
        place = place_of(body, "model")
        model = self._model(first, place)
        fallback = [str(each) for each, _ in elements_at(mapping_at(body, "fallback"), "models")]
        if not fallback:
            return model
        models = [Ref(each.name, 0) for each in (model, *(self._model(name, place) for name in fallback))]
        return self.draft.declare("Ai.FallbackModel", f"{agent}-models", models=models)

    def _model(self, name: str, place: int) -> Declared:
        """The model of that name, or `provider/model`; declared once."""
        if name not in self.models:
            declared = mapping_at(self.body, "models").get(name)
            self.models[name] = (
                self._named_model(name, declared) if type(declared) is Mapping else self._inline_model(name, place)
            )
        return self.models[name]

    def _inline_model(self, name: str, place: int) -> Declared:
        provider, _, model = name.partition("/")
        return declare_model(self.draft, place, model or name, provider if model else "openai", model or name)

    def _named_model(self, name: str, body: Mapping) -> Declared:
        provider = text_at(body, "provider") or ""
        shared = mapping_at(mapping_at(self.body, "providers"), provider)
        found = {**plain_value(shared), **plain_value(body)}
        key = str(found.get("token_key", ""))
        model = declare_model(
            self.draft,
            place_of(body, "provider"),
            name,
            str(shared.get("provider", provider)),
            str(found.get("model", "")),
            key=f"${{{{ {self.draft.values.secret(key)} }}}}" if key else "",
            base_url=self._address(str(found.get("base_url", "")), body),
        )
        if found.get("api_type") == "openai_responses" and model.kind == "AiOpenai.OpenaiModel":
            model.fields["api"] = "responses"
        options = {camel(option): found[option] for option in _OPTIONS if option in found}
        set_options(self.draft, body.start, model, options)
        for field in body:
            if field not in _MODEL_FIELDS:
                self._left_out(body, field, f'"{field}" of the model "{name}"', model)
        return model

    def _address(self, address: str, body: Mapping) -> str:
        unused = Declared("", "", {})
        return Texts(self.draft, unused, "model").url(address, place_of(body, "base_url")) if address else ""

    # sub-agents

    def _offer_sub_agents(self, name: str, body: Mapping) -> None:
        agent = self.agents[name]
        tools = []
        for other, place in elements_at(body, "sub_agents"):
            target = self.agents.get(str(other))
            if target is None:
                self.draft.left_out(place, f'the sub-agent "{other}"', "it is in no file that was read", agent)
            elif name == str(other) or name in self._below(str(other)):
                self.draft.left_out(place, f'the sub-agent "{other}"', "it has this one as a sub-agent itself", agent)
            else:
                self.teams.setdefault(name, set()).add(str(other))
                entry: dict[str, Any] = {"tool": Ref(target.name, 0)}
                text = text_at(self.bodies[str(other)], "description")
                tools.append({**entry, **({"description": text} if text else {}), "parameters": _PROMPT})
        if tools:
            provider = self.draft.declare("Ai.Tools", f"{name}-team", tools=tools)
            agent.fields.setdefault("toolProviders", []).append({"provider": Ref(provider.name, 0)})

    def _below(self, name: str) -> set[str]:
        """The agents that an agent reaches through the teams that were made so far."""
        found, todo = set[str](), [name]
        while todo:
            for each in self.teams.get(todo.pop(), set()) - found:
                found.add(each)
                todo.append(each)
        return found


def _may_have(offer: dict[str, Any], name: str) -> bool:
    """Whether a tool of that name, or one that fits the glob, can be among those offered."""
    prefix = offer.get("prefix", "")
    bare = name.removeprefix(prefix)
    if prefix and bare == name and not name.startswith(("*", "?")):
        return False
    return bool(prefix) or "*" in name or bare in offer.get("include", ())
