"""`Ai.Agent` from its manifest: every field does what it says."""

from typing import Any

import anyio
import msgspec
import pytest

from kinds.ai.agent import Agent
from runtime.errors import AgentError, Error, StartError

pytestmark = pytest.mark.anyio

ECHO = """
    kind: Ai.ScriptedModel
    metadata: { name: EchoModel }
    rules: [{ text: "heard ${{ user }}" }]
    ---
    kind: Ai.Agent
    metadata: { name: Echo }
    model: !ref EchoModel
    ---
    kind: Ai.Tools
    metadata: { name: Tools }
    tools:
      - { tool: !ref Echo, name: echo, parameters: { type: object, required: [prompt] } }
      - { tool: !ref Echo, name: other, parameters: {} }
    ---
"""


def agent(fields: str = "", *turns: str) -> str:
    """A manifest with the agent `Main`, whose model gives these turns."""
    script = "".join(f"      - {turn}\n" for turn in turns or ("{ text: done }",))
    return f"""{ECHO}
    kind: Ai.ScriptedModel
    metadata: {{ name: Model }}
    turns:
{script}
    ---
    kind: Ai.Agent
    metadata: {{ name: Main }}
    model: !ref Model
    {fields}
"""


ONE = "{ toolCalls: [{ name: echo, arguments: { prompt: hi } }] }"
PROVIDERS = "toolProviders: [{ provider: !ref Tools }]"


async def invoke(apply: Any, manifest: str, **inputs: Any) -> dict[str, Any]:
    async with apply(manifest) as live:
        answer: dict[str, Any] = await live["Main"].invoke({"prompt": "go", **inputs})
    return answer


async def test_agent_runs_with_its_tools(apply):
    answer = await invoke(apply, agent(PROVIDERS, ONE, '{ text: "it ${{ result }}" }'))

    assert (answer["text"], answer["steps"][0]["toolResults"][0]["content"]) == ("it heard hi", "heard hi")


async def test_agent_tells_its_tools_in_order_with_their_sources(apply):
    fields = """toolProviders:
      - { provider: !ref Tools, prefix: t_, include: ["*"], exclude: [other] }
      - { provider: !ref Tools }"""

    async with apply(agent(fields)) as live:
        tools = await live["Main"].tools()

    assert [(tool.name, tool.tool.name, tool.source.label) for tool in tools] == [
        ("t_echo", "echo", "Tools (entry 1)"),
        ("echo", "echo", "Tools (entry 2)"),
        ("other", "other", "Tools (entry 2)"),
    ]


async def test_system_text_reaches_the_model(apply):
    turn = "{ expect: { system: '^Be brief.$' }, text: done }"

    assert (await invoke(apply, agent("system: Be brief.", turn)))["text"] == "done"


async def test_max_steps(apply):
    with pytest.raises(AgentError) as raised:
        await invoke(apply, agent(f"maxSteps: 1\n    {PROVIDERS}", ONE))
    answer = await invoke(apply, agent(f"maxSteps: 1\n    onMaxSteps: return\n    {PROVIDERS}", ONE))

    assert (raised.value.code, raised.value.resource) == ("ERR_AGENT_MAX_STEPS", "Main")
    assert answer["finishReason"] == "tool-calls"


async def test_on_tool_error(apply):
    turns = ("{ toolCalls: [{ name: echo }] }", "{ text: done }")

    answer = await invoke(apply, agent(PROVIDERS, *turns))
    with pytest.raises(Error) as raised:
        await invoke(apply, agent(f"onToolError: throw\n    {PROVIDERS}", *turns))

    assert answer["steps"][0]["toolResults"][0]["isError"] is True
    assert raised.value.code == "ERR_TOOL_ARGUMENTS"


async def test_limits(apply):
    for limit, turn in (
        ("{ tokens: 5 }", "{ usage: { promptTokens: 5 }, toolCalls: [{ name: echo, arguments: { prompt: hi } }] }"),
        ("{ toolCalls: 0 }", ONE),
        ("{ seconds: 0.01 }", "{ text: late, delayMs: 60000 }"),
    ):
        with anyio.fail_after(5), pytest.raises(AgentError) as raised:
            await invoke(apply, agent(f"limits: {limit}\n    {PROVIDERS}", turn))

        assert raised.value.code == "ERR_AGENT_LIMIT"


async def test_history_limits_what_the_model_gets_to_see(apply):
    messages = [{"role": role, "content": f"{role} {number}"} for number in range(3) for role in ("user", "assistant")]
    asked = {"messages": [*messages, {"role": "user", "content": "last"}]}

    for limit, turn in (("maxMessages: 3", 2), ("maxTokens: 20", 2), ("maxMessages: 1", 1), ("maxMessages: 9", 4)):
        turns = [f"{{ text: turn {number} }}" for number in range(1, 5)]
        async with apply(agent(f"history: {{ {limit} }}", *turns)) as live:
            assert (await live["Main"].invoke(asked))["text"] == f"turn {turn}"


PRICED = "turns:\n", "prices: { prompt: 1, completion: 10, cachedPrompt: 0.1 }\n    turns:\n"
USAGE = "usage: { promptTokens: 1000000, cachedTokens: 500000, completionTokens: 200000 }"


async def test_cost_is_told_and_limited_where_the_model_has_prices(apply):
    turns = (ONE.replace("{ toolCalls", f"{{ {USAGE}, toolCalls", 1), "{ text: done, usage: { promptTokens: 100 } }")
    manifest = agent(f"limits: {{ cost: 2.6 }}\n    {PROVIDERS}", *turns).replace(*PRICED)

    answer = await invoke(apply, manifest)
    with pytest.raises(AgentError) as raised:
        await invoke(apply, manifest.replace("cost: 2.6", "cost: 2.55"))

    assert answer["usage"]["cost"] == 2.5501
    assert (raised.value.code, raised.value.message) == ("ERR_AGENT_LIMIT", "the run cost 2.55, and 2.55 is allowed")


async def test_without_prices_there_is_no_cost_and_a_limit_of_it_fails_the_run(apply):
    turns = (ONE.replace("{ toolCalls", f"{{ {USAGE}, toolCalls", 1), "{ text: done }")
    chain = "model: { kind: Ai.FallbackModel, models: [!ref Model, !ref Model] }"
    manifest = agent(f"limits: {{ cost: 1 }}\n    {PROVIDERS}", *turns).replace("model: !ref Model", chain)

    assert "cost" not in (await invoke(apply, manifest.replace("{ cost: 1 }", "{}")))["usage"]
    with pytest.raises(AgentError, match="its model has no prices"):
        await invoke(apply, manifest)


def test_limit_of_cost_without_prices_is_found_by_validate(validate):
    found = validate(agent("limits: { cost: 1 }"))

    assert [line.partition(" ")[2] for line in found if "RESOURCE_UNUSED" not in line] == [
        'SCHEMA_VALUE the cost is not known: the model "Model" has no `prices`'
    ]
    assert "SCHEMA_VALUE" not in "".join(validate(agent("limits: { cost: 1 }").replace(*PRICED)))


async def test_tool_timeout_and_result_length(apply):
    fields = f"toolTimeoutMs: 10\n    {PROVIDERS}"
    slow = agent(fields, ONE, "{ text: done }").replace("rules: [{ text:", "rules: [{ delayMs: 60000, text:")

    with anyio.fail_after(5):
        late = await invoke(apply, slow)
    cut = await invoke(apply, agent(f"maxResultCharacters: 5\n    {PROVIDERS}", ONE, "{ text: done }"))

    assert late["steps"][0]["toolResults"][0]["code"] == "ERR_TOOL_TIMEOUT"
    assert cut["steps"][0]["toolResults"][0]["content"].startswith("heard\n[the result is cut")


async def test_output_is_the_json_value_that_the_schema_wants(apply):
    fields = "output: { schema: { type: object, required: [n] } }"
    turns = ("{ expect: { system: 'JSON Schema.*required' }, text: three }", "{ text: '{\"n\": 3}' }")

    assert (await invoke(apply, agent(fields, *turns)))["output"] == {"n": 3}


async def test_part_of_an_output_schema_that_says_nothing_is_warned_of(apply, report):
    async with apply(agent("output: { schema: { properties: { a: { $ref: '#/$defs/Gone' } } } }")):
        pass

    assert report.warnings == [
        'Main: a part of `output.schema` is not checked: /properties/a: the reference "#/$defs/Gone" leads nowhere, '
        "so it says nothing"
    ]


def test_output_schema_that_is_none_is_found_by_validate(validate):
    found = validate(agent("output: { schema: { type: objekt } }"))

    assert [line.partition(" ")[2] for line in found if "RESOURCE_UNUSED" not in line] == [
        'SCHEMA_VALUE this is no JSON Schema: "type" cannot be "objekt"'
    ]


async def test_named_tool_choice_has_to_be_offered(apply):
    assert (await invoke(apply, agent(f"toolChoice: {{ name: echo }}\n    {PROVIDERS}")))["text"] == "done"
    with pytest.raises(AgentError) as raised:
        await invoke(apply, agent(f"toolChoice: {{ name: gone }}\n    {PROVIDERS}"))

    assert raised.value.code == "ERR_AGENT_TOOL_CHOICE"


async def test_filter_that_matches_nothing_is_an_error_of_the_run(apply):
    with pytest.raises(AgentError) as raised:
        await invoke(apply, agent("toolProviders: [{ provider: !ref Tools, prefix: t_, include: [t_echo] }]"))

    assert (raised.value.code, raised.value.resource) == ("ERR_AGENT_TOOL_FILTER", "Main")


async def test_script_with_a_wrong_pattern_does_not_start_where_it_comes_from_a_variable(apply):
    manifest = """
    kind: Runtime.Application
    metadata: { name: App }
    variables: { pattern: { type: string, env: PATTERN, default: "(" } }
    ---
    kind: Ai.ScriptedModel
    metadata: { name: Model }
    rules: [{ when: { user: "${{ variables.pattern }}" } }]
    """

    with pytest.raises(StartError) as raised:
        async with apply(manifest):
            pass
    assert raised.value.resource == "Model"


def test_script_that_cannot_work_is_found_by_validate(validate):
    manifest = """\
    kind: Ai.ScriptedModel
    metadata: { name: Model }
    turns:
      - expect: { user: "(" }
    rules:
      - when: { toolResult: "[a" }
    ---
    kind: Ai.Agent
    metadata: { name: Main }
    model: !ref Model
    """

    assert validate(manifest) == [
        "4:21 SCHEMA_VALUE '(' is no regular expression: missing ), unterminated subpattern at position 0",
        "6:3 SCHEMA_VALUE a scripted model takes `turns` or `rules`, not both",
        "6:25 SCHEMA_VALUE '[a' is no regular expression: unterminated character set at position 0",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"system": None},
        {"maxSteps": 0},
        {"maxSteps": 2.5},
        {"maxSteps": True},
        {"onMaxSteps": "stop"},
        {"onToolError": "Feedback"},
        {"toolProviders": [{"prefix": "a"}]},
        {"toolProviders": [{"provider": 1, "include": []}]},
        {"toolProviders": [{"provider": 1, "include": None}]},
        {"toolProviders": [{"provider": 1, "includes": ["a"]}]},
        {"toolChoice": "any"},
        {"toolChoice": {"name": ""}},
        {"maxParallelTools": 0},
        {"toolTimeoutMs": 0},
        {"toolTimeoutMs": None},
        {"limits": {"seconds": 0}},
        {"limits": {"cost": 0}},
        {"limits": {"money": 1}},
        {"history": {"maxMessages": 0}},
        {"history": {"maxTokens": None}},
        {"requireApproval": "fs_*"},
        {"output": {}},
        {"output": {"schema": True}},
        {"output": {"schema": {}, "strict": True}},
    ],
)
def test_fields_are_closed_and_typed(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"model": 1, **fields} if fields else {}, Agent)
