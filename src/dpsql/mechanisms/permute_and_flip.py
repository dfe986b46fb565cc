"""Permute-and-flip: candidates in random order, each accepted with a chance that falls with its distance from best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np

from dpsql.mechanisms.quadrature import gauss_legendre
from dpsql.mechanisms.scores import Score, Selection, gaps_below_best, open_scores, require_candidates
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_down
from dpsql.randomness import Source, bernoulli_exp, shuffled
from dpsql.require import Number

Candidate = TypeVar("Candidate")

LARGEST_LAW: Final = 1000
"""The longest list whose output law is computed; selecting from longer ones is quick."""


def permute_and_flip_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    """The probability of each candidate under permute-and-flip, which is also that of the largest score plus
    exponential noise of mean `scale`.

    Theorem   McKenna, Sheldon (2020); Ding et al. (2021):  p_i = q_i · ∫₀¹ Π_{j≠i} (1 − t·q_j) dt with
              q = exp(−(best − score) / scale). The integrand is a polynomial: Gauss-Legendre is exact.
    Requires  1 to 1000 finite scores; scale > 0.
    Rounds    to nearest, within 1e-12 relative: every term is positive.
    """
    gaps = gaps_below_best(scores=scores, scale=scale)
    require_candidates(len(gaps), at_most=LARGEST_LAW)
    accepted = np.exp(-np.array([round_down(gap) for gap in gaps]))
    nodes, weights = gauss_legendre(len(gaps) // 2 + 1)
    rejected = 1 - nodes[:, None] * accepted  # nodes lie strictly inside (0, 1): no factor is 0
    others = np.log(rejected).sum(axis=1, keepdims=True) - np.log(rejected)
    return [float(p) for p in accepted * (weights @ np.exp(others))]


def draw_permute_and_flip(gaps: Sequence[Fraction], *, source: Source) -> int:
    """The first index, in uniformly random order, whose coin of probability exp(−gap) shows heads.

    Theorem   McKenna, Sheldon (2020), Algorithm 1. A gap of 0 always shows heads, so one pass suffices.
    Requires  gaps >= 0, at least one of them 0.
    Rounds    nothing: order and coins are exact.
    """
    order = iter(shuffled(len(gaps), source=source))
    index = next(order)
    while not bernoulli_exp(gaps[index], source=source):
        index = next(order)
    return index


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip(Selection[Candidate]):
    """Chooses one of a finite list of public candidates; never worse in expectation than the exponential mechanism."""

    @property
    def event(self) -> Pure:
        """ε-DP. Not of bounded range: over two candidates the loss already varies by more than ε."""
        return Pure(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Sequence[Score]], /, *, source: Source) -> Candidate:
        """One candidate, with exactly the probabilities of the theorem."""
        scores = open_scores(value, count=len(self.candidates))
        gaps = gaps_below_best(scores=scores, scale=self.scale)
        return self.candidates[draw_permute_and_flip(gaps, source=source)]
