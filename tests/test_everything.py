"""The reference server of the protocol, `server-everything` of npm: each form of result by design.md section 6."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import left_behind, run
from servers.listening import serve_everything
from servers.npm import NPM, needs_npm_servers

pytestmark = needs_npm_servers

REST = """
---
kind: AiMcp.ToolProvider
metadata: { name: Tools }
client: !ref Everything
---
kind: Ai.ScriptedModel
metadata: { name: Script }
turns:
  - toolCalls:
      - { name: echo, arguments: { message: good morning } }
      - { name: get-tiny-image }
      - { name: get-resource-links, arguments: { count: 2 } }
      - { name: get-structured-content, arguments: { location: Chicago } }
  - text: done
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Script
toolProviders: [{ provider: !ref Tools }]
"""


@pytest.fixture(params=["stdio", "http"])
def client(request: pytest.FixtureRequest) -> Iterator[str]:
    """The document of the client, with the server running where it is not the client's to start."""
    head = "metadata: { name: Everything }\n"
    if request.param == "stdio":
        yield f"kind: Mcp.StdioClient\n{head}command: npx\nargs: ['-y', '@modelcontextprotocol/server-everything']"
    else:
        with serve_everything() as url:
            yield f"kind: Mcp.HttpClient\n{head}url: {url}"


def test_text_images_links_and_structured_content_come_back_by_their_rules(client: str, tmp_path: Path) -> None:
    manifest = tmp_path / "everything.yaml"
    manifest.write_text(client + REST)

    ended = run(tmp_path, "apply", str(manifest), "--prompt", "go", "--output", "json", cwd=NPM)

    assert ended.code == 0, ended.err
    text, image, links, structured = msgspec.json.decode(ended.out)["steps"][0]["toolResults"]
    assert text["content"] == "Echo: good morning"
    assert [sorted(part) for part in image["content"]] == [
        ["text", "type"],
        ["data", "mediaType", "type"],
        ["text", "type"],
    ]
    assert image["content"][1]["mediaType"] == "image/png"
    assert [describe(block) for block in msgspec.json.decode(links["content"])["content"]] == [
        ("text", None),
        ("resource_link", "demo://resource/dynamic/blob/1"),
        ("resource_link", "demo://resource/dynamic/text/2"),
    ]
    assert sorted(msgspec.json.decode(structured["content"])) == ["conditions", "humidity", "temperature"]
    assert [part["type"] for part in structured["rest"]] == ["text"]
    assert left_behind(tmp_path) == []


def describe(block: dict[str, Any]) -> tuple[str, str | None]:
    return block["type"], block.get("uri")
