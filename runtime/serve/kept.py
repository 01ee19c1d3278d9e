"""Runs that a store keeps, behind the plain HTTP of the service: begun once for each key, and told after a restart."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request

from runtime.durable.contracts import Ledger, RunDetails, RunInfo
from runtime.errors import DurableError, Error
from runtime.serve.responses import BadRequest
from runtime.serve.runs import ServedRun
from runtime.serve.service import Service

LISTED = 100
"""Runs of each store that are listed beside those of this process."""
_LEGAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


class KeyReused(BadRequest):
    """Somebody asked for something else under the same id or key."""

    code = "ERR_SERVE_KEY"


def read_id(request: Request, target: str, given: str) -> str:
    """The id of the run that a request asks for, by the `id` of its body or its header `Idempotency-Key`.

    Empty where it has neither. Raises BadRequest.
    """
    key = request.headers.get("idempotency-key", "").strip()
    if key and given:
        raise BadRequest("a run is named by `id` or by the header Idempotency-Key, not by both", param="id")
    if given and not _LEGAL_ID.fullmatch(given):
        raise BadRequest(
            "an id has letters, digits, dots, colons, dashes and underscores, 200 at most, and begins with a letter or"
            " a digit",
            param="id",
        )
    return given or (f"key_{hashlib.sha256(f'{target} {key}'.encode()).hexdigest()[:32]}" if key else "")


class KeptRuns:
    """The runs of the stores of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def begin(
        self, target: str, inputs: Mapping[str, Any], session: str, run_id: str, priority: int | None
    ) -> tuple[ServedRun, bool]:
        """The run of this id, and whether it is begun by this; a kept one is in its store when this returns.

        Raises as `Service.begin`, KeyReused, and BadRequest for a priority of what no store keeps.
        """
        there = self._service.runs.get(run_id)
        if there is not None:
            if there.asked != _digest(target, inputs, session):
                raise _reused(run_id)
            return there, False
        instance = self._service.find_target(target)
        is_kept = getattr(instance, "is_kept", False) and not session
        if priority is not None and not is_kept:
            raise BadRequest(f'no store keeps the runs of "{target}": they have no priority', param="priority")
        enqueued = None
        if is_kept:
            self._service.admission.check_open()
            if run_id:
                await self._check_inputs(run_id, inputs)
            try:
                enqueued = await instance.enqueue(inputs, run_id or None, priority)
            except DurableError as error:
                if error.code == "ERR_DURABLE_STATE":
                    raise _reused(run_id) from error
                raise
        run = self._service.begin(target, inputs, session, can_ask=True, run_id=run_id, enqueued=enqueued)
        run.asked = _digest(target, inputs, session)
        return run, True

    async def show(self, run_id: str) -> dict[str, Any]:
        """A run as `GET /runs/{id}` tells it, by this process or by its store; raises NotFound."""
        there = self._service.runs.get(run_id)
        if there is not None and not (there.is_over and there.is_kept and there.status != "finished"):
            return there.to_json()
        ledger = await self._find_ledger(run_id)
        if ledger is None:
            return self._service.find_run(run_id).to_json()
        return _details_as_data(await ledger.show(run_id))

    async def tell_all(self) -> list[dict[str, Any]]:
        """The runs of this process, and those of its stores that it knows nothing of; the newest first."""
        known = self._service.runs
        others = [info for ledger in self._ledgers() for info in await ledger.list(limit=LISTED)]
        data = [run.to_json() for run in known.values()]
        data += [_info_as_data(info) for info in others if info.id not in known]
        return sorted(data, key=lambda each: each["created"], reverse=True)

    async def cancel(self, run_id: str) -> tuple[dict[str, Any], bool]:
        """Stop a run; how it is then, and False where it was over. Raises NotFound."""
        there = self._service.runs.get(run_id)
        if there is not None and not there.is_over and not there.is_kept:
            return there.to_json(), there.cancel()
        ledger = await self._find_ledger(run_id)
        if ledger is None:
            return self._service.find_run(run_id).to_json(), False
        try:
            await ledger.cancel(run_id)
        except DurableError as error:
            if error.code != "ERR_DURABLE_STATE":
                raise
            return await self.show(run_id), False
        if there is not None:
            there.cancel()
        return await self.show(run_id), True

    async def _check_inputs(self, run_id: str, inputs: Mapping[str, Any]) -> None:
        """Raises KeyReused where a store has the run with other inputs."""
        ledger = await self._find_ledger(run_id)
        if ledger is not None and (await ledger.show(run_id)).inputs != inputs:
            raise _reused(run_id)

    async def _find_ledger(self, run_id: str) -> Ledger | None:
        """The ledger of the store that has this run."""
        for ledger in self._ledgers():
            try:
                await ledger.info(run_id)
            except DurableError as error:
                if error.code != "ERR_DURABLE_UNKNOWN":
                    raise
            else:
                return ledger
        return None

    def _ledgers(self) -> list[Ledger]:
        return [store.ledger for store in self._service.graph.stores]


def _info_as_data(info: RunInfo) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": info.id,
        "target": info.target,
        "status": info.state,
        "created": round(info.created, 3),
        "seconds": round(info.updated - info.created, 3),
    }
    if info.wait is not None:
        data["error"] = {"code": info.wait.code, "message": info.wait.message}
    return data


def _details_as_data(details: RunDetails) -> dict[str, Any]:
    data = _info_as_data(details.info)
    if details.result is not msgspec.UNSET:
        data["result"] = details.result
    if details.error is not msgspec.UNSET:
        data["error"] = details.error
    return data


def _digest(target: str, inputs: Mapping[str, Any], session: str) -> bytes:
    return hashlib.sha256(msgspec.json.encode([target, inputs, session], order="sorted")).digest()


def _reused(run_id: str) -> Error:
    return KeyReused(f'the run "{run_id}" was asked for with other words', status=422, hint="take another id or key")
