"""Every manifest of the pages under `docs/providers/` is checked, and asks a server on loopback that speaks its API."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from command import Ended, left_behind, run
from servers.provider import KEY, Provider, serve_provider

pytestmark = pytest.mark.anyio

PAGES = sorted((Path(__file__).parent.parent / "docs/providers").glob("*.md"))
FENCE = re.compile(r"^```(\S.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
TOOL = "get_current_time"
ARGUMENTS = {"timezone": "Asia/Tokyo"}
TOLD = "It is late."

MANIFESTS = {
    words.split("title=")[1]: body
    for page in PAGES
    for words, body in FENCE.findall(page.read_text())
    if "title" in words
}


def speak_messages(provider: Provider, said: str | None) -> None:
    if said is None:
        block = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": ARGUMENTS}
    else:
        block = {"type": "text", "text": said}
    provider.streams(
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def speak_gemini(provider: Provider, said: str | None) -> None:
    part = {"text": said} if said is not None else {"functionCall": {"name": TOOL, "args": ARGUMENTS}}
    provider.streams({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}, line_end="\r\n")


def speak_chat(provider: Provider, said: str | None) -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": TOOL, "arguments": encode(ARGUMENTS)}}
    delta = {"content": said} if said is not None else {"tool_calls": [call]}
    provider.streams({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]})


def speak_responses(provider: Provider, said: str | None) -> None:
    item: dict[str, Any]
    if said is None:
        item = {"type": "function_call", "call_id": "call_1", "name": TOOL, "arguments": encode(ARGUMENTS)}
    else:
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
    provider.streams({"type": "response.completed", "response": {"status": "completed", "output": [item]}})


def encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


async def apply(folder: Path, manifest: str, **environment: str) -> Ended:
    """Ask the agent of a manifest for the time."""
    (folder / "manifest.yaml").write_text(MANIFESTS[manifest])
    arguments = ("apply", str(folder / "manifest.yaml"), "--prompt", "What time is it in Tokyo?", "--quiet")
    return await anyio.to_thread.run_sync(partial(run, folder, *arguments, **environment))


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_manifest_has_no_finding(manifest: str, tmp_path: Path) -> None:
    (tmp_path / manifest).write_text(MANIFESTS[manifest])

    ended = run(tmp_path, "validate", "--strict", "--quiet", str(tmp_path / manifest))

    assert (ended.code, ended.out) == (0, "")


@pytest.mark.parametrize(
    ("manifest", "speak", "url", "path", "environment"),
    [
        ("claude.yaml", speak_messages, "ANTHROPIC_BASE_URL", "", {"ANTHROPIC_API_KEY": KEY}),
        ("gemini.yaml", speak_gemini, "GOOGLE_GEMINI_BASE_URL", "", {"GEMINI_API_KEY": KEY}),
        ("openai.yaml", speak_chat, "OPENAI_BASE_URL", "/v1", {"OPENAI_API_KEY": KEY}),
        ("responses.yaml", speak_responses, "OPENAI_BASE_URL", "/v1", {"OPENAI_API_KEY": KEY}),
    ],
)
async def test_an_agent_of_each_provider_works_with_its_tools(manifest, speak, url, path, environment, tmp_path):
    async with serve_provider() as provider:
        speak(provider, None)
        speak(provider, TOLD)
        ended = await apply(tmp_path, manifest, **{url: provider.url + path}, **environment)

    assert ended == (0, f"{TOLD}\n", "")
    first, second = provider.requests
    assert (TOOL.encode() in first.raw, b"Asia/Tokyo" in second.raw, b"is_dst" in second.raw) == (True, True, True)
    assert left_behind(tmp_path) == []


async def test_a_fallback_goes_on_where_the_first_model_failed(tmp_path):
    async with serve_provider() as claude, serve_provider() as gpt:
        speak_messages(claude, None)
        claude.refuses(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        speak_chat(gpt, TOLD)
        ended = await apply(
            tmp_path,
            "fallback.yaml",
            ANTHROPIC_BASE_URL=claude.url,
            ANTHROPIC_API_KEY=KEY,
            OPENAI_BASE_URL=f"{gpt.url}/v1",
            OPENAI_API_KEY=KEY,
        )

    assert ended == (0, f"{TOLD}\n", "")
    assert [message["role"] for message in gpt.bodies[0]["messages"]] == ["user", "assistant", "tool"]


async def test_a_refused_key_is_told_without_showing_it(tmp_path):
    async with serve_provider() as provider:
        error = {"type": "authentication_error", "message": f"invalid x-api-key: {KEY}"}
        provider.refuses(401, {"type": "error", "error": error})
        ended = await apply(tmp_path, "claude.yaml", ANTHROPIC_BASE_URL=provider.url, ANTHROPIC_API_KEY=KEY)

    assert (ended.code, ended.out) == (4, "")
    assert "the provider answered 401: invalid x-api-key: ***" in ended.err
    assert KEY not in ended.err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert [found for found in LINK.findall(page.read_text()) if not (page.parent / found).exists()] == []


async def test_an_image_that_a_model_makes_is_named_and_kept(tmp_path):
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA" * 4115}}
    drawn = {"candidates": [{"content": {"parts": [{"text": "A heron."}, image]}, "finishReason": "STOP"}]}
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(
        "kind: Ai.Completion\nmetadata: { name: Painter }\n"
        'model: { kind: AiGoogle.GeminiModel, model: gemini-3-image, apiKey: "${{ secrets.geminiApiKey }}" }\n'
    )
    arguments = ("apply", str(manifest), "--prompt", "Draw a heron.", "--quiet")

    async with serve_provider() as provider:
        ended = []
        for output in ("text", "json", "events"):
            provider.streams(drawn)
            told = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": provider.url}
            ended.append(await anyio.to_thread.run_sync(partial(run, tmp_path, *arguments, "--output", output, **told)))

    text, as_json, events = ended
    assert text.out == "A heron.\n[image image/png, 12345 bytes]\n"
    kept = [{"type": "image", "data": "AAAA" * 4115, "mediaType": "image/png"}]
    assert msgspec.json.decode(as_json.out)["images"] == kept
    lines = [msgspec.json.decode(line) for line in events.out.splitlines()]
    assert [line["type"] for line in lines] == ["text-delta", "media", "finish"]
    assert lines[1]["images"] == lines[2]["images"] == kept
