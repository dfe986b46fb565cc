"""Rows that are units of their own, joined with public rows: each counts once, whatever the public table holds."""

from dataclasses import replace

import duckdb
import pytest

import dpsql
from dpsql.catalog.model import EngineTable
from dpsql.errors import InternalError, TwoPeople
from dpsql.sql import joins
from dpsql.sql.check import check
from dpsql.sql.relations import Group, Join
from tests.kits.cases import cases
from tests.kits.noiseless import without_noise
from tests.kits.refusals import raised

from clinic import CLINIC, resolved

JOIN = "SELECT COUNT(*) FROM meters m JOIN codes c ON m.level = c.code"


def enforced(*keys: tuple[str, ...]):
    table = CLINIC.schema["codes"]
    codes = EngineTable(name=table.name, columns=table.columns, unique=keys)
    return replace(CLINIC, schema={**CLINIC.schema, "codes": codes})


def declared(*names: str):
    codes = CLINIC.policy.tables["codes"]
    columns = {name: replace(column, unique=name in names) for name, column in codes.columns.items()}
    tables = {**CLINIC.policy.tables, "codes": replace(codes, columns=columns)}
    return replace(CLINIC, policy=replace(CLINIC.policy, tables=tables))


@pytest.mark.parametrize("catalog", [enforced(("CODE",)), declared("code"), declared("code", "label")])
@pytest.mark.parametrize(
    "sql", [JOIN, "SELECT COUNT(*) FROM codes c JOIN meters m ON m.level = c.code AND label > 'b'"]
)
def test_a_key_that_is_enforced_or_declared_lets_rows_meet_once(catalog, sql):
    query = resolved(sql, catalog)
    check(query)
    sides = (query.relation.left, query.relation.right)
    (reduced,) = (side for side in sides if isinstance(side, Group))
    assert [column.name for column in reduced.columns[: len(reduced.by)]] == ["code"]
    assert {column.name for column in reduced.columns} == {"code", "label"}


@cases(__file__, "catalog=", "sql=")
def test_without_a_key_the_way_out_is_named(catalog, sql):
    error = raised(TwoPeople, lambda: check(resolved(sql, catalog)))
    assert "unique = true" in error.fix
    assert "[table.codes.columns]" in error.fix


def test_a_whole_key_of_several_columns():
    query = resolved(JOIN + " AND m.site = c.label", enforced(("code", "label")))
    check(query)
    assert isinstance(query.relation.right, Group)


def test_rows_of_people_keep_all_their_partners():
    """They are capped after the join."""
    relation = resolved("SELECT COUNT(*) FROM people p JOIN codes c ON p.age = c.code", declared("code")).relation
    assert isinstance(relation, Join)
    assert not isinstance(relation.right, Group)


def analyst(rows: str, *, key: str = "", unique=()) -> dpsql.Analyst:
    plain = duckdb.connect()
    plain.execute("CREATE TABLE meters (level INTEGER, site VARCHAR)")
    plain.execute("INSERT INTO meters VALUES (1, 'a'), (1, 'b'), (2, 'a'), (3, 'b'), (NULL, 'a')")
    plain.execute(f"CREATE TABLE codes (code INTEGER {key}, label VARCHAR)")
    plain.execute(f"INSERT INTO codes VALUES {rows}")
    owner = dpsql.open(":memory:")
    owner.register("meters", plain, unit="row", bounds={"level": (0, 5)}, keys={"site": ["a", "b"]})
    owner.register("codes", plain, public=True, columns=["code", "label"], unique=unique)
    plain.close()
    owner.promise(epsilon=10, delta=0)
    owner.defaults(cost_per_query=1, max_keys=10)
    return owner.grant("ana", budget=5)


def counted(rows: str) -> list[tuple[object, ...]]:
    sql = "SELECT c.label, COUNT(*) FROM meters m JOIN codes c ON m.level = c.code GROUP BY c.label"
    return [(label, count.value) for label, count in without_noise(analyst(rows, unique=["code"]), sql)]


def test_a_row_counts_once_where_the_owner_is_wrong():
    assert sum(count for _, count in counted("(1, 'x'), (1, 'y'), (1, 'y'), (2, 'y')")) == 3


def test_seal_does_not_take_the_owners_word(monkeypatch):
    monkeypatch.setattr(joins, "_one_row_for_each", lambda public, key: public)
    raised(InternalError, lambda: analyst("(1, 'x'), (1, 'y')", unique=["code"]).query(JOIN), match="sensitivity")
