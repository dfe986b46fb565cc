"""A promise in words: how far a fifty-fifty guess about one person can move."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Final

_CERTAIN: Final = 1000


def odds(*, epsilon: Fraction, delta: Fraction, person: str) -> str:
    """What (ε, δ) means to somebody who has to decide about it; the percentage is rounded up: it is a limit. Where it
    would be 100, the ε limits nothing any more, and that is what is said."""
    thousandths = int(_CERTAIN / (1 + exp(-epsilon))) + 1  # e^-ε is never rational, so that the limit is above
    slack = ", apart from δ" if delta else ""
    becomes = (
        f"becomes at most {thousandths / _CERTAIN:.1%}"
        if thousandths < _CERTAIN
        else "may become sure, more than 99.9%, so that this is no limit in practice"
    )
    return f"a 50–50 guess about any one {person} {becomes}{slack} (ε = {float(epsilon):g}, δ = {float(delta):g})."
