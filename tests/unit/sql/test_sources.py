"""FROM, WHERE and WITH: which tables are read, what of them may be named, what a subquery may do; whose a row is."""

import pytest

from dpsql.errors import BadName, NobodyLeft, NotSupported
from dpsql.sql.notes import Role
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import CLINIC, resolved


def names(sql: str, role: Role) -> set[str]:
    return {column.name for use in resolved(sql).uses if use.role is role for column in use.columns}


def test_a_common_table_that_reads_its_own_name_reads_the_table():
    query = resolved("WITH visits AS (SELECT cost FROM visits WHERE cost > 3) SELECT COUNT(*) FROM visits")
    assert query.private_tables == ("visits",)


def test_each_reading_has_columns_of_its_own():
    query = resolved("WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a x JOIN a y USING (house, number)")
    numbers = [column.id for column in query.relation.columns]
    assert len(numbers) == len(set(numbers))
    assert query.private_tables == ("visits", "visits")


def test_what_nobody_reads_leaves_no_trace():
    """Neither on what is judged nor on what is read; only the work counts."""
    plain = resolved("SELECT COUNT(*) FROM meters")
    unread = resolved(
        "WITH u AS (SELECT p.name FROM people p JOIN visits v ON p.name = v.note WHERE p.age > 3) "
        "SELECT COUNT(*) FROM meters"
    )
    assert (unread.tables, unread.uses, unread.meetings) == (plain.tables, plain.uses, plain.meetings)
    assert not unread.multiplied
    assert unread.relation == plain.relation


def test_what_nobody_reads_costs_its_work():
    """Sixteen nested levels, each reading the next one twice, would be 65 536 scans."""
    deep = "SELECT cost FROM visits"
    for level in range(16):
        deep = f"WITH t{level} AS ({deep}) SELECT a.cost FROM t{level} a JOIN t{level} b ON a.cost = b.cost"
    raised(NotSupported, lambda: resolved(f"WITH unread AS ({deep}) SELECT COUNT(*) FROM visits"), match="more than")


def test_a_product_that_nobody_reads_is_never_run():
    """One product is the limit of what is run, in whatever order the tables are named."""
    product = "SELECT a.code FROM codes a JOIN codes b ON a.code < b.code"
    for unread in (1, 2):
        tables = ", ".join(f"u{number} AS ({product})" for number in range(unread))
        resolved(f"WITH {tables}, r AS ({product}) SELECT COUNT(*) FROM r")
    with pytest.raises(NotSupported, match="without an equality"):
        resolved(f"WITH r AS ({product}) SELECT COUNT(*) FROM r JOIN r s ON r.code = s.code")


def test_a_table_that_may_not_be_read_is_one_that_does_not_exist():
    granted = frozenset(CLINIC.policy.tables) - {"visits"}
    told = []
    for table in ("visits", "absent"):
        with pytest.raises(BadName) as caught:
            resolved(f"SELECT COUNT(*) FROM people JOIN {table} ON nope = 1", readable=granted)
        told.append(tuple(str(part).replace(table, "X") for part in caught.value.as_json().values()))
    assert told[0] == told[1]


@cases(__file__, "inner", "error=")
def test_a_subquery_that_regroups_is_refused_for_the_reason_that_holds(inner, error):
    caught = raised(error, lambda: resolved(f"SELECT COUNT(*) FROM ({inner}) t"))
    assert type(caught) is error
    several = "several patients" in caught.why or "all the others" in caught.why
    assert several == (error is NobodyLeft)


@cases(__file__, "inner")
def test_groups_inside_the_whole_person_keep_their_owner(inner):
    query = resolved(f"SELECT COUNT(*) FROM ({inner}) t")
    assert query.private
    assert set(query.owner) <= {column.id for column in query.relation.columns}


def test_a_filter_keeps_ranges_and_proves_none():
    query = resolved("SELECT COUNT(*) FROM (SELECT age FROM people WHERE age BETWEEN 18 AND 30) t")
    (age,) = (column for column in query.relation.columns if column.name == "age")
    assert (age.kept.low, age.kept.high) == (18, 30)
    assert not age.proved.bounded
    assert names("SELECT COUNT(*) FROM people WHERE age > 18", Role.FILTER) == {"age"}


def test_a_declared_person_is_read_twice_once_as_the_engine_holds_it():
    scan = resolved("SELECT COUNT(*) FROM people").relation
    assert scan.sources.count("house") == 2
    assert set(scan.owner) == set(scan.raw)
    assert [column.name for column in scan.columns if column.id in scan.raw] == ["", ""]


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
