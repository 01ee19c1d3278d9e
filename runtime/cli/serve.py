"""Run a set of manifests as a service: OpenAI-compatible, MCP, plain HTTP. Everything is stopped when it ends."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.checks import Checked
from runtime.cli import bringing_up
from runtime.cli.counts import count
from runtime.cli.lock_arguments import add_locked_arguments
from runtime.cli.progress import PlainReport
from runtime.cli.signals import Signals
from runtime.errors import UsageError
from runtime.resolver import Node
from runtime.resource_set import Resource

if TYPE_CHECKING:
    from runtime.serve.mcp_tools import Tools
    from runtime.serve.service import Service
    from runtime.serve.settings import Settings

TOKEN_VARIABLE = "RUNTIME_SERVE_TOKEN"
SESSIONS_VARIABLE = "RUNTIME_SERVE_SESSIONS"
SHORTEST_TOKEN = 16


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime serve`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen; anything but loopback needs a token")
    parser.add_argument("--port", type=count(0, 65535), default=8787, help="0 takes any free port; 8787 by default")
    parser.add_argument(
        "--token-file", metavar="FILE", help=f"a file with the token that callers have to give, or {TOKEN_VARIABLE}"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="another name of this service; repeatable"
    )
    parser.add_argument("--max-runs", type=count(1), default=256, metavar="N", help="most runs at once (256)")
    parser.add_argument(
        "--concurrency",
        type=count(0),
        metavar="N",
        help="most queued runs of kept agents and tasks that are carried on here; 0 leaves them to workers (as many as"
        " --max-runs)",
    )
    parser.add_argument("--max-queue", type=count(0), default=256, metavar="N", help="most runs that wait (256)")
    parser.add_argument("--max-body", type=count(1), default=16 << 20, metavar="BYTES", help="of a request (16 MiB)")
    parser.add_argument(
        "--drain-seconds", type=count(0), default=30, metavar="N", help="for running runs when the service ends (30)"
    )
    parser.add_argument(
        "--approval-seconds", type=count(1), default=300, metavar="N", help="for a call that waits for approval (300)"
    )
    parser.add_argument(
        "--sessions",
        metavar="URL",
        help=f"where sessions are: sqlite:///FILE or postgresql://..., or {SESSIONS_VARIABLE}",
    )
    parser.add_argument("--watch", action="store_true", help="apply the set again whenever one of its files changes")
    parser.add_argument("--stdio", action="store_true", help="speak MCP over standard input and output, not HTTP")
    parser.add_argument(
        "--expose",
        choices=("agents", "tools"),
        default="agents",
        help="to MCP clients: each agent as a tool, or the tools of one agent as it offers them",
    )
    parser.add_argument("--agent", metavar="NAME", help='whose tools "--expose tools" gives, where there are several')
    parser.add_argument("--quiet", action="store_true", help="no progress and no line per request")
    parser.add_argument("--verbose", action="store_true", help="what servers log, and what is retried")
    add_locked_arguments(parser)


def run(options: Namespace) -> int:
    """0 after SIGTERM, once what ran is done; 130 after SIGINT; other codes as in design.md section 9."""
    settings = _read_settings(options)
    if "-" in options.paths and (options.stdio or options.watch):
        raise UsageError("standard input cannot be the manifest here", hint="write it to a file")
    checked = bringing_up.read_checked(options, with_lock=True)
    resolved = bringing_up.resolve_printed(checked, _find_roots(checked), options)
    settings = settings.beside(checked.sources[0].folder)
    signals = Signals()

    async def main(report: PlainReport) -> int:
        from runtime.durable.intake import Intake, taking_up

        intake = Intake(options.max_runs if options.concurrency is None else options.concurrency)
        with taking_up(intake):
            return await serve(report)

    async def serve(report: PlainReport) -> int:
        import anyio

        from runtime.cli.keeping import KeptSet, apply_changes
        from runtime.durable.schedules import begin_by_clock
        from runtime.reconcile import open_keeper

        async with open_keeper(report) as keeper:
            kept = KeptSet(keeper, _find_roots, report, options)
            await kept.bring_up(checked, resolved)
            choose = _choose_tools([node.name for node in resolved.nodes if _is_agent(node)], options)

            async def applied(service: "Service") -> None:
                async with anyio.create_task_group() as group:
                    group.start_soon(begin_by_clock, service.find_scheduled, service.until_changed, report.tell)
                    await apply_changes(service.apply, kept, report, signals.next_reload, is_watching=options.watch)

            if options.stdio:
                from runtime.serve.mcp_transports import serve_stdio

                await serve_stdio(keeper, kept.reload, settings, choose, report.tell, signals.ended, applied)
            else:
                from runtime.serve.reading import Reading
                from runtime.serve.serving import serve_http

                def read() -> Reading:
                    return Reading(kept.readings, kept.seen.sources, kept.seen.diagnostics, kept.problem)

                await serve_http(keeper, kept.reload, settings, choose, report, signals.ended, applied, read)
        return signals.code

    return bringing_up.run_until_signal(main, options, take=signals.take)


def _find_roots(checked: Checked) -> list[Resource]:
    """What is served: everything that can be run; raises UsageError where there is nothing."""
    roots = bringing_up.invocables(checked)
    if not roots:
        raise UsageError("the set has nothing to serve", hint='declare an "Ai.Agent"')
    return roots


def _is_agent(node: Node) -> bool:
    return node.resource.owner is None and getattr(node.entry.cls, "is_conversational", False)


def _choose_tools(names: list[str], options: Namespace) -> "Callable[[Service], Tools]":
    """What MCP clients get; raises UsageError."""
    from runtime.serve.mcp_tools import AgentTools, GatewayTools

    if options.expose == "agents":
        return AgentTools
    agent = options.agent or (names[0] if len(names) == 1 else "")
    if agent not in names:
        problem = (
            f'there is no agent "{agent}"' if agent else f"the set has {len(names)} agents whose tools could be meant"
        )
        raise UsageError(problem, hint=f'pick one with "--agent": {", ".join(names)}')
    return lambda service: GatewayTools(service, agent)


def _read_settings(options: Namespace) -> "Settings":
    from runtime.serve.settings import Settings, is_loopback

    token = _read_token(options.token_file)
    if not token and not is_loopback(options.host):
        raise UsageError(
            f'"--host {options.host}" lets other machines in, and there is no token',
            hint=f'name a file with one by "--token-file", or set {TOKEN_VARIABLE}',
        )
    return Settings(
        host=options.host,
        port=options.port,
        token=token,
        allowed_hosts=options.allow_host,
        max_runs=options.max_runs,
        max_queue=options.max_queue,
        max_body=options.max_body,
        drain_seconds=options.drain_seconds,
        approval_seconds=options.approval_seconds,
        sessions=options.sessions or os.environ.get(SESSIONS_VARIABLE, ""),
    )


def _read_token(path: str | None) -> str:
    """The token of a file, or of the environment: on the command line everybody on the machine could read it."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
        except (OSError, ValueError) as error:
            raise UsageError(f'cannot read "{path}": it is not there, or not text') from error
    elif not token:
        return ""
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"a token has at least {SHORTEST_TOKEN} visible ASCII characters")
    return token
