"""A limit is rounded up, and never to a certainty that it is not."""

import re
from fractions import Fraction
from math import exp

import pytest

from dpsql.session.deciding import odds


def said(epsilon, delta=0):
    return odds(epsilon=Fraction(epsilon), delta=Fraction(delta), person="pupil")


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/20", "1/2", "1", "2", "5", "69/10"])
def test_a_percentage_is_a_limit(epsilon):
    (percent,) = re.findall(r"at most ([0-9.]+)%", said(epsilon))
    truth = 100 / (1 + exp(-Fraction(epsilon)))
    assert truth < float(percent) <= truth + 0.1 + 1e-9
    assert float(percent) < 100


def test_a_tiny_price_is_no_coin():
    """In doubles 1 / (1 + e^-ε) is one half here, and the truth is above."""
    assert "at most 50.1%" in said(Fraction(1, 2**60))


@pytest.mark.parametrize("epsilon", [7, 10, 21, 2**20])
def test_what_limits_nothing_is_said_to(epsilon):
    told = said(epsilon, Fraction(1, 1000))
    assert "100" not in told.split("(")[0]
    assert "more than 99.9%" in told
    assert "apart from δ" in told
