"""`Durable.Store`: what `validate` finds, and what `plan` is told."""

import sys
from pathlib import Path

import pytest

from kinds.durable.store import Store
from runtime import StartError, open_manifests, validate
from runtime.effects import Connects

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.anyio


def find(folder: Path, fields: str) -> list[tuple[str, str]]:
    manifest = folder / "set.yaml"
    manifest.write_text(
        f"kind: Durable.Store\nmetadata: {{ name: Runs }}\n{fields}\n---\n"
        "kind: Ai.ScriptedModel\nmetadata: { name: Script }\n---\n"
        "kind: Ai.Agent\nmetadata: { name: Asker }\nmodel: !ref Script\ndurable: { store: !ref Runs }\n"
    )
    return [(found.code, found.message) for found in validate(str(manifest))]


@pytest.mark.parametrize(
    "url", ["sqlite:///runs.db", "sqlite:////var/runs.db", "postgresql://host/runs", "postgres://a:b@host/runs"]
)
def test_addresses_of_files_and_servers_are_stores(tmp_path: Path, url: str) -> None:
    assert [code for code, _ in find(tmp_path, f"url: {url}") if code != "SECRET_LITERAL"] == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("url: mysql://host/runs", 'the scheme is "mysql"; a store is at "sqlite:///FILE" or at "postgresql://..."'),
        ("url: runs.db", 'it has no scheme; a store is at "sqlite:///FILE" or at "postgresql://..."'),
        ("url: 'sqlite:///'", 'a SQLite store needs a file: "sqlite:///runs.db"'),
        ("takeoverAfter: 0s", "a process that lives is silent for a while, too"),
    ],
)
def test_what_no_store_can_have_is_found(tmp_path: Path, fields: str, message: str) -> None:
    assert find(tmp_path, fields) == [("SCHEMA_VALUE", message)]


def test_a_duration_has_a_unit(tmp_path: Path) -> None:
    assert [code for code, _ in find(tmp_path, "keep: 7 days")] == ["SCHEMA_VALUE"]
    assert [code for code, _ in find(tmp_path, "keep: 7")] == ["SCHEMA_TYPE"]


def test_a_store_that_is_not_there_is_found(tmp_path: Path) -> None:
    manifest = tmp_path / "set.yaml"
    manifest.write_text(
        "kind: Ai.ScriptedModel\nmetadata: { name: Script }\n---\n"
        "kind: Ai.Agent\nmetadata: { name: Asker }\nmodel: !ref Script\ndurable: { store: !ref Runs }\n---\n"
        "kind: Ai.Agent\nmetadata: { name: Other }\nmodel: !ref Script\ndurable: { store: !ref Script }\n"
    )

    assert [found.code for found in validate(str(manifest))] == ["REF_UNRESOLVED", "REF_KIND_MISMATCH"]


async def test_without_the_extra_a_warning_says_so_and_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT)])  # where our packages are, and none of others
    assert find(tmp_path, "") == [("EXTRA_MISSING", "the extra `durable` is not installed")]

    with pytest.raises(StartError) as raised:
        async with open_manifests(str(tmp_path / "set.yaml")):
            pass

    assert (raised.value.code, raised.value.hint) == (
        "ERR_DURABLE_EXTRA",
        'python -m pip install "manifest-runtime[durable]"',
    )


def test_a_plan_shows_the_server_and_not_who_signs_in() -> None:
    assert Store.find_effects({"url": "postgresql://me:***@db.example/runs"}) == [
        Connects("postgresql://db.example/runs")
    ]
    assert Store.find_effects({}) == ()
