"""The life of a service over HTTP: it listens, answers, and ends in order."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Protocol

import anyio

from runtime.reconcile import Keeper
from runtime.serve.app import make_app
from runtime.serve.listening import listen, make_server
from runtime.serve.mcp_tools import Tools, make_mcp_server
from runtime.serve.mcp_transports import open_mcp_endpoint
from runtime.serve.reading import Reading
from runtime.serve.service import Reload, Service, open_service
from runtime.serve.settings import Settings


class Teller(Protocol):
    """Who gets the lines of the service's log."""

    def tell(self, *messages: str) -> None:
        """Lines."""


async def serve_http(
    keeper: Keeper,
    reload: Reload,
    settings: Settings,
    choose: Callable[[Service], Tools],
    teller: Teller,
    ended: Callable[[], Awaitable[None]],
    applied: Callable[[Service], Coroutine[Any, Any, None]],
    read: Callable[[], Reading],
) -> None:
    """Answer until `ended` returns; then what runs gets its time, and nothing new is begun. Raises UsageError.

    `choose` says which tools MCP clients get; `applied` applies new sets meanwhile; `read` gives the
    manifests as they were last read.
    """
    with listen(settings) as listener:
        async with open_service(keeper, reload, settings) as service, AsyncExitStack() as stack:
            mcp_server = make_mcp_server(service, choose(service))
            mcp = await stack.enter_async_context(open_mcp_endpoint(mcp_server, settings))
            app = make_app(service, mcp, teller.tell, read)
            server = make_server(app, settings)
            host, port = listener.getsockname()[:2]
            teller.tell(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}")
            async with anyio.create_task_group() as group:
                group.start_soon(server.serve, [listener])
                async with anyio.create_task_group() as applying:
                    applying.start_soon(applied, service)
                    await ended()
                    applying.cancel_scope.cancel()
                app.flush()
                teller.tell(f"ending: {service.admission.running + service.admission.waiting} runs are under way")
                await service.drain()
                server.should_exit = True
            app.flush()
