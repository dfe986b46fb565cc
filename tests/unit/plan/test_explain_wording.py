"""How explanations say numbers and people."""

from datetime import date, datetime
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpsql.plan.wording import (
    THIN,
    about,
    amount,
    counted,
    five_digits,
    grain_text,
    left_amount,
    margin_text,
    percent,
    plural,
    some,
    value_text,
)
from tests.kits.cases import cases

amounts = st.fractions(min_value=0, max_value=10**9, max_denominator=10**9)


def number(text: str) -> Fraction:
    return Fraction(text.replace(THIN, ""))


@cases(__file__, "value=", "text=")
def test_amounts(value, text):
    assert amount(value) == text


@given(amounts)
def test_prices_round_up_and_what_is_left_rounds_down(value):
    assert number(left_amount(value)) <= value <= number(amount(value))
    assert number(five_digits(value)) >= value
    assert number(amount(value)) - number(left_amount(value)) <= value / 10**4
    assert abs(number(about(value)) - value) <= value / 10**5


@given(amounts)
def test_a_margin_is_never_shown_smaller_than_it_is(value):
    shown = number(margin_text(value))
    assert value <= shown <= max(value * Fraction(11, 10), value + (1 if value >= 100 else 0))


def test_margins():
    assert margin_text(Fraction(60)) == "60"
    assert margin_text(Fraction(550, 2600)) == "0.22"
    assert margin_text(Fraction(7189757, 10)) == f"718{THIN}976"
    assert margin_text(Fraction(0)) == "0"


def test_words():
    assert percent(Fraction(19, 20)) == "95 %"
    expected = ["patients", "people", "companies", "boys", "bosses", "boxes"]
    assert [plural(name) for name in ("patient", "person", "company", "boy", "boss", "box")] == expected
    assert counted(1, "group") == "1 group"
    assert counted(1000, "group") == f"1{THIN}000 groups"
    assert grain_text(Fraction(1, 1024)) == "2^-10"
    assert grain_text(Fraction(1)) == "1"


def test_values():
    values = [None, True, 7, Fraction(1, 2), date(2024, 1, 2), datetime(2024, 1, 2, 3, 4), "Bern"]
    assert [value_text(value) for value in values] == [
        "NULL", "true", "7", "0.5", "2024-01-02", "2024-01-02T03:04:00", "Bern",
    ]  # fmt: skip
    assert some(["a", "b"]) == "a, b"
    assert some(map(str, range(31))) == "0, 1, 2, 3, 4, 5, … (31 in all)"
