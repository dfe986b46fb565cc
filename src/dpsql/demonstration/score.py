"""How often an attacker is right who subtracts two noisy counts: computed from the law of the noise, not simulated."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpsql.mechanisms.discrete_laplace import LaplaceMechanism

_POINTS: Final = 2**14
"""Sums of noise beyond so many have no part in the figures: they are rarer than a float can say."""


def right_guesses(*, epsilon: Fraction, repeats: int) -> float:
    """How often "the averaged difference is above a half" is right about somebody, ill in every other case.

    Both counts are asked `repeats` times, each time with new noise for ε. The sum of the differences is then off by
    S, the sum of 2·repeats noises; the guess is right where S is below repeats/2, and a coin where it is equal.
    Probabilities of S come from its characteristic function φ: Pr[S = k] is the mean of φ(t)·cos(kt) over equally
    spaced t, and Pr[|S| <= m] that of φ(t) times the sum of the cosines, which is sin((m + ½)t) / sin(t/2).
    """
    p = LaplaceMechanism(l1=1, epsilon=epsilon).law.p
    inside, tie = (repeats - 1) // 2, repeats / 2
    within = at_tie = 0.0
    for point in range(_POINTS):
        t = 2 * math.pi * point / _POINTS
        phi = ((1 - p) ** 2 / (1 - 2 * p * math.cos(t) + p * p)) ** (2 * repeats)
        within += phi * (2 * inside + 1 if point == 0 else math.sin((inside + 0.5) * t) / math.sin(t / 2))
        at_tie += 0.0 if repeats % 2 else phi * math.cos(tie * t)
    return (1 + within / _POINTS + at_tie / _POINTS) / 2
