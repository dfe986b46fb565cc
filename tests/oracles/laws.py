"""The laws of selections by numeric integration and enumeration: what mechanisms are measured by."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.exponential import exponential_log_probabilities
from dpsql.privacy.rounding import exact
from dpsql.require import Number

Floats = NDArray[np.float64]

REACH: Final = 40.0
"""Beyond 40 scales lies less than exp(-40) of any probability."""


def permute_and_flip_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    """p_i = q_i · ∫₀¹ Π_{j≠i} (1 − t·q_j) dt with q = exp(−(best − score)/scale) (McKenna, Sheldon 2020).

    Also the law of the largest score plus exponential noise of mean `scale` (Ding et al. 2021). The integrand is a
    polynomial, for which Gauss-Legendre is exact.
    """
    heads = np.exp(_above_best(scores, scale))
    nodes, weights = _gauss_legendre(len(scores) // 2 + 1)
    tails = 1 - nodes[:, None] * heads
    return [float(p) for p in heads * (weights @ (tails.prod(axis=1, keepdims=True) / tails))]


def laplace_noisy_max_probabilities(*, scores: Sequence[Number], scale: Number) -> list[float]:
    """Continuous Laplace noise on each score: p_i = ∫ f(x − s_i) Π_{j≠i} F(x − s_j) dx, smooth between the scores."""
    at, far = _above_best(scores, scale), REACH + math.log(len(scores))
    x, weights = _panels(breaks=map(float, at), left=float(at.min()) - far, right=far, width=1.0)
    below = [_log_laplace(x - one)[0] for one in at]
    everyone = np.sum(below, axis=0)
    return [float(weights @ np.exp(everyone - mine - np.abs(x - one)) / 2) for one, mine in zip(at, below, strict=True)]


def discrete_noisy_max_probabilities(*, scores: Sequence[int], scale: Number) -> list[float]:
    """Discrete Laplace noise on each score, ties to a random order.

    With a uniform priority t for each candidate, i beats the ties of lower priority:
    p_i = Σ_x Pr[s_i + Z_i = x] ∫₀¹ Π_{j≠i} (Pr[s_j + Z_j < x] + t·Pr[s_j + Z_j = x]) dt.
    """
    b = float(scale)
    far = math.ceil((REACH + math.log(len(scores))) * b) + 1
    offset = np.arange(min(scores) - far, max(scores) + far + 1) - np.array(scores)[:, None]
    p = math.exp(-1 / b)
    exactly = -math.expm1(-1 / b) / (1 + p) * np.exp(-np.abs(offset) / b)
    left, right = np.exp(np.minimum(offset - 1, 0) / b), np.exp(-np.maximum(offset, 0) / b)
    less = np.where(offset <= 0, left / (1 + p), 1 - right / (1 + p))
    nodes, weights = _gauss_legendre(len(scores) // 2 + 1)
    beaten = less[:, :, None] + exactly[:, :, None] * nodes
    others = np.exp(np.log(beaten).sum(axis=0) - np.log(beaten))
    return [float(one) for one in (exactly * (others @ weights)).sum(axis=1)]


def noisy_max_probabilities(*, scores: Sequence[Number], scale: Number, noise: str) -> list[float]:
    """Continuous noise on each score; with Gumbel noise it is the exponential mechanism (Durfee, Rogers 2019)."""
    if noise == "gumbel":
        return [math.exp(log) for log in exponential_log_probabilities(scores=scores, scale=scale)]
    laws = {"laplace": laplace_noisy_max_probabilities, "exponential": permute_and_flip_probabilities}
    return laws[noise](scores=scores, scale=scale)


class FirstAbove(NamedTuple):
    """Where the first positive answer falls: one probability per query, and that of none."""

    at: tuple[float, ...]
    none: float


def first_above_probabilities(
    *, queries: Sequence[Number], threshold: Number, threshold_scale: Number, query_scale: Number
) -> FirstAbove:
    """The law of the first positive answer with continuous Laplace noise on threshold and queries.

    Pr[first = i] = ∫ f(z) Π_{j<i} Pr[ν < T + z − q_j] · Pr[ν >= T + z − q_i] dz, smooth between 0 and the q_j − T.
    """
    unit = exact(threshold_scale)
    at = [float((exact(query) - exact(threshold)) / unit) for query in queries]
    ratio = float(exact(query_scale) / unit)
    left, right = min(0.0, *at) - REACH, max(0.0, *at) + REACH
    z, weights = _panels(breaks=[0.0, *at], left=left, right=right, width=min(1.0, ratio))
    log_density, first = -np.abs(z) - math.log(2), []
    for one in at:
        below, above = _log_laplace((z - one) / ratio)
        first.append(float(weights @ np.exp(log_density + above)))
        log_density = log_density + below
    return FirstAbove(at=tuple(first), none=float(weights @ np.exp(log_density)))


def _above_best(scores: Sequence[Number], scale: Number) -> Floats:
    """Each score less the best one, in scales."""
    best = max(map(exact, scores))
    return np.array([float((exact(score) - best) / exact(scale)) for score in scores])


@lru_cache(maxsize=64)
def _gauss_legendre(order: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1], exact for polynomials of degree below 2·order."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2


def _panels(*, breaks: Iterable[float], left: float, right: float, width: float) -> tuple[Floats, Floats]:
    """Nodes and weights on [left, right]: Gauss-Legendre on panels at most `width` wide that cross no break."""
    edges = sorted({left, right, *(edge for edge in breaks if left < edge < right)})
    steps = [np.linspace(low, high, math.ceil((high - low) / width) + 1)[:-1] for low, high in pairwise(edges)]
    cuts = np.concatenate([*steps, [right]])
    nodes, weights = _gauss_legendre(24)
    widths = np.diff(cuts)[:, None]
    return (cuts[:-1, None] + widths * nodes).ravel(), (widths * weights).ravel()


def _log_laplace(x: Floats) -> tuple[Floats, Floats]:
    """(ln Pr[L < x], ln Pr[L >= x]) of the Laplace law of scale 1."""
    small = -np.abs(x) - math.log(2)
    large = np.log1p(-np.exp(small))
    return np.where(x < 0, small, large), np.where(x < 0, large, small)
