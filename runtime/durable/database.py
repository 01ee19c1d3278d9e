"""The database of a store: how it is opened, and the table that says which processes are alive.

DBOS keeps runs and steps in tables of its own and knows nothing of dead processes; here stands what we ask beside it.
"""

import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import psutil
import sqlalchemy as sa
from msgspec import Struct, json

from runtime.durable.settings import find_file
from runtime.errors import DurableError

WORKFLOW = "runtime.run"
"""The one workflow that DBOS knows of: all runs are of it, whatever their target."""
SCHEMA = "runtime"
"""Where the tables are in a server's database; SQLite has no such thing."""
BUSY_MS = 30_000
POOL = 10
"""Connections of a process to a server: a step holds one for as long as it writes."""


class Row(NamedTuple):
    """A run as a sweep sees it: the process that it belongs to, its queue, and what stands beside it."""

    run_id: str
    process: str
    queue: str
    facts: dict[str, Any]


class Process(Struct, frozen=True):
    """A process that carries runs on, as its row says; `hosts` are the queues that it listens to."""

    id: str
    place: str
    pid: int
    started: float
    takeover: float
    hosts: Sequence[str]
    age: float = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether it was heard of lately; of a process of this machine it is known at once that it has died."""
        if self.age >= self.takeover:
            return False
        return self.place != find_place() or _runs(self.pid, self.started)


def find_place() -> str:
    """Where process ids mean the same as here: the machine since it was started, and its container."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    return f"{socket.gethostname()} {round(psutil.boot_time())}"


def _runs(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def open_engine(url: str, folder: str) -> sa.Engine:
    """The engine of a store's database. A new SQLite file and its folder are for the user alone.

    Raises `DurableError` ERR_DURABLE_STORE for a file that cannot be made. A server is asked for nothing yet.
    """
    file = find_file(url, folder)
    if file is None:
        address = sa.make_url(url.replace("postgres://", "postgresql://", 1)).set(drivername="postgresql+psycopg")
        limits: dict[str, Any] = {"pool_size": POOL, "max_overflow": 0, "pool_timeout": 30, "pool_pre_ping": True}
        return sa.create_engine(address, connect_args={"connect_timeout": 10}, **limits)
    _make_private(file)
    engine = sa.create_engine(f"sqlite:///{file}")
    sa.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _make_private(file: str) -> None:
    """The folder and the file, with the rights that what is in them asks for: prompts and results in clear."""
    folder = os.path.dirname(file)
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        os.chmod(file, 0o600)
    except OSError as error:
        reason = (error.strerror or "unknown").lower()
        raise DurableError(f'the store "{file}" cannot be made: {reason}') from error


def _prepare_sqlite(connection: Any, _: Any) -> None:
    # As DBOS opens its own: writers queue up at their start, and not when they want to write.
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    connection.execute("PRAGMA foreign_keys=ON")
    # Half the time of a step of SQLite's rollback journal; `synchronous` stays FULL, so no power cut loses a step.
    connection.execute("PRAGMA journal_mode=WAL")


class Tables:
    """The table of processes, and what is asked of those of DBOS beside it. Everything blocks: call it in a thread."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.dialect = engine.dialect.name
        self._is_sqlite = self.dialect == "sqlite"
        prefix = "" if self._is_sqlite else f"{SCHEMA}."
        self._table = f"{prefix}runtime_processes"
        self._runs = f"{prefix}workflow_status"
        self._steps = f"{prefix}operation_outputs"

    def create(self) -> None:
        """The table, where it is not there; the schema is there once DBOS has made its own."""
        columns = "id TEXT PRIMARY KEY, beat DOUBLE PRECISION NOT NULL, facts TEXT NOT NULL"
        with self._engine.begin() as connection:
            if not self._is_sqlite:  # two processes that make the same table at once fail without
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7205751)"))
            connection.execute(sa.text(f"CREATE TABLE IF NOT EXISTS {self._table} ({columns})"))

    def beat(self, process: Process) -> None:
        """The process is alive."""
        insert = f"INSERT INTO {self._table} (id, beat, facts) VALUES (:id, {self._now}, :facts)"
        update = f"ON CONFLICT (id) DO UPDATE SET beat = {self._now}, facts = :facts"
        self._write(f"{insert} {update}", id=process.id, facts=json.encode(process).decode())

    def leave(self, process_id: str) -> None:
        """The process carries nothing on any more."""
        self._write(f"DELETE FROM {self._table} WHERE id = :id", id=process_id)

    def list(self) -> list[Process]:
        with self._engine.begin() as connection:
            rows = connection.execute(
                sa.text(f"SELECT facts, {self._now} - beat FROM {self._table}"), self._time
            ).fetchall()
        return [_read_process(facts, float(age)) for facts, age in rows]

    def forget_dead(self, seconds: float) -> None:
        """Rows of processes that were heard of last so many seconds ago and hold no run."""
        held = f"SELECT executor_id FROM {self._runs} WHERE status = 'PENDING' AND executor_id IS NOT NULL"
        self._write(
            f"DELETE FROM {self._table} WHERE beat < {self._now} - :seconds AND id NOT IN ({held})", seconds=seconds
        )

    def find_left(self, alive: Sequence[str], most: int) -> Sequence[Row]:
        """Runs under way whose process is none of those that are alive."""
        query = f"""SELECT workflow_uuid, executor_id, queue_name, attributes FROM {self._runs}
            WHERE name = :name AND status = 'PENDING' AND executor_id NOT IN :names ORDER BY created_at LIMIT :most"""
        return self._find_rows(query, alive, most)

    def find_queued(self, queues: Sequence[str]) -> Sequence[str]:
        """Those of the queues in which something is."""
        query = f"SELECT DISTINCT queue_name FROM {self._runs} WHERE status = 'ENQUEUED' AND queue_name IN :names"
        statement = sa.text(query).bindparams(sa.bindparam("names", type_=sa.Text(), expanding=True))
        with self._engine.begin() as connection:
            return [str(name) for (name,) in connection.execute(statement, {"names": list(queues)})]

    def find_unheard(self, queues: Sequence[str], most: int) -> Sequence[Row]:
        """Runs in queues other than these."""
        query = f"""SELECT workflow_uuid, executor_id, queue_name, attributes FROM {self._runs}
            WHERE name = :name AND status IN ('ENQUEUED', 'DELAYED') AND queue_name NOT IN :names
            ORDER BY created_at LIMIT :most"""
        return self._find_rows(query, queues, most)

    def _find_rows(self, query: str, names: Sequence[str], most: int) -> Sequence[Row]:
        statement = sa.text(query).bindparams(sa.bindparam("names", type_=sa.Text(), expanding=True))
        with self._engine.begin() as connection:
            rows = connection.execute(statement, {"name": WORKFLOW, "names": list(names), "most": most}).fetchall()
        return [Row(run, process or "", queue or "", _read_facts(facts)) for run, process, queue, facts in rows]

    def find_record(self, run_id: str) -> tuple[set[int], dict[str, Any]]:
        """The numbers of the steps that are recorded of a run, and its facts."""
        with self._engine.begin() as connection:
            query = sa.text(f"SELECT function_id FROM {self._steps} WHERE workflow_uuid = :id")
            numbers = {int(number) for (number,) in connection.execute(query, {"id": run_id})}
            query = sa.text(f"SELECT attributes FROM {self._runs} WHERE workflow_uuid = :id")
            return numbers, _read_facts(connection.execute(query, {"id": run_id}).scalar())

    def move(self, run_id: str, queue: str, to: str) -> bool:
        """Put a queued run into another queue, if it is in this one still; whether it was."""
        wanted = "workflow_uuid = :id AND status IN ('ENQUEUED', 'DELAYED') AND queue_name = :queue"
        return self._write(f"UPDATE {self._runs} SET queue_name = :to WHERE {wanted}", id=run_id, queue=queue, to=to)

    def find_over(self, seconds: float, most: int) -> Sequence[str]:
        """Runs that have been over for so many seconds, those that wait not among them."""
        query = f"""SELECT workflow_uuid, status, attributes FROM {self._runs}
            WHERE status IN ('SUCCESS', 'ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED')
            AND completed_at < ({self._now} - :seconds) * 1000 ORDER BY completed_at LIMIT :most"""
        with self._engine.begin() as connection:
            rows = connection.execute(sa.text(query), {"seconds": seconds, "most": most, **self._time}).fetchall()
        return [run for run, status, facts in rows if status != "CANCELLED" or not _read_facts(facts).get("wait")]

    @property
    def _now(self) -> str:
        """The time in seconds: a server's own, which all processes share; of a file that of this machine."""
        return ":now" if self._is_sqlite else "extract(epoch from clock_timestamp())"

    @property
    def _time(self) -> dict[str, float]:
        return {"now": time.time()} if self._is_sqlite else {}

    def _write(self, statement: str, **values: Any) -> bool:
        given = {**values, **(self._time if ":now" in statement else {})}
        with self._engine.begin() as connection:
            return bool(connection.execute(sa.text(statement), given).rowcount)


def _read_process(facts: str, age: float) -> Process:
    given = json.decode(facts, type=Process)
    return Process(given.id, given.place, given.pid, given.started, given.takeover, given.hosts, age)


def _read_facts(attributes: Any) -> dict[str, Any]:
    """What stands beside a run: `{target, digest, wait?, decision?}`; a server gives it decoded."""
    found = json.decode(attributes) if isinstance(attributes, (str, bytes)) else attributes
    return found if isinstance(found, dict) else {}
