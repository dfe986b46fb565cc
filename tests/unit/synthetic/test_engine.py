"""The engine of invented rows: filled once for a catalogue and a number of rows, and never with anything else."""

import threading
from dataclasses import replace

import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import EngineColumn, EngineTable
from dpsql.catalog.types import SqlType
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.errors import BadParameter, EngineFailed
from dpsql.synthetic.tables import interrupt_invented, invented_engine
from tests.kits.refusals import raised

POLICY = """
version = 1
[source]
url = "memory:"
[table.people]
source = "ward.people"
person = "id"
unique = true
[table.people.columns]
price = { bounds = [0, 9] }
[table.units]
public = true
[table.units.columns]
unit = {}
"""
SCHEMA = {
    "ward.people": EngineTable(
        name="ward.people",
        columns=(
            EngineColumn(name="id", type=SqlType.INTEGER, engine_type="BIGINT"),
            EngineColumn(name="price", type=SqlType.DOUBLE, engine_type="DECIMAL(9,2)", scale=2),
        ),
    ),
    "units": EngineTable(
        name="units", columns=(EngineColumn(name="unit", type=SqlType.INTEGER, engine_type="BIGINT"),)
    ),
}
COUNT = 'SELECT count(*) FROM "ward"."people"'
SLOW = "SELECT count(*) FROM range(100000000) a, range(100000) b"


@pytest.fixture(scope="module")
def catalog():
    return checked(loads(POLICY, name="policy.toml"), SCHEMA)


def test_tables_stand_where_the_source_has_them_and_the_same_engine_is_used_again(catalog):
    first = invented_engine(catalog, ["people"], rows=30)
    assert first.run_public(COUNT) == [(30,)]
    assert invented_engine(catalog, ["people"], rows=30) is first
    assert invented_engine(catalog, ["people"], rows=31).run_public(COUNT) == [(31,)]
    other = replace(catalog, policy=replace(catalog.policy, data_version="2"))
    assert invented_engine(other, ["people"], rows=31) is not invented_engine(catalog, ["people"], rows=31)


def test_a_number_of_rows_that_is_none_leaves_nothing_behind(catalog):
    raised(BadParameter, lambda: invented_engine(catalog, ["people"], rows=0))
    assert invented_engine(catalog, ["people"]).run_public(COUNT) == [(1000,)]


def test_only_what_is_asked_for_is_made_and_once(catalog, monkeypatch):
    made = []
    put = DuckdbEngine.add_rows
    monkeypatch.setattr(DuckdbEngine, "add_rows", lambda self, name, table: (made.append(name), put(self, name, table)))
    engine = invented_engine(catalog, ["units"], rows=17)
    assert made == ["units"]
    assert invented_engine(catalog, ["people", "units"], rows=17) is engine
    assert invented_engine(catalog, ["people"], rows=17) is engine
    assert made == ["units", "ward.people"]
    assert engine.run_public(COUNT) == [(17,)]


def test_what_was_filled_in_part_is_not_used(catalog, monkeypatch):
    def failed(*_):
        raise EngineFailed("stopped", why="by somebody", fix="ask again")

    with monkeypatch.context() as patched:
        patched.setattr(DuckdbEngine, "add_rows", failed)
        raised(EngineFailed, lambda: invented_engine(catalog, ["people"], rows=18))
    assert invented_engine(catalog, ["people"], rows=18).run_public(COUNT) == [(18,)]


def test_what_runs_on_invented_rows_can_be_stopped(catalog):
    """Without it, this runs until the limit of thirty seconds."""
    engine, ended = invented_engine(catalog, ["people"], rows=19), threading.Event()
    failures = []

    def run():
        try:
            engine.run_public(SLOW)
        except EngineFailed as error:
            failures.append(error)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    for _ in range(100):  # one that comes before the engine is asked is lost
        interrupt_invented()
        if ended.wait(0.1):
            break
    assert len(failures) == 1
