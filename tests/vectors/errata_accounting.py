"""Formulas of the notes that break privacy, kept to show that they do. For readings and tests, never for a price."""

from __future__ import annotations

import math
from collections.abc import Sequence


def advanced_without_epsilon(*, k: int, epsilon: float, delta_prime: float) -> float:
    """Advanced composition as misprinted: the square root lacks its factor ε.

    Too much for ε < 1, too little for ε > 1: the true bound is ε sqrt(2k ln(1/δ')) + k ε (e^ε − 1).
    """
    return math.sqrt(2 * k * math.log(1 / delta_prime)) + k * epsilon * math.expm1(epsilon)


def per_query_without_two(*, k: int, total_epsilon: float, delta_prime: float) -> float:
    """The inverse as misprinted: ε'/(2 sqrt(k ln(1/δ'))), sqrt(2) more than Dwork, Roth (2014), Cor. 3.21.

    Not enough from δ' = 0.35 on.
    """
    return total_epsilon / (2 * math.sqrt(k * math.log(1 / delta_prime)))


def parallel_by_position(*, epsilons: Sequence[float]) -> float:
    """Parallel composition as claimed for "the first 20 rows, the next 20, the rest": the maximum.

    Wrong: one inserted row moves a row across every boundary, so all parts change and the sum is due.
    """
    return max(epsilons)


def adaptive_delta_without_slack(*, k: int, delta: float, delta_i: float) -> float:
    """The total δ of the self-adaptive bound as misprinted: with δ_i of another theorem in place of the slack δ'."""
    return 1 - (1 - delta) ** k * (1 - delta_i)
