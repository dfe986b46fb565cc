"""Private keys by a threshold on their noisy number of people: continuous formulas, and the discrete rule released."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, Generic, TypeVar

from dpsql.mechanisms.discrete_gaussian import upper_tail
from dpsql.mechanisms.normal import standard_tail_quantile
from dpsql.mechanisms.partitions import changed_keys, people_by_key, released_order, split_delta
from dpsql.mechanisms.search import smallest_integer
from dpsql.privacy.digits import MARGIN, share_of_failure, working
from dpsql.privacy.events import GaussianThreshold
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import Source, discrete_gaussian
from dpsql.require import Number, require_count, require_epsilon, require_open_unit, require_positive, require_that

Key = TypeVar("Key", bound=Hashable)

LARGEST_SIGMA: Final = 2**40
SMALLEST_VARIANCE: Final = Fraction(1, 2**12)
QUANTILE_ERROR: Final = Fraction(1, 10**13)
"""The normal quantile is good to 1e-14 of its value; this covers it and the steps around it."""


def laplace_threshold_scale(*, epsilon: Number, keys: int, linf: Number) -> Fraction:
    """The Laplace scale on each key's count when one unit moves `keys` counts by up to `linf` each.

    Theorem   the L1 sensitivity is keys · linf.
    Requires  epsilon > 0; keys >= 1; linf > 0.
    Rounds    nothing.
    """
    require_epsilon(epsilon=epsilon)
    require_count(keys=keys)
    require_positive(linf=linf)
    return keys * exact(linf) / exact(epsilon)


def laplace_threshold(*, epsilon: Number, delta: Number, keys: int, linf: Number) -> float:
    """τ such that a unit's own keys all stay below it after Laplace noise, except with probability δ.

    Theorem   Korolova et al. (2009); Wilson et al. (2020):  τ = linf − b·ln(2p) with b = keys·linf/ε and
              p = 1 − (1 − δ)^(1/keys); on the other side of the peak, p > 1/2, linf + b·ln(2(1 − p)).
    Requires  0 < delta < 1 and the preconditions of the scale.
    Rounds    up.
    """
    scale = laplace_threshold_scale(epsilon=epsilon, keys=keys, linf=linf)
    require_open_unit(delta=delta)
    return _laplace_quantile(share_of_failure(beta=exact(delta), outputs=keys), scale=scale, linf=exact(linf))


def _laplace_quantile(probability: Decimal, *, scale: Fraction, linf: Fraction) -> float:
    """linf + the x with Pr[Laplace(scale) >= x] = probability."""
    with working():
        sizes = Fraction(-(2 * probability).ln() if probability * 2 <= 1 else (2 * (1 - probability)).ln())
    return round_up(linf + scale * (sizes + (abs(sizes) + 1) * MARGIN))


def gaussian_threshold(*, sigma: Number, delta: Number, keys: int, linf: Number) -> float:
    """τ such that a unit's own keys all stay below it after normal noise, except with probability δ.

    Theorem   τ = linf + σ·Φ⁻¹(1 − p) with p = 1 − (1 − δ)^(1/keys): the noises are independent.
    Requires  sigma > 0; 0 < delta < 1; keys >= 1; linf > 0.
    Rounds    up.
    """
    require_positive(sigma=sigma, linf=linf)
    quantile = Fraction(standard_tail_quantile(split_delta(delta=delta, keys=keys)))
    return round_up(exact(linf) + exact(sigma) * (quantile + (abs(quantile) + 1) * QUANTILE_ERROR))


def _checked_variance(sigma_squared: Number) -> Fraction:
    require_positive(sigma_squared=sigma_squared)
    variance = exact(sigma_squared)
    require_that(SMALLEST_VARIANCE <= variance <= LARGEST_SIGMA**2, "within reach", sigma_squared=sigma_squared)
    return variance


def discrete_threshold(*, sigma_squared: Number, delta: Number, keys: int) -> int:
    """The smallest integer τ >= 1 for which strictly larger noisy people counts may be shown at this δ.

    Theorem   1 − (1 − Pr[Z >= τ])^keys falls with τ; bisection on Pr[Z >= τ] <= 1 − (1 − δ)^(1/keys).
    Requires  2**-12 <= sigma_squared <= 2**80; 0 < delta < 1; keys >= 1.
    Rounds    up.
    """
    variance = _checked_variance(sigma_squared)
    require_open_unit(delta=delta)
    require_count(keys=keys)
    return _smallest_threshold(variance, exact(delta), keys)


@lru_cache(maxsize=64)
def _smallest_threshold(variance: Fraction, delta: Fraction, keys: int) -> int:
    allowed = Fraction(share_of_failure(beta=delta, outputs=keys)) * (1 - MARGIN)

    def enough(below: int) -> bool:
        with working():
            return Fraction(upper_tail(below + 1, variance)) * (1 + MARGIN) <= allowed

    return smallest_integer(enough, guess=0) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianThresholdSelection(Generic[Key]):
    """Shows the keys whose number of people, after discrete Gaussian noise, is strictly above an integer threshold.

    The input counts distinct people, each of whom is counted under at most `keys_per_unit` keys. The noisy counts
    of the keys shown are released with them.
    """

    sigma_squared: Number
    delta: Number
    keys_per_unit: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        _ = self.threshold

    @property
    def keys(self) -> int:
        """In how many keys two neighbours may differ."""
        return changed_keys(keys_per_unit=self.keys_per_unit, neighbours=self.neighbours)

    @property
    def threshold(self) -> int:
        """Keys with at most this noisy number of people are not shown."""
        return discrete_threshold(sigma_squared=exact(self.sigma_squared), delta=exact(self.delta), keys=self.keys)

    @property
    def event(self) -> GaussianThreshold:
        """Discrete Gaussian noise on the counts, and a threshold that fails with probability δ."""
        return GaussianThreshold(sigma_squared=exact(self.sigma_squared), delta=exact(self.delta), keys=self.keys)

    def release(self, value: Exact[Mapping[Key, int]], /, *, source: Source) -> dict[Key, int]:
        """The keys shown, in their own order, with their noisy numbers of people."""
        people = people_by_key(value)
        noise = discrete_gaussian(sigma_squared=exact(self.sigma_squared), size=len(people), source=source)
        noisy = {key: count + int(z) for (key, count), z in zip(people.items(), noise, strict=True) if count}
        threshold = self.threshold
        return {key: noisy[key] for key in released_order([key for key in noisy if noisy[key] > threshold])}
