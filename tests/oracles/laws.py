"""The laws of selections by numeric integration and enumeration: what mechanisms are measured by."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpsql.errors import BadParameter
from dpsql.mechanisms.exponential import exponential_log_probabilities
from dpsql.mechanisms.scores import gaps_below_best, require_candidates
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number, require_count, require_numbers, require_positive
from tests.oracles.quadrature import Floats, gauss_legendre, log_laplace, panels

REACH: Final = 40.0  # beyond 40 scales lies less than exp(-40) of any probability
UNDERFLOW: Final = 800.0  # exp(-800) is 0 in double precision
LARGEST_SUM: Final = 5_000_000
LARGEST_LAW: Final = 1000
NARROWEST: Final = Fraction(1, 2000)  # a discrete draw of this scale is 0: exp(-2000) is 0 in double precision


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


def _gumbel_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    return [math.exp(log) for log in exponential_log_probabilities(scores=scores, scale=scale)]


NOISES: Final[Mapping[str, Callable[..., list[float]]]] = {
    "laplace": laplace_noisy_max_probabilities,
    "gumbel": _gumbel_probabilities,
    "exponential": permute_and_flip_probabilities,
}


def noisy_max_probabilities(*, scores: Sequence[Number], scale: Number, noise: str) -> list[float]:
    """Pr[i is the largest] after continuous noise of the given scale on each score.

    Theorem   laplace: numeric integration; gumbel: the exponential mechanism (Durfee, Rogers 2019); exponential:
              permute-and-flip (Ding et al. 2021).
    Requires  finite scores, at least one; scale > 0; noise: "laplace", "gumbel" or "exponential".
    Rounds    to nearest, within 1e-9 relative. For the auditor's eye.
    """
    return NOISES[noise](scores=scores, scale=scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAbove:
    """Where the first positive answer falls: one probability per query, and that of none."""

    at: tuple[float, ...]
    none: float


def first_above_probabilities(
    *, queries: Sequence[Number], threshold: Number, threshold_scale: Number, query_scale: Number
) -> FirstAbove:
    """The law of the first positive answer with continuous Laplace noise on threshold and queries.

    Theorem   Pr[first = i] = ∫ f(z) Π_{j<i} Pr[ν < T + z − q_j] · Pr[ν >= T + z − q_i] dz, smooth between 0 and
              the q_j − T.
    Requires  finite queries, at least one, within some thousand scales of the threshold; scales > 0.
    Rounds    to nearest, within 1e-9 relative. For the auditor's eye.
    """
    require_numbers(queries=queries)
    require_positive(threshold_scale=threshold_scale, query_scale=query_scale)
    unit = exact(threshold_scale)
    at = [round_up((exact(query) - exact(threshold)) / unit) for query in queries]
    ratio = round_up(exact(query_scale) / unit)
    if not all(map(math.isfinite, [*at, ratio])) or ratio == 0:
        raise BadParameter(
            "queries or scales are too far apart for numeric integration",
            why="their quotient is not a floating-point number",
            fix="compare queries within some thousand scales of the threshold",
        )
    left, right = min(0.0, *at) - REACH, max(0.0, *at) + REACH
    z, weights = panels(breaks=[0.0, *at], left=left, right=right, width=min(1.0, ratio))
    log_density = -np.abs(z) - math.log(2)
    first = list[float]()
    for one in at:
        below, above = log_laplace((z - one) / ratio)
        first.append(float(weights @ np.exp(log_density + above)))
        log_density = log_density + below
    return FirstAbove(at=tuple(first), none=float(weights @ np.exp(log_density)))
