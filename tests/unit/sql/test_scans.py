"""Declared tables as relations: whose a row is, and that nobody can name it."""

import pytest

from dpsql.errors import BadName, NotSupported
from dpsql.sql.relations import Group, Join, Scan
from dpsql.sql.scans import MOST_SCANS
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved


def owner_names(query) -> list[str]:
    """The engine's columns that hold the owner."""
    found = {}

    def look(relation):
        match relation:
            case Scan():
                found.update(
                    {c.id: f"{relation.table}.{s}" for c, s in zip(relation.columns, relation.sources, strict=True)}
                )
            case Join():
                look(relation.left)
                look(relation.right)
            case _:
                look(relation.input)

    look(query.relation)
    return [found[number] for number in query.owner]


@cases(__file__, "table", "owner=")
def test_the_owner_is_where_the_policy_says(table, owner):
    query = resolved(f"SELECT COUNT(*) FROM {table}")
    assert owner_names(query) == owner
    assert query.private == (table != "codes")


def test_a_declared_person_is_read_twice_once_as_the_engine_holds_it():
    scan = resolved("SELECT COUNT(*) FROM people").relation
    assert scan.sources.count("house") == 2
    assert set(scan.owner) == set(scan.raw)
    assert [column.name for column in scan.columns if column.id in scan.raw] == ["", ""]


def test_a_path_ends_in_distinct_pairs_of_key_and_owner():
    query = resolved("SELECT COUNT(*) FROM samples")
    match query.relation:
        case Join(left=Scan(table="samples"), right=Group(totals=(), input=Join() as ways) as pairs):
            assert ways.left.table == "tests"
            assert pairs.by == (ways.left.raw[0], *query.owner)
            assert isinstance(ways.right, Group)
            assert ways.right.input.table == "visits"
            assert ways.right.by[1:] == query.owner
        case _:
            pytest.fail(repr(query.relation))


def test_only_the_end_of_a_path_holds_the_person():
    query = resolved("SELECT COUNT(*) FROM samples")
    tests = query.relation.right.input.left
    assert (tests.owner, query.relation.left.owner) == ((), ())


def test_tables_of_a_path_are_read_but_not_named():
    query = resolved("SELECT COUNT(*) FROM samples", readable=frozenset({"samples"}))
    assert set(query.tables) == {"samples", "tests", "visits"}
    assert query.private_tables == ("samples",)
    assert query.multiplied


@pytest.mark.parametrize("name", ["rowid", "house_1", '""', "tests.house"])
def test_nobody_names_the_raw_columns(name):
    raised((BadName, NotSupported), lambda: resolved(f"SELECT COUNT(*) FROM samples WHERE {name} = 1"))


def test_bounds_are_declared_and_types_are_proved():
    (age,) = (column for column in resolved("SELECT COUNT(*) FROM people").relation.columns if column.name == "age")
    assert (age.declared.low, age.declared.high) == (0, 110)
    assert (age.proved.low, age.proved.high) == (None, None)
    assert age.origin == ("people", "age")


def test_there_is_an_end_to_reading():
    many = " JOIN ".join(f"visits v{number} USING (house, number)" for number in range(1, MOST_SCANS))
    resolved(f"SELECT COUNT(*) FROM visits v JOIN {many}")
    with pytest.raises(NotSupported, match="more than"):
        resolved(f"SELECT COUNT(*) FROM visits v JOIN {many} JOIN people p USING (house, number)")
