"""How far apart two output laws are, and what that says about privacy.

A divergence has a direction, from P to Q: `max_divergence`, `hockey_stick` and `approx_max_divergence`. A promise holds
in both, so what an audit of two laws reports is the larger of the two: `audit_pure`, `audit_delta`, `audit_epsilon`.

Laws are given as probabilities of outcomes (`Masses`). Arithmetic is exact on rationals; exp and log enter through
certified enclosures, so "up" below is a fact about the numbers passed in, not a hope.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final

from dpsql.enclosure import log_bounds
from dpsql.errors import NotRandomised
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.pmf import Masses, Pair, paired, ratio_below
from dpsql.privacy.rounding import exact, pad_up, round_up
from dpsql.require import (
    Number,
    require_count,
    require_delta,
    require_epsilon,
    require_open_unit,
    require_that,
)

_BITS: Final = 256


def kl(p: Masses, q: Masses) -> float:
    """The Kullback-Leibler divergence D(P‖Q): the expected privacy loss.

    Theorem   definition: sum of p ln(p/q), infinite where p > 0 = q (Dwork, Roth 2014, section 3.5.1).
    Requires  two laws over the same outcomes.
    Rounds    up.
    """
    pair = paired(p, q)
    total = Fraction(0)
    for a, b in zip(pair.p, pair.q, strict=True):
        if a and not b:
            return math.inf
        if a and a != b:
            total += Fraction(a, pair.total) * log_bounds(Fraction(a, b), bits=_BITS)[1]
    return round_up(max(total, Fraction(0)))


def max_divergence(p: Masses, q: Masses) -> float:
    """D∞(P‖Q): the largest privacy loss of any outcome, which is also that of any event.

    Theorem   a sum of numerators over a sum of denominators is at most the largest quotient, so the worst event is
              a worst outcome (docs/theorems/pointwise_is_setwise.md).
    Requires  two laws over the same outcomes.
    Rounds    up.
    """
    return _log_up(_largest_ratio(paired(p, q)))


def hockey_stick(p: Masses, q: Masses, *, epsilon: Number) -> float:
    """The smallest δ with Pr[Y in S] <= exp(ε) Pr[Z in S] + δ for all events S, Y from P and Z from Q.

    Theorem   the worst event is {p > exp(ε) q}, so δ = sum of max(0, p - exp(ε) q).
    Requires  ε >= 0.
    Rounds    up.
    """
    return round_up(paired(p, q).excess(ratio_below(epsilon)))


def total_variation(p: Masses, q: Masses) -> float:
    """The statistical distance: the largest difference of probability over all events.

    Theorem   it is the hockey-stick divergence at ε = 0, and half the L1 distance.
    Requires  two laws over the same outcomes.
    Rounds    up.
    """
    return round_up(paired(p, q).excess(Fraction(1)))


def approx_max_divergence(p: Masses, q: Masses, *, delta: Number) -> float:
    """The smallest ε >= 0 with hockey-stick divergence at most δ: the δ-approximate max divergence, by events.

    Theorem   max over events S with Pr[Y in S] > δ of ln((Pr[Y in S] - δ) / Pr[Z in S]), or 0 where that is less;
              the worst events collect outcomes by falling p/q (docs/theorems/approximate_max_divergence.md).
    Requires  0 <= δ < 1.
    Rounds    up.
    """
    require_delta(delta=delta)
    return _log_up(_smallest_ratio(paired(p, q), exact(delta)))


def audit_pure(p: Masses, q: Masses) -> float:
    """The smallest ε for which these two output laws are ε-indistinguishable: `max_divergence`, the larger direction.

    Theorem   pure DP holds for all events iff it holds for all outcomes (docs/theorems/pointwise_is_setwise.md).
    Requires  discrete laws over the same outcomes.
    Rounds    up; inf where an outcome is possible under one law only.
    """
    pair = paired(p, q)
    return _log_up(max(_largest_ratio(pair), _largest_ratio(pair.reversed())))


def audit_delta(p: Masses, q: Masses, *, epsilon: Number) -> float:
    """The smallest δ for which these two output laws are (ε, δ)-indistinguishable, in both directions.

    Theorem   the definition quantifies over ordered pairs of neighbours, so δ is the larger hockey-stick divergence.
    Requires  ε >= 0.
    Rounds    up.
    """
    pair, ratio = paired(p, q), ratio_below(epsilon)
    return round_up(max(pair.excess(ratio), pair.reversed().excess(ratio)))


def audit_epsilon(p: Masses, q: Masses, *, delta: Number) -> float:
    """The smallest ε for which these two output laws are (ε, δ)-indistinguishable, in both directions.

    Theorem   the larger `approx_max_divergence` of the two directions: (ε, δ) is asked of every ordered pair.
    Requires  0 <= δ < 1.
    Rounds    up.
    """
    require_delta(delta=delta)
    pair = paired(p, q)
    return _log_up(max(_smallest_ratio(way, exact(delta)) for way in (pair, pair.reversed())))


def is_dp(
    pmfs: Sequence[Masses], *, epsilon: Number, delta: Number, pairs: Iterable[tuple[int, int]] | None = None
) -> bool:
    """Whether a family of output laws, one per database, is (ε, δ)-DP.

    `pairs` says which laws belong to neighbouring databases (positions in `pmfs`); without it, all of them do.

    Theorem   M is (ε, δ)-DP iff the hockey-stick divergence at ε is at most δ for every ordered pair of neighbours;
              for δ = 0, iff the max divergence is at most ε (Dwork, Roth 2014, Remark 3.2).
    Requires  at least two laws; ε >= 0; 0 <= δ < 1.
    Rounds    against the mechanism: True is returned only where it is certain.
    """
    require_delta(delta=delta)
    ratio, slack = ratio_below(epsilon), exact(delta)
    for first, second in _neighbours(pmfs, pairs):
        pair = paired(pmfs[first], pmfs[second])
        if pair.excess(ratio) > slack or pair.reversed().excess(ratio) > slack:
            return False
    return True


def require_randomised(pmfs: Sequence[Masses]) -> None:
    """Refuse a release that tells some neighbours apart for sure, as every non-trivial deterministic one does.

    `pmfs` are the output laws along a chain of databases, each a neighbour of the next.

    Theorem   two neighbours whose outputs never coincide have δ = 1 at every ε. A deterministic function that is
              not constant differs somewhere along a chain, and there its outputs never coincide
              (docs/theorems/no_deterministic_release.md).
    Requires  at least two laws.
    Rounds    nothing.
    """
    require_count(at_least=2, laws=len(pmfs))
    for first, second in pairwise(pmfs):
        pair = paired(first, second)
        if not any(a and b for a, b in zip(pair.p, pair.q, strict=True)):
            raise NotRandomised(
                "this release tells two neighbouring databases apart with certainty",
                why="no output is possible under both, so no ε is large enough and δ would be 1",
                fix="release it through a mechanism that adds noise, or release a constant",
            )


def subsample_release_params(*, rate: Number) -> PrivacyParams:
    """What publishing a random sample of the rows in the clear promises: (0, rate) and nothing better.

    Theorem   a row is visible with probability `rate`, and otherwise the output does not depend on it. The event
              "this row is visible" shows that no ε lowers δ (docs/theorems/subsample_release.md).
    Requires  0 < rate < 1; a uniform subset of rate·n rows under change-one, or Poisson sampling under add/remove.
    Rounds    up.
    """
    require_open_unit(rate=rate)
    return PrivacyParams(epsilon=0.0, delta=round_up(exact(rate)))


def kl_bound(*, epsilon: Number, tight: bool) -> float:
    """The largest expected privacy loss of an ε-DP release: ε tanh(ε/2) if tight, else the textbook ε(exp(ε) - 1).

    Theorem   Dwork, Roth (2014), Lemma 3.18 for the textbook bound; randomized response attains the tight one
              (Kairouz, Oh, Viswanath 2015; docs/theorems/expected_loss.md).
    Requires  ε > 0.
    Rounds    up; inf where the textbook bound passes the largest float.
    """
    require_epsilon(epsilon=epsilon)
    size = round_up(exact(epsilon))
    if tight:
        return pad_up(size * math.tanh(size / 2), ulps=4)
    return pad_up(size * math.expm1(size), ulps=4) if size < 709 else math.inf


def _largest_ratio(pair: Pair) -> Fraction | float:
    """The largest p/q of any outcome; inf where an outcome is possible under P only."""
    if any(a and not b for a, b in zip(pair.p, pair.q, strict=True)):
        return math.inf
    return max(Fraction(a, b) for a, b in zip(pair.p, pair.q, strict=True) if b)


def _smallest_ratio(pair: Pair, delta: Fraction) -> Fraction | float:
    """The smallest ratio r >= 1 with excess(r) <= delta; excess is linear in r between two neighbouring p/q."""
    mass = Fraction(sum(a for a, b in zip(pair.p, pair.q, strict=True) if not b), pair.total)
    if mass > delta:
        return math.inf
    steps = sorted(((Fraction(a, b), a, b) for a, b in zip(pair.p, pair.q, strict=True) if a and b), reverse=True)
    base = Fraction(0)
    for ratio, a, b in steps:
        if mass - ratio * base > delta:  # passed delta between the last ratio and this one
            break
        mass, base = mass + Fraction(a, pair.total), base + Fraction(b, pair.total)
    return max(Fraction(1), (mass - delta) / base) if base else Fraction(1)


def _log_up(ratio: Fraction | float) -> float:
    if isinstance(ratio, float):
        return ratio
    return 0.0 if ratio == 1 else round_up(log_bounds(ratio, bits=_BITS)[1])


def _neighbours(pmfs: Sequence[Masses], pairs: Iterable[tuple[int, int]] | None) -> Iterable[tuple[int, int]]:
    require_count(at_least=2, laws=len(pmfs))
    chosen = list(combinations(range(len(pmfs)), 2) if pairs is None else pairs)
    for first, second in chosen:
        require_count(at_least=0, at_most=len(pmfs) - 1, first=first, second=second)
    require_that(chosen, "no pair of neighbours was given")
    return chosen
