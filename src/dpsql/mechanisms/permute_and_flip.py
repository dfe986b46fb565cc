"""Permute-and-flip: candidates in random order, each accepted with a chance that falls with its distance from best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpsql.mechanisms.scores import Score, Selection, gaps_below_best, open_scores
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.randomness import Source, bernoulli_exp, shuffled

Candidate = TypeVar("Candidate")


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
