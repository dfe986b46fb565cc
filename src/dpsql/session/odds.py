"""A promise in words: how far a fifty-fifty guess about one person can move."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp


def odds(*, epsilon: Fraction, delta: Fraction, person: str) -> str:
    """What (ε, δ) means to somebody who has to decide about it; the percentage is rounded up: it is a limit."""
    at_most = ceil(1000 / (1 + exp(-epsilon))) / 1000
    slack = ", apart from δ" if delta else ""
    return (
        f"a 50–50 guess about any one {person} becomes at most {at_most:.1%}{slack} "
        f"(ε = {float(epsilon):g}, δ = {float(delta):g})."
    )
