"""Formulas of the notes and of published code that break privacy, kept to show that they do.

No release uses them. Each is quoted by a golden vector or by a test that shows the breach; the sound rule stands
in the module named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpsql.require import Number, require_count, require_epsilon, require_positive


def smoothing_that_stops_early(sensitivity_at: Callable[[int], int], *, beta: Number) -> float:
    """max of exp(-βk)·Ŝ^(k) up to the first decrease. Ŝ is a maximum of polynomials, and those can rise again.

    Right: `dpsql.sensitivity.elastic.smooth_bound`, which leaves out only what is proven smaller.
    """
    require_positive(beta=beta)
    best, distance = float(sensitivity_at(0)), 1
    while (value := math.exp(-float(beta) * distance) * sensitivity_at(distance)) > best:
        best, distance = value, distance + 1
    return best


def smoothing_capped_at_rows(sensitivity_at: Callable[[int], int], *, beta: Number, rows: int) -> tuple[float, int]:
    """(max, argmax) of exp(-βk)·Ŝ^(k) over k <= rows, with frequencies that still rise without a cap.

    Not β-smooth: where the maximum sits at the cap, two neighbours differ by Ŝ^(n)(x) / Ŝ^(n)(y), which can be far
    above exp(β). Right: a public row count caps the frequencies (`Table.rows`), and the maximum then needs no cap.
    """
    require_positive(beta=beta)
    require_count(at_least=0, at_most=10**6, rows=rows)
    return max(
        ((math.exp(-float(beta) * k) * sensitivity_at(k), k) for k in range(rows + 1)),
        key=lambda found: (found[0], -found[1]),
    )


def smoothing_with_the_bound_in_the_exponent(sensitivities: Sequence[int], *, beta: Number) -> float:
    """max of exp(-βk·Ŝ^(k)), as printed in the notes: always 1, whatever the data. Right: `smooth_bound`."""
    require_positive(beta=beta)
    return max(math.exp(-float(beta) * k * size) for k, size in enumerate(sensitivities))


def beta_without_delta(*, epsilon: Number) -> float:
    """ε in place of β. Right: `dpsql.mechanisms.smooth_noise.smooth_beta`."""
    require_epsilon(epsilon=epsilon)
    return float(epsilon)


def scale_factor_without_two(*, epsilon: Number) -> float:
    """1/ε in place of 2/ε. Right: `dpsql.mechanisms.smooth_noise.smooth_laplace_scale`."""
    require_epsilon(epsilon=epsilon)
    return 1 / float(epsilon)


def stability_of_a_unique_key_join() -> int:
    """1, for any join on a key declared unique. One row of the key table can carry every row that points to it.

    Right: `dpsql.sensitivity.elastic.stability`, where an enforced key is a frequency of 1 and nothing more.
    """
    return 1
