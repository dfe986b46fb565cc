"""The (ε, δ) type and its words."""

import math
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy.measure import PrivacyParams, posterior_bound, posterior_percent
from tests.kits.refusals import raised

BAD = [-1, -1e-300, math.nan, math.inf, -math.inf, True, "1", None, Decimal("NaN")]


class TestPrivacyParams:
    """C001: the (ε, δ) parameter type."""

    def test_it_holds_both_and_says_whether_it_is_pure(self):
        assert PrivacyParams(epsilon=0.5).pure
        assert PrivacyParams(epsilon=0.5, delta=0.0) == PrivacyParams(epsilon=0.5)
        assert not PrivacyParams(epsilon=0.5, delta=1e-300).pure
        assert PrivacyParams(epsilon=0).epsilon == 0

    @pytest.mark.parametrize("bad", BAD)
    def test_bad_numbers_are_refused(self, bad):
        raised(BadParameter, lambda: PrivacyParams(epsilon=bad, delta=0.0), match="epsilon=")
        raised(BadParameter, lambda: PrivacyParams(epsilon=1.0, delta=bad), match="delta=")

    def test_delta_one_promises_nothing(self):
        raised(BadParameter, lambda: PrivacyParams(epsilon=1.0, delta=1.0))

    def test_it_is_frozen_and_keyword_only(self):
        params = PrivacyParams(epsilon=1.0)
        with pytest.raises(FrozenInstanceError):
            params.epsilon = 9.0  # type: ignore[misc]
        with pytest.raises(TypeError):
            PrivacyParams(1.0, 0.0)  # type: ignore[misc]


class TestExplain:
    """C012: pure and approximate privacy explained to a newcomer."""

    def test_the_odds_sentence_has_the_right_number(self):
        assert "at most 75 %" in PrivacyParams(epsilon=1.0986).explain()  # ln 3 = 1.09861…
        assert "at most 52.5 %" in PrivacyParams(epsilon=0.1).explain()
        assert "50–50 stays 50–50" in PrivacyParams(epsilon=0).explain()

    def test_a_pure_promise_says_that_there_is_no_exception(self):
        text = PrivacyParams(epsilon=1).explain()
        assert "pure differential privacy" in text
        assert "no exception" in text
        assert "far below" not in text

    def test_an_approximate_promise_says_what_delta_is_and_is_not(self):
        text = PrivacyParams(epsilon=1, delta=1e-6).explain()
        assert "approximate differential privacy" in text
        assert "1e-06" in text
        assert "not the probability that the loss passes ε" in text
        assert "printing every row with probability δ is allowed" in text
        assert "far below one over the number of people" in text

    @given(epsilon=st.floats(0, 1e308), delta=st.floats(0, 1, exclude_max=True))
    def test_every_promise_can_be_explained(self, epsilon, delta):
        assert PrivacyParams(epsilon=epsilon, delta=delta).explain()


@given(epsilon=st.one_of(st.floats(0, 800), st.fractions(0, 50)))
def test_bayes_posterior_bound_rounds_up(epsilon):
    """C012: 50-50 becomes exp(ε) / (1 + exp(ε)) at most."""
    bound = posterior_bound(epsilon=epsilon)
    with mpmath.workdps(400):
        x = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        true = 1 / (1 + mpmath.exp(-x))
        assert true <= bound <= true * (1 + mpmath.mpf("1e-15"))


@given(epsilon=st.one_of(st.floats(0, 20), st.fractions(0, 20)))
def test_a_percentage_is_never_below_the_bound(epsilon):
    said = Fraction(posterior_percent(epsilon=epsilon))
    with mpmath.workdps(400):
        x = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        true = 100 / (1 + mpmath.exp(-x))
        assert true <= mpmath.mpf(said.numerator) / said.denominator <= true + mpmath.mpf("0.0101")


def test_the_percentage_is_what_is_told():
    """At ε = 5 it is 99.3307… %."""
    assert "at most 99.34 %" in PrivacyParams(epsilon=5).explain()


def test_posterior_bound_of_an_enormous_epsilon_is_one():
    assert posterior_bound(epsilon=10**400) == 1.0
    raised(BadParameter, lambda: posterior_bound(epsilon=-1))
