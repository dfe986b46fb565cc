"""Which address opens what."""

import re
from pathlib import Path

import duckdb
import pytest

from dpsql.engines import registry
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Limits
from dpsql.engines.registry import ENGINES, Entry, file_of, located, open_source
from dpsql.errors import MissingExtra, NoSource
from tests.kits.refusals import raised

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "engines.md"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "a b%20.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 7 AS x")
    return path


def test_memory_is_empty():
    engine = open_source("memory:")
    assert isinstance(engine, DuckdbEngine)
    assert dict(engine.schema()) == {}
    engine.close()


def test_a_path_is_absolute_or_relative_and_as_it_is_written(database, monkeypatch):
    monkeypatch.chdir(database.parent.parent)
    for address in (f"duckdb://{database}", f"duckdb://{database.parent.name}/{database.name}"):
        engine = open_source(address)
        assert engine.run_public("SELECT x FROM t") == [(7,)]
        engine.close()


@pytest.mark.parametrize(
    "address",
    ["duckdb", "duckdb:", "duckdb://", "duckdb:/x", "memory", "memory:x", "memory://", "", "/srv/a.duckdb", None, 5],
)
def test_an_address_that_is_none_is_refused(address):
    error = raised(NoSource, lambda: open_source(address))
    for entry in ENGINES.values():
        assert entry.example in error.why


def test_an_unknown_engine_is_refused_without_repeating_a_password():
    error = raised(NoSource, lambda: open_source("oracle://scott:tiger@host/db"), match="'oracle'")
    assert "tiger" not in str(error)
    assert "not read yet" in error.fix


def test_a_missing_driver_comes_with_the_command(monkeypatch):
    entry = Entry(where="dpsql.engines.unwritten:Engine", example="far://host", extra="far")
    monkeypatch.setattr(registry, "ENGINES", {"far": entry})
    error = raised(MissingExtra, lambda: open_source("far://host"))
    assert error.fix == "pip install far"
    assert error.__context__ is None


def test_every_engine_has_its_row_in_the_documents():
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert rows == list(ENGINES)


def test_every_entry_can_be_opened():
    for name, entry in ENGINES.items():
        module, _, kind = entry.where.partition(":")
        assert hasattr(getattr(__import__(module, fromlist=[kind]), kind), "of_address"), name


def test_a_relative_path_is_seen_from_a_folder(tmp_path):
    assert located("duckdb://data/a.duckdb", folder=tmp_path) == f"duckdb://{tmp_path}/data/a.duckdb"
    assert located("duckdb:///srv/a.duckdb", folder=tmp_path) == "duckdb:///srv/a.duckdb"
    assert located("memory:", folder=tmp_path) == "memory:"
    raised(NoSource, lambda: located("a.duckdb", folder=tmp_path))


def test_the_file_behind_an_address():
    assert file_of("duckdb:///srv/a.duckdb") == Path("/srv/a.duckdb")
    assert file_of("memory:") is None


def test_limits_reach_the_engine(database):
    for address in ("memory:", f"duckdb://{database}"):
        engine = open_source(address, limits=Limits(memory_limit="123MiB", threads=1, timeout=60.0))
        settings = "SELECT current_setting('memory_limit'), current_setting('threads')"
        assert engine.run_public(settings) == [("123.0 MiB", 1)]
        assert engine._timeout == 60
        engine.close()
