"""The discrete Laplace law, by summation, and its mechanisms.

Tests of chance are those of `MechanismKit`: each comparison fails by accident less than once in 10⁹ runs.
"""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql import randomness
from dpsql.mechanisms.discrete_laplace import (
    DiscreteLaplaceLaw,
    LaplaceMechanism,
    VectorLaplaceMechanism,
    laplace_noise,
)
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from dpsql.testing.fixed import SeededSource
from tests.kits.digits import digits, mp
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.samples import examples

many_digits = digits(50)
scales = st.fractions(Fraction(1, 20), 50, max_denominator=1000)


def weights(scale, reach):
    """Probabilities of -reach..reach from the definition, normalised by their own sum."""
    rate = 1 / mp(scale)
    raw = {x: mpmath.exp(-rate * abs(x)) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(raw.values())
    return {x: weight / total for x, weight in raw.items()}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_law_by_summation(scale):
    """Probabilities, cdf, tail and variance from the definition, no closed form."""
    law, true = DiscreteLaplaceLaw(scale=scale), weights(scale, 500)
    assert mpmath.almosteq(mp(law.variance), mpmath.fsum(x * x * w for x, w in true.items()), rel_eps=1e-15)
    assert law.std == pytest.approx(math.sqrt(law.variance), rel=1e-15)
    for x in range(-12, 13):
        assert mpmath.almosteq(mp(law.pmf(x)), true[x], rel_eps=1e-15)
        assert mpmath.almosteq(mp(law.cdf(x)), mpmath.fsum(w for y, w in true.items() if y <= x), rel_eps=1e-15)
    for m in range(12):
        tail = mpmath.fsum(w for y, w in true.items() if abs(y) > m)
        assert tail <= mp(law.tail(m)) <= tail * (1 + 3e-16)


@given(st.fractions(Fraction(1, 10**6), 10**40, max_denominator=10**6))
def test_variance_far_out(scale):
    """2p/(1-p)² = 1/(2 sinh²(1/2b)), also where 1 - p loses every digit of a float."""
    with mpmath.workdps(150):
        true = 1 / (2 * mpmath.sinh(1 / (2 * mp(scale))) ** 2)
    got = DiscreteLaplaceLaw(scale=scale).variance
    assert mpmath.almosteq(mp(got), true, rel_eps=1e-15) or true < 1e-300


@given(scales, st.integers(1, 40), st.integers(-100, 100))
def test_log_ratio_never_exceeds_shift_over_scale(scale, shift, x):
    """C022: the discrete law has the property of the continuous one, and attains it beyond both centres."""
    law, bound = DiscreteLaplaceLaw(scale=scale), float(shift / scale)
    here, there = law.pmf(x), law.pmf(x - shift)
    if min(here, there) > 1e-290:
        loss = abs(math.log(here) - math.log(there))
        assert loss <= bound * (1 + 1e-12) + 1e-12
        if not 0 < x < shift:
            assert loss == pytest.approx(bound, rel=1e-9)


@given(
    st.fractions(Fraction(1, 30), 10**9, max_denominator=1000),
    st.fractions(Fraction(1, 1000), Fraction(999_999, 10**6)),
    st.sampled_from([1, 2, 7, 1000]),
)
def test_margin_is_the_smallest_that_covers(scale, confidence, outputs):
    """Coverage of [-m, m] from the exact law, at least the confidence; of [-(m-1), m-1], below it."""
    m = DiscreteLaplaceLaw(scale=scale).margin(confidence=confidence, outputs=outputs)
    p = mpmath.exp(-1 / mp(scale))

    def coverage(margin):
        return (1 - 2 * p ** (margin + 1) / (1 + p)) ** outputs if margin >= 0 else mpmath.mpf(0)

    assert coverage(m - 1) < mp(confidence) <= coverage(m)


def hockey_stick(scale, shift, epsilon, reach):
    """Σ (P(x) - e^ε P(x + shift))₊ from the definition."""
    true, factor = weights(scale, reach), mpmath.exp(mp(epsilon))
    zero = mpmath.mpf(0)
    return mpmath.fsum(max(zero, w - factor * true.get(x + shift, zero)) for x, w in true.items())


@examples(20, every=60)
@given(
    st.fractions(Fraction(1, 5), 6, max_denominator=60),
    st.integers(1, 9),
    st.one_of(st.just(0), st.floats(0, 3), st.fractions(0, 3, max_denominator=20)),
)
def test_delta_is_the_hockey_stick(scale, shift, epsilon):
    law = DiscreteLaplaceLaw(scale=scale)
    got, true = mp(law.delta(shift=shift, epsilon=epsilon)), hockey_stick(scale, shift, epsilon, 700)
    assert true <= got + mpmath.mpf(10) ** -40
    assert got <= true * (1 + 3e-16) + mpmath.mpf(10) ** -40
    assert law.delta(shift=shift, epsilon=shift / scale) == 0.0
    smaller = [law.delta(shift=less, epsilon=epsilon) for less in range(1, shift)]
    assert all(delta <= got * (1 + 1e-15) for delta in smaller)


def test_delta_of_a_wide_law():
    """Where 1 - p is 1e-30: at ε = 0 the divergence is the total variation, about shift/2·scale."""
    law = DiscreteLaplaceLaw(scale=Fraction(10**30))
    assert law.delta(shift=1, epsilon=0) == pytest.approx(math.tanh(0.5e-30), rel=1e-14)
    assert law.delta(shift=1, epsilon=Fraction(1, 2 * 10**30)) == pytest.approx(0.25e-30, rel=1e-14)


def test_draws_have_scale_l1_over_epsilon():
    """C047: the sampler behind the mechanism, called with (ε, l1), draws at scale exactly l1/ε."""
    ours = laplace_noise(l1=3, epsilon=Fraction(1, 7), size=50, source=SeededSource(5))
    theirs = randomness.discrete_laplace(scale=Fraction(21), size=50, source=SeededSource(5))
    assert ours == list(theirs)
    assert all(type(draw) is int for draw in ours)


# ── the mechanism ───────────────────────────────────────────────────────────────────────────────────────────────


def geometric(x, rate):
    """Pr[x] ∝ exp(-rate |x|), from the definition: the normaliser is the sum of two geometric series."""
    return math.exp(-rate * abs(x)) / (1 + 2 / math.expm1(rate))


class TestLaplaceMechanism(MechanismKit):
    """C020: Laplace mechanism, scalar: exact integer noise of scale l1/ε."""

    mechanism = always(lambda: LaplaceMechanism(l1=2, epsilon=Fraction(3, 2)))
    value = always(lambda: 10)
    neighbour = always(lambda: 12)
    outputs = always(lambda: range(-40, 60))

    def probability(self, value, output):
        return geometric(output - value, 0.75)

    def bad_parameters(self):
        for epsilon in (0, -1, math.nan, math.inf, "1", None, True, 1e-200, Fraction(1, 2**600)):
            yield {"epsilon": epsilon}
        for l1 in (0, -1, 1.5, math.nan, "1", None, True, 2**600):
            yield {"l1": l1}

    ill_typed = always(lambda: (0.8675309, "0.8675309", None))


class TestVectorLaplaceMechanism(MechanismKit):
    """C021: Laplace mechanism, vector: one independent noise per coordinate, one ε for all."""

    mechanism = always(lambda: VectorLaplaceMechanism(l1=3, epsilon=Fraction(3), dimensions=2))
    value = always(lambda: (5, -5))
    neighbour = always(lambda: (6, -7))
    outputs = always(lambda: [(x, y) for x in range(-15, 26) for y in range(-26, 15)])

    def probability(self, value, output):
        return math.prod(geometric(y - x, 1.0) for x, y in zip(value, output, strict=True))

    def bad_parameters(self):
        return ({"epsilon": 0}, {"l1": 0}, {"dimensions": 0}, {"dimensions": 2**60}, {"dimensions": 1.0})

    ill_typed = always(lambda: ((0.8675309, 1), (8675309,), (1, "0.8675309")))


def test_event_carries_the_epsilon_as_written():
    assert LaplaceMechanism(l1=1, epsilon=Fraction(1, 10)).event == Pure(epsilon=Fraction(1, 10))
    assert LaplaceMechanism(l1=1, epsilon=0.1).event.epsilon == Fraction(0.1)


def test_large_numbers_stay_exact():
    """C020: no float between the value and its noise: 2**200 keeps its last digit."""
    released = LaplaceMechanism(l1=1, epsilon=Fraction(500)).release(Exact(2**200 + 1), source=SYSTEM)
    assert abs(released - (2**200 + 1)) <= 1  # farther with probability 2 exp(-1000)
