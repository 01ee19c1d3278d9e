"""A workflow of bare DBOS: `python bare.py URL FOLDER`; asked by `round STEPS BYTES` it answers `{seconds}`."""

import asyncio
import json
import logging
import sys
import time
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, WorkflowSerializationFormat
from dbos._serialization import DBOSPortableJSON

logging.disable(logging.WARNING)


@DBOS.workflow(serialization_type=WorkflowSerializationFormat.PORTABLE)
async def loop(steps: int, size: int) -> str:
    async def step() -> dict[str, Any]:
        return {"text": "x" * (size - 12)}

    for number in range(steps):
        await DBOS.run_step_async({"name": f"step {number}"}, step)
    return "done"


def open_engine(url: str) -> sa.Engine:
    """In WAL mode as our store has it, which is faster than DBOS by itself; a server as DBOS opens it by itself."""
    if not url.startswith("sqlite"):
        address = url.replace("postgresql://", "postgresql+psycopg://")
        return sa.create_engine(address, pool_size=20, max_overflow=0, pool_timeout=30, pool_pre_ping=True)
    engine = sa.create_engine(url.replace("runs.db", "bare.db"))

    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = "IMMEDIATE"
        connection.execute("PRAGMA busy_timeout=30000")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA journal_mode=WAL")

    sa.event.listen(engine, "connect", prepare)
    return engine


async def main(url: str, folder: str) -> None:
    DBOS(
        config={
            "name": "bare",
            "system_database_engine": open_engine(url),
            "dbos_system_schema": "bare",
            "executor_id": "bare",
            "serializer": DBOSPortableJSON,
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    while line := await asyncio.to_thread(sys.stdin.readline):
        _, steps, size = line.split()
        started = time.perf_counter()
        await loop(int(steps), int(size))
        print(json.dumps({"seconds": time.perf_counter() - started}), flush=True)
    DBOS.destroy()


asyncio.run(main(*sys.argv[1:]))
