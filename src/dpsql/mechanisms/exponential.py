"""The exponential mechanism: a candidate chosen with probability growing exponentially in its score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpsql.enclosure import exp_negative_fixed, log_bounds
from dpsql.mechanisms.scores import Score, Selection, gaps_below_best, open_scores, selection_scale
from dpsql.privacy.events import BoundedRange
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.randomness import Source, bernoulli_exp, uniform_below
from dpsql.require import Number, require_non_negative

Candidate = TypeVar("Candidate")


def exponential_log_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    """ln Pr[i] of choosing i with probability proportional to exp(score_i / scale).

    Theorem   ln p_i = −g_i − ln Σ exp(−g_j), with g the distance to the best score in units of scale: no overflow.
    Requires  finite scores, at least one; scale > 0.
    Rounds    to nearest, within a few units in the last place of the larger of |ln p_i| and 1.
    """
    gaps = [round_down(gap) for gap in gaps_below_best(scores=scores, scale=scale)]
    normaliser = math.log(math.fsum(map(math.exp, (-gap for gap in gaps))))
    return [-gap - normaliser for gap in gaps]


def exponential_probabilities(
    *, scores: Sequence[Number], sensitivity: Number, epsilon: Number, monotonic: bool
) -> list[float]:
    """The probability of each candidate under the exponential mechanism.

    Theorem   McSherry, Talwar (2007); Dwork, Roth (2014), Def 3.4:  p_i proportional to exp(ε·score_i / 2Δ).
    Requires  finite scores, at least one; epsilon > 0; sensitivity > 0; monotonic only where all scores move together.
    Rounds    to nearest; for the auditor's eye. No release is decided by these floats.
    """
    scale = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    return [math.exp(log) for log in exponential_log_probabilities(scores=scores, scale=scale)]


def draw_exponential(gaps: Sequence[Fraction], *, source: Source) -> int:
    """An index with probability exactly proportional to exp(−gap).

    Theorem   a uniform index accepted with probability exp(−gap) has the law exp(−gap) / Σ exp(−gap); a gap of 0
              is always accepted, so at most len(gaps) rounds are expected.
    Requires  gaps >= 0, at least one of them 0.
    Rounds    nothing: the draw is exact.
    """
    while True:
        index = uniform_below(len(gaps), source=source)
        if bernoulli_exp(gaps[index], source=source):
            return index


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(Selection[Candidate]):
    """Chooses each candidate with probability proportional to exp(score / scale)."""

    @property
    def event(self) -> BoundedRange:
        """An ε-bounded-range selection."""
        return BoundedRange(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Sequence[Score]], /, *, source: Source) -> Candidate:
        """One candidate, with exactly the probabilities of the theorem."""
        scores = open_scores(value, count=len(self.candidates))
        return self.candidates[draw_exponential(gaps_below_best(scores=scores, scale=self.scale), source=source)]


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityBound:
    """Pr[score of the choice <= threshold] <= failure; `corollary` is the threshold when optima are not counted."""

    threshold: float
    corollary: float
    failure: float


def exponential_utility_bound(
    *, scores: Sequence[Number], sensitivity: Number, epsilon: Number, monotonic: bool, t: Number
) -> UtilityBound:
    """How far below the best score the choice may fall, except with probability exp(−t).

    Theorem   Dwork, Roth (2014), Thm 3.11:  OPT − scale·(ln(|R| / |R_OPT|) + t); Cor 3.12 takes |R_OPT| = 1 (the
              weaker of the two). scale = 2Δ/ε, or Δ/ε for monotone scores.
    Requires  t >= 0 and the preconditions of the mechanism.
    Rounds    thresholds down and the failure probability up: the statement stays true.
    """
    scale = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    require_non_negative(t=t)
    gaps = gaps_below_best(scores=scores, scale=scale)
    best, optima = max(exact(score) for score in scores), gaps.count(Fraction(0))
    slack = [log_bounds(Fraction(len(gaps), n))[1] + exact(t) for n in (optima, 1)]
    failure = exp_negative_fixed(min(exact(t), Fraction(800)), bits=1400)[1]
    return UtilityBound(
        threshold=round_down(best - scale * slack[0]),
        corollary=round_down(best - scale * slack[1]),
        failure=round_up(Fraction(failure, 1 << 1400)),
    )
