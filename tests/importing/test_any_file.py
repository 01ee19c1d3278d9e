"""Whatever a file holds: it is refused, or there is a manifest that can be read and holds no credential of it."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import UsageError
from runtime.importing import convert
from runtime.manifest import Source, load

SECRET = "sk-Abcdefghij0123456789XYZ"
NAMES = """
    mcpServers servers inputs agents models root toolsets type mcp command args env url headers remote ref name model
    instruction provider sub_agents commands schema permissions ask mcps title instructions prompt parameters key
    extensions cmd uri envs env_keys timeout settings goose_provider goose_model response json_schema rules prompts
    uses apiKey apiBase roles defaultCompletionOptions requestOptions disabled fallback lifecycle tools description
    default options recipe metadata
"""
TEXTS = """
    x root ${A} ${A:-b} ${input:q} docker:x stdio mcp openai anthropic/claude 30s https://e.com/sse?token=abc ws://x
    --token {{a}} !ref # ' " \\ true
"""
KEYS = st.sampled_from(re.findall(r"\S+", NAMES))
VALUES = st.sampled_from(
    [*re.findall(r"\S+", TEXTS), "", " a", "a\nb", "\u2028", "${{ secrets.X }}", SECRET, None, True, 0, -5, 1.5, 10**20]
)
TREES = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
FORMATS = st.sampled_from(["mcpServers", "servers", "agents", "models", "extensions"])
STARTS: dict[str, dict[str, Any]] = {"models": {"schema": "v1"}, "extensions": {"title": "T", "prompt": "{{ a }}"}}
MAPPINGS = st.dictionaries(KEYS, TREES, max_size=6)


@settings(deadline=None)
@given(FORMATS, MAPPINGS, MAPPINGS, st.booleans())
def test_it_is_refused_or_makes_a_manifest(
    key: str, inner: dict[str, Any], more: dict[str, Any], is_list: bool
) -> None:
    body = {**more, **STARTS.get(key, {}), key: [inner] if is_list else inner}

    try:
        made, draft = convert(Source("file.json", json.dumps(body).encode(), "."))
    except UsageError as refused:
        assert SECRET not in str(refused)
        return

    assert load(Source("made.yaml", made.encode(), ".")).diagnostics == []
    assert SECRET not in made
    assert SECRET not in str(draft.notes)
