"""Coins with probability exp(-γ) and with rational probability, tossed without floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.enclosure import exp_negative_fixed
from dpsql.randomness.source import Source, uniform_below
from dpsql.require import require_count, require_non_negative, require_probability, unmet


def bernoulli(probability: Fraction, *, source: Source) -> bool:
    """True with exactly the given rational probability.

    Theorem   a uniform integer below the denominator lies below the numerator with probability n/d.
    Requires  0 <= probability <= 1, rational.
    Rounds    nothing: the draw is exact.
    """
    _require_rational("probability", probability)
    require_probability(probability=probability)
    return uniform_below(probability.denominator, source=source) < probability.numerator


def bernoulli_exp(gamma: Fraction, *, source: Source) -> bool:
    """True with probability exactly exp(-gamma).

    Theorem   Canonne, Kamath, Steinke (2020), Algorithm 1. For gamma <= 1 the first k with a failed
              Bernoulli(gamma / k) is odd with probability exp(-gamma); larger gammas multiply exp(-1) coins.
    Requires  gamma >= 0, rational.
    Rounds    nothing: the draw is exact.
    """
    _require_rational("gamma", gamma)
    require_non_negative(gamma=gamma)
    return exp_coin(gamma.numerator, gamma.denominator, source)


def exp_coin(numerator: int, denominator: int, source: Source) -> bool:
    """`bernoulli_exp` for a γ given as two integers, which need not be in lowest terms.

    Theorem   as `bernoulli_exp`.
    Requires  numerator >= 0, denominator >= 1.
    Rounds    nothing: the draw is exact.
    """
    while numerator > denominator:
        if not _first_failure_is_odd(1, 1, source):
            return False
        numerator -= denominator
    return _first_failure_is_odd(numerator, denominator, source)


def _first_failure_is_odd(numerator: int, denominator: int, source: Source) -> bool:
    step = 1
    while uniform_below(denominator * step, source=source) < numerator:
        step += 1
    return step & 1 == 1


def bernoulli_exp_many(gamma: Fraction, *, size: int, source: Source) -> NDArray[np.bool_]:
    """`size` independent coins, each True with probability exactly exp(-gamma).

    Theorem   docs/theorems/exact_samplers.md: a uniform number is compared with certified bounds of exp(-gamma), by
              16 bits where they decide, by 64 where those do, and by as many as it takes otherwise.
    Requires  gamma >= 0, rational; size >= 0.
    Rounds    nothing: the draws are exact.
    """
    _require_rational("gamma", gamma)
    require_non_negative(gamma=gamma)
    require_count(at_least=0, at_most=2**32, size=size)
    least, most = exp_negative_fixed(Fraction(gamma), bits=64)
    look = source.words((size + 3) >> 2).view(np.uint16)[:size]
    coins = look < (least >> 48)
    for at in np.flatnonzero(~coins & (look < -(-most >> 48))):
        coins[at] = below_exp(Fraction(gamma), toss=int(look[at]) << 48 | source.bits(48), source=source)
    return coins


def below_exp(gamma: Fraction, *, toss: int, source: Source) -> bool:
    """Whether the uniform number that begins with the 64 bits `toss` lies below exp(-gamma).

    Theorem   lazy comparison, docs/theorems/exact_samplers.md: more bits are fetched until two intervals part.
    Requires  gamma >= 0; 0 <= toss < 2**64.
    Rounds    nothing: the answer is that about the real numbers.
    """
    bits = 64
    if (toss + 1) * gamma.denominator <= (gamma.denominator - gamma.numerator) << bits:  # exp(-γ) >= 1 - γ
        return True
    while True:
        least, most = exp_negative_fixed(gamma, bits=bits)
        if toss < least:
            return True
        if toss >= most:
            return False
        toss, bits = toss << 64 | source.bits(64), bits + 64


def _require_rational(name: str, value: object) -> None:
    if not isinstance(value, (Fraction, int)):  # a float would already have been rounded
        raise unmet(f"{name}={value!r} must be a Fraction")
