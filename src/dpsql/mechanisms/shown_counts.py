"""Counts that are shown only above a threshold: what the true count may be, given that it is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.noise_sum import upper_tails
from dpsql.mechanisms.normal import standard_tail_quantile
from dpsql.privacy.digits import share_of_failure
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_count, require_open_unit

_Floats: TypeAlias = NDArray[np.float64]

_PLACES: Final = 2000
_SLACK: Final = 1e-7  # more than the relative error of a tail in floating point
_SMALLEST_TAIL: Final = 1e-290  # smaller ones lose digits


def shown_intervals(
    values: Sequence[int], *, law: DiscreteGaussianLaw, threshold: int, confidence: Number, outputs: int = 1
) -> list[tuple[int, int]]:
    """For each noisy count above the threshold the true counts that it fits; all intervals hold at this confidence.

    Theorem   docs/theorems/margins_after_selection.md: with Y = n + Z given Y > τ, the interval holds every n >= 1 with
              Pr[Y >= y] >= q/2 and Pr[Y <= y] >= q/2, and y itself; q = 1 - confidence^(1/outputs).
    Requires  values > threshold >= 1, 0 < confidence < 1, outputs >= 1.
    Rounds    outwards.
    """
    require_open_unit(confidence=confidence)
    require_count(outputs=outputs)
    seen = np.array(values, dtype=np.float64)
    share = share_of_failure(beta=1 - exact(confidence), outputs=outputs)
    each = np.full(len(seen), float(share) / 2 * (1 - _SLACK))
    reach = _reach(law, float(share))
    low = _smallest(lambda n: _at_least(seen, n, law, threshold) >= each, np.ones(len(seen)), seen)
    high = _smallest(lambda n: _at_most(seen, n, law, threshold) < each, seen + 1, seen + reach) - 1
    return [(int(first), int(last)) for first, last in zip(low, high, strict=True)]


def largest_distance(*, law: DiscreteGaussianLaw, threshold: int, confidence: Number, outputs: int = 1) -> int:
    """How far the ends of such an interval can be from the shown count, whatever it is.

    Theorem   both ends rise with y, so that y - low(y) <= b - low(a) for a <= y <= b, and likewise for the high end;
              far above the threshold the interval is the symmetric one of the law.
    Requires  as `shown_intervals`.
    Rounds    up.
    """
    share = float(share_of_failure(beta=1 - exact(confidence), outputs=outputs))
    far = threshold + 1 + 2 * int(_reach(law, share))
    step = -(-(far - threshold) // _PLACES)
    places = list(range(threshold + 1, far + 2 * step, step))
    ends = shown_intervals(places, law=law, threshold=threshold, confidence=confidence, outputs=outputs)
    below = max(place + step - 1 - low for place, (low, _) in zip(places, ends, strict=True))
    above = max(high - place + step - 1 for place, (_, high) in zip(places, ends, strict=True))
    return max(below, above, law.margin(confidence=confidence, outputs=outputs))


def _reach(law: DiscreteGaussianLaw, share: float) -> float:
    """Twice as far as noise goes but for this probability; beyond, no count is plausible."""
    return 2 * math.ceil(math.sqrt(law.sigma_squared) * standard_tail_quantile(share / 4)) + 2.0


def _smallest(enough: Callable[[_Floats], NDArray[np.bool_]], low: _Floats, high: _Floats) -> _Floats:
    """For each place the smallest whole number from `low` on that is enough; `high` where none below it is."""
    while bool((low < high).any()):
        middle = np.floor((low + high) / 2)
        there = enough(middle)
        low, high = np.where(there, low, middle + 1), np.where(there, middle, high)
        low = np.minimum(low, high)
    return low


def _at_least(seen: _Floats, n: _Floats, law: DiscreteGaussianLaw, threshold: int) -> _Floats:
    """Pr[Y >= y] given that it is shown; it grows with n. Where both tails are too small for a double, a limit from
    above: Pr[Z = k + further] is at most this part of Pr[Z = k], for each k >= start."""
    further, start = seen - threshold - 1, threshold + 1 - n
    limit = np.exp(np.minimum(-further * (2 * start + further) / (2 * float(law.sigma_squared)), 0.0))
    shown = _tail(law, start)
    return np.divide(_tail(law, seen - n), shown, out=limit, where=shown > _SMALLEST_TAIL)


def _at_most(seen: _Floats, n: _Floats, law: DiscreteGaussianLaw, threshold: int) -> _Floats:
    """Pr[Y <= y] given that it is shown, for n > y; it falls with n."""
    return (_tail(law, n - seen) - _tail(law, n - threshold)) / _tail(law, threshold + 1 - n)


def _tail(law: DiscreteGaussianLaw, start: _Floats) -> _Floats:
    """Pr[Z >= start]."""
    right = upper_tails(law, np.where(start >= 1, start - 1, -start))
    return np.where(start >= 1, right, 1 - right)
