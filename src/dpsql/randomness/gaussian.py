"""Discrete Gaussian draws, many at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.randomness.reference import discrete_gaussian_draw
from dpsql.randomness.source import Source


def discrete_gaussian(*, sigma_squared: Fraction, size: int, source: Source) -> NDArray[np.int64]:
    """`size` independent draws with Pr[x] proportional to exp(-x² / (2 sigma_squared))."""
    return np.array(
        [discrete_gaussian_draw(sigma_squared=sigma_squared, source=source) for _ in range(size)],
        dtype=np.int64,
    )
