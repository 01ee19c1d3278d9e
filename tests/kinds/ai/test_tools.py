"""`Ai.Tools`: agents as tools of other agents."""

from typing import Any

import pytest
from servers.provider import Context

from kinds.ai.tools import StaticTools, ToolEntry
from runtime.ai.contracts import Image, Text, Tool, ToolResult
from runtime.errors import StartError, ToolError

pytestmark = pytest.mark.anyio

WRITER = """
    kind: Ai.ScriptedModel
    metadata: { name: WriterModel }
    rules:
      - when: { user: 'write (?P<words>\\d+) words about (?P<topic>\\w+)' }
        text: "${{ match.topic }} in ${{ match.words }} words"
        usage: { promptTokens: 3 }
    ---
    kind: Ai.Agent
    metadata: { name: Writer }
    model: !ref WriterModel
    ---
"""
TOOLS = """
    kind: Ai.Tools
    metadata: { name: Desk }
    tools:
      - tool: !ref Writer
        name: write
        description: Writes.
        parameters:
          type: object
          properties: { topic: { type: string }, words: { type: integer } }
          required: [topic, words]
        inputs: { prompt: "Write ${{ arguments.words }} words about ${{ arguments.topic }}." }
"""
ANSWER = {
    "text": "cats in 3 words",
    "usage": {"promptTokens": 3, "completionTokens": 0, "totalTokens": 3, "cachedTokens": 0, "reasoningTokens": 0},
    "finishReason": "stop",
    "steps": [{"text": "cats in 3 words", "toolCalls": [], "toolResults": []}],
}


async def test_tools_are_listed_as_declared_and_always_as_the_same_list(apply):
    async with apply(WRITER + TOOLS) as live:
        tools = await live["Desk"].list_tools()
        again = await live["Desk"].list_tools()

    parameters = {
        "type": "object",
        "properties": {"topic": {"type": "string"}, "words": {"type": "integer"}},
        "required": ["topic", "words"],
    }
    assert tools == [Tool("write", "Writes.", parameters)]
    assert again is tools


async def test_structured_answer_of_an_agent_is_what_its_caller_reads(apply):
    structured = WRITER.replace("model: !ref WriterModel", "model: !ref WriterModel\n    output: { schema: {} }")
    structured = structured.replace('text: "', 'text: "```\\n[1]\\n```\\n')

    async with apply(structured + TOOLS) as live:
        result = await live["Desk"].call_tool("write", {"topic": "cats", "words": 3})

    assert result.output == [1]
    assert result.rest[0]["text"] == "```\n[1]\n```\ncats in 3 words"


async def test_call_runs_the_agent_with_inputs_made_of_the_arguments(apply):
    async with apply(WRITER + TOOLS) as live:
        result = await live["Desk"].call_tool("write", {"topic": "cats", "words": 3})

    assert result == ToolResult("cats in 3 words", [ANSWER])


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ('"${{ result.finishReason }}: ${{ result.text }}"', "stop: cats in 3 words"),
        ("!cel result.usage.promptTokens", 3),
        ("{ text: !cel result.text, fixed: [1] }", {"text": "cats in 3 words", "fixed": [1]}),
    ],
)
async def test_result_is_what_the_manifest_makes_of_it(apply, expression, output):
    async with apply(f"{WRITER}{TOOLS}        result: {expression}\n") as live:
        result = await live["Desk"].call_tool("write", {"topic": "cats", "words": 3})

    assert result == ToolResult(output, [ANSWER])


async def test_without_name_and_inputs_it_is_the_agents_name_and_the_arguments_themselves(apply):
    manifest = f"""{WRITER}
    kind: Ai.Tools
    metadata: {{ name: Desk }}
    tools:
      - tool: !ref Writer
        parameters: {{}}
    """

    async with apply(manifest) as live:
        tools = await live["Desk"].list_tools()
        result = await live["Desk"].call_tool("Writer", {"prompt": "write 3 words about cats"})

    assert tools == [Tool("Writer", "", {})]
    assert result == ToolResult("cats in 3 words", [ANSWER])


async def test_agent_uses_another_as_a_tool_with_its_trace_nested(apply):
    manifest = f"""{WRITER}{TOOLS}
    ---
    kind: Ai.ScriptedModel
    metadata: {{ name: EditorModel }}
    turns:
      - toolCalls:
          - {{ name: desk_write, arguments: {{ topic: cats, words: 3 }} }}
          - {{ name: desk_write, arguments: {{ topic: dogs, words: 4 }} }}
      - text: "${{{{ results[0] }}}}; ${{{{ results[1] }}}}"
    ---
    kind: Ai.Agent
    metadata: {{ name: Editor }}
    model: !ref EditorModel
    toolProviders: [{{ provider: !ref Desk, prefix: desk_ }}]
    """

    async with apply(manifest) as live:
        answer = await live["Editor"].invoke({"prompt": "go"})

    assert answer["text"] == "cats in 3 words; dogs in 4 words"
    assert answer["steps"][0]["toolResults"][0]["rest"] == [ANSWER]


async def test_error_of_the_agent_is_the_error_of_the_tool(apply):
    async with apply(WRITER + TOOLS) as live:
        with pytest.raises(Exception, match="no rule fits") as raised:
            await live["Desk"].call_tool("write", {"topic": "", "words": 3})

    assert raised.value.code == "ERR_MODEL_SCRIPT"


BELOW = """
    kind: Ai.Agent
    metadata: { name: Main }
    model:
      kind: Ai.ScriptedModel
      turns: [{ toolCalls: [{ name: below, arguments: { prompt: go } }] }, { text: "told: ${{ result }}" }]
    toolProviders: [{ provider: { kind: Ai.Tools, tools: [{ tool: !ref Below, name: below, parameters: {} }] } }]
    ---
"""


async def test_what_an_agent_did_before_it_failed_stands_in_the_trace_of_its_caller(apply):
    manifest = (
        BELOW
        + WRITER
        + TOOLS
        + """
    ---
    kind: Ai.Agent
    metadata: { name: Below }
    model:
      kind: Ai.ScriptedModel
      turns:
        - { text: I ask, toolCalls: [{ name: write, arguments: { topic: cats, words: 3 } }] }
        - { error: { message: broke off } }
    toolProviders: [{ provider: !ref Desk }]
    """
    )
    async with apply(manifest) as live:
        answer = await live["Main"].invoke({"prompt": "go"})

    (result,) = answer["steps"][0]["toolResults"]
    (step,) = result["rest"][0]["steps"]
    assert answer["text"] == "told: broke off"
    assert (result["isError"], result["content"]) == (True, "broke off")
    assert (step["text"], step["toolCalls"][0]["name"]) == ("I ask", "write")
    assert step["toolResults"][0]["content"] == "cats in 3 words"


async def test_what_a_task_expects_is_the_error_of_the_tool_that_it_is(apply):
    manifest = (
        BELOW
        + WRITER
        + """
    kind: Ai.Task
    metadata: { name: Below }
    agent: !ref Writer
    prompt: Write 3 words about cats.
    expect: { that: [!cel "result.text == 'dogs'"] }
    """
    )
    async with apply(manifest) as live:
        answer = await live["Main"].invoke({"prompt": "go"})

    (result,) = answer["steps"][0]["toolResults"]
    assert answer["text"].startswith("told: ")
    assert (result["isError"], result["code"]) == (True, "ERR_EXPECTATION")
    assert [step["text"] for step in result["rest"][0]["steps"]] == ["cats in 3 words"]


async def test_tool_that_is_not_there_is_an_error(apply):
    async with apply(WRITER + TOOLS) as live:
        with pytest.raises(ToolError) as raised:
            await live["Desk"].call_tool("gone", {})

    assert (raised.value.code, raised.value.resource) == ("ERR_TOOL_UNKNOWN", "Desk")


async def test_expression_without_a_value_in_a_call_is_the_error_of_the_tool(apply):
    async with apply(WRITER + TOOLS) as live:
        with pytest.raises(ToolError) as raised:
            await live["Desk"].call_tool("write", {"topic": "cats"})

    assert raised.value.code == "ERR_TOOL_EXPRESSION"


async def test_two_tools_of_one_name_do_not_start(apply):
    twice = TOOLS + "      - { tool: !ref Writer, name: write, parameters: {} }\n"

    with pytest.raises(StartError, match='two of the tools are named "write"'):
        async with apply(WRITER + twice):
            pass


class Painter:
    """What can be run, and answers as an agent does whose model makes images."""

    name = "Painter"

    def __init__(self, text: str) -> None:
        self.text = text

    async def invoke(self, inputs: Any) -> dict[str, Any]:
        images = [{"type": "image", "data": "aGk=", "mediaType": "image/png"}]
        return {"text": self.text, "steps": [], "images": images}


@pytest.mark.parametrize(("text", "said"), [("Here.", [Text("Here.")]), ("", [])])
async def test_images_of_an_agent_are_what_its_caller_sees(text: str, said: list[Text]) -> None:
    tools = StaticTools(Context("Desk"), [ToolEntry(tool=Painter(text), parameters={})])

    result = await tools.call_tool("Painter", {})

    assert result.output == [*said, Image("aGk=", "image/png")]
