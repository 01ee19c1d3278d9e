"""Plain HTTP: runs that are begun, looked at, followed and stopped."""

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

import anyio
import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from runtime.ai.approval import Decision
from runtime.diagnostics.render import as_data
from runtime.errors import ManifestError
from runtime.serve.kept import KeptRuns, read_id
from runtime.serve.metrics import CONTENT_TYPE
from runtime.serve.responses import (
    STILL_HERE,
    answer_error,
    answer_json,
    error_body,
    event_line,
    read_json,
    stream_events,
)
from runtime.serve.runs import ServedRun
from runtime.serve.service import NotFound, Service


class RunRequest(Struct, rename="camel", forbid_unknown_fields=True):
    """The body of `POST /runs`: `target` names an agent, or what else can be run; `wait` answers when it is over.

    `session` is a name under which what is said is kept, and gone on from. Of an `id` there is one run, however often
    it is asked for; `priority` orders queued runs that a store keeps, 1 first.
    """

    target: str
    inputs: dict[str, Any] = {}
    wait: bool = False
    session: str = ""
    id: str = ""
    priority: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None


class ApprovalAnswer(Struct, forbid_unknown_fields=True):
    """The body of `POST /runs/{id}/approvals/{call}`; the model reads the `reason` of a refusal."""

    approved: bool
    reason: str = ""


class EmptyRequest(Struct, forbid_unknown_fields=True):
    """The body of `POST /apply`: what is applied is on the disk, as a caller who gives manifests runs commands."""


class PlainRoutes:
    """Endpoints over a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept = KeptRuns(service)

    async def begin(self, request: Request) -> Response:
        """`POST /runs`: 202 with the run, or 200 with what came of it where the request waits."""
        asked = await read_json(request, RunRequest)
        run_id = read_id(request, asked.target, asked.id)
        run, is_new = await self._kept.begin(asked.target, asked.inputs, asked.session, run_id, asked.priority)
        headers = {"location": f"/runs/{run.id}"}
        if not asked.wait:
            return answer_json(run.to_json(), 202 if is_new or not run.is_over else 200, headers)
        if not await wait_connected(request, run):
            return Response(status_code=499)
        if run.cause is not None:
            return answer_error(run.cause, has_run=True)
        return answer_json(run.to_json(), 202 if run.status == "interrupted" else 200, headers)

    async def list(self, request: Request) -> Response:
        """`GET /runs`: the runs that there are, the newest first, without their results."""
        return answer_json({"runs": [_without_result(run) for run in await self._kept.tell_all()]})

    async def show(self, request: Request) -> Response:
        """`GET /runs/{id}`."""
        return answer_json(await self._kept.show(request.path_params["id"]))

    async def follow(self, request: Request) -> Response:
        """`GET /runs/{id}/events`: server-sent events, from after the one that `Last-Event-ID` names."""
        run = self._service.find_run(request.path_params["id"])
        last = request.headers.get("last-event-id", "")
        return stream_events(_lines(run, int(last) if last.isdigit() and len(last) < 10 else 0))

    async def cancel(self, request: Request) -> Response:
        """`DELETE /runs/{id}`: 202, and the run ends; 409 where it is over."""
        data, is_stopped = await self._kept.cancel(request.path_params["id"])
        return answer_json(data, 202 if is_stopped else 409)

    async def approve(self, request: Request) -> Response:
        """`POST /runs/{id}/approvals/{call}`: lets a call that waits go on, or refuses it; 409 where it is decided."""
        run, call = self._service.find_run(request.path_params["id"]), request.path_params["call"]
        asked = await read_json(request, ApprovalAnswer)
        if run.approvals is None or not run.approvals.has_asked(call):
            raise NotFound(f'the run has no call "{call}" that needs approval')
        run.approvals.decide(call, Decision(asked.approved, asked.reason))
        return answer_json({"id": call, "approved": asked.approved, "reason": asked.reason})

    async def apply(self, request: Request) -> Response:
        """`POST /apply`: the files are read again, and what differs is changed; 422 with the findings of a bad set."""
        await read_json(request, EmptyRequest)
        try:
            difference = await self._service.apply()
        except ManifestError as error:
            findings = as_data(error.diagnostics)
            return answer_json({**error_body(error), **findings}, 422)
        return answer_json(difference)

    async def health(self, request: Request) -> Response:
        """`GET /healthz`: the process answers."""
        return answer_json({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """`GET /readyz`: 200 while new runs are taken, 503 while the service drains."""
        if self._service.admission.is_closed:
            return answer_json({"status": "draining"}, 503)
        return answer_json({"status": "ready"})

    async def metrics(self, request: Request) -> Response:
        """`GET /metrics`."""
        return PlainTextResponse(self._service.metrics.render(), headers={"content-type": CONTENT_TYPE})


async def wait_connected(request: Request, run: ServedRun) -> bool:
    """Wait until a run is over; a caller who goes away stops it unless a store keeps it, and False is given."""
    gone = False

    async with anyio.create_task_group() as group:

        async def watch() -> None:
            nonlocal gone
            while (await request.receive())["type"] != "http.disconnect":
                pass
            gone = True
            if not run.is_kept:
                run.cancel()

        group.start_soon(watch)
        await run.wait()
        group.cancel_scope.cancel()
    return not gone


def _without_result(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in run.items() if key not in ("result", "steps")}


async def _lines(run: ServedRun, after: int) -> AsyncIterator[bytes]:
    async for number, event in run.follow(after):
        yield event_line(event, number) if event else STILL_HERE
    yield event_line(msgspec.json.encode({"status": run.status}), name="end")
