"""Lists of public keys: sorted once, the same under every order, and found again by their digest."""

from datetime import date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.catalog.key_lists import declared_list, list_digest, named_lists, value_of_text, value_text
from dpsql.catalog.model import KeyList, KeyRange, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.privacy.order import delivery_order, in_delivery_order, sorted_by_key

TEXTS = st.text(st.characters(exclude_categories=()))
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.fractions(), TEXTS, st.dates(), st.datetimes())
COLUMNS = st.one_of(*(st.lists(st.one_of(st.none(), kind)) for kind in (TEXTS, st.integers(), st.dates())))


@given(VALUES)
def test_the_text_of_a_value_is_read_back(value):
    again = value_of_text(value_text(value))
    assert again == value
    assert type(again) is type(value) or (type(value) is Fraction and value.denominator == 1)


@given(COLUMNS)
def test_values_are_sorted_as_rows_are_delivered(values):
    assert in_delivery_order(values) == tuple(sorted(values, key=lambda value: delivery_order((value,))))
    rows = [(value, place) for place, value in enumerate(values)]
    assert sorted_by_key(rows, keys=1) == sorted(rows, key=lambda row: delivery_order(row[:1]))
    assert sorted_by_key(rows, keys=2) == sorted(rows, key=delivery_order)


@given(st.lists(st.one_of(st.none(), TEXTS)), st.randoms(use_true_random=False))
def test_the_order_of_a_list_means_nothing(values, chance):
    other = [*values]
    chance.shuffle(other)
    one, two = PublicKeys(values=tuple(values)), PublicKeys(values=tuple(other))
    assert one == two
    assert hash(one) == hash(two)
    assert declared_list(one, SqlType.TEXT) == declared_list(two, SqlType.TEXT)
    assert list_digest(declared_list(one, SqlType.TEXT)) == list_digest(declared_list(two, SqlType.TEXT))


def test_other_keys_have_another_digest():
    lists = [(1, 2), (1, 3), (1,), ("1", "2"), (True, None), (None,), (), ("text 1",), (date(2024, 1, 1),)]
    assert len({list_digest(KeyList(values=values)) for values in lists}) == len(lists)
    assert PublicKeys(values=(1, 2)) != PublicKeys(values=(1, 3))
    assert PublicKeys(values=(1,)) != (1,)


@pytest.mark.parametrize("kind", [PublicKeys, KeyList])
def test_truth_values_are_no_numbers(kind):
    assert kind(values=(False, True)) != kind(values=(0, 1))
    assert kind(values=(True, 1)) != kind(values=(True,))
    assert kind(values=(True, None)) == kind(values=(None, True))
    assert kind(values=(2000,)) == kind(values=(Fraction(2000),))
    assert len({kind(values=(True,)), kind(values=(1,)), kind(values=(Fraction(1),))}) == 2
    assert PublicKeys(values=(1,)) != KeyList(values=(1,))


def test_a_declared_list_is_one_value():
    keys = PublicKeys(values=("b", None, "a"))
    assert declared_list(keys, SqlType.TEXT) is declared_list(keys, SqlType.TEXT)
    assert declared_list(keys, SqlType.TEXT).values == ("a", "b", None)


def test_days_among_moments_are_found_in_both_forms():
    days = PublicKeys(values=(date(2024, 1, 2), date(2024, 1, 1)))
    found = named_lists([days, PublicKeys(values=("a",))])
    expected = {(date(2024, 1, 1), date(2024, 1, 2)), (datetime(2024, 1, 1), datetime(2024, 1, 2)), ("a",)}
    assert {each.values for each in found.values()} == expected
    assert all(list_digest(each) == digest for digest, each in found.items())


def test_a_range_is_what_it_stands_for():
    assert KeyRange(first=-1, count=3).values == (-1, 0, 1)
    assert KeyRange(first=date(2024, 2, 28), count=3).values == (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1))
    assert KeyRange(first=datetime(2024, 11, 1), count=3, months=1).values[-1] == datetime(2025, 1, 1)
    assert KeyRange(first=datetime(2024, 11, 1), count=2, microseconds=1).values[-1] == datetime(
        2024, 11, 1, 0, 0, 0, 1
    )
    assert KeyRange(first=1, count=9).between(Fraction(5, 2), Fraction(9, 2)) == KeyRange(first=3, count=2)
    assert KeyRange(first=1, count=9).between(None, None) == KeyRange(first=1, count=9)
    assert KeyRange(first=1, count=9).between(Fraction(20), Fraction(30)).count == 0
