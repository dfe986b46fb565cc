"""Smooth noise: β rounded down, exact δ of the noise as drawn, pure loss of the Cauchy type, and what is hidden.

Two tests are statistical: χ² at a false-alarm rate of 1e-9 each, with fixed seeds.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpsql.errors import BadParameter
from dpsql.mechanisms.heavy_tail import tail_fixed
from dpsql.mechanisms.smooth_noise import (
    SLACK,
    SmoothCauchy,
    Smoothed,
    SmoothLaplace,
    cauchy_beta,
    rounded_laplace,
    smooth_beta,
    smooth_beta_vector,
    smooth_cauchy_scale,
    smooth_laplace_delta,
    smooth_laplace_scale,
)
from dpsql.privacy.events import Approximate, Pure
from dpsql.privacy.exact import Exact
from dpsql.testing.fixed import SeededSource
from tests.kits.refusals import each_raises, raised

ONE = Fraction(1)


@settings(max_examples=150, deadline=None)
@given(epsilon=st.floats(1e-6, 50), delta=st.floats(1e-300, 0.99), dimensions=st.integers(1, 100_000))
def test_nrs07_beta_is_rounded_down(epsilon, delta, dimensions):
    """C082: ε / (2 ln(2/δ)) for one number, ε / (4(d + ln(2/δ))) for d; never above, and within 2 ulp."""
    with mpmath.workdps(50):
        log = mpmath.log(2 / mpmath.mpf(delta))
        one, many = mpmath.mpf(epsilon) / (2 * log), mpmath.mpf(epsilon) / (4 * (dimensions + log))
        cases = [
            (smooth_beta(epsilon=epsilon, delta=delta, dimensions=1), one),
            (smooth_beta_vector(epsilon=epsilon, delta=delta, dimensions=dimensions), many),
        ]
        if dimensions > 1:
            cases.append((smooth_beta(epsilon=epsilon, delta=delta, dimensions=dimensions), many))
        for found, true in cases:
            assert found <= true <= found + 2 * math.ulp(found)


@settings(max_examples=100, deadline=None)
@given(epsilon=st.floats(1e-6, 50), gamma=st.floats(1.01, 1000), bound=st.fractions(Fraction(1, 10**9), 10**9))
def test_nrs07_cauchy_beta_and_scales(epsilon, gamma, bound):
    """C080: β = ε/(2(γ+1)) down, the scales 2(γ+1)S/ε and 2S/ε up, by a relative 2**-62 at most."""
    e, g = Fraction(epsilon), Fraction(gamma)
    beta = cauchy_beta(epsilon=epsilon, gamma=gamma)
    assert beta <= e / (2 * (g + 1)) < math.nextafter(beta, math.inf)
    for found, true in (
        (smooth_cauchy_scale(bound=bound, epsilon=epsilon, gamma=gamma), 2 * (g + 1) * bound / e),
        (smooth_laplace_scale(bound=bound, epsilon=epsilon), 2 * bound / e),
    ):
        assert true <= found <= true * (1 + Fraction(1, 2**62))


def rounded_laplace_law(scale, reach):
    """Pr[round(X) = m] for m = 0 … reach, from the distribution function of the continuous Laplace law."""
    edges = [0.0, *(-math.expm1(-(m + 0.5) / scale) for m in range(reach + 1))]
    return [edges[1], *((edges[m + 1] - edges[m]) / 2 for m in range(1, reach + 1))]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(10**6 + 1, 10**5)])
def test_rounded_laplace_follows_its_law(scale):
    """C081: the noise is the rounding of a continuous Laplace variable, 20 000 draws."""
    size, reach = 20_000, int(4 * scale) + 1
    draws = rounded_laplace(scale=scale, size=size, source=SeededSource(11))
    law = rounded_laplace_law(float(scale), reach)
    tail = (1 - law[0] - 2 * sum(law[1:])) / 2
    expected = [tail, *reversed(law[1:]), *law, tail]
    seen = [
        sum(d < -reach for d in draws),
        *(draws.count(m) for m in range(-reach, reach + 1)),
        sum(d > reach for d in draws),
    ]
    assert stats.chisquare(seen, [size * p for p in expected]).pvalue > 1e-9


def discrete_delta(epsilon, scale, other, shift, reach):
    """Σ (p - e^ε q)_+ over the integers for the noise as drawn; p around 0, q around `shift`."""
    p, q = (np.array(rounded_laplace_law(float(t), 2 * reach + abs(shift))) for t in (scale, other))
    cells = np.arange(-reach, reach + 1)
    return float(np.maximum(p[np.abs(cells)] - math.exp(epsilon) * q[np.abs(cells - shift)], 0).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1, 1e-3), (2, 1e-4), (4, 1e-2), (1, 0.3)])
@pytest.mark.parametrize("bound", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(7), Fraction(40, 3)])
def test_the_noise_as_drawn_keeps_epsilon_and_delta(epsilon, delta, bound):
    """C081: sums over the grid for every integer shift below S and scales between the extremes, in both directions."""
    mechanism = SmoothLaplace(epsilon=epsilon, delta=delta, dimensions=1, grain=ONE)
    spent = float(smooth_laplace_delta(epsilon=epsilon, beta=Fraction(mechanism.beta) + SLACK, dimensions=1))
    assert spent <= delta
    worst = 0.0
    for part in range(5):
        larger = bound * Fraction(math.exp(mechanism.beta * part / 4))
        scales = [smooth_laplace_scale(bound=size, epsilon=epsilon) for size in (bound, larger)]
        reach = int(40 * scales[1]) + 20
        for shift in range(int(bound) + 1):
            worst = max(worst, discrete_delta(epsilon, scales[0], scales[1], shift, reach))
            worst = max(worst, discrete_delta(epsilon, scales[1], scales[0], shift, reach))
    assert worst <= spent * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.2), (3, 0.05)])
def test_two_numbers_keep_epsilon_and_delta(epsilon, delta):
    """C082: sums over a square of cells for two noises of one S; shifts of L1 size at most S; both directions."""
    mechanism = SmoothLaplace(epsilon=epsilon, delta=delta, dimensions=2, grain=ONE)
    small = Fraction(2)
    large = small * Fraction(math.exp(mechanism.beta))
    scales = [float(smooth_laplace_scale(bound=size, epsilon=epsilon)) for size in (small, large)]
    reach = int(30 * scales[1])
    cells = np.arange(-reach, reach + 1)
    laws = [np.array(rounded_laplace_law(scale, 2 * reach + 5)) for scale in scales]
    spent = float(smooth_laplace_delta(epsilon=epsilon, beta=mechanism.beta, dimensions=2))
    for p, q in (laws, reversed(laws)):
        for shift in ((0, 0), (2, 0), (1, 1), (1, -1)):
            first = np.outer(p[np.abs(cells)], p[np.abs(cells)])
            second = np.outer(q[np.abs(cells - shift[0])], q[np.abs(cells - shift[1])])
            assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= spent + 1e-12 <= delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "dimensions"), [(12, 0.01, 1), (20, 1e-5, 1), (20, 1e-10, 1), (1e-13, 1e-6, 1)]
)
def test_parameters_outside_the_theorem_are_refused(epsilon, delta, dimensions):
    """C081: the guard compares the exact δ with the stated one; also where the rounding of the scale would show."""
    raised(BadParameter, lambda: SmoothLaplace(epsilon=epsilon, delta=delta, dimensions=dimensions, grain=ONE))


@settings(max_examples=100, deadline=None)
@given(epsilon=st.floats(1e-4, 5), delta=st.floats(1e-30, 0.5), dimensions=st.integers(1, 300))
def test_the_guard_accepts_the_usual_range(epsilon, delta, dimensions):
    """C081, C082: for ε <= 5 and δ <= 1/2 the exact δ is never above the stated one."""
    mechanism = SmoothLaplace(epsilon=epsilon, delta=delta, dimensions=dimensions, grain=ONE)
    assert mechanism.event == Approximate(epsilon=Fraction(epsilon), delta=Fraction(delta))


def test_smooth_laplace_releases_multiples_of_the_grain():
    """C081: noise of scale 2S/ε in grains, independent per number; mean absolute deviation as the law says."""
    grain = Fraction(1, 1024)
    mechanism = SmoothLaplace(epsilon=1, delta=1e-6, dimensions=400, grain=grain)
    value = Exact(Smoothed(values=(1000,) * 400, bound=Fraction(5), beta=0))
    released = mechanism.release(value, source=SeededSource(5))
    assert len(released) == 400
    assert all((number / grain).denominator == 1 for number in released)
    deviations = [abs(number / grain - 1000) for number in released]
    assert 7 < sum(deviations) / 400 < 13  # 10 ± 0.5 by the law: six standard errors
    assert len({*released}) > 20


@pytest.mark.parametrize("gamma", [2, 4, Fraction(5, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_smooth_cauchy_as_drawn_is_pure(gamma, epsilon):
    """C080: the probability of every whole number, for neighbours with other centre and scale, within exp(ε)."""
    mechanism = SmoothCauchy(epsilon=epsilon, gamma=gamma, grain=ONE)
    small = Fraction(2)
    large = small * Fraction(math.exp(mechanism.beta))

    def law(bound, centre):
        scale = smooth_cauchy_scale(bound=bound, epsilon=epsilon, gamma=gamma)

        def beyond(m):  # Pr[|noise| rounds to m or more]
            return (
                Fraction(sum(tail_fixed(Fraction(2 * m - 1, 2) / scale, gamma=Fraction(gamma), bits=160)), 2**161)
                if m
                else ONE
            )

        def cell(output):
            m = abs(output - centre)
            return (beyond(m) - beyond(m + 1)) / (2 if m else 1)

        return cell

    outputs = [*range(-30, 31), -(10**4), 10**4, -(10**7), 10**7]
    for first, second in (
        (law(small, 0), law(large, 2)),
        (law(small, 0), law(large, -2)),
        (law(small, 0), law(small, 1)),
    ):
        losses = [math.log(first(z) / second(z)) for z in outputs]
        assert max(map(abs, losses)) <= epsilon
    assert mechanism.event == Pure(epsilon=Fraction(epsilon))


def test_smooth_cauchy_releases_multiples_of_the_grain():
    """C080: the median deviation of Cauchy noise is its scale, 6S/ε; 300 draws."""
    mechanism = SmoothCauchy(epsilon=1, gamma=2, grain=Fraction(1, 8))
    value, source = Exact(Smoothed(values=(50,), bound=Fraction(10), beta=0)), SeededSource(9)
    released = [mechanism.release(value, source=source)[0] for _ in range(300)]
    assert all((number * 8).denominator == 1 for number in released)
    inside = sum(abs(number * 8 - 50) <= 60 for number in released)
    assert stats.binomtest(inside, 300, 0.5).pvalue > 1e-9


@pytest.mark.parametrize("mechanism", [SmoothLaplace, SmoothCauchy])
@pytest.mark.parametrize(
    ("values", "bound"),
    [
        *(((4711,), bound) for bound in (Fraction(0), Fraction(-4711), math.nan, math.inf, None)),
        *((values, Fraction(1)) for values in ((4711, 4711), (), (4711.5,))),
    ],
)
def test_what_cannot_be_released_is_refused_without_telling(mechanism, values, bound):
    """C080, C081: neither a value nor S appears in a message or a printed form."""
    smoothed = Smoothed(values=values, bound=bound, beta=0)
    options = {"delta": 1e-6, "dimensions": 1} if mechanism is SmoothLaplace else {"gamma": 2}
    ready = mechanism(epsilon=1, grain=ONE, **options)
    assert "4711" not in repr(smoothed)
    assert "4711" not in str(raised(BadParameter, lambda: ready.release(Exact(smoothed), source=SeededSource(1))))


@pytest.mark.parametrize(
    "mechanism",
    [SmoothLaplace(epsilon=1, delta=1e-6, dimensions=1, grain=ONE), SmoothCauchy(epsilon=1, gamma=2, grain=ONE)],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_bound_that_is_not_smooth_enough_is_refused(mechanism):
    """C080, C081: the β of the bound travels with it; a wrong one would be a scale that tells neighbours apart."""
    smooth = Smoothed(values=(7,), bound=Fraction(1), beta=mechanism.beta)
    assert len(mechanism.release(Exact(smooth), source=SeededSource(1))) == 1
    for beta in (mechanism.beta * 1.001, 5, float("nan"), None, -1):
        with pytest.raises(BadParameter):
            mechanism.release(Exact(Smoothed(values=(7,), bound=Fraction(1), beta=beta)), source=SeededSource(1))
    each_raises(BadParameter, lambda naked: mechanism.release(naked, source=SeededSource(1)), (smooth, Exact(5), 5))
