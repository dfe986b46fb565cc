"""The normal distribution against 60-digit arithmetic. No chance involved."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from dpsql.mechanisms.normal import Normal, standard_density, standard_tail, standard_tail_quantile
from tests.kits.digits import digits

many_digits = digits(60)


@given(st.floats(-37.5, 37.5))
def test_standard_tail_and_density_keep_their_digits_far_out(x):
    """C027: cdf and pdf, relative error below 1e-15 however far in the tail."""
    assert abs(standard_tail(x) / mpmath.ncdf(-mpmath.mpf(x)) - 1) < 1e-15
    assert abs(standard_density(x) / mpmath.npdf(mpmath.mpf(x)) - 1) < 1e-15


def tail_root(probability, near):
    """The quantile to 60 digits, by Newton from the value under test."""
    x = mpmath.mpf(near)
    for _ in range(4):
        x += (mpmath.ncdf(-x) - probability) / mpmath.npdf(x)
    return x


@given(
    st.one_of(
        st.floats(0, 1, exclude_min=True, exclude_max=True),
        st.integers(-300, -1).map(lambda e: 1.7 * 10.0**e),
        st.integers(-50, -1).flatmap(lambda e: st.sampled_from([0.5 - 2.0**e * 0.5, 0.5 + 2.0**e * 0.5])),
    ).filter(lambda p: 1e-300 < p < 1 and p != 0.5)
)
def test_quantile_keeps_its_digits(probability):
    """C027: quantile, relative error below 1e-15, next to 1/2 and in both tails."""
    got = standard_tail_quantile(probability)
    assert abs(got / tail_root(mpmath.mpf(probability), got) - 1) < 1e-15


@pytest.mark.parametrize("probability", [math.ulp(0.0), 1e-310, 2.0**-1000, 0.5, 1 - 2.0**-53])
def test_quantile_at_the_ends(probability):
    got = standard_tail_quantile(probability)
    assert mpmath.almosteq(mpmath.ncdf(-mpmath.mpf(got)), mpmath.mpf(probability), rel_eps=1e-12)


def test_mean_and_sigma():
    """C027: location and scale, and the density integrates to 1 (dividing by σ² instead of σ would not)."""
    law = Normal(mean=3.0, sigma=2.0)
    assert law.variance == 4.0
    assert law.pdf(3.0) == pytest.approx(1 / (2 * math.sqrt(2 * math.pi)), rel=1e-15)
    total, _ = integrate.quad(law.pdf, -40, 46)
    assert total == pytest.approx(1, rel=1e-9)
    assert law.cdf(law.ppf(0.3)) == pytest.approx(0.3, rel=1e-14)
    assert law.tail(law.mean + law.sigma * standard_tail_quantile(1e-200)) == pytest.approx(1e-200, rel=1e-12)
    assert law.cdf(5.0) == pytest.approx(0.8413447460685429, rel=1e-14)
    assert (law.cdf(10**400), law.tail(10**400), law.pdf(-(10**400))) == (1.0, 0.0, 0.0)
