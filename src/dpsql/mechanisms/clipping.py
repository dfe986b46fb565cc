"""Sums of vectors, one per person (gradients, say): clip each to an L2 norm, add them up, add Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import VectorDiscreteGaussianMechanism, sigma_squared_for_rho
from dpsql.mechanisms.whole import LARGEST_WHOLE
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.randomness import SYSTEM, Source
from dpsql.require import Number, require_count, require_positive
from dpsql.sensitivity.grain import RESOLUTION, Grain, power_of_two_below

CONFIDENCE: Final = Fraction(95, 100)
LARGEST_DIMENSION: Final = 10**7
_FACTOR_BITS: Final = 64  # of the factor a long vector is multiplied with
_COORDINATE: Final = 2**40  # a coordinate beyond this many norms is cut there before the vector is clipped


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedSum:
    """A released vector: all coordinates are within `margin` of the clipped sum at once with 95 % probability."""

    values: tuple[float, ...]
    margin: float
    rho: Fraction
    neighbours: Neighbours


def clip_to_l2(coordinates: Sequence[int], *, radius: int) -> list[int]:
    """The vector, scaled into the ball of L2 norm `radius` where it lies outside, coordinates cut toward 0.

    Theorem   docs/theorems/clip_and_noise.md: with s = isqrt(n·4^b) + 1 > sqrt(n)·2^b, n the squared norm, each
              |c|·radius·2^b // s is at most |c|·radius/sqrt(n), so the squares add up to at most radius².
    Requires  whole numbers, radius >= 0.
    Rounds    toward 0.
    """
    require_count(at_least=0, at_most=LARGEST_WHOLE, radius=radius)
    squared = sum(c * c for c in coordinates)
    if squared <= radius * radius:
        return list(coordinates)
    longer = math.isqrt(squared << 2 * _FACTOR_BITS) + 1
    clipped = [(abs(c) * radius << _FACTOR_BITS) // longer * (1 if c >= 0 else -1) for c in coordinates]
    if sum(c * c for c in clipped) > radius * radius:
        raise InternalError("a clipped vector is longer than its bound")
    return clipped


def clip_and_noise(
    vectors: Iterable[object],
    *,
    dimensions: int,
    clip: Number,
    rho: Number,
    neighbours: Neighbours,
    source: Source = SYSTEM,
) -> ClippedSum:
    """The sum of `vectors`, one per protected unit, each clipped to L2 norm `clip`, with discrete Gaussian noise.

    A coordinate without a value counts as 0, and so does a vector of another length: neither is an error, because
    an error that depends on a row would be an answer about it.

    Theorem   docs/theorems/clip_and_noise.md: one unit moves the sum by at most `clip` (add_remove) or 2·`clip`
              (change_one) in L2 norm, so σ² = distance²/2ρ per coordinate is ρ-zCDP.
    Requires  dimensions, clip > 0, rho > 0 and the neighbour relation, all chosen without looking at the vectors.
    Rounds    coordinates to the grain, at least 2**20 to the norm; the norm down; the margin up.
    """
    require_count(at_most=LARGEST_DIMENSION, dimensions=dimensions)
    require_positive(clip=clip, rho=rho)
    limit = exact(clip)
    grain_size = power_of_two_below(limit / 2**RESOLUTION)
    radius = math.floor(limit / grain_size)
    l2_squared = (radius * _distance(neighbours)) ** 2
    mechanism = VectorDiscreteGaussianMechanism(
        sigma_squared=sigma_squared_for_rho(rho=rho, l2_squared=l2_squared),
        l2_squared=l2_squared,
        dimensions=dimensions,
    )
    total = Exact(_clipped_sum(vectors, grain_size=grain_size, radius=radius, dimensions=dimensions))
    released = mechanism.release(total, source=source)
    margin = mechanism.law.margin(confidence=CONFIDENCE, outputs=dimensions)
    return ClippedSum(
        values=tuple(float(value * grain_size) for value in released),
        margin=round_up(margin * grain_size),
        rho=exact(rho),
        neighbours=neighbours,
    )


def _clipped_sum(vectors: Iterable[object], *, grain_size: Fraction, radius: int, dimensions: int) -> Sequence[int]:
    widest = _COORDINATE * radius * grain_size
    grain = Grain(lower=-widest, upper=widest, size=grain_size)
    total = [0] * dimensions
    for vector in vectors:
        if isinstance(vector, np.ndarray) and vector.ndim == 1:
            vector = list(vector)
        if isinstance(vector, (list, tuple)) and len(vector) == dimensions:
            coordinates = [grain.to_grains(coordinate) or 0 for coordinate in vector]
            total = [sum(pair) for pair in zip(total, clip_to_l2(coordinates, radius=radius), strict=True)]
    return total


def _distance(neighbours: Neighbours) -> int:
    """How many clip norms one unit moves the sum: it leaves, or leaves and comes back as another."""
    require_neighbours(neighbours)
    return 1 if neighbours is Neighbours.ADD_REMOVE else 2
