"""Two names of one function are the same function in DuckDB; a rewritten call has the value of the written one."""

from collections.abc import Callable
from datetime import date, datetime

import duckdb
import pytest

from dpsql.sql.functions import FUNCTIONS
from dpsql.sql.parse import parse
from dpsql.sql.parsing.functions import NOT_CALLABLE, OTHER_NAMES, PARTS, UNITS
from dpsql.sql.syntax import Call, Expression, Literal
from dpsql.sql.words import AGGREGATES, RAW_AGGREGATES, WINDOWS
from tests.kits.cases import cases
from tests.kits.rows import read_rows, read_texts

CONNECTION = duckdb.connect()

SAMPLES: dict[str, str] = dict(read_rows(__file__, "samples"))
IN_DUCKDB = {"dow": "date_part('dow', {})", "doy": "date_part('doy', {})"}
OURS_ALONE = {"nvl"}
"""Names other dialects use, that DuckDB does not have."""


def rows(sql: str) -> list[tuple[object, ...]]:
    return CONNECTION.execute(sql).fetchall()


@pytest.mark.parametrize(("other", "name"), sorted(OTHER_NAMES.items()))
def test_two_names_of_one_function(other: str, name: str) -> None:
    if other in OURS_ALONE or name == "current_date":
        return
    if name not in SAMPLES:  # an aggregate
        data = "FROM (VALUES (1.0), (2.5), (7.0)) AS v(x)"
        assert rows(f"SELECT {other}(x) {data}") == rows(f"SELECT {name}(x) {data}")
        return
    for row in SAMPLES[name].split("), "):
        arguments = row.strip("()")
        plain = IN_DUCKDB.get(name, name + "({})").format(arguments)
        assert rows(f"SELECT {other}({arguments})") == rows(f"SELECT {plain}")


def test_today_is_the_current_date() -> None:
    assert rows("SELECT today() = current_date") == [(True,)]


def printed(expression: Expression) -> str:
    """A rewritten call as SQL, for the few functions this file is about."""
    if isinstance(expression, Literal):
        return "NULL" if expression.value is None else repr(expression.value)
    assert isinstance(expression, Call)
    arguments = [printed(argument) for argument in expression.arguments]
    forms: dict[str, Callable[[list[str]], str]] = {
        "concat": lambda a: f"({a[0]} || {a[1]})",
        "to_text": lambda a: f"CAST({a[0]} AS VARCHAR)",
        "case": lambda a: f"CASE WHEN {a[0]} THEN {a[1]} ELSE {a[2]} END",
    }
    form = forms.get(expression.function, lambda a: f"{expression.function}({', '.join(a)})")
    return form(arguments)


@cases(__file__, "text")
def test_a_rewritten_call_has_the_value_of_the_written_one(text: str) -> None:
    (item,) = parse(f"SELECT {text}", dialect="duckdb").query.items
    assert rows(f"SELECT {printed(item.expression)}") == rows(f"SELECT {text}")


@pytest.mark.parametrize(("word", "part"), sorted(PARTS.items()))
def test_a_part_of_a_date(word: str, part: str) -> None:
    for moment in (datetime(2020, 12, 31, 23, 59, 58), datetime(2021, 1, 3, 1, 2, 3), datetime(2020, 2, 29)):
        asked = rows(f"SELECT date_part('{word}', TIMESTAMP '{moment}')")
        iso = moment.isocalendar()
        expected = {
            "year": moment.year,
            "quarter": (moment.month + 2) // 3,
            "month": moment.month,
            "week": iso.week,
            "day": moment.day,
            "dow": moment.isoweekday() % 7,
            "isodow": moment.isoweekday(),
            "doy": moment.timetuple().tm_yday,
            "hour": moment.hour,
            "minute": moment.minute,
            "second": moment.second,
        }
        assert asked == [(expected[part],)]


@pytest.mark.parametrize("unit", sorted(UNITS))
@pytest.mark.parametrize("sign", ["+", "-"])
def test_an_interval_moves_a_date_by_its_unit(unit: str, sign: str) -> None:
    (item,) = parse(f"SELECT x {sign} INTERVAL '2' {unit}S", dialect="duckdb").query.items
    assert isinstance(item.expression, Call)
    named, number, _ = item.expression.arguments
    assert isinstance(named, Literal)
    assert isinstance(number, Literal)
    assert (named.value, number.value) == (unit, 2 if sign == "+" else -2)
    moment = f"TIMESTAMP '{date(2020, 2, 29)}'"
    by_quarter = {"quarter": f"to_months(3 * {number.value})", "week": f"to_days(7 * {number.value})"}
    moved = by_quarter.get(unit, f"to_{unit}s({number.value})")
    assert rows(f"SELECT {moment} {sign} INTERVAL '2' {unit}S") == rows(f"SELECT {moment} + {moved}")


CALLABLE = sorted((set(FUNCTIONS) | AGGREGATES | RAW_AGGREGATES | WINDOWS) - NOT_CALLABLE)
AROUND = read_texts(__file__, "around")


def calls(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*map(calls, expression.arguments))


@pytest.mark.parametrize("name", CALLABLE)
def test_a_function_is_a_call_wherever_it_stands(name: str) -> None:
    """Whatever the parser knows of a name, it reaches the next stage as a call by its own name."""
    written = {
        "date_add": "date_add(a, INTERVAL 1 DAY)",
        "date_trunc": "date_trunc('day', a)",
        "date_diff": "date_diff('day', a, b)",
        "concat": "concat(a, b)",
    }
    for around in AROUND:
        text = around.format(written.get(name, f"{name}(a)"))
        (item,) = parse(f"SELECT {text} FROM t", dialect="duckdb").query.items
        assert OTHER_NAMES.get(name, name) in calls(item.expression)


def test_names_of_operators_are_not_functions() -> None:
    """A name inside dpsql that DuckDB does not have, or means otherwise, cannot be called by an analyst."""
    known = {name for (name,) in rows("SELECT DISTINCT function_name FROM duckdb_functions()")}
    keywords = {"coalesce"}  # a keyword of DuckDB's grammar, not an entry of its table
    extended = {"clamp", "dow", "doy"}  # ours: EXTRACT(dow …) may be written as a function
    assert set(FUNCTIONS) - known - keywords - extended <= NOT_CALLABLE
    assert "to_timestamp" in NOT_CALLABLE  # in DuckDB it counts seconds
