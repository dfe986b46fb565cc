"""Noise and the same noise moved by one neighbour: further divergences, which other witnesses and the vectors use."""

import math
from fractions import Fraction

from dpsql.enclosure import exp_negative_fixed, log_bounds
from dpsql.privacy import shifts
from dpsql.privacy.digits import decimal, float_above, normal_tail, working
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.shifts import _FAR, _SMALLEST
from dpsql.require import Number, require_delta, require_finite, require_non_negative, require_that


def require_order(*, alpha: Number) -> None:
    """The order of a Rényi divergence is a finite number above 1."""
    require_finite(alpha=alpha)
    require_that(alpha > 1, "a finite number above 1", alpha=alpha)


class LaplaceShift(shifts.LaplaceShift):
    """With the divergences that nothing but tests reads."""

    __slots__ = ()

    def kl(self) -> float:
        """μ + exp(-μ) - 1 with μ = shift/scale.

        Theorem   E|X - shift| - E|X| for X from the centred law is scale·(μ + exp(-μ) - 1).
        Requires  scale > 0.
        Rounds    up.
        """
        mu = self._mu()
        return round_up(mu - 1 + _exp_minus(mu)[1])

    def total_variation(self) -> float:
        """1 - exp(-μ/2) with μ = shift/scale.

        Theorem   the densities cross in the middle, half of μ from either centre.
        Requires  scale > 0.
        Rounds    up.
        """
        return self.hockey_stick(epsilon=0)

    def hockey_stick(self, *, epsilon: Number) -> float:
        """The δ of Laplace noise at ε: 1 - exp((ε - μ)/2) below μ = shift/scale, and 0 from there on.

        Theorem   the loss passes ε left of shift·(1 - ε/μ)/2, where the masses are 1 - exp(-(μ-ε)/2)/2 and
                  exp(-(μ+ε)/2)/2.
        Requires  ε >= 0.
        Rounds    up.
        """
        require_non_negative(epsilon=epsilon)
        gap = (self._mu() - exact(epsilon)) / 2
        return round_up(1 - _exp_minus(gap)[0]) if gap > 0 else 0.0

    def approx_max_divergence(self, *, delta: Number) -> float:
        """The ε of Laplace noise at δ: μ + 2 ln(1 - δ), at least 0.

        Theorem   `hockey_stick` solved for ε.
        Requires  0 <= δ < 1.
        Rounds    up.
        """
        require_delta(delta=delta)
        slack = exact(delta)
        bits = 256 + slack.denominator.bit_length() - slack.numerator.bit_length()  # ln(1 - δ) is about -δ
        saved = log_bounds(1 - slack, bits=bits)[1] if slack else Fraction(0)
        return round_up(max(Fraction(0), self._mu() + 2 * saved))


class GaussianShift(shifts.GaussianShift):
    """With the divergences that nothing but tests reads."""

    __slots__ = ()

    def max_divergence(self) -> float:
        """Infinite for any shift: the loss grows without bound in the tail, so Gaussian noise is never pure.

        Theorem   the loss μz + μ²/2 is linear in the standard normal z.
        Requires  σ > 0.
        Rounds    nothing.
        """
        return math.inf if self._mu() else 0.0

    def kl(self) -> float:
        """μ²/2 with μ = shift/σ.

        Theorem   the loss is normal with mean μ²/2 and variance μ².
        Requires  σ > 0.
        Rounds    up.
        """
        return round_up(self._mu() ** 2 / 2)

    def renyi(self, *, alpha: Number) -> float:
        """α μ²/2 with μ = shift/σ.

        Theorem   Mironov (2017), Prop. 7.
        Requires  alpha > 1.
        Rounds    up.
        """
        require_order(alpha=alpha)
        return round_up(exact(alpha) * self._mu() ** 2 / 2)

    def total_variation(self) -> float:
        """erf(μ / (2√2)) with μ = shift/σ.

        Theorem   the densities cross in the middle: 2Φ(μ/2) - 1, the hockey-stick divergence at ε = 0.
        Requires  σ > 0.
        Rounds    up.
        """
        return self.hockey_stick(epsilon=0)

    def loss_tail(self, *, epsilon: Number) -> float:
        """Pr[L > ε] = Φ(μ/2 - ε/μ) for the privacy loss L. This is not δ; see `hockey_stick`.

        Theorem   L is normal with mean μ²/2 and variance μ².
        Requires  ε >= 0.
        Rounds    up.
        """
        require_non_negative(epsilon=epsilon)
        mu = self._mu()
        return _tail_above(exact(epsilon) / mu - mu / 2) if mu else 0.0

    def approx_max_divergence(self, *, delta: Number) -> float:
        """The smallest ε at which `hockey_stick` is at most δ.

        Theorem   δ falls strictly with ε, so bisection finds the crossing; δ = 0 is never reached.
        Requires  0 <= δ < 1.
        Rounds    up: the upper end of the last interval.
        """
        require_delta(delta=delta)
        limit = exact(delta)
        if self.hockey_stick(epsilon=0) <= limit:
            return 0.0
        if limit < _SMALLEST:
            return math.inf
        low, high = 0.0, 1.0
        while high < math.inf and self.hockey_stick(epsilon=high) > limit:
            low, high = high, 2 * high
        while high < math.inf and low < (middle := low + (high - low) / 2) < high:
            low, high = (low, middle) if self.hockey_stick(epsilon=middle) <= limit else (middle, high)
        return high


class GeometricShift(shifts.GeometricShift):
    """With the divergences that nothing but tests reads."""

    __slots__ = ()

    def max_divergence(self) -> float:
        """ε·shift.

        Theorem   the triangle inequality in the exponent, with equality beyond either centre.
        Requires  ε > 0.
        Rounds    up.
        """
        return round_up(exact(self.epsilon) * abs(self.shift))

    def kl(self) -> float:
        """ε (k - 2 (p + p² + … + p^k) / (1 + p)) with p = exp(-ε), k = shift.

        Theorem   moving the centre from j to j + 1 changes E|X - centre| by 1 - 2 Pr[X > j].
        Requires  ε > 0.
        Rounds    up.
        """
        rate, k = exact(self.epsilon), abs(self.shift)
        low, high = _exp_minus(rate)
        power_high = _exp_minus(rate * k)[1]
        series = low * (1 - power_high) / (1 - low)  # increasing in p but for p^k, which is bounded by itself
        return round_up(rate * max(Fraction(0), k - 2 * series / (1 + high)))

    def total_variation(self) -> float:
        """The hockey-stick divergence at ε = 0.

        Theorem   as `hockey_stick`.
        Requires  ε > 0.
        Rounds    up.
        """
        return self.hockey_stick(epsilon=0)


def _exp_minus(x: Fraction) -> tuple[Fraction, Fraction]:
    """(low, high) around exp(-x), x >= 0, closer than x⁴: so 1 - exp(-x) and x - (1 - exp(-x)) keep their digits."""
    if x == 0:
        return Fraction(1), Fraction(1)
    bits = 192 + 4 * max(0, x.denominator.bit_length() - x.numerator.bit_length())
    low, high = exp_negative_fixed(x, bits=bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _tail_above(at: Fraction) -> float:
    """Pr[N > at] of a standard normal N, rounded up."""
    if abs(at) > _FAR:
        return _SMALLEST if at > 0 else 1.0
    with working():
        return min(1.0, float_above(normal_tail(decimal(at))))
