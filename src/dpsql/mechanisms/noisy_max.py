"""Report noisy max: the index of the largest score after noise. The noisy scores themselves are never released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np

from dpsql.errors import BadParameter
from dpsql.mechanisms.exponential import draw_exponential, exponential_log_probabilities
from dpsql.mechanisms.permute_and_flip import LARGEST_LAW, draw_permute_and_flip, permute_and_flip_probabilities
from dpsql.mechanisms.quadrature import Floats, gauss_legendre, log_laplace, panels
from dpsql.mechanisms.scores import Score, Selection, gaps_below_best, open_scores, require_candidates
from dpsql.privacy.events import BoundedRange, Event, Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_down
from dpsql.randomness import Source, discrete_laplace, shuffled
from dpsql.require import Number, require_count, require_numbers, require_positive

Candidate = TypeVar("Candidate")

REACH: Final = 40.0  # beyond 40 scales lies less than exp(-40) of any probability
UNDERFLOW: Final = 800.0  # exp(-800) is 0 in double precision
LARGEST_SUM: Final = 5_000_000
NARROWEST: Final = Fraction(1, 2000)  # a discrete draw of this scale is 0: exp(-2000) is 0 in double precision


def laplace_noisy_max_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    """Pr[i is the largest] after continuous Laplace(scale) noise on each score.

    Theorem   p_i = ∫ f(x − s_i) Π_{j≠i} F(x − s_j) dx, smooth between the scores.
    Requires  1 to 1000 finite scores; scale > 0.
    Rounds    to nearest, within 1e-9 relative for probabilities above 1e-300. For the auditor's eye.
    """
    gaps = gaps_below_best(scores=scores, scale=scale)
    require_candidates(len(gaps), at_most=LARGEST_LAW)
    at = -np.minimum([round_down(gap) for gap in gaps], UNDERFLOW)
    far = REACH + math.log(len(gaps))
    x, weights = panels(breaks=map(float, at), left=float(at.min()) - far, right=far, width=1.0)
    below = [log_laplace(x - one)[0] for one in at]
    everyone = np.sum(below, axis=0)
    return [float(weights @ np.exp(everyone - mine - np.abs(x - one)) / 2) for one, mine in zip(at, below, strict=True)]


def discrete_noisy_max_probabilities(*, scores: Sequence[int], scale: Number) -> list[float]:
    """Pr[i is released] by the mechanism as implemented: discrete Laplace noise, ties to a random order.

    Theorem   p_i = Σ_x Pr[s_i + Z_i = x] ∫₀¹ Π_{j≠i} (Pr[s_j + Z_j < x] + t·Pr[s_j + Z_j = x]) dt: with a uniform
              priority t for each candidate, i beats the ties of lower priority.
    Requires  1 to 1000 integer scores, not too many scales apart; scale > 0.
    Rounds    to nearest, within 1e-10 relative for probabilities above 1e-300: all terms are positive.
    """
    require_numbers(scores=scores)
    require_positive(scale=scale)
    for score in scores:
        require_count(score=score, at_least=-(2**53))
    require_candidates(len(scores), at_most=LARGEST_LAW)
    width = max(exact(scale), NARROWEST)
    far = math.ceil(exact(REACH + math.log(len(scores))) * width) + 1
    low, high = min(scores) - far, max(scores) + far
    nodes, weights = gauss_legendre(len(scores) // 2 + 1)
    if (high - low + 1) * len(scores) * len(nodes) > LARGEST_SUM:
        raise BadParameter(
            "the scores are too many or too far apart for exact enumeration",
            why=f"more than {LARGEST_SUM} terms would be added",
            fix="audit the mechanism on fewer candidates or a smaller range",
        )
    x, b = np.arange(low, high + 1, dtype=np.int64), float(width)
    offset = x - np.array(scores, dtype=np.int64)[:, None]
    p = math.exp(-1 / b)
    exactly = -math.expm1(-1 / b) / (1 + p) * np.exp(-np.abs(offset) / b)
    less = _discrete_laplace_below(offset, b)
    with np.errstate(divide="ignore"):  # a probability that underflows to 0 may have the logarithm −inf
        beaten = np.log(less[:, :, None] + exactly[:, :, None] * nodes)
    everyone = beaten.sum(axis=0)
    return [
        float(np.sum(exactly[i, :, None] * weights * np.exp(_without(everyone, beaten[i])))) for i in range(len(scores))
    ]


def _without(everyone: Floats, mine: Floats) -> Floats:
    """Σ − one term, where a term of −inf means that nothing is left either way."""
    return np.where(np.isneginf(mine), -np.inf, everyone - np.where(np.isneginf(mine), 0.0, mine))


def _discrete_laplace_below(y: np.ndarray[tuple[int, ...], np.dtype[np.int64]], b: float) -> Floats:
    """Pr[Z < y] for Pr[Z = z] proportional to exp(−|z| / b)."""
    share = 1 / (1 + math.exp(-1 / b))
    left = np.exp(-(1 - np.minimum(y, 0)) / b) * share
    right = 1 - np.exp(-np.maximum(y, 1) / b) * share
    return np.where(y <= 0, left, right)


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


def _draw_gumbel(scores: Sequence[Fraction], scale: Fraction, source: Source) -> int:
    return draw_exponential(gaps_below_best(scores=scores, scale=scale), source=source)


def _draw_one_sided(scores: Sequence[Fraction], scale: Fraction, source: Source) -> int:
    return draw_permute_and_flip(gaps_below_best(scores=scores, scale=scale), source=source)


def _gumbel_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    return [math.exp(log) for log in exponential_log_probabilities(scores=scores, scale=scale)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """One kind of noise: the law of the winner, how the winner is drawn, and what the draw costs."""

    probabilities: Callable[..., list[float]]
    draw: Callable[[Sequence[Fraction], Fraction, Source], int]
    event: type[Pure] | type[BoundedRange]


NOISES: Mapping[str, Noise] = {
    "laplace": Noise(probabilities=laplace_noisy_max_probabilities, draw=_draw_laplace, event=Pure),
    "gumbel": Noise(probabilities=_gumbel_probabilities, draw=_draw_gumbel, event=BoundedRange),
    "exponential": Noise(probabilities=permute_and_flip_probabilities, draw=_draw_one_sided, event=Pure),
}


def _noise(name: str) -> Noise:
    if not isinstance(name, str) or name not in NOISES:
        raise BadParameter(
            f"noise={name!r} is not known",
            why="each noise has its own proof",
            fix=f"choose one of {', '.join(sorted(NOISES))}",
        )
    return NOISES[name]


def noisy_max_probabilities(*, scores: Sequence[Number], scale: Number, noise: str) -> list[float]:
    """Pr[i is the largest] after continuous noise of the given scale on each score.

    Theorem   laplace: numeric integration; gumbel: the exponential mechanism (Durfee, Rogers 2019); exponential:
              permute-and-flip (Ding et al. 2021).
    Requires  finite scores, at least one; scale > 0; noise: "laplace", "gumbel" or "exponential".
    Rounds    to nearest, within 1e-9 relative. For the auditor's eye.
    """
    return _noise(noise).probabilities(scores=scores, scale=scale)


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
            raise BadParameter(
                f"sensitivity={self.sensitivity!r} must be a whole number for Laplace noise",
                why="discrete Laplace noise hides moves of whole units only",
                fix="state the scores and the sensitivity in grains, or use gumbel or exponential noise",
            )

    @property
    def event(self) -> Event:
        """ε-DP; with Gumbel noise also of bounded range."""
        return _noise(self.noise).event(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Sequence[Score]], /, *, source: Source) -> Candidate:
        """One candidate; neither its score nor its noise."""
        scores = open_scores(value, count=len(self.candidates))
        return self.candidates[_noise(self.noise).draw(scores, self.scale, source)]
