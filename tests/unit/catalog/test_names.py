"""Names fold as the engine folds them."""

import duckdb

from dpsql.catalog.names import did_you_mean, dotted, folded
from tests.kits.cases import cases


@cases(__file__, "one", "other")
def test_two_names_are_one_exactly_where_duckdb_says_so(one, other):
    """`str.lower` would take é and É for one name: two columns of an engine, of which one may be hidden."""
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE "{one}x" (x INTEGER)')
        try:
            connection.execute(f'CREATE TABLE "{other}x" (x INTEGER)')
            same = False
        except duckdb.CatalogException:
            same = True
    assert (folded(one) == folded(other)) == same


def test_every_ascii_letter_and_nothing_else():
    everything = "".join(map(chr, range(0x500)))
    assert folded(everything) == "".join(chr(c + 32) if 65 <= c <= 90 else chr(c) for c in range(0x500))


def test_suggestions():
    assert did_you_mean("Dianosis", ["charge", "diagnosis"]) == ". Did you mean diagnosis?"
    assert did_you_mean("x", ["charge", "diagnosis"]) == ""


def test_places_as_people_read_them():
    assert dotted(("table", "visits", "columns", "charge")) == "table.visits.columns.charge"
    assert dotted(("grant", 0, "budget")) == "grant[1].budget"
    assert dotted(("table", "my table", "rows")) == 'table."my table".rows'
