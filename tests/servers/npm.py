"""MCP servers from npm, which `make test` installs into `tests/npm` where there is an npm."""

from pathlib import Path

import pytest

NPM = Path(__file__).parent.parent / "npm"
"""A folder in which `npx` finds the servers without asking a registry."""

has_npm_servers = (NPM / "node_modules/@modelcontextprotocol/server-everything").is_dir()
needs_npm_servers = pytest.mark.skipif(
    not has_npm_servers, reason="no servers from npm in tests/npm: install npm, then run `make test`"
)
