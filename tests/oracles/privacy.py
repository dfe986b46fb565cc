"""Divergences, tails and group bounds that no path to an answer needs: what those in use are measured by."""

import math
from fractions import Fraction
from math import inf
from typing import Final

from dpsql.enclosure import exp_bounds, exp_negative_fixed, log_bounds
from dpsql.privacy.divergence import _BITS, Masses, Witness, _laws, _spread, _witness, paired, ratio_below
from dpsql.privacy.group import _NO_PROMISE
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.tails import _UNIT_BITS, _exp_minus_up
from dpsql.require import (
    Number,
    require_count,
    require_delta,
    require_finite,
    require_non_negative,
    require_positive,
    require_probability,
)
from tests.oracles.shifts import GaussianShift, require_order


def excess_mass(p: Masses, q: Masses, *, ratio: Number) -> Fraction:
    """The hockey-stick divergence with a rational number in the place of exp(ε), exactly.

    Theorem   as `hockey_stick`.
    Requires  ratio >= 0.
    Rounds    nothing.
    """
    require_non_negative(ratio=ratio)
    return paired(p, q).excess(exact(ratio))


def renyi(p: Masses, q: Masses, *, alpha: Number) -> float:
    """The Rényi divergence of order alpha: ln(sum of p^alpha q^(1-alpha)) / (alpha - 1).

    Theorem   definition (Mironov 2017, Def. 3); the largest term is taken out before summing.
    Requires  alpha > 1.
    Rounds    up.
    """
    require_order(alpha=alpha)
    pair, order = paired(p, q), exact(alpha)
    if pair.p == pair.q:
        return 0.0
    exponents = []  # upper bounds of ln(p^alpha q^(1 - alpha))
    for a, b in zip(pair.p, pair.q, strict=True):
        if a and not b:
            return math.inf
        if a:
            log_p = log_bounds(Fraction(a, pair.total), bits=_BITS)[1]
            exponents.append(log_p + (order - 1) * (log_bounds(Fraction(a, b), bits=_BITS)[1] if a != b else 0))
    top = max(exponents)
    terms = sum(exp_negative_fixed(top - exponent, bits=_BITS)[1] for exponent in exponents)
    bound = (top + log_bounds(Fraction(terms, 1 << _BITS), bits=_BITS)[1]) / (order - 1)
    return round_up(max(bound, Fraction(0)))


def loss_tail(p: Masses, q: Masses, *, epsilon: Number) -> float:
    """Pr[L > ε] for the privacy loss L = ln(p(Y)/q(Y)), Y from P.

    It is not δ: `hockey_stick` never exceeds it and is often far smaller, so Pr[L > ε] <= δ is sufficient for
    (ε, δ) in this direction and not necessary.

    Theorem   definition of the privacy loss (Dwork, Roth 2014, section 2.3).
    Requires  ε >= 0.
    Rounds    up.
    """
    pair, ratio = paired(p, q), ratio_below(epsilon)
    over = (a for a, b in zip(pair.p, pair.q, strict=True) if a * ratio.denominator > ratio.numerator * b)
    return round_up(Fraction(sum(over), pair.total))


def group_delta_loose(*, epsilon: Number, delta: Number, size: int) -> float:
    """The textbook form k exp((k-1)ε) δ: never below `group_delta`, easier to remember.

    Theorem   each of the k terms of the geometric sum is at most the last.
    Requires  ε >= 0, 0 <= δ < 1, size >= 1.
    Rounds    up; inf where the number is of no interest.
    """
    require_non_negative(epsilon=epsilon)
    require_delta(delta=delta)
    require_count(size=size)
    power, slack = exact(epsilon) * (size - 1), exact(delta)
    if slack == 0 or power == 0:
        return round_up(slack * size)
    return round_up(size * slack * exp_bounds(power)[1]) if power <= _NO_PROMISE else inf


def gaussian_group_delta(*, sigma: Number, l2: Number, size: int, epsilon: Number) -> float:
    """The exact δ of Gaussian noise for groups of `size`: that of `size` times the sensitivity.

    Theorem   a group of k moves the centre by at most k·l2; δ grows with the shift. It is below `group_delta`.
    Requires  σ > 0, l2 >= 0, size >= 1, ε >= 0.
    Rounds    up.
    """
    require_non_negative(l2=l2)
    require_count(size=size)
    return GaussianShift(shift=exact(l2) * size, sigma=sigma).hockey_stick(epsilon=epsilon)


def gaussian_kl(*, mean_p: Number, sigma_p: Number, mean_q: Number, sigma_q: Number) -> float:
    """D(P‖Q) of two normal laws: ln(σq/σp) + (σp² + (mp - mq)²)/(2σq²) - 1/2.

    Theorem   the expectation of a difference of two quadratics under P.
    Requires  both σ above 0.
    Rounds    up.
    """
    require_finite(mean_p=mean_p, mean_q=mean_q)
    require_positive(sigma_p=sigma_p, sigma_q=sigma_q)
    ratio = exact(sigma_p) / exact(sigma_q)
    apart = (exact(mean_p) - exact(mean_q)) / exact(sigma_q)
    spread = -log_bounds(ratio, bits=256)[0] if ratio != 1 else Fraction(0)
    return round_up(max(Fraction(0), spread + (ratio**2 + apart**2 - 1) / 2))


_LARGEST_N: Final = 10**5


def chernoff_multiplicative_lower(*, n: int, mean: Number, t: Number) -> float:
    """A bound of Pr[mean of values < (1 - t)·expectation] for n independent values in [0, 1]: exp(-n·mean·t²/2).

    Theorem   Dwork, Roth (2014), Theorem 3.2: (1 - t) ln(1 - t) + t >= t²/2 on [0, 1].
    Requires  n >= 1, 0 <= mean <= 1, 0 <= t <= 1.
    Rounds    up.
    """
    require_count(n=n)
    require_probability(mean=mean, t=t)
    return _exp_minus_up(n * exact(mean) * exact(t) ** 2 / 2)


def log_factorial(*, n: int) -> float:
    """ln n!.

    Theorem   n! = Γ(n + 1).
    Requires  n >= 0.
    Rounds    to nearest, within a few units in the last place.
    """
    require_count(at_least=0, n=n)
    return math.lgamma(n + 1)


def binomial_tail(*, n: int, p: Number, above: Number) -> float:
    """Pr[X > above] for X binomial(n, p): strictly above.

    Theorem   the weights C(n, i) p^i (1-p)^(n-i) follow from each other by (n-i)p / ((i+1)(1-p)); the tail is its
              share of all of them, so no factorial or power is needed.
    Requires  1 <= n <= 100 000, 0 <= p <= 1.
    Rounds    up.
    """
    require_count(at_most=_LARGEST_N, n=n)
    require_probability(p=p)
    require_finite(above=above)
    chance, first = exact(p), math.floor(exact(above)) + 1  # the smallest integer strictly above
    if first <= 0 or (chance == 1 and first <= n):
        return 1.0
    if first > n or chance == 0:
        return 0.0
    weights = _binomial_weights(n, chance)
    # Every weight is short by less than n units, and never too large.
    return min(1.0, round_up(Fraction(sum(weights[first:]) + n * (n + 1), sum(weights))))


def _binomial_weights(n: int, p: Fraction) -> list[int]:
    """Binomial probabilities up to a common factor, rounded down to integers, from the mode outward."""
    a, b = p.numerator, p.denominator - p.numerator
    mode = min(n, math.floor((n + 1) * p))
    weights = [0] * (n + 1)
    weights[mode] = 1 << _UNIT_BITS
    for i in range(mode, n):
        weights[i + 1] = weights[i] * a * (n - i) // (b * (i + 1))
    for i in range(mode, 0, -1):
        weights[i - 1] = weights[i] * b * i // (a * (n - i + 1))
    return weights


def one_sided_witness(p: Masses, q: Masses, *, epsilon: Number) -> Witness:
    """Y' with D∞(Y'‖Z) <= ε, at distance δ from Y, where δ is the hockey-stick divergence; Z' = Z.

    Theorem   Dwork, Roth (2014), Lemma 3.17(1): D∞^δ(Y‖Z) <= ε iff such a Y' exists within δ of Y.
    Requires  ε >= 0.
    Rounds    exp(ε) down by 2^-256, so the bound on Y' holds for sure; the distance grows by as little.
    """
    pair, ratio = paired(p, q), ratio_below(epsilon)
    y, z = _laws(pair)
    excess = [max(Fraction(0), a - ratio * b) for a, b in zip(y, z, strict=True)]
    lowered = [a - over for a, over in zip(y, excess, strict=True)]
    room = [max(Fraction(0), b - a) for a, b in zip(lowered, z, strict=True)]
    raised = _spread(lowered, room, sum(excess, Fraction(0)))
    return _witness(pair, raised, z)
