"""Numbers as text, by hand."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpsql.session.digits import shown_amount, shown_down, shown_number, shown_percent, shown_up, shown_value
from tests.kits.cases import cases


@cases(__file__, "value=", "margin=", "wanted=")
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


@cases(__file__, "value=", "wanted")
def test_values_without_a_margin(value, wanted):
    assert shown_value(value, thousands=" ") == wanted


@cases(__file__, "share", "wanted")
def test_percent(share, wanted):
    assert shown_percent(Fraction(share)) == wanted


@cases(__file__, "amount", "wanted")
def test_prices_are_exact_or_rounded_up(amount, wanted):
    assert shown_amount(Fraction(amount)) == wanted


def test_what_was_spent_is_rounded_up_and_what_is_left_down():
    third = Fraction(1, 3)
    assert (shown_up(third), shown_down(third)) == ("0.333334", "0.333333")
    assert (shown_up(Fraction(1, 4)), shown_down(Fraction(1, 4))) == ("0.25", "0.25")
    assert (shown_up(Fraction(1, 10**9)), shown_down(Fraction(1, 10**9))) == ("0.000001", "0")
