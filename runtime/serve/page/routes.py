"""What the page asks for: itself, the live set, tools, manifests, timelines."""

import hashlib
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from runtime.ai.formats import FORMATS
from runtime.errors import Error
from runtime.serve.graph import ServedGraph
from runtime.serve.page.bundle import make_bundle
from runtime.serve.page.manifests import as_data
from runtime.serve.page.states import State, draw_states, find_states
from runtime.serve.page.timeline import make_timeline
from runtime.serve.page.tool_report import report_tools
from runtime.serve.reading import Reading
from runtime.serve.responses import BadRequest, answer_json
from runtime.serve.service import NotFound, Service

WAIT_SECONDS = 20.0
"""The longest that somebody who waits for a change is kept waiting."""
LOOK_SECONDS = 0.5
"""Between two looks at how the resources fare, while somebody waits: a server comes and goes without a word."""


class PageRoutes:
    """Endpoints over a service; `read` gives the manifests as they were last read."""

    def __init__(self, service: Service, read: Callable[[], Reading]) -> None:
        self._service = service
        self._read = read
        bundle = make_bundle()
        self._page = HTMLResponse(bundle.text, headers={"content-security-policy": bundle.policy})

    async def page(self, request: Request) -> Response:
        """`GET /`: nothing in it is of the set, so that it needs no token."""
        return self._page

    async def graph(self, request: Request) -> Response:
        """`GET /graph?after=VERSION`: the live set; where it still is as that version was, once it is another."""
        after = request.query_params.get("after", "")
        with anyio.move_on_after(WAIT_SECONDS):
            while self._look()[0] == after and not self._service.admission.is_closed:
                with anyio.move_on_after(LOOK_SECONDS):
                    await self._service.until_changed()
        with self._service.using_graph() as graph:
            version, states = self._look()
            agents = [await _describe_agent(name, graph) for name in graph.agents]
        reading = self._read()
        return answer_json(
            {
                "version": version,
                "set": self._service.version,
                "title": _find_title(graph),
                "nodes": states,
                "picture": draw_states(graph, states),
                "agents": agents,
                "formats": FORMATS,
                "reading": {
                    "number": reading.number,
                    "errors": sum(each.severity == "error" for each in reading.diagnostics),
                    "warnings": sum(each.severity == "warning" for each in reading.diagnostics),
                    "isApplied": reading.problem is None,
                },
            }
        )

    async def tools(self, request: Request) -> Response:
        """`GET /agents/{name}/tools?format=FORMAT`: its tools, and what that format makes of them."""
        name, form = request.path_params["name"], request.query_params.get("format", FORMATS[0])
        if form not in FORMATS:
            raise BadRequest(f'there is no format "{form}"', hint=f"the formats are: {', '.join(FORMATS)}")
        with self._service.using_graph() as graph:
            if name not in graph.agents:
                raise NotFound(f'there is no agent "{name}"', hint=f"there are: {', '.join(graph.agents) or 'none'}")
            bound = await graph.agents[name].tools()
            tools = await anyio.to_thread.run_sync(report_tools, bound, form, graph.masker, _namer(graph))
        return answer_json({"agent": name, "format": form, "tools": tools})

    async def manifests(self, request: Request) -> Response:
        """`GET /manifests`: the files of the set as they were last read, with what was found in them."""
        return answer_json(as_data(self._read(), self._service.graph.masker))

    async def timeline(self, request: Request) -> Response:
        """`GET /runs/{id}/timeline`: what happened when."""
        run = self._service.find_run(request.path_params["id"])
        return answer_json(await anyio.to_thread.run_sync(make_timeline, run))

    def _look(self) -> tuple[str, list[State]]:
        """How everything is, and a text that is another one whenever something is otherwise."""
        service = self._service
        graph = service.graph
        states = find_states(graph, service.warnings, service.starting)
        lists = [getattr(instance, "tools_generation", 0) for instance in graph.live.instances.values()]
        runs = [(run.id, run.status) for run in service.runs.values()]
        seen = msgspec.json.encode([service.version, self._read().number, states, lists, runs])
        return hashlib.sha256(seen).hexdigest()[:16], states


def _namer(graph: ServedGraph) -> Callable[[Any], str]:
    names = {id(instance): node.name for node, instance in graph.live.instances.items()}
    return lambda instance: names.get(id(instance), "")


def _find_title(graph: ServedGraph) -> str:
    """What the set is called: after its application document, or its first file."""
    for node in graph.nodes:
        source = node.resource.source
        return source.name.replace("\\", "/").rpartition("/")[2]
    return ""


async def _describe_agent(name: str, graph: ServedGraph) -> dict[str, Any]:
    agent: dict[str, Any] = {"name": name, "description": graph.describe(name), "tools": 0}
    try:
        agent["tools"] = len(await graph.agents[name].tools())
    except Error as error:
        agent["error"] = graph.masker(error.message)
    return agent
