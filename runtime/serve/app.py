"""Which path leads where."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from runtime.errors import Error
from runtime.serve.chat_completions import ChatRoutes
from runtime.serve.guard import Guard
from runtime.serve.openapi import Description
from runtime.serve.page.routes import PageRoutes
from runtime.serve.plain import PlainRoutes
from runtime.serve.reading import Reading
from runtime.serve.response_answers import ResponseRoutes
from runtime.serve.responses import BadRequest, answer_error
from runtime.serve.service import Service

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(service: Service, mcp: ASGIApp, tell: Callable[..., None], read: Callable[[], Reading]) -> Guard:
    """The application over a service; `mcp` answers at `/mcp`, `tell` gets the lines of requests.

    `read` gives the manifests as they were last read.
    """
    plain, chat, page = PlainRoutes(service), ChatRoutes(service), PageRoutes(service, read)
    routes = [
        _route("GET", "/", page.page),
        _route("GET", "/graph", page.graph),
        _route("GET", "/manifests", page.manifests),
        _route("GET", "/agents/{name}/tools", page.tools),
        _route("GET", "/runs/{id}/timeline", page.timeline),
        _route("GET", "/healthz", plain.health),
        _route("GET", "/readyz", plain.ready),
        _route("GET", "/metrics", plain.metrics),
        _route("GET", "/openapi.json", Description(bool(service.settings.token)).show),
        Route("/runs", _by_method({"GET": plain.list, "POST": plain.begin}), methods=["GET", "POST"]),
        Route("/runs/{id}", _by_method({"GET": plain.show, "DELETE": plain.cancel}), methods=["GET", "DELETE"]),
        _route("GET", "/runs/{id}/events", plain.follow),
        _route("POST", "/runs/{id}/approvals/{call:path}", plain.approve),
        _route("POST", "/apply", plain.apply),
        _route("GET", "/v1/models", chat.models),
        _route("GET", "/v1/models/{name}", chat.model),
        _route("POST", "/v1/chat/completions", chat.complete),
        _route("POST", "/v1/responses", ResponseRoutes(chat).respond),
        Route("/mcp", mcp),
    ]
    handlers = {404: _not_found, 405: _not_allowed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, service.settings, service.metrics, tell)


def _route(method: str, path: str, endpoint: Endpoint) -> Route:
    return Route(path, _guarded(endpoint), methods=[method])


def _by_method(endpoints: dict[str, Endpoint]) -> Endpoint:
    guarded = {method: _guarded(endpoint) for method, endpoint in endpoints.items()}

    async def choose(request: Request) -> Response:
        return await guarded["GET" if request.method == "HEAD" else request.method](request)

    return choose


def _guarded(endpoint: Endpoint) -> Endpoint:
    """The endpoint, its errors told to the caller."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Error as error:
            return answer_error(error)

    return answer


async def _not_found(request: Request, error: Exception) -> Response:
    return answer_error(BadRequest("there is nothing at this path", status=404))


async def _not_allowed(request: Request, error: Exception) -> Response:
    response = answer_error(BadRequest("this path does not take that method", status=405))
    allowed = getattr(error, "headers", None) or {}
    response.headers.update(allowed)
    return response
