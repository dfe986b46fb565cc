"""What every selection starts from: public candidates, one exact score for each, and the scale its noise needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Generic, TypeAlias, TypeVar

from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.whole import listed_once, require_listed
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_flag,
    require_numbers,
    require_positive,
    require_that,
    unmet,
)

Candidate = TypeVar("Candidate")

Score: TypeAlias = int | Fraction
"""A score that decides a selection. Floats are refused: whoever rounded them has already lost the sensitivity."""

MONOTONE: dict[tuple[str, Neighbours], bool] = {
    ("counts", Neighbours.ADD_REMOVE): True,
    ("non_negative_sums", Neighbours.ADD_REMOVE): True,
    ("non_positive_sums", Neighbours.ADD_REMOVE): True,
    ("general", Neighbours.ADD_REMOVE): False,
    ("counts", Neighbours.CHANGE_ONE): False,
    ("non_negative_sums", Neighbours.CHANGE_ONE): False,
    ("non_positive_sums", Neighbours.CHANGE_ONE): False,
    ("general", Neighbours.CHANGE_ONE): False,
}
"""Which scores move together. A newcomer can only raise counts; a replacement raises some and lowers others."""


def scores_are_monotone(*, kind: str, neighbours: Neighbours) -> bool:
    """Whether, between any two neighbours, all scores of this kind rise together or fall together.

    Theorem   adding a unit adds contributions of one sign; replacing one adds some and takes others away.
    Requires  kind: "counts", "non_negative_sums" or "non_positive_sums" (sums of clamped contributions of that
              sign), or "general".
    Rounds    nothing.
    """
    if not isinstance(kind, str) or not isinstance(neighbours, Neighbours) or (kind, neighbours) not in MONOTONE:
        raise unmet(f"no score of kind {kind!r} under {neighbours!r} is known")
    return MONOTONE[kind, neighbours]


def selection_scale(*, sensitivity: Number, epsilon: Number, monotonic: bool) -> Fraction:
    """The scale of the noise (or of the exponent) that makes a selection ε-DP.

    Theorem   Dwork, Roth (2014), Claim 3.9 and Thm 3.10:  2·Δ/ε;  Δ/ε where all scores move in one direction
              (McKenna, Sheldon 2020).
    Requires  epsilon > 0; sensitivity > 0, the largest move of one score between neighbours.
    Rounds    nothing: the scale is an exact rational.
    """
    require_epsilon(epsilon=epsilon)
    require_positive(sensitivity=sensitivity)
    require_flag(monotonic=monotonic)
    return (1 if monotonic else 2) * exact(sensitivity) / exact(epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Generic[Candidate]):
    """What every selection is calibrated with: public candidates, and scores of which none moves over `sensitivity`.

    The list and its order are public and fixed before the data is read. `max_candidates` is the caller's limit on
    its length: accuracy falls with ln(length) and the draw takes time proportional to it.
    """

    candidates: Sequence[Candidate]
    sensitivity: Number
    epsilon: Number
    monotonic: bool
    max_candidates: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", listed_once(self.candidates, name="candidates"))
        require_count(max_candidates=self.max_candidates)
        require_candidates(len(self.candidates), at_most=self.max_candidates)
        selection_scale(sensitivity=self.sensitivity, epsilon=self.epsilon, monotonic=self.monotonic)

    @property
    def scale(self) -> Fraction:
        """Of the noise, or of the exponent: 2Δ/ε, or Δ/ε for monotone scores."""
        return selection_scale(sensitivity=self.sensitivity, epsilon=self.epsilon, monotonic=self.monotonic)


def require_candidates(count: int, *, at_most: int) -> None:
    """A list of candidates is neither empty nor longer than the caller's own limit."""
    require_that(1 <= count <= at_most, f"from 1 to {at_most}", candidates=count)


def open_scores(value: Exact[Sequence[Score]], *, count: int) -> list[Fraction]:
    """The scores inside `value`, as exact rationals, one per candidate. Complaints name no score."""
    scores = opened(value)
    require_listed(scores, name="the scores")
    require_that(len(scores) == count, f"the scores do not match the {count} candidates")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, (Integral, Fraction)):
            raise unmet(f"a score is a {type(score).__name__}; scores are ints or Fractions")
    return [score if isinstance(score, Fraction) else Fraction(int(score)) for score in scores]


def gaps_below_best(*, scores: Sequence[Number], scale: Number) -> list[Fraction]:
    """(max − score) / scale for each score: 0 for the best, the exponent of every selection.

    Theorem   exp(−gap) is the weight of the exponential mechanism, divided by that of the best candidate.
    Requires  finite scores, at least one; scale > 0.
    Rounds    nothing: rationals.
    """
    require_numbers(scores=scores)
    require_positive(scale=scale)
    exactly = [exact(score) for score in scores]
    best, unit = max(exactly), exact(scale)
    return [(best - score) / unit for score in exactly]
