"""Report noisy max: the index of the largest score after noise. The noisy scores themselves are never released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpsql.mechanisms.exponential import draw_exponential
from dpsql.mechanisms.permute_and_flip import draw_permute_and_flip
from dpsql.mechanisms.scores import Score, Selection, gaps_below_best, open_scores
from dpsql.privacy.events import BoundedRange, Event, Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.randomness import Source, discrete_laplace, shuffled
from dpsql.require import unmet

Candidate = TypeVar("Candidate")


def _draw_laplace(scores: Sequence[Fraction], scale: Fraction, source: Source) -> int:
    """The largest score after discrete Laplace noise; among equals, the first in an order drawn beforehand.

    A score between whole numbers counts as the one below: scores that moved by at most a whole Δ still do. To refuse
    it would be an answer about the data.
    """
    order = shuffled(len(scores), source=source)
    noise = discrete_laplace(scale=scale, size=len(scores), source=source)
    noisy = [math.floor(score) + int(z) for score, z in zip(scores, noise, strict=True)]
    best = max(noisy)
    return next(index for index in order if noisy[index] == best)


def _draw_by_gaps(draw: Callable[..., int]) -> Callable[[Sequence[Fraction], Fraction, Source], int]:
    return lambda scores, scale, source: draw(gaps_below_best(scores=scores, scale=scale), source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """One kind of noise: how the winner is drawn, and what the draw costs."""

    draw: Callable[[Sequence[Fraction], Fraction, Source], int]
    event: type[Pure] | type[BoundedRange]


NOISES: Mapping[str, Noise] = {
    "laplace": Noise(draw=_draw_laplace, event=Pure),
    "gumbel": Noise(draw=_draw_by_gaps(draw_exponential), event=BoundedRange),
    "exponential": Noise(draw=_draw_by_gaps(draw_permute_and_flip), event=Pure),
}


def _noise(name: str) -> Noise:
    if not isinstance(name, str) or name not in NOISES:
        raise unmet(f"noise={name!r} must be one of {', '.join(sorted(NOISES))}")
    return NOISES[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax(Selection[Candidate]):
    """Chooses the public candidate whose score is largest after noise.

    laplace: scores and Δ in whole numbers, discrete Laplace noise, ties to a random order. gumbel and exponential:
    drawn by their exact equivalents, the exponential mechanism and permute-and-flip, on whole or rational scores.
    """

    noise: str

    def __post_init__(self) -> None:
        Selection.__post_init__(self)
        _noise(self.noise)
        if self.noise == "laplace" and exact(self.sensitivity).denominator != 1:
            raise unmet(f"sensitivity={self.sensitivity!r} must be a whole number for Laplace noise")

    @property
    def event(self) -> Event:
        """ε-DP; with Gumbel noise also of bounded range."""
        return _noise(self.noise).event(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Sequence[Score]], /, *, source: Source) -> Candidate:
        """One candidate; neither its score nor its noise."""
        scores = open_scores(value, count=len(self.candidates))
        return self.candidates[_noise(self.noise).draw(scores, self.scale, source)]
