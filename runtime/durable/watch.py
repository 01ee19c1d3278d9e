"""The watch of a store: DBOS brought up in this process, a sign of life from it, and an eye on the other processes.

DBOS recovers what a process of the same name left behind, once, at its start. So each process has a name of its own
here, says every few seconds that it is alive, and looks for runs whose process says so no more.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from uuid import uuid4

import anyio
import psutil
from dbos import DBOS
from dbos._dbos import _get_dbos_instance
from dbos._queue import _INTERNAL_QUEUE_CONSTRUCTION, Queue, queue_worker_thread
from dbos._serialization import DBOSPortableJSON
from msgspec import Struct

from runtime.durable.contracts import Target
from runtime.durable.database import SCHEMA, Process, find_place
from runtime.durable.intake import Intake
from runtime.durable.ledger import APPLICATION, DbosLedger, asking, queue_name
from runtime.durable.turns import QueueTurn
from runtime.errors import DurableError

FORMAT = "runtime-1"
"""Of what is recorded: runs of another one are left alone."""
LONGEST_PAUSE = 10.0
FIRST_SWEEP = 0.5
"""Seconds after the start at the latest: a run that somebody asks for by its id is taken up for that one first."""
OWN = "@"
"""What the name of a queue starts with that one process alone takes runs from."""
POLL_SECONDS = {"sqlite": 0.1, "postgresql": 0.25}
PRUNE_SECONDS = 3600.0
SWEEP_ROWS = 200
LOST_SECONDS = 5.0
"""After which a run that is ours by its row, and not under way here, is taken up again."""
FORGET_SECONDS = 86_400.0
"""After which the row of a silent process goes, where it holds no run."""
THREADS = 32


class StoreRules(Struct, frozen=True):
    """What a manifest says of a store, in seconds; `keep` None forgets nothing."""

    url: str
    takeover: float
    keep: float | None


class Watch:
    """`hosted` and `active` are the store's own: its targets by name, and the runs under way by their ids."""

    def __init__(
        self,
        ledger: DbosLedger,
        rules: StoreRules,
        hosted: Mapping[str, Target],
        active: Container[str],
        log: Callable[[str], None],
        intake: Intake,
    ) -> None:
        self.process_id = f"{os.getpid()}-{uuid4().hex[:12]}"
        self.own_queue = f"{OWN}{self.process_id}"
        self.taken: set[str] = set()
        self.changed = asyncio.Event()
        self.is_swept = asyncio.Event()
        self.is_up = asyncio.Event()
        self.is_over = False
        self._ledger = ledger
        self._tables = ledger.tables
        self._rules = rules
        self._hosted = hosted
        self._active = active
        self._log = log
        self._intake = intake
        self._queues: set[str] = set()
        self._turns: dict[str, QueueTurn] = {}
        self._may_sweep = False
        self._lost: dict[str, float] = {}
        self._next_prune = 0.0

    async def watch(self) -> None:
        """Bring DBOS up once there is something to host; then beat, sweep and prune until it is cancelled."""
        await self.changed.wait()
        self._launch()
        pause = min(self._rules.takeover / 4, LONGEST_PAUSE)
        while True:
            self.changed.clear()
            try:
                await self._round()
            except DurableError as error:
                self._log(error.message)
            self.is_up.set()
            with anyio.move_on_after(pause if self._may_sweep else FIRST_SWEEP):
                await self.changed.wait()
            self._may_sweep = True

    async def look(self) -> None:
        """Call the threads of the queues in which something is, until it is cancelled."""
        await self.is_up.wait()
        while True:
            await anyio.sleep(POLL_SECONDS[self._tables.dialect])
            if self.is_over:
                continue
            with suppress(DurableError):  # the next round tells it
                for name in await asking(lambda: self._tables.find_queued(sorted(self._turns))):
                    self._turns[name].call()

    def sweep_soon(self) -> None:
        """What somebody asked for is under way: others may follow."""
        if not self._may_sweep:
            self._may_sweep = True
            self.changed.set()

    async def leave(self) -> None:
        """This process carries nothing on any more."""
        if self.is_up.is_set():
            with suppress(DurableError):
                await asking(lambda: self._tables.leave(self.process_id))

    def _launch(self) -> None:
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_engine": self._ledger.engine,
                "dbos_system_schema": SCHEMA,
                "executor_id": self.process_id,
                "application_version": FORMAT,
                "serializer": DBOSPortableJSON,
                "log_level": "WARNING",
                "max_executor_threads": THREADS,
                "notification_listener_polling_interval_sec": 0.05,  # of a thread that has nothing to do, till its end
            }
        )
        DBOS.listen_queues([])  # of those that are listened to the first round starts the threads, within the intake
        DBOS.launch()  # from the loop's own thread: this is the loop on which it runs what it takes up
        self._intake.limit(_get_dbos_instance()._sys_db, self.own_queue)
        poll = POLL_SECONDS[self._tables.dialect]
        self._listen(Queue(self.own_queue, token=_INTERNAL_QUEUE_CONSTRUCTION, polling_interval_sec=poll))

    async def _round(self) -> None:
        names = {queue_name(each.name, each.digest): each for each in self._hosted.values()}
        started = psutil.Process().create_time()
        hosts = [self.own_queue, *(sorted(names) if self._intake.takes_queued else ())]
        process = Process(self.process_id, find_place(), os.getpid(), started, self._rules.takeover, hosts)

        def work() -> list[str]:
            self._tables.beat(process)
            for name in names.keys() - self._queues:
                self._register(name, names[name])
            return self._sweep(hosts) if self._may_sweep and not self.is_over else []

        may_sweep = self._may_sweep
        taken = await asking(work)
        self.taken.update(taken)
        if may_sweep:
            self.is_swept.set()
        for run_id in taken:
            self._log(f'the run "{run_id}" is taken up: its process is silent')
        if self._rules.keep is not None and anyio.current_time() >= self._next_prune:
            self._next_prune = anyio.current_time() + PRUNE_SECONDS
            await self._ledger.prune(self._rules.keep)

    def _register(self, name: str, target: Target) -> None:
        rules = target.queue
        queue = DBOS.register_queue(
            name,
            global_concurrency=rules.concurrency,
            worker_concurrency=rules.worker_concurrency,
            limiter={"limit": rules.rate, "period": rules.rate_seconds} if rules.rate is not None else None,
            polling_interval_sec=POLL_SECONDS[self._tables.dialect],
            on_conflict="always_update",
        )
        self._queues.add(name)
        if self._intake.takes_queued:
            self._listen(queue)

    def _listen(self, queue: Queue) -> None:
        """Take up what is in a queue. DBOS's own thread looks for queues once a second, and is given none to find."""
        dbos, turn = _get_dbos_instance(), QueueTurn()
        thread = threading.Thread(target=queue_worker_thread, args=(turn, dbos, queue), name=queue.name, daemon=True)
        thread.start()
        self._turns[queue.name] = turn
        dbos.background_thread_stop_events.append(turn)
        dbos._background_threads.append(thread)

    def _sweep(self, own: Sequence[str]) -> list[str]:
        """Put the runs of silent processes where they are taken up again; the ids of those that were.

        That is the queue of their target, or this process's own where it takes no queued runs.
        """
        others = [each for each in self._tables.list() if each.is_alive and each.id != self.process_id]
        taken = []
        for row in self._tables.find_left([each.id for each in others], SWEEP_ROWS):
            target = self._find_host(row.facts)
            if target is None or (row.process == self.process_id and not self._is_lost(row.run_id)):
                continue
            queue = queue_name(target.name, row.facts["digest"])
            # It moves only while it belongs to the silent process: of two that sweep at once, one succeeds.
            if self._ledger.client._sys_db.reenqueue_for_recovery(row.run_id, [row.process], queue):
                taken.append(row.run_id)
                if not self._intake.takes_queued:
                    self._tables.move(row.run_id, row.queue or queue, self.own_queue)
        heard = {*own, *(name for each in others for name in each.hosts)}
        for row in self._tables.find_unheard(sorted(heard), SWEEP_ROWS):
            target = self._find_host(row.facts)
            if target is None or not (self._intake.takes_queued or row.queue.startswith(OWN)):
                continue
            to = queue_name(target.name, target.digest) if self._intake.takes_queued else self.own_queue
            if self._tables.move(row.run_id, row.queue, to):
                taken.append(row.run_id)
        self._tables.forget_dead(FORGET_SECONDS)
        return taken

    def _find_host(self, facts: Mapping[str, object]) -> Target | None:
        """The target here that may carry a run on."""
        target = self._hosted.get(str(facts.get("target")))
        return target if target is not None and (target.continues or target.digest == facts.get("digest")) else None

    def _is_lost(self, run_id: str) -> bool:
        """Whether a run of ours has not been under way for a while: what hosted it went, and came again."""
        if run_id in self._active:
            self._lost.pop(run_id, None)
            return False
        now = time.monotonic()
        return now - self._lost.setdefault(run_id, now) >= LOST_SECONDS
