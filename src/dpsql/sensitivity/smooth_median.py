"""Smooth sensitivity of the median: the lower of two middle values for even n, sorted[(n - 1) // 2]."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpsql.privacy.unit import Neighbours
from dpsql.require import Number
from dpsql.sensitivity.smooth import SmoothBound
from dpsql.sensitivity.smooth_quantile import quantile_sensitivities, quantile_smooth_sensitivity
from dpsql.sensitivity.smooth_values import Values

HALF: Final = Fraction(1, 2)


def median_sensitivities(
    values: Values, *, lower: Number, upper: Number, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    """A^(0), A^(1), …: the largest local sensitivity of the lower median within distance k, until it is upper - lower.

    Theorem   change-one: Nissim, Raskhodnikova, Smith (2007), Proposition 3.4, max over t = 0 … k+1 of
              x_{m+t} - x_{m+t-k-1} with x_i = lower for i < 1 and upper for i > n. Add/remove:
              docs/theorems/smooth_median.md, Theorem 5. Takes n² steps.
    Requires  1 to 2000 values inside [lower, upper].
    Rounds    nothing.
    """
    return quantile_sensitivities(values, quantile=HALF, lower=lower, upper=upper, neighbours=neighbours)


def median_smooth_sensitivity(
    values: Values, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours
) -> SmoothBound:
    """The smooth sensitivity of the lower median, in O(n log n).

    Theorem   docs/theorems/smooth_median.md: change-one Theorem 3 (Nissim, Raskhodnikova, Smith 2007, section 3.1),
              add/remove Theorem 5, which leaves one window per distance.
    Requires  1 to 2**26 values inside [lower, upper]; 0 <= β <= 64.
    Rounds    up: to the next double or, where many windows tie, by a relative 2**-42 at most; never below the
              constant (upper - lower)·2**-800.
    """
    return quantile_smooth_sensitivity(
        values, quantile=HALF, lower=lower, upper=upper, beta=beta, neighbours=neighbours
    )
