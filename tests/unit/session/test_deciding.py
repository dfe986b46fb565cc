"""What is promised, in words that stay true however often it is renewed; and what an ε means for a 50-50 guess."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import exp

import pytest

import dpsql
from dpsql.accounting.account import Account
from dpsql.ledger.ledger import Made
from dpsql.privacy.window import Window
from dpsql.session.deciding import is_ahead_of_its_window, odds, promised_in_words
from tests.kits.cases import cases
from tests.kits.refusals import raised

FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)
ACCOUNT = Account.opened(epsilon=Fraction(1, 2), delta=0, delta_prime=0)


def begun(per, *days):
    """A promise whose periods began so many days after the first."""
    times = tuple(None if day is None else int((FIRST + timedelta(days=day)).timestamp()) for day in days)
    return Made(account=ACCOUNT, per=per, begun=times)


MONTHS = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365, 396]
"""The first of each month of 2026, and of the next two."""


@cases(__file__, "made=", "ahead=")
def test_periods_that_begin_too_soon_are_seen(made, ahead):
    assert is_ahead_of_its_window(made) is ahead


def test_a_year_is_spoken_of_only_where_the_window_was_kept():
    kept = promised_in_words([begun(Window.MONTH, 0, 31)], "patient")
    assert "12 × 0.5 = 6 a year" in kept
    assert "2 × (ε = 0.5, δ = 0), which is ε = 1, δ = 0 in all; for ever, a 50–50 guess" in kept
    hurried = promised_in_words([begun(Window.MONTH, 0, 31, 32)], "patient")
    assert "12 ×" not in hurried
    assert "sooner than each month: it has 3 periods by now" in hurried
    assert "3 × (ε = 0.5, δ = 0), which is ε = 1.5, δ = 0 in all" in hurried


def test_for_ever_is_said_of_what_is_never_given_back():
    """e^0.5 / (1 + e^0.5) is 62.25 %, and e / (1 + e) is 73.11 %; both rounded up."""
    once = promised_in_words([begun(Window.FOREVER, 0)], "patient")
    assert once.startswith("Whatever is asked, for ever: a 50–50 guess about any one patient becomes at most 62.25 %")
    twice = promised_in_words([begun(Window.YEAR, 0, 365)], "patient")
    assert twice.startswith("Whatever is asked, until you renew it: a 50–50 guess about any one patient")
    assert "for ever, a 50–50 guess about any one patient becomes at most 73.11 %" in twice


# A limit is rounded up, and never to a certainty that it is not.


def said(epsilon, delta=0):
    return odds(epsilon=Fraction(epsilon), delta=Fraction(delta), person="pupil")


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/20", "1/2", "1", "2", "5", "69/10", "92/10"])
def test_a_percentage_is_a_limit(epsilon):
    (percent,) = re.findall(r"at most ([0-9.]+) %", said(epsilon))
    truth = 100 / (1 + exp(-Fraction(epsilon)))
    assert truth < float(percent) <= truth + 0.01 + 1e-9
    assert float(percent) < 100


def test_a_tiny_price_is_no_coin():
    """In doubles 1 / (1 + e^-ε) is one half here, and the truth is above."""
    assert "at most 50.01 %" in said(Fraction(1, 2**60))


@pytest.mark.parametrize("epsilon", [Fraction(93, 10), 10, 21, 2**20])
def test_what_limits_nothing_is_said_to(epsilon):
    told = said(epsilon, Fraction(1, 1000))
    assert "100" not in told.split("(")[0]
    assert "more than 99.99 %" in told
    assert "apart from δ" in told


@pytest.mark.parametrize(("epsilon", "after"), [("0.1", 53), ("0.5", 63), ("1", 74), ("3", 96), ("5", 100)])
def test_people_are_rounded_up(epsilon, after):
    """exp(ε)/(1 + exp(ε)) is 52.5, 62.2, 73.1, 95.3 and 99.3 %."""
    chart = dpsql.belief(epsilon=Fraction(epsilon)).chart
    assert (chart.before, chart.after) == (50, after)


def test_the_share_is_said_and_never_below_what_it_is():
    """62.2459…, 99.3307… and 52.4979… %. At ε = ln 3 + 10^-12 it is 75 % and two 10^-11 more: one more person."""
    for epsilon, said in (("0.5", "62.25"), ("5", "99.34"), ("0.1", "52.5")):
        notes = dpsql.belief(epsilon=Fraction(epsilon)).chart.notes
        assert f"at most {said} % sure" in notes[0]
        assert "apart from δ" in " ".join(notes)
    assert dpsql.belief(epsilon=Fraction(1098612288669, 10**12)).chart.after == 76


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "1"])
def test_no_epsilon(epsilon):
    raised(dpsql.BadParameter, lambda: dpsql.belief(epsilon=epsilon))
