"""The exact (ε, δ) of one whole number with discrete Gaussian noise, and the calibrations that follow from it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dpsql.mechanisms.discrete_gaussian import gaussian_sum, is_short, tail_ratio, weight
from dpsql.mechanisms.search import smallest_float
from dpsql.mechanisms.whole import LARGEST_ROOT
from dpsql.privacy.digits import DIGITS, decimal, digits_of, float_above, require_in_reach, working
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_count, require_non_negative, require_open_unit, require_positive
from tests.oracles.mechanisms import tail_excess


def discrete_gaussian_delta(*, sigma_squared: Number, shift: int, epsilon: Number) -> float:
    """The exact δ at `epsilon` of discrete Gaussian noise on an integer that one unit moves by at most `shift`.

    Theorem   Canonne, Kamath, Steinke (2020), Thm 7:  δ = Pr[X > εσ²/Δ - Δ/2] - exp(ε) Pr[X > εσ²/Δ + Δ/2].
              No smaller shift has a larger δ (docs/theorems/discrete_gaussian.md).
    Requires  sigma_squared > 0, shift a whole number >= 1, ε >= 0. One number; a vector is priced by `rho_for`.
    Rounds    up.
    """
    require_positive(sigma_squared=sigma_squared)
    require_count(at_most=LARGEST_ROOT, shift=shift)
    require_non_negative(epsilon=epsilon)
    require_in_reach(sigma_squared=sigma_squared, epsilon=epsilon)
    return _delta_above(sigma_squared=exact(sigma_squared), shift=shift, epsilon=exact(epsilon))


def discrete_gaussian_epsilon(*, sigma_squared: Number, shift: int, delta: Number) -> float:
    """The smallest ε at which discrete Gaussian noise on an integer is (ε, δ)-DP.

    Theorem   as `discrete_gaussian_delta`, solved for ε: δ falls as ε grows.
    Requires  sigma_squared > 0, shift a whole number >= 1, 0 < δ < 1.
    Rounds    up.
    """
    require_positive(sigma_squared=sigma_squared)
    require_count(at_most=LARGEST_ROOT, shift=shift)
    require_open_unit(delta=delta)
    require_in_reach(sigma_squared=sigma_squared)
    spread, allowed = exact(sigma_squared), exact(delta)
    return smallest_float(
        lambda epsilon: _delta_above(sigma_squared=spread, shift=shift, epsilon=Fraction(epsilon)) <= allowed,
        start=float(shift**2 / spread),
    )


def discrete_gaussian_sigma_squared(*, shift: int, epsilon: Number, delta: Number) -> Fraction:
    """A σ² with which discrete Gaussian noise on an integer is (ε, δ)-DP, as small as a search finds.

    Theorem   as `discrete_gaussian_delta`, which is evaluated at the σ² returned. That δ falls as σ² grows is not
              proved for the discrete law, so "smallest" is not promised: the float just below is not enough, and
              that is all.
    Requires  shift a whole number >= 1, ε >= 0, 0 < δ < 1.
    Rounds    up, toward more noise.
    """
    require_count(at_most=LARGEST_ROOT, shift=shift)
    require_non_negative(epsilon=epsilon)
    require_open_unit(delta=delta)
    require_in_reach(epsilon=epsilon, delta=delta)
    cost, allowed = exact(epsilon), exact(delta)

    def enough(sigma_squared: float) -> bool:
        spread = Fraction(sigma_squared)
        return spread > 0 and _delta_above(sigma_squared=spread, shift=shift, epsilon=cost) <= allowed

    return Fraction(smallest_float(enough, start=float(shift**2)))


def _delta_above(*, sigma_squared: Fraction, shift: int, epsilon: Fraction) -> float:
    """The δ of Theorem 7, rounded up.

    With t = εσ²/Δ - Δ/2 and a the first integer from t on, δ is the sum over x >= a of
    (exp(-x²/2σ²) - exp(ε - (x+Δ)²/2σ²)) / Z = exp(-x²/2σ²) (1 - exp(-Δ(x - t)/σ²)) / Z.
    """
    threshold = epsilon * sigma_squared / shift - Fraction(shift, 2)
    start = math.ceil(threshold)
    if start > 0 and start * start > 2000 * sigma_squared:
        return math.ulp(0.0)  # exp(-1000) and less
    offset = start - threshold
    branch = _below_zero if start < 0 else _term_by_term if is_short(start, sigma_squared) else _by_difference
    return min(1.0, float_above(branch(start, offset, shift, sigma_squared)))


def _term_by_term(start: int, offset: Fraction, shift: int, sigma_squared: Fraction) -> Decimal:
    """Every term is positive; only the first may be small against its parts."""
    least = shift * (offset or Fraction(1)) / sigma_squared
    with working(DIGITS + digits_of(1 / least)):
        excess = tail_excess(start, offset=offset, shift=shift, sigma_squared=sigma_squared)
        return weight(start, sigma_squared) * excess / gaussian_sum(sigma_squared)


def _by_difference(start: int, offset: Fraction, shift: int, sigma_squared: Fraction) -> Decimal:
    """Two tails, each by Euler and Maclaurin; as for the continuous law Δ/σ/(v² + 3) is left of the first."""
    end = start + shift
    lost = digits_of((end * end / sigma_squared + 3) * (1 + sigma_squared / shift))
    with working(DIGITS + lost):
        moved = decimal(-shift * offset / sigma_squared).exp() * tail_ratio(end, sigma_squared)
        return weight(start, sigma_squared) * (tail_ratio(start, sigma_squared) - moved) / gaussian_sum(sigma_squared)


def _below_zero(start: int, offset: Fraction, shift: int, sigma_squared: Fraction) -> Decimal:
    """The sum from a negative start is the whole less the sum from 1 - start; δ is at least Pr[0](1 - exp(-Δ/σ²))."""
    with working(DIGITS + 2 * digits_of(sigma_squared)):
        whole = gaussian_sum(sigma_squared)
        missing = weight(1 - start, sigma_squared) * tail_ratio(1 - start, sigma_squared)
        moved = decimal(-shift * offset / sigma_squared).exp() * tail_ratio(start + shift, sigma_squared)
        return (whole - missing - weight(start, sigma_squared) * moved) / whole
