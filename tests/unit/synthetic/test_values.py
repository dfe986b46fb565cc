"""Invented columns: values the policy allows, the same in every process."""

from datetime import date, datetime

import pytest

from dpsql.catalog.model import Bounds, ColumnPolicy, EngineColumn, KeyKind, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.synthetic.tables import chance, identifiers, invented_column, numbered
from tests.kits.cases import cases

DAY, NOON = date(2020, 2, 28), datetime(2020, 2, 28, 12)


def made(column, *, count=2000, nulls=True, engine_type=None, not_null=False, scale=None):
    engine = EngineColumn(name=column.name, type=engine_type or column.type, not_null=not_null, scale=scale)
    return invented_column(column, engine, count, seed="t", nulls=nulls)


@cases(__file__, "type_=", "low=", "high=")
def test_values_lie_within_the_bounds_and_reach_both_halves(type_, low, high):
    values = made(ColumnPolicy(name="x", type=type_, bounds=Bounds(low=low, high=high)), not_null=True)
    assert None not in values
    assert low <= min(values)
    assert max(values) <= high
    middle = low + (high - low) / 2
    assert min(values) < middle < max(values)


def test_integers_and_dates_reach_every_value_between_narrow_bounds():
    ages = made(ColumnPolicy(name="x", type=SqlType.INTEGER, bounds=Bounds(low=-1, high=2)), nulls=False)
    assert set(ages) == {-1, 0, 1, 2}
    days = made(ColumnPolicy(name="x", type=SqlType.DATE, bounds=Bounds(low=DAY, high=date(2020, 3, 1))), nulls=False)
    assert set(days) == {DAY, date(2020, 2, 29), date(2020, 3, 1)}


def test_a_decimal_has_no_more_digits_than_its_type():
    column = ColumnPolicy(name="x", type=None, bounds=Bounds(low=0, high=7))
    prices = made(column, engine_type=SqlType.DOUBLE, scale=1, nulls=False)
    assert all((10 * price).denominator == 1 for price in prices)
    assert len(set(prices)) > 50


def test_every_listed_key_appears_and_no_other():
    keys = made(ColumnPolicy(name="x", type=SqlType.TEXT, keys=PublicKeys(values=("a", "b", None))), not_null=True)
    assert set(keys) == {"a", "b", None}


def test_private_groups_have_made_up_names():
    column = ColumnPolicy(name="diagnosis", type=SqlType.TEXT, keys=KeyKind.PRIVATE)
    assert set(made(column, nulls=False)) == {f"diagnosis {number}" for number in range(1, 13)}


@pytest.mark.parametrize("type_", list(SqlType))
def test_every_type_can_be_invented_with_nothing_said_about_it(type_):
    values = made(ColumnPolicy(name="x", type=type_), nulls=False)
    assert len(set(values)) > 1
    assert None not in values


@pytest.mark.parametrize(
    ("nulls", "not_null", "declared"), [(False, False, False), (True, True, False), (True, False, True)]
)
def test_no_null_where_none_may_be(nulls, not_null, declared):
    column = ColumnPolicy(name="x", type=SqlType.BOOLEAN, not_null=declared)
    assert None not in made(column, nulls=nulls, not_null=not_null)


def test_elsewhere_a_few_are_null():
    missing = made(ColumnPolicy(name="x", type=SqlType.INTEGER)).count(None)
    assert 0 < missing < 200


def test_the_seed_is_fixed_and_every_column_has_its_own():
    column = ColumnPolicy(name="x", type=SqlType.INTEGER)
    assert made(column) == made(column)
    assert made(column) != made(ColumnPolicy(name="y", type=SqlType.INTEGER))
    first, again = chance("a", "b"), chance("a", "b")
    assert [first(100) for _ in range(50)] == [again(100) for _ in range(50)]


@pytest.mark.parametrize("type_", [each for each in SqlType if each is not SqlType.BOOLEAN])
def test_different_things_have_different_numbers(type_):
    assert len({numbered(type_, "patient", number) for number in range(20_000)}) == 20_000


def test_identifiers_keep_to_keys_and_bounds():
    listed = ColumnPolicy(name="w", type=SqlType.TEXT, keys=PublicKeys(values=("a", "b")))
    assert identifiers(listed, SqlType.TEXT, "w", 2) == ["a", "b"]
    bounded = ColumnPolicy(name="w", type=SqlType.INTEGER, bounds=Bounds(low=5, high=9))
    assert identifiers(bounded, SqlType.INTEGER, "w", 5) == [5, 6, 7, 8, 9]
    assert identifiers(None, SqlType.TEXT, "w", 2) == ["w 1", "w 2"]
