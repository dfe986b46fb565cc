"""A simulation makes the tables it reads and no others, and whoever waits for it can stop it."""

import pytest

from dpsql.engines.duckdb import DuckdbEngine
from tests.kits.cases import cases


@pytest.fixture
def made(monkeypatch):
    """The invented tables in the order in which they are made."""
    names = []
    put = DuckdbEngine.add_rows
    monkeypatch.setattr(
        DuckdbEngine, "add_rows", lambda self, name, table: (names.append(name), put(self, name, table))
    )
    return names


@cases(__file__, "sql", "read=")
def test_the_tables_that_are_named_are_made(ana, made, sql, read):
    rows = 100 + len(sql)  # of no other simulation: nothing is there yet
    assert ana.query(sql).simulate(rows=rows).columns[-1] == "invented"
    assert set(made) == read
    del made[:]
    ana.query(sql).simulate(rows=rows)
    assert made == []


def test_an_analyst_stops_what_runs_on_invented_rows(ana, monkeypatch):
    """The engine of the data is another one, and was the only one to hear of it."""
    ana.query("SELECT COUNT(*) FROM wards").simulate(rows=23)
    heard = []
    monkeypatch.setattr(DuckdbEngine, "interrupt", lambda self: heard.append(self))
    ana.interrupt()
    assert ana.place.engine in heard
    assert len({id(engine) for engine in heard}) == 2
