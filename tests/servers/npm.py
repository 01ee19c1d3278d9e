"""What `make test` installs into `tests/npm` where there is an npm: MCP servers, and the conformance suite of MCP."""

import platform
from pathlib import Path

import pytest

NPM = Path(__file__).parent.parent / "npm"
"""A folder in which `npx` finds the servers without asking a registry."""

has_npm_servers = (NPM / "node_modules/@modelcontextprotocol/server-everything").is_dir()
needs_npm_servers = pytest.mark.skipif(
    not has_npm_servers, reason="no servers from npm in tests/npm: install npm, then run `make test`"
)

SUITE = NPM / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = NPM / "node_modules" / f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}" / "bin/node"
"""The suite needs Node 22; its packages bring one for Linux, whatever the machine has."""

needs_conformance_suite = pytest.mark.skipif(
    not (SUITE.is_file() and NODE.is_file()),
    reason="no conformance suite, or no Node 22 for it, in tests/npm: on Linux, install npm, then run `make test`",
)
