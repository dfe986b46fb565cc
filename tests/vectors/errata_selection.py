"""Formulas of the notes about selection and surveys that break privacy or accuracy, kept to show that they do.

Readings of golden values and tests use them; nothing that releases does.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpsql.mechanisms.randomized_response import require_advantage
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_epsilon, require_numbers, require_probability


def notes_noisy_max_scale(*, epsilon: Number) -> Fraction:
    """1/ε for every score: the notes' report noisy max. Where scores move in opposite directions it gives up to 2ε."""
    require_epsilon(epsilon=epsilon)
    return 1 / exact(epsilon)


def notes_survey_mean(*, answers: Sequence[int]) -> float:
    """The plain mean of the perturbed bits, which the notes call the estimate: biased toward 1/2."""
    require_numbers(answers=answers)
    return float(Fraction(sum(map(int, answers)), len(answers)))


def notes_survey_mean_expected(*, share: Number, gamma: Number) -> float:
    """What the plain mean is on average when a true `share` says yes: 1/2 − γ + 2γ·share, not the share."""
    require_probability(share=share)
    require_advantage(gamma=gamma)
    return float(Fraction(1, 2) - exact(gamma) + 2 * exact(gamma) * exact(share))
