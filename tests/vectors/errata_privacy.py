"""Formulas of the notes that break privacy, kept to show that they do. Readings and tests use them, nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pointwise_approx_max_divergence(p: Sequence[float], q: Sequence[float], *, delta: float) -> float:
    """The δ-approximate max divergence taken over outcomes instead of events.

    Each outcome may use up the whole of δ by itself, so a leak spread over many outcomes goes unseen.
    """
    losses = [math.log((a - delta) / b) if b else math.inf for a, b in zip(p, q, strict=True) if a > delta]
    return max(losses, default=-math.inf)
