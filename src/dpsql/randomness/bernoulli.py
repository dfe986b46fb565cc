"""Coins with probability exp(-γ) and with rational probability, tossed without floating point."""

from __future__ import annotations

from fractions import Fraction

from dpsql.errors import BadParameter
from dpsql.randomness.source import Source, uniform_below
from dpsql.require import require_non_negative, require_probability


def bernoulli(probability: Fraction, *, source: Source) -> bool:
    """True with exactly the given rational probability.

    Theorem   a uniform integer below the denominator lies below the numerator with probability n/d.
    Requires  0 <= probability <= 1.
    Rounds    nothing: the draw is exact.
    """
    require_probability(probability=probability)
    return uniform_below(probability.denominator, source=source) < probability.numerator


def bernoulli_exp(gamma: Fraction, *, source: Source) -> bool:
    """True with probability exactly exp(-gamma).

    Theorem   Canonne, Kamath, Steinke (2020), Algorithm 1. For gamma <= 1 the first k with a failed
              Bernoulli(gamma / k) is odd with probability exp(-gamma); larger gammas multiply exp(-1) coins.
    Requires  gamma >= 0, rational.
    Rounds    nothing: the draw is exact.
    """
    if not isinstance(gamma, (Fraction, int)):
        raise BadParameter(
            f"gamma={gamma!r} must be a Fraction",
            why="a float here would already have been rounded",
            fix="pass Fraction(numerator, denominator)",
        )
    require_non_negative(gamma=gamma)
    numerator, denominator = gamma.numerator, gamma.denominator
    while numerator > denominator:
        if not _bernoulli_exp_below_one(1, 1, source):
            return False
        numerator -= denominator
    return _bernoulli_exp_below_one(numerator, denominator, source)


def _bernoulli_exp_below_one(numerator: int, denominator: int, source: Source) -> bool:
    step = 1
    while uniform_below(denominator * step, source=source) < numerator:
        step += 1
    return step & 1 == 1
