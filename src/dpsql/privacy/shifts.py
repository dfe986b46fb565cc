"""Noise and the same noise moved by one neighbour: the divergences of Laplace, Gaussian and geometric noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.privacy.digits import (
    DIGITS,
    decimal,
    digits_of,
    float_above,
    mills_ratio,
    normal_density,
    working,
)
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_finite,
    require_non_negative,
    require_positive,
)

_SMALLEST: Final = math.ulp(0.0)
_LARGEST_SHIFT: Final = 2**400
_FAR: Final = 40
"""Pr[N > 40] of a standard normal is below the smallest float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceShift:
    """Laplace noise of one scale around two centres that lie `shift` apart. All divergences are symmetric."""

    shift: Number
    scale: Number

    def __post_init__(self) -> None:
        require_finite(shift=self.shift)
        require_positive(scale=self.scale)

    def _mu(self) -> Fraction:
        return abs(exact(self.shift)) / exact(self.scale)

    def max_divergence(self) -> float:
        """The pure ε of the Laplace mechanism: shift / scale.

        Theorem   the triangle inequality in the exponent, with equality beyond either centre.
        Requires  scale > 0.
        Rounds    up.
        """
        return round_up(self._mu())


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianShift:
    """Gaussian noise of one σ around two centres that lie `shift` apart. All divergences are symmetric."""

    shift: Number
    sigma: Number

    def __post_init__(self) -> None:
        require_finite(shift=self.shift)
        require_positive(sigma=self.sigma)

    def _mu(self) -> Fraction:
        return abs(exact(self.shift)) / exact(self.sigma)

    def hockey_stick(self, *, epsilon: Number) -> float:
        """The δ of Gaussian noise at ε: Φ(μ/2 - ε/μ) - exp(ε) Φ(-μ/2 - ε/μ) with μ = shift/σ.

        Theorem   Balle, Wang (2018), Theorem 8 (docs/theorems/gaussian_analytic.md).
        Requires  ε >= 0.
        Rounds    up.
        """
        require_non_negative(epsilon=epsilon)
        mu = self._mu()
        return _gaussian_delta_above(mu=mu, epsilon=exact(epsilon)) if mu else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricShift:
    """Two-sided geometric noise, Pr[x] proportional to exp(-ε|x|), around two integers that lie `shift` apart."""

    epsilon: Number
    shift: int

    def __post_init__(self) -> None:
        require_epsilon(epsilon=self.epsilon)
        require_count(at_least=-_LARGEST_SHIFT, at_most=_LARGEST_SHIFT, shift=self.shift)

    def hockey_stick(self, *, epsilon: Number) -> float:
        """δ at a given ε' (named epsilon here): 1 - (p^(m+1) + exp(ε') p^(k-m)) / (1 + p), 0 from ε·k on.

        Theorem   the loss is ε(k - 2x) between the centres, so it passes ε' for x <= m = ceil((k - ε'/ε)/2) - 1.
        Requires  ε' >= 0.
        Rounds    up.
        """
        require_non_negative(epsilon=epsilon)
        rate, loss, k = exact(self.epsilon), exact(epsilon), abs(self.shift)
        if loss >= rate * k:
            return 0.0
        m = math.ceil((k - loss / rate) / 2) - 1
        # δ >= Pr[0] - exp(ε') Pr[k], about min(gap, 1)·rate/4: what cancels below is bought back in digits
        with working(DIGITS + 2 * digits_of(1 / rate) + digits_of(1 / (rate * k - loss))):
            p, near, far = (decimal(-x).exp() for x in (rate, rate * (m + 1), rate * (k - m) - loss))
            return min(1.0, float_above((1 + p - near - far) / (1 + p)))


def _gaussian_delta_above(*, mu: Fraction, epsilon: Fraction) -> float:
    """δ(ε) of Gaussian noise for μ > 0, rounded up.

    With u = ε/μ - μ/2 and v = u + μ one has exp(ε) φ(v) = φ(u), so δ = Pr[N > u] - φ(u) m(v), where m is the ratio
    Pr[N > x]/φ(x): no large exponential appears. For u >= 0 this is φ(u) (m(u) - m(v)); since |m'(x)| >= 1/(x² + 3),
    at least μ/(v² + 3) is left of m(u) <= 1.26, which says how many digits cancel.
    """
    u = epsilon / mu - mu / 2
    if abs(u) > _FAR:
        return _SMALLEST if u > 0 else 1.0
    v = u + mu
    with working(DIGITS + digits_of((v * v + 3) / min(mu, Fraction(1)))):
        start, end = decimal(u), decimal(v)
        density = normal_density(start)
        if u >= 0:
            return min(1.0, float_above(density * (mills_ratio(start) - mills_ratio(end))))
        return min(1.0, float_above(1 - density * (mills_ratio(-start) + mills_ratio(end))))
