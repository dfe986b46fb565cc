"""Numbers as text, by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.session.digits import shown_amount, shown_down, shown_number, shown_percent, shown_up, shown_value
from tests.kits.rows import read_rows


@pytest.mark.parametrize(
    ("value", "margin", "wanted"),
    [
        (2611, 15, ("2 611", "15")),
        (17, 15, ("17", "15")),
        (1234567, 718976, ("1 234 567", "718 976")),
        (2612.0, 15, ("2 612", "15")),
        (41.23456, 0.2876, ("41.2", "0.3")),
        (41.23456, 0.1401, ("41.23", "0.15")),
        (41.23456, 0.3, ("41.2", "0.3")),
        (41.23456, 0.1 + 0.2, ("41.2", "0.3")),
        (41.23456, 0.96, ("41.2", "1.0")),
        (38.2, 40.3, ("38", "41")),
        (-0.04, 0.5, ("0.0", "0.5")),
        (-12345.678, 0.02, ("-12 345.68", "0.02")),
        (2611, 15.25, ("2 611", "16")),
        (2611, 0.5, ("2 611", "0.5")),
        (5, None, ("5", "?")),
        (5, 0, ("5", "0")),
        (0.0, 0.0, ("0", "0")),
        (-7, 3, ("-7", "3")),
        (1e20, 3e17, ("1e+20", "3e+17")),
        (0.1234567891234567891, 1e-30, ("0.123456789123457", "0.000000000000001")),
        (3.0, float("inf"), ("3", "inf")),
    ],
)
def test_as_many_digits_as_the_margin_leaves(value, margin, wanted):
    assert shown_number(value, margin, thousands=" ") == wanted


def test_thin_spaces():
    assert shown_number(1234567, 1000)[0] == "1\u2009234\u2009567"
    assert shown_number(1234567, 1000, thousands="") == ("1234567", "1000")


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_a_shown_margin_is_never_too_small(value, margin):
    """And hardly ever too large: by one unit of its last digit."""
    _, text = shown_number(value, margin, thousands="")
    assert margin * (1 - 1e-8) <= float(text) <= 1.5 * margin + 1


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e9))
def test_a_shown_value_is_off_by_less_than_its_margin(value, margin):
    text, _ = shown_number(value, margin, thousands="")
    assert abs(float(text) - value) <= max(margin / 2, 0.5)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1234567, "1 234 567"),
        (1234.5, "1 234.5"),
        (-1234.5, "-1 234.5"),
        (-0.5, "-0.5"),
        (1 / 3, "0.3333333333"),
        (1e-7, "1e-07"),
        (2.5e16, "2.5e+16"),
        (float("inf"), "inf"),
    ],
)
def test_values_without_a_margin(value, wanted):
    assert shown_value(value, thousands=" ") == wanted


@pytest.mark.parametrize(("share", "wanted"), read_rows(__file__, "percent"))
def test_percent(share, wanted):
    assert shown_percent(Fraction(share)) == wanted


@pytest.mark.parametrize(("amount", "wanted"), read_rows(__file__, "prices are exact or rounded up"))
def test_prices_are_exact_or_rounded_up(amount, wanted):
    assert shown_amount(Fraction(amount)) == wanted


def test_what_was_spent_is_rounded_up_and_what_is_left_down():
    third = Fraction(1, 3)
    assert (shown_up(third), shown_down(third)) == ("0.333334", "0.333333")
    assert (shown_up(Fraction(1, 4)), shown_down(Fraction(1, 4))) == ("0.25", "0.25")
    assert (shown_up(Fraction(1, 10**9)), shown_down(Fraction(1, 10**9))) == ("0.000001", "0")
