"""Laplace: distribution, calibration, accuracy, planning. No chance involved."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dpsql.errors import NoTheorem
from dpsql.mechanisms.laplace import (
    Laplace,
    laplace_accuracy,
    laplace_accuracy_exact,
    laplace_accuracy_union,
    laplace_epsilon,
    laplace_epsilon_for,
    laplace_sample_size,
    laplace_scale,
    laplace_tail,
)
from dpsql.privacy.unit import Neighbours
from tests.kits.digits import digits, mp
from tests.kits.refusals import raised

many_digits = digits(50)
sizes = st.floats(1e-9, 1e9)
betas = st.floats(1e-12, 1 - 1e-12)
ONE_ULP = 2.3e-16  # how far above the true value a result rounded up may lie, relatively


def just_above(got, true):
    return true <= mp(got) <= true * (1 + ONE_ULP)


# ── the distribution ────────────────────────────────────────────────────────────────────────────────────────────


@given(st.floats(1e-3, 1e3), st.floats(-1e4, 1e4))
def test_distribution_agrees_with_scipy(scale, x):
    """C019: pdf, cdf and tail."""
    ours, theirs = Laplace(scale=scale), stats.laplace(scale=scale)
    assert ours.pdf(x) == pytest.approx(theirs.pdf(x), rel=1e-11, abs=1e-300)
    assert ours.cdf(x) == pytest.approx(theirs.cdf(x), rel=1e-11, abs=1e-300)
    assert ours.tail(x) == pytest.approx(theirs.sf(x), rel=1e-11, abs=1e-300)


@given(st.floats(1e-3, 1e3), st.floats(1e-300, 1 - 1e-16))
def test_quantile_inverts_the_cdf(scale, q):
    """C019: ppf, next to the median too."""
    with mpmath.workdps(400):
        below = mp(q)
        true = mp(scale) * (mpmath.log(2 * below) if below <= 0.5 else -mpmath.log(2 * (1 - below)))
        assert mpmath.almosteq(mp(Laplace(scale=scale).ppf(q)), true, rel_eps=1e-15, abs_eps=0)


def test_variance_is_twice_the_squared_scale():
    """C019: the notes say "variance b"; by quadrature it is 2b², and the standard deviation sqrt(2) b."""
    law = Laplace(scale=3.0)
    variance, _ = integrate.quad(lambda x: 2 * x * x * law.pdf(x), 0, 200)
    assert law.variance == pytest.approx(variance, rel=1e-8) == 18.0
    assert law.std == pytest.approx(math.sqrt(18), rel=1e-15)


def test_values_no_float_holds():
    assert (Laplace(scale=1).pdf(10**400), Laplace(scale=1).cdf(10**400), Laplace(scale=1).cdf(-(10**400))) == (0, 1, 0)


@given(st.floats(0.01, 100), st.floats(-50, 50), st.floats(-10, 10))
def test_density_ratio_is_at_most_exp_of_shift_over_scale(scale, x, shift):
    """C022: the property every proof of the mechanism rests on: |ln f(x)/f(x + Δ)| <= |Δ|/b, at every output."""
    law = Laplace(scale=scale)
    if law.pdf(x) > 1e-290 and law.pdf(x + shift) > 1e-290:
        loss = abs(math.log(law.pdf(x)) - math.log(law.pdf(x + shift)))
        assert loss <= abs(shift) / scale + 1e-12 * (1 + abs(x) / scale + abs(shift) / scale)


def test_density_ratio_is_attained():
    """C022: outside the two centres the ratio is exactly exp(Δ/b): ε cannot be smaller."""
    law = Laplace(scale=2.0)
    assert math.log(law.pdf(5.0) / law.pdf(6.0)) == pytest.approx(0.5, rel=1e-14)


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────────────────


@given(sizes, sizes)
def test_scale_and_epsilon_round_up(l1, epsilon):
    """C020: scale = l1/ε and its inverse, as exact quotients rounded up to the next float."""
    scale = laplace_scale(l1=l1, epsilon=epsilon)
    assert just_above(scale, mp(l1) / mp(epsilon))
    assert just_above(laplace_epsilon(scale=scale, l1=l1), mp(l1) / mp(scale))
    assert laplace_epsilon(scale=scale, l1=l1) <= epsilon * (1 + ONE_ULP)


def test_a_constant_query_costs_nothing():
    assert laplace_epsilon(scale=1.0, l1=0) == 0.0


def test_decimals_stay_decimals():
    assert laplace_scale(l1=1, epsilon=Fraction(1, 10)) == 10.0


# ── accuracy ────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.floats(0, 700))
def test_tail_is_exactly_exp_minus_t(t):
    """C023: Pr[|Y| >= t b] = exp(-t), an equality, not only a bound."""
    with mpmath.workdps(400):
        assert just_above(laplace_tail(t=t), mpmath.exp(-mp(t)))
    assert laplace_tail(t=t) == pytest.approx(2 * stats.laplace.sf(t), rel=1e-12)


@given(sizes, sizes, betas)
def test_accuracy_and_its_inverse(l1, epsilon, beta):
    """C024: α = (l1/ε) ln(1/β); the ε asked back reaches it."""
    alpha = laplace_accuracy(l1=l1, epsilon=epsilon, beta=beta)
    assert just_above(alpha, -mpmath.log(mp(beta)) * mp(l1) / mp(epsilon))
    again = laplace_epsilon_for(l1=l1, alpha=alpha, beta=beta)
    assert just_above(again, -mpmath.log(mp(beta)) * mp(l1) / mp(alpha))
    assert mpmath.exp(-mp(alpha) * mp(again) / mp(l1)) <= mp(beta)


@pytest.mark.parametrize("t", [2000, 1e30, 1e300, 10**400])
def test_a_tail_is_never_zero(t):
    """C023: rounded up, also where the probability is too small for any number format."""
    assert laplace_tail(t=t) == math.ulp(0.0)


@given(sizes, sizes, betas, st.integers(1, 10**6))
def test_sup_norm_accuracy(l1, epsilon, beta, outputs):
    """C025: the union bound and the exact quantile of the largest of k errors; the first is never smaller."""
    union = laplace_accuracy_union(l1=l1, epsilon=epsilon, beta=beta, outputs=outputs)
    exactly = laplace_accuracy_exact(l1=l1, epsilon=epsilon, beta=beta, outputs=outputs)
    scale = mp(l1) / mp(epsilon)
    assert just_above(union, scale * mpmath.log(outputs / mp(beta)))
    assert just_above(exactly, -scale * mpmath.log(-mpmath.expm1(mpmath.log1p(-mp(beta)) / outputs)))
    assert exactly <= union


# ── planning ────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.floats(1e-3, 10), st.floats(1e-4, 1), betas)
def test_sample_size_is_the_smallest(epsilon, alpha, beta):
    """C026: with n people the mean of [0, 1] values errs by α with probability β at most; with n - 1 it does not."""
    n = laplace_sample_size(epsilon=epsilon, alpha=alpha, beta=beta, neighbours=Neighbours.CHANGE_ONE)
    failure = [mpmath.exp(-mp(alpha) * mp(epsilon) * size) for size in (n, n - 1)]
    assert failure[0] <= mp(beta) < failure[1]


def test_sample_size_is_refused_where_the_size_is_private():
    """C026: under add_remove the mean has sensitivity up to half the range whatever n is."""
    raised(NoTheorem, lambda: laplace_sample_size(epsilon=1, alpha=0.1, beta=0.1, neighbours=Neighbours.ADD_REMOVE))
