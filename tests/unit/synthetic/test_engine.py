"""The engine of invented rows: filled once for a catalogue and a number of rows, and never with anything else."""

from dataclasses import replace

import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import EngineColumn, EngineTable
from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter
from dpsql.synthetic.engine import invented_engine

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
"""
SCHEMA = {
    "ward.people": EngineTable(
        name="ward.people",
        columns=(
            EngineColumn(name="id", type=SqlType.INTEGER, engine_type="BIGINT"),
            EngineColumn(name="price", type=SqlType.DOUBLE, engine_type="DECIMAL(9,2)", scale=2),
        ),
    )
}
COUNT = 'SELECT count(*) FROM "ward"."people"'


@pytest.fixture(scope="module")
def catalog():
    return checked(loads(POLICY, name="policy.toml"), SCHEMA)


def test_tables_stand_where_the_source_has_them_and_the_same_engine_is_used_again(catalog):
    first = invented_engine(catalog, rows=30)
    assert first.run_public(COUNT) == [(30,)]
    assert invented_engine(catalog, rows=30) is first
    assert invented_engine(catalog, rows=31).run_public(COUNT) == [(31,)]
    other = replace(catalog, policy=replace(catalog.policy, data_version="2"))
    assert invented_engine(other, rows=31) is not invented_engine(catalog, rows=31)


def test_a_number_of_rows_that_is_none_leaves_nothing_behind(catalog):
    with pytest.raises(BadParameter):
        invented_engine(catalog, rows=0)
    assert invented_engine(catalog).run_public(COUNT) == [(1000,)]
