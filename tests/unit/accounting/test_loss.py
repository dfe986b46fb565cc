"""The privacy loss random variable of finite pairs."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.loss import PrivacyLoss
from dpsql.errors import BadParameter, DpsqlError
from tests.kits.refusals import raised
from tests.oracles.curves import randomized_response_delta

F = Fraction
P = {"a": F(1, 2), "b": F(1, 3), "c": F(1, 6)}
Q = {"a": F(1, 4), "b": F(1, 2), "c": F(1, 4)}


def pmfs(size: int) -> st.SearchStrategy[list[Fraction]]:
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: [F(x, sum(w)) for x in w])


def test_the_law_of_the_loss() -> None:
    """C108: ln(P/Q) with the probability under P; outcomes of equal ratio are one value."""
    law = PrivacyLoss.of(P, Q).pmf()
    assert law == pytest.approx({math.log(2 / 3): 0.5, math.log(2): 0.5})
    assert PrivacyLoss.of({"x": 1}, {"y": 1}).pmf() == {math.inf: 1.0}


@settings(deadline=None)
@given(pmfs(4), pmfs(4), st.floats(0, 5))
def test_delta_is_the_hockey_stick_divergence(p: list[Fraction], q: list[Fraction], epsilon: float) -> None:
    """C108: against the largest P(S) − e^ε Q(S) over all 16 events S."""
    loss = PrivacyLoss.of(dict(enumerate(p)), dict(enumerate(q)))
    factor = math.exp(epsilon)
    events = range(2**4)
    worst = max(sum(float(p[i]) - factor * float(q[i]) for i in range(4) if event >> i & 1) for event in events)
    assert loss.delta(epsilon=epsilon) == pytest.approx(worst, abs=1e-12)


def test_delta_is_not_the_probability_of_a_large_loss() -> None:
    """C108: Pr[L > ε] is an upper bound, often twice as large."""
    loss = PrivacyLoss.of(P, Q)
    assert loss.delta(epsilon=0.1) < sum(mass for value, mass in loss.pmf().items() if value > 0.1)


@given(pmfs(3), pmfs(3), pmfs(2), pmfs(2))
def test_composition_is_the_loss_of_the_product(
    p: list[Fraction], q: list[Fraction], r: list[Fraction], s: list[Fraction]
) -> None:
    """C108: ratios and probabilities multiply, exactly."""
    one = PrivacyLoss.of(dict(enumerate(p)), dict(enumerate(q)))
    two = PrivacyLoss.of(dict(enumerate(r)), dict(enumerate(s)))
    product = PrivacyLoss.of(
        {(i, j): x * y for i, x in enumerate(p) for j, y in enumerate(r)},
        {(i, j): x * y for i, x in enumerate(q) for j, y in enumerate(s)},
    )
    assert {k: v for k, v in one.compose(two).masses.items() if v} == dict(product.masses)


def test_repeated_randomized_response_is_optimal_composition() -> None:
    """C108: k copies have k + 1 losses, and the δ of Kairouz, Oh, Viswanath at e^ε₀ = 2."""
    one = PrivacyLoss.of({1: F(2, 3), 0: F(1, 3)}, {1: F(1, 3), 0: F(2, 3)})
    many = one.repeated(40)
    assert len(many.masses) == 41
    for total in (0.0, 1.0, 5.5, 20.0):
        expected = float(randomized_response_delta(k=40, epsilon0=math.log(2), epsilon=total))
        assert many.delta(epsilon=total) == pytest.approx(expected, rel=1e-9)


def test_supports_that_would_explode_are_refused() -> None:
    wide = PrivacyLoss.of({i: F(1, 400) for i in range(400)}, {i: F(2 * i + 1, 160000) for i in range(400)})
    raised(BadParameter, lambda: wide.compose(wide))
    raised(BadParameter, lambda: wide.repeated(10**12))


def test_delta_at_a_large_epsilon_is_what_the_other_law_never_shows() -> None:
    """C108: any ε >= 0 is accepted; in the end the outcomes of probability 0 remain."""
    loss = PrivacyLoss.of({"a": F(9, 10), "b": F(1, 10)}, {"a": F(1), "b": F(0)})
    for epsilon in (700, 10**6, 10**12):
        assert loss.delta(epsilon=epsilon) == 0.1


def test_exact_masses_must_add_up_exactly() -> None:
    raised(BadParameter, lambda: PrivacyLoss.of({"a": F(1, 2), "b": F(1, 2) - F(1, 10**15)}, {"a": F(1)}))
    assert PrivacyLoss.of({"a": 0.1, "b": 0.2, "c": 0.7}, {"a": 0.7, "b": 0.2, "c": 0.1}).delta(epsilon=0) >= 0.6


anything = st.one_of(st.floats(), st.integers(-1, 2), st.just(F(1, 10**400)), st.none())


@given(st.dictionaries(st.integers(0, 2), anything), st.dictionaries(st.integers(0, 2), anything), anything)
def test_bad_input_is_refused(p: dict[int, float], q: dict[int, float], epsilon: float) -> None:
    try:
        value = PrivacyLoss.of(p, q).delta(epsilon=epsilon)
    except DpsqlError:
        return
    assert 0 <= value <= 1
