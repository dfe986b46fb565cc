"""Which groups appear, by hand: from the policy, from the query, from public tables, or found by selection."""

from dataclasses import replace
from datetime import date, datetime

import duckdb
import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import EngineColumn, KeyList, KeyRange
from dpsql.catalog.types import SqlType
from dpsql.errors import BadKey
from dpsql.sql import keys
from dpsql.sql.emit import statement_text
from dpsql.sql.injective import told_apart
from dpsql.sql.keys import KeyTable, PrivateKey, domains_of
from dpsql.sql.rewrite import Statement
from dpsql.sql.scalars import Apply, ColumnRef
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import POLICY, SCHEMA, resolved

WARDS = [(1, "north", "N"), (2, "south", "S"), (3, "east", "N"), (4, "west", None), (5, None, "N")]


def domain_of(key: str, rest: str = "", source: str = "visits", max_keys: int = 1000) -> object:
    query = resolved(f"SELECT COUNT(*) FROM {source} {rest} GROUP BY {key}")
    (found,) = domains_of(query, max_keys=max_keys)
    return found


def listed(key: str, rest: str = "", source: str = "visits") -> list[object]:
    found = domain_of(key, rest, source)
    assert isinstance(found, KeyList | KeyRange)
    return list(found.values)


@cases(__file__, "key", "rest", "values=")
def test_what_policy_and_query_list(key: str, rest: str, values: list[object] | None) -> None:
    if values is None:
        assert isinstance(domain_of(key, rest), PrivateKey)
    else:
        assert listed(key, rest) == values


def test_every_day_of_a_calendar() -> None:
    """From 30 January to 2 March 2025: two days, 28, two."""
    days = listed("day")
    assert (days[0], days[-1], len(days)) == (date(2025, 1, 30), date(2025, 3, 2), 32)


@cases(__file__, "source", "key", "values=")
def test_columns_of_subqueries_are_what_they_stand_for(source: str, key: str, values: list[object]) -> None:
    assert listed(key, source=source) == values


def test_a_private_column_stays_private_under_another_name() -> None:
    assert isinstance(domain_of("i", source="(SELECT upper(illness) AS i FROM visits) t"), PrivateKey)


def test_names_of_names_do_not_grow_without_end() -> None:
    """Each level doubles what it stands for: forty would be a million millions of nodes."""
    source = "visits"
    for level in range(1, 13):
        before = "ward" if level == 1 else f"w{level - 1}"
        source = f"(SELECT {before} + {before} AS w{level} FROM {source}) t{level}"
    found = domain_of("w12", source=source, max_keys=100_000)
    assert isinstance(found, KeyList | KeyRange)


def found_in(found: object) -> set[object]:
    assert isinstance(found, KeyTable)
    columns = found.relation.columns
    sql = statement_text(Statement(relation=found.relation, keys=columns, values=()), dialect="duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE wards (id BIGINT, name VARCHAR, region VARCHAR)")
    connection.executemany("INSERT INTO wards VALUES (?, ?, ?)", WARDS)
    return {row[0] for row in connection.execute(sql).fetchall()}


JOINED = "visits v JOIN wards w ON v.ward = w.id"


@cases(__file__, "source=", "key", "names=")
def test_a_public_table_lists_the_keys_that_its_own_filters_leave(source: str, key: str, names: set[object]) -> None:
    assert found_in(domain_of(key, source=source)) == names


@pytest.mark.parametrize("type_", [SqlType.BOOLEAN, SqlType.DATE])
def test_public_rows_know_better_than_their_type_which_values_there_are(type_: SqlType) -> None:
    more = EngineColumn(name="more", type=type_, engine_type=type_.value.upper())
    wards = replace(SCHEMA["wards"], columns=(*SCHEMA["wards"].columns, more))
    policy = POLICY.replace("region = {}", "region = {}\nmore = {}")
    catalog = checked(loads(policy, name="dpsql.toml"), {**SCHEMA, "wards": wards})
    few = "WHERE w.more BETWEEN '2025-01-01' AND '2025-01-03'" if type_ is SqlType.DATE else ""
    (found,) = domains_of(resolved(f"SELECT COUNT(*) FROM {JOINED} {few} GROUP BY w.more", catalog), max_keys=1000)
    assert isinstance(found, KeyTable)


@cases(__file__, "key", "rest", "source", "max_keys=", "number=")
def test_few_keys_need_no_bounds(key: str, rest: str, source: str, max_keys: int, number: int | None) -> None:
    if number is None:
        raised(BadKey, lambda: domain_of(key, rest, source, max_keys))
    else:
        found = domain_of(key, rest, source, max_keys)
        assert isinstance(found, KeyList | KeyRange)
        assert len(found.values) == number


@cases(__file__, "key", "name", "example")
def test_what_nobody_has_declared_is_refused_with_an_example(key: str, name: str, example: str) -> None:
    error = raised(BadKey, lambda: domain_of(key))
    assert name in error.what
    assert example in str(error.fix)
    if "later" not in key or "(" in key:  # and with the example it is accepted
        assert domain_of(key, example) is not None


@cases(__file__, "key", "source", "max_keys=", "number=")
def test_more_keys_than_the_owner_allows_are_refused_with_their_number(
    key: str, source: str, max_keys: int, number: int
) -> None:
    """Never found privately instead: nobody has said so, and it would cost delta and hide the rare ones."""
    with pytest.raises(BadKey, match=f"{number} groups of .*at most {max_keys}") as refusal:
        domain_of(key, source=source, max_keys=max_keys)
    assert "BETWEEN" in refusal.value.fix
    assert 'keys = "private"' in refusal.value.fix
    assert "max_keys" in refusal.value.fix


def test_fewer_are_listed_once_a_filter_asks_for_fewer() -> None:
    days = listed("born", "WHERE born BETWEEN '1980-02-27' AND '1980-03-01'", source="people")
    assert days == [date(1980, 2, 27), date(1980, 2, 28), date(1980, 2, 29), date(1980, 3, 1)]


def test_text_made_of_dates_is_not_found_privately_either() -> None:
    error = raised(BadKey, lambda: domain_of("CAST(born AS TEXT)", source="people"), match="not declared")
    assert "group by born" in error.fix


@pytest.mark.parametrize("key", ["CAST(moment AS DATE)", "date_trunc('day', moment)"])
def test_timestamps_have_a_calendar_of_days(key: str) -> None:
    days = listed(key)
    first = date(2025, 1, 30) if key.startswith("CAST") else datetime(2025, 1, 30)
    last = date(2025, 3, 2) if key.startswith("CAST") else datetime(2025, 3, 2)
    assert (days[0], days[-1], len(days)) == (first, last, 32)


def test_timestamps_themselves_are_no_groups() -> None:
    with pytest.raises(BadKey, match="moments of moment") as refusal:
        domain_of("moment")
    assert refusal.value.try_sql == "SELECT COUNT(*) FROM visits GROUP BY CAST(moment AS DATE)"
    with pytest.raises(BadKey, match="moments of moment") as refusal:
        domain_of("moment", max_keys=31)
    assert refusal.value.try_sql is None  # its days would be too many as well


@cases(__file__, "key", "values=")
def test_null_is_no_group_where_coalesce_replaces_it(key: str, values: list[object]) -> None:
    assert listed(key, source="people") == values


def test_a_query_is_read_once_for_all_its_keys(monkeypatch):
    query = resolved("SELECT COUNT(*) FROM (SELECT ward + 1 AS w, ward, points FROM visits) v GROUP BY w, ward, points")
    read, computed = [], keys._computed
    monkeypatch.setattr(keys, "_computed", lambda relation: read.append(relation) or computed(relation))
    assert len(domains_of(query, max_keys=1000)) == 3
    assert read == [query.relation]


def test_a_day_is_told_apart_by_the_moment_it_begins_with() -> None:
    findings = resolved("SELECT COUNT(*) FROM visits").findings
    for type_, kept in ((SqlType.DATE, {1}), (SqlType.TEXT, set())):
        moment = Apply("to_timestamp", (ColumnRef(1, type_),), SqlType.TIMESTAMP)
        assert told_apart(moment, findings) == kept
