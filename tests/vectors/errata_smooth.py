"""Formulas of the notes on smooth sensitivity that break privacy, kept to show that they do.

No release uses them. Each is quoted by a golden vector or by a test that shows the breach; the sound rule is
`dpsql.sensitivity.smooth_median`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_bounds, require_count, require_numbers

LONGEST = 500


def median_windows_up_to_k(values: Sequence[Number], *, lower: Number, upper: Number) -> tuple[Fraction, ...]:
    """max over t = 0 … k of max(x_{m+t} - x_{m+t-k-1}, x_{m+t+1} - x_{m+t}), for k = 0 … n.

    Misses x_{m+k+1} - x_m, the gap after k changes that all lie above the median: too small, and not smooth.
    """
    return _two_argument(values, lower, upper, beyond=0)


def median_windows_two_arguments(values: Sequence[Number], *, lower: Number, upper: Number) -> tuple[Fraction, ...]:
    """max over t = 0 … k+1 of max(x_{m+t} - x_{m+t-k-1}, x_{m+t+1} - x_{m+t}), for k = 0 … n.

    Has the missing gap and one too many, x_{m+k+2} - x_{m+k+1}, which k changes do not reach: S is not smooth.
    """
    return _two_argument(values, lower, upper, beyond=1)


def is_near_local_sensitivity(*, bound: Number, local_sensitivity: Number, factor: Number) -> bool:
    """S(D) <= e^β · LS(D), the condition printed for S(D) <= e^β · S(D'). False wherever LS is 0 and S is not."""
    return exact(bound) <= exact(factor) * exact(local_sensitivity)


def _two_argument(values: Sequence[Number], lower: Number, upper: Number, *, beyond: int) -> tuple[Fraction, ...]:
    require_bounds(lower=lower, upper=upper)
    require_numbers(values=values)
    require_count(number_of_values=len(values), at_most=LONGEST)
    x = [exact(lower), *sorted(map(exact, values)), exact(upper)]
    n, m = len(values), (len(values) + 1) // 2

    def at(index: int) -> Fraction:
        return x[min(max(index, 0), n + 1)]

    return tuple(
        max(max(at(m + t) - at(m + t - k - 1), at(m + t + 1) - at(m + t)) for t in range(k + 1 + beyond))
        for k in range(n + 1)
    )
