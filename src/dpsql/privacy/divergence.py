"""How far apart two output laws are, and what that says about privacy.

A divergence has a direction, from P to Q: `max_divergence`, `hockey_stick` and `approx_max_divergence`. A promise holds
in both, so what an audit of two laws reports is the larger of the two: `audit_pure`, `audit_delta`, `audit_epsilon`.

Laws are given as probabilities of outcomes (`Masses`). Arithmetic is exact on rationals; exp and log enter through
certified enclosures, so "up" below is a fact about the numbers passed in, not a hope.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from math import lcm
from typing import Final, TypeAlias

from dpsql.enclosure import exp_bounds, log_bounds
from dpsql.errors import BadParameter, NotRandomised
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.rounding import exact, pad_up, round_up
from dpsql.require import (
    Number,
    require_count,
    require_delta,
    require_epsilon,
    require_non_negative,
    require_open_unit,
    require_that,
    unmet,
)

Masses: TypeAlias = Iterable[Number] | Mapping[Hashable, Number]
"""The probabilities of the outcomes, in a fixed order or by outcome. Exact numbers must add up to exactly 1."""

_FLOAT_SLACK: Final = Fraction(1, 10**9)
_LARGEST_EPSILON: Final = 4096
"""exp(4096) passes every ratio of two floats; a smaller ratio than exp(ε) only makes a divergence look larger."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Outcome i has probability p[i] / total under the first law and q[i] / total under the second."""

    outcomes: tuple[Hashable, ...]
    p: tuple[int, ...]
    q: tuple[int, ...]
    total: int

    def reversed(self) -> Pair:
        return Pair(self.outcomes, self.q, self.p, self.total)

    def excess(self, ratio: Fraction) -> Fraction:
        """Sum of max(0, p - ratio · q): the largest Pr[Y in S] - ratio · Pr[Z in S] over all events S, exactly."""
        n, d = ratio.numerator, ratio.denominator
        return Fraction(sum(max(0, d * p - n * q) for p, q in zip(self.p, self.q, strict=True)), d * self.total)


def paired(p: Masses, q: Masses) -> Pair:
    """Both laws over the union of their outcomes, each divided by its exact sum.

    Floats are read as the binary numbers they are; their sum may miss 1 by 1e-9 and is then scaled to 1, so that
    what is computed is a statement about two genuine distributions.
    """
    if isinstance(p, Mapping) != isinstance(q, Mapping):
        raise _not_aligned("one is a mapping, the other a list")
    by_outcome_p, by_outcome_q = _masses("p", p), _masses("q", q)
    if not isinstance(p, Mapping) and len(by_outcome_p) != len(by_outcome_q):
        raise _not_aligned("they have different lengths")
    outcomes = tuple(by_outcome_p | by_outcome_q)
    p_weights, p_total = _integers([by_outcome_p.get(outcome, Fraction(0)) for outcome in outcomes])
    q_weights, q_total = _integers([by_outcome_q.get(outcome, Fraction(0)) for outcome in outcomes])
    return Pair(
        outcomes,
        tuple(weight * q_total for weight in p_weights),
        tuple(weight * p_total for weight in q_weights),
        p_total * q_total,
    )


def post_process(p: Iterable[Number], *, kernel: Sequence[Iterable[Number]]) -> tuple[Fraction, ...]:
    """The law after a randomised map: outcome i becomes outcome j with probability kernel[i][j].

    Theorem   the law of total probability. No divergence grows (docs/theorems/post_processing.md).
    Requires  one row of the kernel per outcome, all rows laws over the same new outcomes.
    Rounds    nothing: floats are read and scaled as in `paired`.
    """
    law = list(_masses("p", p).values())
    rows = [list(_masses(f"kernel[{i}]", row).values()) for i, row in enumerate(kernel)]
    if len(rows) != len(law) or len({len(row) for row in rows}) != 1:
        raise unmet("the kernel does not fit the law")
    weights, total = _integers(law)
    scaled = [_integers(row) for row in rows]
    return tuple(
        sum((Fraction(w * row[j], total * size) for w, (row, size) in zip(weights, scaled, strict=True)), Fraction(0))
        for j in range(len(rows[0]))
    )


def _masses(name: str, masses: Masses) -> dict[Hashable, Fraction]:
    items = dict(masses.items()) if isinstance(masses, Mapping) else dict(enumerate(masses))
    values = list(items.values())
    require_non_negative(**{f"{name}[{outcome!r}]": value for outcome, value in items.items()})
    total = sum(map(exact, values), Fraction(0))
    slack = 0 if all(isinstance(value, (int, Fraction, Decimal)) for value in values) else _FLOAT_SLACK
    if abs(total - 1) > slack:
        raise unmet(f"{name} adds up to {float(total):.12g}, not to 1")
    return {outcome: exact(value) for outcome, value in items.items()}


def _integers(masses: list[Fraction]) -> tuple[list[int], int]:
    common = lcm(*(mass.denominator for mass in masses))
    weights = [mass.numerator * (common // mass.denominator) for mass in masses]
    return weights, sum(weights)


def _not_aligned(how: str) -> BadParameter:
    return unmet(f"p and q cannot be compared: {how}")


def ratio_below(epsilon: Number) -> Fraction:
    """A rational number at most exp(ε), within 2^-256 of it in relation for ε up to 4096; exactly 1 at ε = 0."""
    require_non_negative(epsilon=epsilon)
    value = min(exact(epsilon), Fraction(_LARGEST_EPSILON))
    return max(Fraction(1), exp_bounds(value, bits=256)[0]) if value else Fraction(1)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Laws Y' and Z' close to Y and Z, by outcome, and their statistical distances from Y and Z, all exact."""

    y: dict[Hashable, Fraction]
    z: dict[Hashable, Fraction]
    distance_y: Fraction
    distance_z: Fraction


def delta_close_witness(p: Masses, q: Masses, *, epsilon: Number) -> Witness:
    """Y' and Z' with D∞(Y'‖Z') <= ε and D∞(Z'‖Y') <= ε, each within δ/(exp(ε) + 1) of Y and of Z.

    δ is the larger hockey-stick divergence of the two directions.

    Theorem   Dwork, Roth (2014), Lemma 3.17(2), with both directions stated (docs/theorems/delta_close.md).
    Requires  ε >= 0.
    Rounds    exp(ε) down by 2^-256, so both bounds hold for sure; the distances grow by as little.
    """
    pair, ratio = paired(p, q), ratio_below(epsilon)
    y, z = _laws(pair)
    y_over = [max(Fraction(0), a - ratio * b) / (1 + ratio) for a, b in zip(y, z, strict=True)]
    z_over = [max(Fraction(0), b - ratio * a) / (1 + ratio) for a, b in zip(y, z, strict=True)]
    # What leaves one law at an outcome enters the other at the same outcome, until the ratio is exactly exp(±ε).
    y_near = [a - over + under for a, over, under in zip(y, y_over, z_over, strict=True)]
    z_near = [b + over - under for b, over, under in zip(z, y_over, z_over, strict=True)]
    missing = sum(y_over) - sum(z_over)
    # The law that lost more is refilled where it is the smaller one, and the other drained there, at most to equality.
    room = [max(Fraction(0), (b - a) if missing > 0 else (a - b)) / 2 for a, b in zip(y_near, z_near, strict=True)]
    y_final = _spread(y_near, room, Fraction(missing))
    z_final = _spread(z_near, room, Fraction(-missing))
    return _witness(pair, y_final, z_final)


def _laws(pair: Pair) -> tuple[list[Fraction], list[Fraction]]:
    return [Fraction(a, pair.total) for a in pair.p], [Fraction(b, pair.total) for b in pair.q]


def _spread(law: list[Fraction], room: list[Fraction], mass: Fraction) -> list[Fraction]:
    """`law` plus `mass` (or minus, if negative), shared out in proportion to the room at each outcome."""
    if mass == 0:
        return law
    available = sum(room)
    return [a + mass * share / available for a, share in zip(law, room, strict=True)]


def _witness(pair: Pair, y: list[Fraction], z: list[Fraction]) -> Witness:
    before_y, before_z = _laws(pair)
    return Witness(
        y=dict(zip(pair.outcomes, y, strict=True)),
        z=dict(zip(pair.outcomes, z, strict=True)),
        distance_y=_distance(before_y, y),
        distance_z=_distance(before_z, z),
    )


def _distance(first: list[Fraction], second: list[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(first, second, strict=True)), Fraction(0)) / 2
