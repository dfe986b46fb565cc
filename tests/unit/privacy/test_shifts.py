"""Noise against the same noise, shifted: by exact sums and many digits of mpmath, in the direction promised."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsql.privacy.divergence import hockey_stick
from dpsql.privacy.shifts import GaussianShift, GeometricShift, LaplaceShift
from tests.kits.digits import digits, mp
from tests.kits.samples import examples
from tests.oracles.curves import gaussian_delta

SIZES = st.one_of(st.floats(1e-6, 50), st.floats(1e-150, 1e150), st.fractions(Fraction(1, 100), 20))
many_digits = digits(120)  # the differences lose some


@given(shift=SIZES, scale=SIZES)
def test_the_largest_loss_of_laplace_noise(shift, scale):
    loss = Fraction(LaplaceShift(shift=shift, scale=scale).max_divergence())
    true = Fraction(shift) / Fraction(scale)
    assert true <= loss <= true * (1 + Fraction(1, 2**52)) + Fraction(1, 2**1074)
    assert LaplaceShift(shift=-Fraction(shift), scale=scale).max_divergence() == loss


class TestGaussian:
    @given(shift=SIZES, sigma=SIZES)
    def test_at_zero_it_is_the_statistical_distance(self, shift, sigma):
        distance = mpmath.erf(mp(shift) / mp(sigma) / mpmath.sqrt(8))
        got = mp(GaussianShift(shift=shift, sigma=sigma).hockey_stick(epsilon=0))
        assert distance * (1 - mpmath.mpf("1e-55")) <= got <= distance * (1 + mpmath.mpf("1e-14"))

    @example(mu=1.0, epsilon=1.0)
    @example(mu=40.0, epsilon=800.0)
    @example(mu=1e-3, epsilon=0.03)
    @example(mu=30.0, epsilon=900.0)
    @given(mu=st.floats(1e-4, 60), epsilon=st.floats(0, 2000))
    def test_balle_wang_delta_never_below(self, mu, epsilon):
        assert gaussian_delta(mp(mu), mp(epsilon)) <= mp(GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon))

    @given(mu=st.floats(1e-4, 1e3), spread=st.floats(-6, 35))
    def test_balle_wang_delta_is_close(self, mu, spread):
        """C109: from its middle to 1e-270, without cancellation."""
        epsilon = max(0.0, mu * (spread + mu / 2))
        got = mp(GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon))
        with mpmath.workdps(600 if epsilon > 500 else 150):
            true = gaussian_delta(mp(mu), mp(epsilon))
            assert true <= got <= true * (1 + mpmath.mpf(2) ** -52) + mpmath.mpf(2) ** -1070

    def test_the_loss_tail_is_not_delta(self):
        """C121: for μ = ε = 1 the loss passes ε far more often than δ says."""
        assert mpmath.ncdf(-0.5) == pytest.approx(0.3085375387)
        assert GaussianShift(shift=1, sigma=1).hockey_stick(epsilon=1) == pytest.approx(0.1269367375)

    @pytest.mark.parametrize("mu", [1e-300, 1e-20, 1e20, 1e150, 1e300])
    @pytest.mark.parametrize("epsilon", [0, 1e-300, 1.0, 1e300])
    def test_extremes_end_and_stay_in_range(self, mu, epsilon):
        assert 0 <= GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon) <= 1

    def test_no_shift_costs_nothing(self):
        assert GaussianShift(shift=0, sigma=1).hockey_stick(epsilon=0) == 0


class TestGeometric:
    @examples(25)
    @given(epsilon=st.floats(0.3, 4), shift=st.integers(0, 12), loss=st.one_of(st.just(0), st.floats(0, 6)))
    def test_by_exact_sums(self, epsilon, shift, loss):
        p, reach = mpmath.exp(-mp(epsilon)), int(140 / epsilon)
        excess = (p ** abs(x) - mpmath.exp(mp(loss)) * p ** abs(x - shift) for x in range(-reach, reach + shift + 1))
        true = (1 - p) / (1 + p) * mpmath.fsum(max(mpmath.mpf(0), one) for one in excess)
        got = mp(GeometricShift(epsilon=epsilon, shift=shift).hockey_stick(epsilon=loss))
        assert true - mpmath.mpf("1e-50") <= got <= true * (1 + mpmath.mpf("1e-15")) + mpmath.mpf("1e-50")

    @examples(25)
    @given(epsilon=st.floats(1e-200, 1e200), shift=st.integers(1, 2**53), loss=st.floats(0, 1e200))
    def test_at_every_size(self, epsilon, shift, loss):
        assert 0 <= GeometricShift(epsilon=epsilon, shift=shift).hockey_stick(epsilon=loss) <= 1

    def test_the_audit_of_the_truncated_law_agrees(self):
        noise, p = GeometricShift(epsilon=1, shift=2), Fraction(math.exp(-1))
        x = range(-60, 63)
        mass = [(1 - p) / (1 + p) * p ** abs(i) for i in x]
        moved = [(1 - p) / (1 + p) * p ** abs(i - 2) for i in x]
        mass[-1], moved[0] = mass[-1] + 1 - sum(mass), moved[0] + 1 - sum(moved)
        mass, moved = [float(a) for a in mass], [float(a) for a in moved]
        assert hockey_stick(mass, moved, epsilon=0.5) == pytest.approx(noise.hockey_stick(epsilon=0.5), rel=1e-12)
