"""Advice on ε and δ is a value with reasons."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.privacy.guidance import epsilon_guidance, recommend_delta
from tests.kits.cases import cases


@given(n=st.integers(1, 2**53))
def test_delta_is_far_below_one_over_n(n):
    """C013: guidance for δ: far below 1/n."""
    advice = recommend_delta(n=n)
    delta = Fraction(advice.delta)
    assert 0 < delta <= Fraction(1, n * n)
    assert delta <= Fraction(1, 10**6)
    assert delta * n <= Fraction(1, 1000)
    assert "1/n²" in advice.why
    assert "public or rough n" in advice.why


def test_delta_for_a_million_people():
    assert recommend_delta(n=10**6).delta == pytest.approx(1e-12, rel=1e-15)
    assert recommend_delta(n=5).delta == pytest.approx(1e-6, rel=1e-15)


@cases(__file__, "epsilon=", "strength", "posterior=")
def test_epsilon_is_judged_by_the_odds_it_allows(epsilon, strength, posterior):
    """C013: guidance for ε at 0.01, 0.1, ln 2, ln 3 and beyond."""
    advice = epsilon_guidance(epsilon=epsilon)
    assert advice.strength == strength
    assert advice.posterior == pytest.approx(posterior, abs=1e-5)
    assert strength in advice.text


@given(first=st.floats(1e-300, 1e300), second=st.floats(1e-300, 1e300))
def test_a_larger_epsilon_is_never_called_stronger(first, second):
    order = ["very strong", "strong", "good", "moderate", "weak", "hardly a promise"]
    small, large = sorted((first, second))
    assert order.index(epsilon_guidance(epsilon=small).strength) <= order.index(
        epsilon_guidance(epsilon=large).strength
    )


def test_an_enormous_epsilon_is_still_answered():
    assert epsilon_guidance(epsilon=10**400).strength == "hardly a promise"
