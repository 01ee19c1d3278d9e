"""A real PostgreSQL for tests: a cluster in a folder of its own, listening on a unix socket there and nowhere else.

The server refuses to run as root, so that it then runs as the account that its package made.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ACCOUNT = "postgres"
LIMIT = 60.0
"""Seconds after which a command of the server has failed the test."""
PLACES = "/usr/lib/postgresql/*/bin/initdb", "/usr/local/pgsql/bin/initdb"


class Postgres:
    """A server that runs; `url` is its database `postgres`, for `psycopg` and what takes such an address."""

    def __init__(self, bin_folder: Path, folder: Path) -> None:
        self._bin = bin_folder
        self._data = folder / "data"
        self._sockets = folder
        self.url = f"postgresql://{ACCOUNT}@/postgres?host={folder}"

    def start(self) -> None:
        # What is committed survives the server, and not the machine: flushing to the disk would cost the test its time.
        quick = "-c fsync=off -c full_page_writes=off -c max_connections=50"
        options = f"-c listen_addresses='' -c unix_socket_directories={self._sockets} {quick}"
        self._control("start", "-l", str(self._sockets / "log"), "-o", options)

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def make(self) -> None:
        """A new cluster."""
        _run(self._bin / "initdb", "-D", self._data, "-U", ACCOUNT, "--auth=trust", "--no-sync", "--encoding=UTF8")

    def dump(self, url: str) -> str:
        """All that a database of the server holds, as `pg_dump` tells it."""
        program = (self._bin / "initdb").resolve().with_name("pg_dump")  # of the same version as the server
        done = subprocess.run([program, url], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _control(self, action: str, *arguments: str) -> None:
        _run(self._bin / "pg_ctl", "-D", self._data, "-w", "-s", *arguments, action)


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A new server while the block runs; skips the test, with the reason, where there is none to run."""
    bin_folder = _find_bin()
    # Not pytest's folder, which nobody but its owner may enter, and whose path is too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if os.geteuid() == 0:
            account = pwd.getpwnam(ACCOUNT)
            os.chown(folder, account.pw_uid, account.pw_gid)
            folder.chmod(0o755)  # clients are not that account
        server = Postgres(bin_folder, folder)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _find_bin() -> Path:
    found = shutil.which("initdb")
    places = [Path(found)] if found else [place for pattern in PLACES for place in Path("/").glob(pattern[1:])]
    if not places:
        pytest.skip("needs the server of PostgreSQL")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(ACCOUNT)
        except KeyError:
            pytest.skip(f'needs the account "{ACCOUNT}": the server of PostgreSQL refuses to run as root')
        if shutil.which("setpriv") is None:
            pytest.skip("needs setpriv: the server of PostgreSQL refuses to run as root")
    return max(places).parent


def _run(*command: str | Path) -> None:
    prefix: Sequence[str] = ()
    if os.geteuid() == 0:
        prefix = ("setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups", "--")
    # To files, and not pipes: the server that `pg_ctl start` leaves behind would hold them open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [*prefix, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
            timeout=LIMIT,
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode(errors="replace")
