"""A set of manifests with something of everything that the page shows."""

import sys
from pathlib import Path

from serving import GATE

STDIO = str(Path(__file__).parent / "servers/stdio.py")
SKETCH = '''
"""`Sketch.ToolProvider`: a tool that gives an image, and one whose calls have to be approved."""

from contextlib import asynccontextmanager

from runtime import Kind, kind
from runtime.ai import Image, Text, Tool, ToolProvider

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DRAW = {
    "type": "object",
    "properties": {
        "width": {"type": "integer", "description": "In pixels."},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["width"],
}
REMOVE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@kind("Sketch.ToolProvider", implements=ToolProvider)
class SketchToolProvider(Kind):
    """A tool that gives an image, and one whose calls have to be approved."""

    @asynccontextmanager
    async def open(self, context):
        yield Sketches()


class Sketches:
    async def list_tools(self):
        return [Tool("draw", "Draws a picture.", DRAW), Tool("remove", "Removes a picture for good.", REMOVE)]

    async def call_tool(self, name, arguments):
        return [Text("a picture"), Image(PIXEL, "image/png")] if name == "draw" else "removed"
'''
SERVER = """
kind: Mcp.StdioClient
metadata: {{ name: {name} }}
command: "{python}"
args: ["{server}", {words}]
required: {required}
---
kind: AiMcp.ToolProvider
metadata: {{ name: {name}Tools }}
client: !ref {name}
---
"""
HEAD = """\
kind: Runtime.Application
metadata: {{ name: Gallery }}
imports: {{ Gate: ./gate, Sketch: ./sketch }}
---
kind: Gate.ToolProvider
metadata: {{ name: Gates }}
port: {port}
---
kind: Sketch.ToolProvider
metadata: {{ name: Sketches }}
---
"""
AGENT = """
kind: Ai.ScriptedModel
metadata: { name: Model }
rules:
  - when: { toolResult: a picture }
    text: Here it is.
  - when: { toolResult: "." }
    text: "the tool said ${{ result }}"
  - when: { user: draw }
    toolCalls: [{ name: draw, arguments: { width: 1 } }]
  - when: { user: remove }
    toolCalls: [{ name: remove, arguments: { name: sunset } }]
  - when: { user: crash }
    toolCalls: [{ name: Two_crash, arguments: {} }]
  - when: { user: hello }
    text: good evening
  - text: I ask the tool
    toolCalls: [{ name: wait, arguments: {} }]
---
kind: Ai.Agent
metadata: { name: Keeper, description: Looks after the pictures. }
model: !ref Model
requireApproval: [remove]
toolProviders:
  - { provider: !ref OneTools, prefix: One_ }
  - { provider: !ref TwoTools, prefix: Two_ }
  - { provider: !ref LostTools, prefix: Lost_ }
  - { provider: !ref Gates }
  - { provider: !ref Sketches }
"""


def write_set(folder: Path, port: int, agent: str = AGENT) -> Path:
    """`gallery.yaml`: three servers, one of which fails; the tool `wait` waits at the gate at `port`."""
    for name, text in (("gate", GATE), ("sketch", SKETCH)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "tool_provider.py").write_text(text)
    servers = [("One", '"One"', "true"), ("Two", '"Two"', "true"), ("Lost", '"--fail", "3"', "false")]
    parts = [
        SERVER.format(name=name, python=sys.executable, server=STDIO, words=words, required=required)
        for name, words, required in servers
    ]
    file = folder / "gallery.yaml"
    file.write_text(HEAD.format(port=port) + "".join(parts) + agent)
    return file
