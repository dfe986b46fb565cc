"""The continuous Gaussian mechanism: textbook and exact calibration, its privacy curve, its accuracy.

A library for planning and comparison. What is released carries discrete Gaussian noise, which has its own theorems
(`dpsql.mechanisms.discrete_gaussian`); nothing here prices a release.
"""

from __future__ import annotations

from fractions import Fraction

from dpsql.errors import NoTheorem
from dpsql.mechanisms.search import smallest_float
from dpsql.privacy.digits import (
    MARGIN,
    decimal,
    float_above,
    log_of_inverse,
    normal_tail,
    require_in_reach,
    working,
)
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.shifts import GaussianShift
from dpsql.require import (
    Number,
    require_epsilon,
    require_non_negative,
    require_open_unit,
    require_positive,
)


def gaussian_sigma_classic(*, l2: Number, epsilon: Number, delta: Number) -> float:
    """The textbook σ of Gaussian noise for (ε, δ)-DP. `gaussian_sigma` is never larger.

    Theorem   Dwork, Roth (2014), Thm A.1:  σ = l2 · sqrt(2 ln(1.25/δ)) / ε.
    Requires  0 < ε < 1, where it is proved (for large ε it is false), 0 < δ < 1, l2 > 0.
    Rounds    up, toward more noise.
    """
    require_epsilon(epsilon=epsilon)
    if epsilon >= 1:
        raise NoTheorem(
            "the textbook σ is not proved from ε = 1 on",
            why="its proof needs ε < 1, and for large ε the noise is too small for the δ it claims",
            fix="use gaussian_sigma, which is exact for every ε",
        )
    require_positive(l2=l2)
    require_open_unit(delta=delta)
    require_in_reach(l2=l2, epsilon=epsilon, delta=delta)
    with working():
        return float_above(
            decimal(exact(l2) / exact(epsilon)) * (2 * (decimal(Fraction(5, 4) / exact(delta))).ln()).sqrt()
        )


def gaussian_delta(*, l2: Number, sigma: Number, epsilon: Number) -> float:
    """The exact δ at `epsilon` of Gaussian noise of standard deviation `sigma`.

    Theorem   Balle, Wang (2018), Thm 8:  δ = Φ(l2/2σ - εσ/l2) - exp(ε) Φ(-l2/2σ - εσ/l2).
    Requires  l2 > 0, σ > 0, ε >= 0.
    Rounds    up.
    """
    require_positive(l2=l2, sigma=sigma)
    require_non_negative(epsilon=epsilon)
    require_in_reach(l2=l2, sigma=sigma, epsilon=epsilon)
    return GaussianShift(shift=l2, sigma=sigma).hockey_stick(epsilon=epsilon)


def gaussian_epsilon(*, l2: Number, sigma: Number, delta: Number) -> float:
    """The smallest ε at which Gaussian noise of standard deviation `sigma` is (ε, δ)-DP.

    Theorem   Balle, Wang (2018), Thm 8, solved for ε: δ falls as ε grows.
    Requires  l2 > 0, σ > 0, 0 < δ < 1.
    Rounds    up.
    """
    require_positive(l2=l2, sigma=sigma)
    require_open_unit(delta=delta)
    require_in_reach(l2=l2, sigma=sigma)
    noise, allowed = GaussianShift(shift=l2, sigma=sigma), exact(delta)
    return smallest_float(lambda epsilon: noise.hockey_stick(epsilon=epsilon) <= allowed)


def gaussian_sigma(*, l2: Number, epsilon: Number, delta: Number) -> float:
    """The smallest σ with which Gaussian noise is (ε, δ)-DP, for every ε >= 0.

    Theorem   Balle, Wang (2018), Thm 8 and Alg. 1: δ depends on σ/l2 alone and falls as it grows.
    Requires  l2 > 0, ε >= 0, 0 < δ < 1.
    Rounds    up, toward more noise.
    """
    require_positive(l2=l2)
    require_non_negative(epsilon=epsilon)
    require_open_unit(delta=delta)
    require_in_reach(l2=l2, epsilon=epsilon, delta=delta)
    allowed = exact(delta)

    def enough(sigma: float) -> bool:
        return sigma > 0 and GaussianShift(shift=l2, sigma=sigma).hockey_stick(epsilon=epsilon) <= allowed

    return smallest_float(enough, start=float(l2))


def gaussian_accuracy(*, sigma: Number, beta: Number) -> float:
    """The α that the error of one Gaussian answer exceeds with probability β.

    Theorem   Pr[|N| > α] = 2 Pr[N > α/σ], solved:  α = σ · sqrt(2) · erfinv(1 - β).
    Requires  σ > 0, 0 < β < 1.
    Rounds    up: the error stays below the value returned at least as often as promised.
    """
    require_positive(sigma=sigma)
    require_open_unit(beta=beta)
    require_in_reach(sigma=sigma, beta=beta)
    allowed = exact(beta)
    sizes = smallest_float(lambda x: _outside_above(Fraction(x)) <= allowed)
    return round_up(exact(sigma) * Fraction(sizes))


def gaussian_accuracy_bound(*, sigma: Number, beta: Number) -> float:
    """An α in closed form that the error of one Gaussian answer exceeds with probability at most β.

    Theorem   erfc(x) <= exp(-x²):  α = σ · sqrt(2 ln(1/β)).
    Requires  σ > 0, 0 < β < 1.
    Rounds    up.
    """
    require_positive(sigma=sigma)
    require_open_unit(beta=beta)
    require_in_reach(sigma=sigma, beta=beta)
    with working():
        return float_above(decimal(exact(sigma)) * (2 * log_of_inverse(exact(beta))).sqrt())


def _outside_above(x: Fraction) -> Fraction:
    """Pr[|N| > x] of a standard normal, rounded up."""
    with working():
        return min(Fraction(1), 2 * Fraction(normal_tail(decimal(x))) * (1 + MARGIN))
