"""Closed forms of shifted noise against quadrature, exact sums and 60 digits of mpmath, in the direction promised."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsql.privacy.divergence import hockey_stick, kl
from tests.kits.drawn_laws import M, mp
from tests.kits.samples import examples
from tests.oracles.privacy import gaussian_kl
from tests.oracles.shifts import GaussianShift, GeometricShift, LaplaceShift

SIZES = st.one_of(st.floats(1e-6, 50), st.floats(1e-150, 1e150), st.fractions(Fraction(1, 100), 20))
EPSILONS = st.one_of(st.just(0), st.floats(1e-9, 60), st.floats(0, 1e4), st.fractions(0, 9))
DELTAS = st.one_of(st.just(0), st.floats(1e-300, 1e-3), st.floats(0, 0.999))


def assert_just_above(value: float, true, slack="1e-14"):
    """At least the true value, and not by much: a relative slack, and the smallest float where that is all there is."""
    assert true * (1 - M.mpf("1e-55")) <= mp(value), (value, true)  # the last digits of `true` are its own rounding
    assert mp(value) <= true * (1 + M.mpf(slack)) + M.mpf(2) ** -1070


class TestLaplace:
    @given(shift=SIZES, scale=SIZES)
    def test_loss(self, shift, scale):
        noise = LaplaceShift(shift=shift, scale=scale)
        mu = mp(shift) / mp(scale)
        assert_just_above(noise.max_divergence(), mu)
        with M.workdps(700):
            true = mp(shift) / mp(scale) + M.expm1(-mp(shift) / mp(scale))
        assert_just_above(noise.kl(), true)
        assert_just_above(noise.total_variation(), -M.expm1(-mu / 2))
        assert LaplaceShift(shift=-Fraction(shift), scale=scale).kl() == noise.kl()

    @given(shift=SIZES, scale=SIZES, epsilon=EPSILONS, delta=DELTAS)
    def test_delta_and_epsilon(self, shift, scale, epsilon, delta):
        noise = LaplaceShift(shift=shift, scale=scale)
        mu = mp(shift) / mp(scale)
        assert_just_above(noise.hockey_stick(epsilon=epsilon), max(M.mpf(0), -M.expm1((mp(epsilon) - mu) / 2)))
        assert_just_above(
            noise.approx_max_divergence(delta=delta), max(M.mpf(0), mu + 2 * M.log1p(-mp(delta))), "1e-13"
        )

    @pytest.mark.parametrize(("shift", "scale", "epsilon"), [(1, 1, 0.5), (3, 0.5, 3), (0.2, 1, 0)])
    def test_by_quadrature(self, shift, scale, epsilon):
        def density(x, at):
            return M.exp(-abs(x - at) / scale) / (2 * scale)

        cuts = [-M.inf, 0, (shift - epsilon * scale) / M.mpf(2), shift, M.inf]
        loss = M.quad(lambda x: density(x, 0) * (abs(x - shift) - abs(x)) / scale, cuts)
        over = M.quad(lambda x: max(0, density(x, 0) - M.exp(epsilon) * density(x, shift)), cuts)
        noise = LaplaceShift(shift=shift, scale=scale)
        assert noise.kl() == pytest.approx(float(loss), rel=1e-12)
        assert noise.hockey_stick(epsilon=epsilon) == pytest.approx(float(over), rel=1e-9)


def gaussian_delta(mu, epsilon):
    with M.workdps(120):  # the difference loses digits
        mu, epsilon = mp(mu), mp(epsilon)
        return M.ncdf(mu / 2 - epsilon / mu) - M.exp(epsilon) * M.ncdf(-mu / 2 - epsilon / mu)


class TestGaussian:
    @given(shift=SIZES, sigma=SIZES, alpha=st.floats(1.001, 1e6))
    def test_loss(self, shift, sigma, alpha):
        noise = GaussianShift(shift=shift, sigma=sigma)
        mu = mp(shift) / mp(sigma)
        if mu < 1e150:
            assert_just_above(noise.kl(), mu**2 / 2)
            assert_just_above(noise.renyi(alpha=alpha), mp(alpha) * mu**2 / 2)
        assert_just_above(noise.total_variation(), M.erf(mu / M.sqrt(8)))
        assert noise.max_divergence() == math.inf
        assert GaussianShift(shift=0, sigma=sigma).max_divergence() == 0

    @example(mu=1.0, epsilon=1.0)
    @example(mu=40.0, epsilon=800.0)
    @example(mu=1e-3, epsilon=0.03)
    @example(mu=30.0, epsilon=900.0)
    @given(mu=st.floats(1e-4, 60), epsilon=st.floats(0, 2000))
    def test_balle_wang_delta_never_below(self, mu, epsilon):
        bound, true = GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon), gaussian_delta(mu, epsilon)
        assert true <= mp(bound)

    @given(mu=st.floats(0.01, 40), spread=st.floats(-6, 30))
    def test_balle_wang_delta_is_close(self, mu, spread):
        epsilon = max(0.0, mu * (spread + mu / 2))
        bound, true = GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon), gaussian_delta(mu, epsilon)
        assert true <= mp(bound)
        # cancellation loses up to (spread + 1)/mu, the square of the argument is lost in erfc
        lost = (abs(spread) + mu + 1) / mu * (spread * spread + mu * mu + 10)
        assert mp(bound) <= true * (1 + 100 * lost * M.mpf(2) ** -53) + M.mpf(2) ** -1070

    @given(mu=st.floats(1e-4, 60), epsilon=st.floats(0, 2000))
    def test_loss_tail(self, mu, epsilon):
        tail = GaussianShift(shift=mu, sigma=1).loss_tail(epsilon=epsilon)
        with M.workdps(120):
            true = M.ncdf(mp(mu) / 2 - mp(epsilon) / mp(mu))
        assert_just_above(tail, true, "2e-12")
        assert GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon) <= tail

    def test_the_loss_tail_is_not_delta(self):
        """C121: for μ = ε = 1 the loss passes ε far more often than δ says."""
        noise = GaussianShift(shift=1, sigma=1)
        assert noise.loss_tail(epsilon=1) == pytest.approx(0.3085375387)
        assert noise.hockey_stick(epsilon=1) == pytest.approx(0.1269367375)

    @examples(30)
    @given(mu=st.floats(0.01, 20), delta=st.one_of(st.floats(1e-300, 1e-2), st.floats(0.01, 0.99)))
    def test_epsilon_at_delta(self, mu, delta):
        noise = GaussianShift(shift=mu, sigma=1)
        epsilon = noise.approx_max_divergence(delta=delta)
        assert gaussian_delta(mu, epsilon) <= mp(delta)
        if epsilon > 0:
            assert gaussian_delta(mu, epsilon * (1 - 1e-9)) > mp(delta)

    @pytest.mark.parametrize("mu", [1e-300, 1e-20, 1e20, 1e150, 1e300])
    @pytest.mark.parametrize("epsilon", [0, 1e-300, 1.0, 1e300])
    def test_extremes_end_and_stay_in_range(self, mu, epsilon):
        noise = GaussianShift(shift=mu, sigma=1)
        assert 0 <= noise.hockey_stick(epsilon=epsilon) <= 1
        assert 0 <= noise.loss_tail(epsilon=epsilon) <= 1
        assert noise.approx_max_divergence(delta=1e-6) >= 0
        assert noise.approx_max_divergence(delta=Fraction(1, 10**400)) >= 0

    def test_no_shift_costs_nothing_and_delta_zero_is_never_reached(self):
        still = GaussianShift(shift=0, sigma=1)
        values = still.kl(), still.hockey_stick(epsilon=0), still.total_variation(), still.loss_tail(epsilon=0)
        assert values == (0, 0, 0, 0)
        assert still.approx_max_divergence(delta=0) == 0
        assert GaussianShift(shift=1, sigma=1).approx_max_divergence(delta=0) == math.inf

    @given(means=st.tuples(st.floats(-50, 50), st.floats(-50, 50)), sigmas=st.tuples(SIZES, SIZES))
    def test_kl_of_two_normal_laws(self, means, sigmas):
        (m1, m2), (s1, s2) = means, sigmas
        with M.workdps(700):
            true = M.log(mp(s2) / mp(s1)) + (mp(s1) ** 2 + (mp(m1) - mp(m2)) ** 2) / (2 * mp(s2) ** 2) - M.mpf(1) / 2
        got = gaussian_kl(mean_p=m1, sigma_p=s1, mean_q=m2, sigma_q=s2)
        if true < M.mpf("1e308"):
            assert true <= mp(got) <= true * (1 + M.mpf("1e-14")) + M.mpf("1e-70")

    def test_kl_of_two_normal_laws_by_quadrature(self):
        def density(x, m, s):
            return M.npdf(x, m, s)

        true = M.quad(lambda x: density(x, 0, 1) * M.log(density(x, 0, 1) / density(x, 1, 2)), [-20, -2, 0, 2, 20])
        assert gaussian_kl(mean_p=0, sigma_p=1, mean_q=1, sigma_q=2) == pytest.approx(float(true), rel=1e-12)


class TestGeometric:
    @examples(25)
    @given(epsilon=st.floats(0.3, 4), shift=st.integers(0, 12), loss=st.floats(0, 6))
    def test_by_exact_sums(self, epsilon, shift, loss):
        noise = GeometricShift(epsilon=epsilon, shift=shift)
        p = M.exp(-mp(epsilon))
        reach = int(140 / epsilon)
        mass = {x: (1 - p) / (1 + p) * p ** abs(x) for x in range(-reach, reach + shift + 1)}
        moved = {x: (1 - p) / (1 + p) * p ** abs(x - shift) for x in mass}
        true_kl = M.fsum(mass[x] * mp(epsilon) * (abs(x - shift) - abs(x)) for x in mass)
        for at, value in ((loss, noise.hockey_stick(epsilon=loss)), (0, noise.total_variation())):
            true = M.fsum(max(M.mpf(0), mass[x] - M.exp(mp(at)) * moved[x]) for x in mass)
            assert true - M.mpf("1e-50") <= mp(value) <= true * (1 + M.mpf("1e-15")) + M.mpf("1e-50")
        assert true_kl - M.mpf("1e-50") <= mp(noise.kl()) <= true_kl * (1 + M.mpf("1e-15")) + M.mpf("1e-50")
        assert_just_above(noise.max_divergence(), mp(epsilon) * shift)

    @examples(25)
    @given(epsilon=st.floats(1e-200, 1e200), shift=st.integers(1, 2**53), loss=st.floats(0, 1e200))
    def test_closed_forms_at_every_size(self, epsilon, shift, loss):
        noise = GeometricShift(epsilon=epsilon, shift=shift)
        with M.workdps(1500):
            p, k = M.exp(-mp(epsilon)), shift
            true_kl = mp(epsilon) * (k - 2 * p * (1 - p**k) / ((1 - p) * (1 + p)))
            assert_just_above(noise.kl(), true_kl)
        assert 0 <= noise.hockey_stick(epsilon=loss) <= 1

    def test_the_audit_of_the_truncated_law_agrees(self):
        noise, p = GeometricShift(epsilon=1, shift=2), Fraction(math.exp(-1))
        x = range(-60, 63)
        mass = [(1 - p) / (1 + p) * p ** abs(i) for i in x]
        moved = [(1 - p) / (1 + p) * p ** abs(i - 2) for i in x]
        mass[-1], moved[0] = mass[-1] + 1 - sum(mass), moved[0] + 1 - sum(moved)
        mass, moved = [float(a) for a in mass], [float(a) for a in moved]
        assert hockey_stick(mass, moved, epsilon=0.5) == pytest.approx(noise.hockey_stick(epsilon=0.5), rel=1e-12)
        assert kl([*mass[1:-1], mass[0] + mass[-1]], [*moved[1:-1], moved[0] + moved[-1]]) == pytest.approx(
            noise.kl(), rel=1e-9
        )
