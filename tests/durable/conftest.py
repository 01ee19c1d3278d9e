"""The databases of these tests: a SQLite file in the test's folder, and a PostgreSQL server of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kept import SQLITE, Kept
from postgres import Postgres, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres, tmp_path: Path) -> str:
    """A database of its own for one test."""
    import psycopg

    name = f"t{abs(hash(tmp_path))}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.url.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgresql"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """Both databases."""
    return Kept(tmp_path, SQLITE if request.param == "sqlite" else request.getfixturevalue("postgres_url"))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path, SQLITE)
