"""What an expression is where the columns of a side are NULL, as DuckDB computes it."""

from datetime import date, datetime
from fractions import Fraction
from itertools import product

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import DpsqlError
from dpsql.sql.check import STRICT, never_true, when_missing
from dpsql.sql.functions import FUNCTIONS, apply, print_scalar
from dpsql.sql.intervals import EVERYTHING
from dpsql.sql.scalars import Apply, AwaitedValue, ColumnRef, Constant
from tests.kits.cases import cases

from stages import resolved

SAMPLES = (
    Constant(2, SqlType.INTEGER),
    Constant(Fraction(1, 2), SqlType.DOUBLE),
    Constant("day", SqlType.TEXT),
    Constant(True, SqlType.BOOLEAN),
    Constant(date(2025, 3, 3), SqlType.DATE),
    Constant(datetime(2025, 3, 3), SqlType.TIMESTAMP),
)


def applications(function: str):
    """Every way to give it one to three samples, one of them replaced by NULL."""
    for count in (1, 2, 3):
        for arguments in product(SAMPLES, repeat=count):
            if function == "sub" and any(each.type is SqlType.TEXT for each in arguments):
                continue  # a text literal becomes a date beside a date, which no query writes as NULL
            for place in range(count):
                given = list(arguments)
                given[place] = Constant(None, given[place].type)
                try:
                    yield apply(function, given, proved=lambda _: EVERYTHING)
                except DpsqlError:
                    continue


def computed(scalar) -> object:
    text = print_scalar(scalar, dialect="duckdb", column=lambda number: "NULL")
    return duckdb.sql(f"SELECT {text}").fetchall()[0][0]


@pytest.mark.parametrize("function", sorted(STRICT))
def test_a_strict_function_of_null_is_null(function):
    assert function in FUNCTIONS
    found = list(applications(function))[:60]
    assert found
    assert {computed(scalar) for scalar in found} == {None}


SOURCE = "FROM wards w LEFT JOIN visits v ON v.ward = w.id"


def condition_of(text: str):
    query = resolved(f"SELECT COUNT(v.points) FILTER (WHERE {text}) {SOURCE}")
    return query.aggregates[0].filter, query.kept.missing


@cases(__file__, "text", "value=")
def test_a_condition_in_a_row_without_a_partner(text, value):
    """... is: it depends."""
    scalar, missing = condition_of(text)
    found = when_missing(scalar, missing)
    assert (... if found is None else found.value) == value
    assert never_true(scalar, missing) is (value is None or value is False)


@pytest.mark.parametrize("text", ["v.points > 3 AND w.id = 1", "(v.points > 3 OR FALSE) AND w.id = 1"])
def test_false_or_null_is_never_true(text):
    scalar, missing = condition_of(text)
    assert when_missing(scalar, missing) is None
    assert never_true(scalar, missing)


MISSING, OTHER = ColumnRef(1, SqlType.BOOLEAN), ColumnRef(2, SqlType.BOOLEAN)
LEAVES = (MISSING, OTHER, *(Constant(value, SqlType.BOOLEAN) for value in (True, False, None)))


def boolean(function: str, *arguments) -> Apply:
    return Apply(function, arguments, SqlType.BOOLEAN)


def nested():
    """AND and OR of two leaves, and everything that can tell FALSE from NULL around them."""
    for function, a, b in product(("and", "or"), LEAVES, LEAVES):
        inside = boolean(function, a, b)
        yield inside
        yield boolean("not", inside)
        yield boolean("is_null", inside)
        yield boolean("is_not_null", inside)
        yield boolean("coalesce", inside, Constant(True, SqlType.BOOLEAN))
        yield boolean("case", inside, Constant(True, SqlType.BOOLEAN), Constant(False, SqlType.BOOLEAN))
        yield boolean("case", boolean("is_null", inside), OTHER, MISSING)


def test_what_is_sure_is_what_the_engine_computes():
    scalars = list(nested())
    texts = ", ".join(
        print_scalar(scalar, dialect="duckdb", column=lambda number: "NULL::BOOLEAN" if number == 1 else "other")
        for scalar in scalars
    )
    rows = duckdb.sql(f"SELECT {texts} FROM (VALUES (TRUE), (FALSE), (NULL)) AS t (other)").fetchall()
    for scalar, values in zip(scalars, zip(*rows, strict=True), strict=True):
        found = when_missing(scalar, frozenset({1}))
        assert found is None or set(values) == {found.value}, scalar
        assert not never_true(scalar, frozenset({1})) or True not in values, scalar


def test_what_is_not_known_is_not_sure():
    assert when_missing(Apply("unheard_of", (Constant(None, SqlType.TEXT),), SqlType.TEXT), frozenset()) is None
    assert when_missing(AwaitedValue(0, SqlType.INTEGER), frozenset()) is None
