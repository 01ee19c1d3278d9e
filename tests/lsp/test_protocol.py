"""The same server seen by another implementation of the protocol: every answer is of the type that it has to be."""

from pathlib import Path
from typing import Any

import pytest
from anyio import Event, fail_after
from command import RUNTIME, environment
from lsprotocol import types
from pygls.lsp.client import LanguageClient

pytestmark = pytest.mark.anyio

TEXT = "kind: Ai.Agent\nmetadata: { name: One }\nmodel: { kind: Ai.ScriptedModel }\nmaxStep: 3\n"


async def test_answers_are_of_the_types_of_the_protocol(tmp_path: Path) -> None:
    uri = (tmp_path / "a.yaml").as_uri()
    client = LanguageClient("test", "1")
    published: list[types.PublishDiagnosticsParams] = []
    has_published = Event()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: types.PublishDiagnosticsParams) -> None:
        published.append(params)
        has_published.set()

    with fail_after(30):
        await client.start_io(RUNTIME, "lsp", "--stdio", env=environment(tmp_path))
        started = await client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=tmp_path.as_uri())
        )
        client.initialized(types.InitializedParams())
        document = types.TextDocumentItem(uri=uri, language_id="yaml", version=1, text=TEXT)
        client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        place = {"text_document": types.TextDocumentIdentifier(uri), "position": types.Position(3, 2)}
        completed: Any = await client.text_document_completion_async(types.CompletionParams(**place))
        await has_published.wait()
        hovered: Any = await client.text_document_hover_async(types.HoverParams(**place))
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    assert started.server_info == types.ServerInfo("runtime", started.server_info.version)
    assert "maxSteps" in [item.label for item in completed]
    assert [each.code for each in published[0].diagnostics] == ["SCHEMA_UNKNOWN_FIELD"]
    assert hovered.contents.value.startswith("**SCHEMA_UNKNOWN_FIELD** (error)")
