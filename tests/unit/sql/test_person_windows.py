"""Windows inside one person: what is known about their columns, and that no order of rows changes a value. Windows that
are not are refused, with words for both ways that have a rule."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported, TwoPeople, Unbounded
from dpsql.sql.emit import engine_text
from dpsql.sql.intervals import Interval
from dpsql.sql.person_windows import framed, settled
from dpsql.sql.relations import Column, Window
from dpsql.sql.scalars import Apply, ColumnRef, Sorted, Windowed
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import CLINIC, TABLES, bounded, clinic, resolved, rewritten

OVER = "OVER (PARTITION BY person ORDER BY moment)"


def window_column(expression: str, catalog=None):
    """The column that holds an expression over windows: visits has 6 rows of one person that count."""
    sql = f"SELECT COUNT(x) FROM (SELECT person, {expression} AS x FROM visits) t"
    query = resolved(sql) if catalog is None else resolved(sql, catalog)
    return query.findings.columns[query.aggregates[0].arguments[0].id]


@cases(__file__, "expression", "low=", "high=")
def test_what_counts_follows_from_bounds_and_caps(expression, low, high):
    assert window_column(expression).declared == Interval(Fraction(low), Fraction(high))


@pytest.mark.parametrize(
    "expression", [f"ROW_NUMBER() {OVER} - ward", f"COUNT(*) {OVER} + 1", f"day - LAG(day) {OVER}"]
)
def test_whole_numbers_of_rows_stay_whole(expression):
    assert window_column(expression).type.value == "integer"


def test_without_a_cap_nothing_bounds_what_is_counted():
    unlimited = clinic(rows_per_person=None, rows_per_group=None)
    for expression in (f"ROW_NUMBER() {OVER}", f"SUM(points) {OVER}"):
        assert window_column(expression, unlimited).declared.high is None
    raised(Unbounded, lambda: bounded(f"SELECT SUM(x) FROM (SELECT SUM(code) {OVER} AS x FROM visits) t"))


def test_a_column_of_a_window_is_no_declared_one():
    column = window_column(f"FIRST_VALUE(illness) {OVER}")
    assert (column.origin, column.hidden, column.public) == (None, False, False)


@pytest.mark.parametrize("function", ["FIRST_VALUE(x)", "LAST_VALUE(x)", "LAG(x)", "LEAD(x, 2)", "MIN(x)", "MAX(x)"])
def test_values_of_a_column_have_its_groups(function):
    """visits.illness has private groups, visits.day those of the calendar."""
    for name in ("illness", "day"):
        expression = function.replace("x", name)
        assert window_column(f"{expression} {OVER}").keys == CLINIC.policy.tables["visits"].columns[name].keys


@pytest.mark.parametrize("expression", ["LAG(illness, 1, 'none')", "MIN(illness || 'x')", "COUNT(illness)"])
def test_other_values_have_groups_of_their_own(expression):
    assert window_column(f"{expression} {OVER}").keys is None


def windows_in(sql: str) -> list[Window]:
    found, below = [], [resolved(sql).relation]
    while below:
        relation = below.pop()
        found += [relation] if isinstance(relation, Window) else []
        below += [getattr(relation, name) for name in ("input", "left", "right") if hasattr(relation, name)]
    return found


def test_a_window_keeps_one_row_per_person():
    sql = (
        "SELECT COUNT(*) FROM (SELECT person, LAG(COUNT(*)) OVER (PARTITION BY person ORDER BY MAX(day)) AS n "
        "FROM visits GROUP BY person) t WHERE n IS NULL"
    )
    assert bounded(sql).one_row_each
    assert (
        bounded("SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY person) AS r FROM visits) t").one_row_each
        is False
    )


EVERY_FUNCTION = """
SELECT SUM(a), SUM(b), SUM(c), SUM(d), SUM(e), SUM(f), SUM(g), SUM(h), SUM(i), SUM(j), SUM(k) FROM (SELECT
ROW_NUMBER() w AS a, NTILE(2) w AS b, LAG(points, 1, 0) w AS c, LEAD(points, 1, 0) w AS d, FIRST_VALUE(points) w AS e,
LAST_VALUE(points) w AS f, SUM(price) r AS g, AVG(price) r AS h, COUNT(*) r AS i, RANK() w AS j, MIN(points) r AS k
FROM visits) t
""".replace(" w ", " OVER (PARTITION BY person ORDER BY ward) ").replace(
    " r ", " OVER (PARTITION BY person ORDER BY ward ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
)


def test_no_order_of_tied_rows_changes_a_value():
    """Four visits, three of them in one ward: every order of the table gives the same numbers."""
    text = engine_text(rewritten(EVERY_FUNCTION).measurement, dialect="duckdb").sql
    plain = duckdb.connect()
    plain.execute("SET threads = 1")
    plain.execute(f"CREATE TABLE visits ({TABLES['visits']})")
    rows = [(1, 1, 0.1, 5), (1, 1, 0.2, -7), (1, 1, 0.3, 9), (1, 2, 0.3, 9)]
    found = set()
    for order in permutations(rows):
        plain.execute("DELETE FROM visits")
        plain.executemany("INSERT INTO visits (person, ward, price, points) VALUES (?, ?, ?, ?)", order)
        found.add(plain.execute(text).fetchall()[0])
    assert len(found) == 1


def test_nobody_else_changes_what_is_said_of_a_person():
    """With others around, person 1 adds what they add alone."""
    text = engine_text(rewritten(EVERY_FUNCTION).measurement, dialect="duckdb").sql
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE visits ({TABLES['visits']})")
    mine = [(1, 1, 0.1, 5), (1, 1, 0.2, -7), (1, 2, 0.3, 9)]
    others = [(2, 1, 1.1, 50), (2, 1, 1.2, 7), (3, 2, 9.3, -9), (None, 1, 4.0, 1)]

    def measured(rows) -> tuple[int, ...]:
        plain.execute("DELETE FROM visits")
        plain.executemany("INSERT INTO visits (person, ward, price, points) VALUES (?, ?, ?, ?)", rows)
        return plain.execute(text).fetchall()[0]

    apart = zip(measured(mine), measured(others), strict=True)
    assert measured([*others, *mine]) == tuple(a + b for a, b in apart)


def test_the_same_window_twice_is_computed_once():
    items = f"AVG(points) {OVER} AS a, SUM(points) {OVER} + 1 AS s, COUNT(points) {OVER} AS n"
    sql = f"SELECT COUNT(*) FROM (SELECT {items} FROM visits) t"
    (window,) = windows_in(sql)
    assert [call.function for call in window.calls] == ["sum", "count"]


@pytest.mark.parametrize("items", ["AVG(points) w AS a, SUM(points) w AS x", "SUM(points) w AS x, AVG(points) w AS a"])
def test_a_sum_beside_its_mean_keeps_its_limits(items):
    plan = bounded(f"SELECT SUM(x) FROM (SELECT {items.replace(' w ', f' {OVER} ')} FROM visits) t")
    assert [(placed.slot.low, placed.slot.high) for placed in plan.slots] == [(-1800, 1800)]


def test_groups_of_a_person_are_at_most_their_rows():
    """Six rows of a person count in all; how many of one group count says nothing of the groups."""
    sql = (
        "SELECT SUM(k) FROM (SELECT person, day, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS k "
        "FROM visits GROUP BY person, day) t"
    )
    query = resolved(sql)
    assert query.findings.columns[query.aggregates[0].arguments[0].id].declared == Interval(Fraction(1), Fraction(6))


def test_qualify_filters_what_windows_say():
    """By the name of a column too, and one row of each person stays one row."""
    number = f"ROW_NUMBER() {OVER}"
    for inner in (f"SELECT ward FROM visits QUALIFY {number} = 1", f"SELECT {number} AS n FROM visits QUALIFY n = 1"):
        assert bounded(f"SELECT COUNT(*) FROM ({inner}) t").one_row_each
        assert len(windows_in(f"SELECT COUNT(*) FROM ({inner}) t")[0].calls) == 1


@cases(__file__, "sql")
def test_qualify_elsewhere_is_refused(sql):
    raised(NotSupported, lambda: resolved(sql), match="QUALIFY")


# Which rows a window looks at and in which order: ties are broken, and frames mean what they meant before.

COLUMNS = tuple(Column(id=number, name="", type=SqlType.INTEGER) for number in (1, 2, 3, 4))
ONE, TWO, THREE, FOUR = (ColumnRef(column.id, column.type) for column in COLUMNS)
DOWN = (Sorted(by=TWO, descending=True),)
ALL_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def window(function: str, frame: str = "", order=DOWN) -> Windowed:
    return Windowed(
        function=function, arguments=(), partition_by=(ONE,), order_by=order, frame=frame, type=SqlType.INTEGER
    )


@pytest.mark.parametrize("function", ["row_number", "ntile", "lag", "lead", "first_value", "last_value"])
def test_what_tells_rows_apart_is_ordered_by_everything(function):
    call = settled(window(function), COLUMNS)
    assert call.order_by == (Sorted(by=TWO, descending=True), Sorted(by=THREE), Sorted(by=FOUR))
    assert call.partition_by == (ONE,)


@pytest.mark.parametrize("function", ["count", "sum", "min", "max"])
def test_frames_of_rows_are_ordered_by_everything(function):
    rows = settled(window(function, "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"), COLUMNS)
    assert [key.by.id for key in rows.order_by] == [2, 3, 4]


@pytest.mark.parametrize("function", ["rank", "dense_rank", "percent_rank", "cume_dist", "count", "sum", "min", "max"])
def test_what_is_the_same_for_tied_rows_keeps_its_order(function):
    for frame in ("", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"):
        assert settled(window(function, frame), COLUMNS) == window(function, frame)


def test_an_expression_is_no_tie_breaker():
    """Rows may agree on −x² and not on x."""
    call = settled(window("lag", order=(Sorted(by=Apply("neg", (TWO,), SqlType.INTEGER)),)), COLUMNS)
    assert [key.by.id for key in call.order_by[1:]] == [2, 3, 4]


NOTES = resolved("SELECT COUNT(*) FROM visits").findings


@pytest.mark.parametrize("function", ["row_number", "rank", "lag", "ntile", "cume_dist"])
def test_functions_of_the_partition_lose_their_frame(function):
    call = window(function, "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")
    assert framed(call, None, NOTES) == replace(call, frame="")


@cases(__file__, "function", "frame", "tied=")
def test_the_end_of_a_range_is_that_of_all_rows_or_of_the_tied_ones(function, frame, tied):
    call = framed(window(function, frame), None, NOTES)
    assert call.frame == ALL_ROWS
    assert call.partition_by == ((ONE, TWO) if tied else (ONE,))
    assert [key.by for key in call.order_by] == ([] if tied else [TWO])


def test_the_end_of_a_range_by_distance_is_refused():
    raised(NotSupported, lambda: framed(window("last_value", "RANGE BETWEEN CURRENT ROW AND 3 FOLLOWING"), None, NOTES))


def counted(order: str) -> str:
    frame = "RANGE BETWEEN 3 PRECEDING AND CURRENT ROW"
    return (
        f"SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY person ORDER BY {order} {frame}) AS n FROM visits) t"
    )


@pytest.mark.parametrize("order", ["day", "day DESC", "ward", "CLAMP(points, -50, 50)"])
def test_distances_between_days_and_small_whole_numbers_are_exact(order):
    resolved(counted(order))


@pytest.mark.parametrize("order", ["points", "price", "moment", "ward, day", "illness"])
def test_other_distances_are_refused(order):
    raised(NotSupported, lambda: resolved(counted(order)), match="RANGE with a distance")


def refused(inner: str) -> TwoPeople:
    return raised(TwoPeople, lambda: resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1"))


@cases(__file__, "inner")
def test_a_rank_among_all_is_not_turned_into_one_inside_a_person(inner):
    error = refused(inner)
    assert "PARTITION BY person" in error.fix
    assert error.try_sql is None
