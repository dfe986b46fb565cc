"""Discrete Laplace draws, many at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.randomness.reference import discrete_laplace_draw
from dpsql.randomness.source import Source


def discrete_laplace(*, scale: Fraction, size: int, source: Source) -> NDArray[np.int64]:
    """`size` independent draws with Pr[x] proportional to exp(-|x| / scale)."""
    return np.array([discrete_laplace_draw(scale=scale, source=source) for _ in range(size)], dtype=np.int64)
