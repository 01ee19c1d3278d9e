"""The page: one file with all that it needs, and what it shows of the live set."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from runtime.errors import Error
from runtime.resolver import Node
from runtime.serve.graph import ServedGraph
from runtime.serve.responses import answer_json
from runtime.serve.service import Service

WAIT_SECONDS = 5.0
"""The longest that somebody who waits for a new set is kept waiting: servers come and go in the same set."""
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class PageRoutes:
    """Endpoints over a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        text = files("runtime.serve").joinpath("page.html").read_text(encoding="utf-8")
        script = _SCRIPT.search(text)
        digest = hashlib.sha256(script[1].encode() if script else b"").digest()
        policy = (
            f"default-src 'none'; script-src 'sha256-{base64.b64encode(digest).decode()}'; style-src 'unsafe-inline'; "
            "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self._page = HTMLResponse(text, headers={"content-security-policy": policy})

    async def page(self, request: Request) -> Response:
        """`GET /`: nothing in it is of the set, so that it needs no token."""
        return self._page

    async def graph(self, request: Request) -> Response:
        """`GET /graph?after=N`: the live set with its tools; where it is number N still, once there is another one."""
        after = request.query_params.get("after", "")
        if after == str(self._service.version):
            with anyio.move_on_after(WAIT_SECONDS):
                await self._service.until_changed()
        with self._service.using_graph() as graph:
            version = self._service.version
            nodes = [_describe(node, graph, self._service.warnings) for node in graph.nodes]
            agents = [await _describe_agent(name, graph) for name in graph.agents]
        return answer_json({"version": version, "nodes": nodes, "agents": agents})


def _describe(node: Node, graph: ServedGraph, warnings: Mapping[str, str]) -> dict[str, Any]:
    instance = graph.live.instances[node]
    # A client's `server` is None, and a provider is not available, while what they speak for is not there.
    is_there = getattr(instance, "is_available", True) and getattr(instance, "server", instance) is not None
    places: Sequence[Node] = graph.nodes
    return {
        "id": places.index(node),
        "name": node.name,
        "kind": node.entry.name,
        "status": "ready" if is_there else "not there",
        "summary": graph.masker(str(getattr(instance, "summary", ""))) if is_there else warnings.get(node.name, ""),
        "needs": [places.index(need) for need in node.needs],
    }


async def _describe_agent(name: str, graph: ServedGraph) -> dict[str, Any]:
    agent: dict[str, Any] = {"name": name, "description": graph.describe(name), "tools": []}
    try:
        for bound in await graph.agents[name].tools():
            agent["tools"].append(
                {
                    "name": bound.name,
                    "description": graph.masker(bound.tool.description),
                    "parameters": bound.tool.parameters,
                    "needsApproval": bound.needs_approval,
                }
            )
    except Error as error:
        agent["error"] = graph.masker(error.message)
    return agent
