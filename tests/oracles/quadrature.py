"""Integrals of functions that are smooth between known breaks, such as products of Laplace laws, for the audit."""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsql.errors import BadParameter

Floats = NDArray[np.float64]

LARGEST_PANELS: Final = 20_000
ORDER: Final = 24


@lru_cache(maxsize=64)
def gauss_legendre(order: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1], exact for polynomials of degree below 2·order."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2


def panels(*, breaks: Iterable[float], left: float, right: float, width: float) -> tuple[Floats, Floats]:
    """Nodes and weights on [left, right]: Gauss-Legendre on panels that cross no break and are at most `width` wide.

    Theorem   Gauss-Legendre of order 24 on a panel errs by a factor of (width/4)^48 / 48! times the 48th
              derivative: far below double precision for sums of exponentials of unit rate and width 1.
    Requires  left < right, width > 0; a range of at most 20 000 panels.
    """
    edges = sorted({left, right, *(edge for edge in breaks if left < edge < right)})
    if (right - left) / width + len(edges) > LARGEST_PANELS:
        raise BadParameter(
            "the scores or scales are too far apart for numeric integration",
            why=f"more than {LARGEST_PANELS} panels would be needed",
            fix="compare scores within a few thousand scales of each other",
        )
    cuts = np.concatenate(
        [np.linspace(low, high, math.ceil((high - low) / width) + 1)[:-1] for low, high in pairwise(edges)]
        + [np.array([right])]
    )
    nodes, weights = gauss_legendre(ORDER)
    widths = np.diff(cuts)
    points = cuts[:-1, None] + widths[:, None] * nodes
    return points.ravel(), (widths[:, None] * weights).ravel()


def log_laplace(x: Floats) -> tuple[Floats, Floats]:
    """(ln Pr[L < x], ln Pr[L >= x]) of the Laplace law of scale 1."""
    small = -np.abs(x) - math.log(2)
    large = np.log1p(-np.exp(small))
    return np.where(x < 0, small, large), np.where(x < 0, large, small)
