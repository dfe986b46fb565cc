"""The exponential mechanism: a candidate chosen with probability growing exponentially in its score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Final, Generic, TypeVar

from dpsql.enclosure import exp_negative_fixed, log_bounds
from dpsql.errors import BadParameter
from dpsql.mechanisms.scores import Score, gaps_below_best, open_scores, require_flag, selection_scale
from dpsql.privacy.events import BoundedRange
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import Source, bernoulli_exp, uniform_below
from dpsql.require import Number, require_count, require_non_negative, require_positive

Candidate = TypeVar("Candidate")
Row = TypeVar("Row")

LARGEST_DOMAIN: Final = 200_000


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
class ExponentialMechanism(Generic[Candidate]):
    """Chooses one of a finite list of public candidates, by scores of which none moves more than `sensitivity`.

    The list and its order are public and fixed before the data is read. `max_candidates` is the caller's limit on
    its length: accuracy falls with ln(length) and the draw takes time proportional to it.
    """

    candidates: Sequence[Candidate]
    sensitivity: Number
    epsilon: Number
    monotonic: bool
    max_candidates: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", tuple(self.candidates))
        require_count(max_candidates=self.max_candidates)
        require_candidates(len(self.candidates), at_most=self.max_candidates)
        selection_scale(sensitivity=self.sensitivity, epsilon=self.epsilon, monotonic=self.monotonic)

    @property
    def scale(self) -> Fraction:
        """The unit of the exponent: 2Δ/ε, or Δ/ε for monotone scores."""
        return selection_scale(sensitivity=self.sensitivity, epsilon=self.epsilon, monotonic=self.monotonic)

    @property
    def event(self) -> BoundedRange:
        """An ε-bounded-range selection."""
        return BoundedRange(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Sequence[Score]], /, *, source: Source) -> Candidate:
        """One candidate, with exactly the probabilities of the theorem."""
        scores = open_scores(value, count=len(self.candidates))
        return self.candidates[draw_exponential(gaps_below_best(scores=scores, scale=self.scale), source=source)]


def require_candidates(count: int, *, at_most: int) -> None:
    """A list of candidates is neither empty nor longer than the caller's own limit."""
    if not 1 <= count <= at_most:
        raise BadParameter(
            f"{count} candidates; from 1 to {at_most} can be chosen from",
            why="with none there is nothing to choose, with too many the choice is close to random and slow",
            fix="shorten the list, make it coarser, or raise the limit knowingly",
        )


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


def wrong_outcome_bound(*, gap: Number, candidates: int, sensitivity: Number, epsilon: Number) -> tuple[float, float]:
    """(t, bound): a candidate `gap` or more below the best is chosen with probability at most bound = exp(−t).

    Theorem   Dwork, Roth (2014), Cor 3.12, solved for t:  t = ε·gap / 2Δ − ln |R|,  bound = |R|·exp(−ε·gap / 2Δ).
    Requires  gap >= 0; a bound above 1 (t < 0) says nothing.
    Rounds    t down, the bound up.
    """
    require_non_negative(gap=gap)
    require_count(candidates=candidates)
    exponent = exact(gap) / selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=False)
    t = exponent - log_bounds(Fraction(candidates))[1]
    bound = candidates * Fraction(exp_negative_fixed(min(exponent, Fraction(800)), bits=1400)[1], 1 << 1400)
    return round_down(t), round_up(bound)


Utility = Callable[[tuple[Row, ...], Candidate], Number]


def utility_movements(
    *,
    utility: Utility[Row, Candidate],
    candidates: Sequence[Candidate],
    domain: Sequence[Row],
    size: int,
    neighbours: Neighbours,
) -> Iterator[tuple[Fraction, ...]]:
    """For every pair of neighbouring databases over a small domain, how far each candidate's score moves.

    Databases are multisets; under add_remove they have up to `size` rows and one more, under change_one exactly `size`.
    """
    require_count(size=size, at_most=64)
    databases = math.comb(len(domain) + size, size)
    if not domain or not candidates or databases * len(domain) ** 2 * size > LARGEST_DOMAIN:
        raise BadParameter(
            "the domain is empty or too large to be enumerated",
            why="every pair of neighbours is visited",
            fix="check the score on a handful of values and rows",
        )

    def scores(rows: tuple[Row, ...]) -> list[Fraction]:
        return [exact(utility(rows, candidate)) for candidate in candidates]

    def moved(before: list[Fraction], after: list[Fraction]) -> tuple[Fraction, ...]:
        return tuple(new - old for old, new in zip(before, after, strict=True))

    lengths = range(size + 1) if neighbours is Neighbours.ADD_REMOVE else [size - 1]
    for length in lengths:
        for rest in combinations_with_replacement(domain, length):
            with_one = [scores((*rest, row)) for row in domain]
            if neighbours is Neighbours.ADD_REMOVE:
                without = scores(rest)
                yield from (moved(without, after) for after in with_one)
            else:
                yield from (moved(before, after) for before in with_one for after in with_one)


def utility_sensitivity(
    *,
    utility: Utility[Row, Candidate],
    candidates: Sequence[Candidate],
    domain: Sequence[Row],
    size: int,
    neighbours: Neighbours,
) -> tuple[Fraction, bool]:
    """(Δ, monotone) of a score function on every small database over `domain`: what a declared Δ must not be below.

    Theorem   Dwork, Roth (2014), Def 3.4:  Δ = max over candidates and neighbours of |u(D, r) − u(D', r)|.
    Requires  a domain and a size small enough to be enumerated. A larger database may move more: the value refutes
              a declaration that is too small, it proves one only for this domain and size.
    Rounds    nothing.
    """
    largest, together = Fraction(0), True
    for movement in utility_movements(
        utility=utility, candidates=candidates, domain=domain, size=size, neighbours=neighbours
    ):
        largest = max(largest, *map(abs, movement))
        together = together and (min(movement) >= 0 or max(movement) <= 0)
    return largest, together


def require_declared_sensitivity(
    *,
    declared: Number,
    monotonic: bool,
    utility: Utility[Row, Candidate],
    candidates: Sequence[Candidate],
    domain: Sequence[Row],
    size: int,
    neighbours: Neighbours,
) -> None:
    """Refuses a declared sensitivity, or a claim to be monotone, that some small pair of neighbours contradicts."""
    require_positive(declared=declared)
    require_flag(monotonic=monotonic)
    largest, together = utility_sensitivity(
        utility=utility, candidates=candidates, domain=domain, size=size, neighbours=neighbours
    )
    if largest > exact(declared) or (monotonic and not together):
        raise BadParameter(
            f"the declared sensitivity {declared!r} (monotonic={monotonic}) does not hold",
            why=f"two neighbouring databases move a score by {largest}; all move together: {together}",
            fix="declare the largest move of any score under your neighbour relation",
        )
