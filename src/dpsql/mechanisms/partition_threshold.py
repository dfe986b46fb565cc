"""Private keys by a threshold on their noisy number of people: continuous formulas, and the discrete rule released."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, Generic, TypeVar

from dpsql.errors import BadParameter
from dpsql.mechanisms.lattice import upper_tail
from dpsql.mechanisms.normal import standard_tail_quantile
from dpsql.mechanisms.partitions import changed_keys, people_by_key, released_order, split_delta
from dpsql.mechanisms.search import smallest_integer
from dpsql.privacy.digits import DIGITS, MARGIN, NEGLIGIBLE, decimal, digits_of, float_above, share_of_failure, working
from dpsql.privacy.events import GaussianThreshold
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import Source, discrete_gaussian
from dpsql.require import Number, require_count, require_epsilon, require_open_unit, require_positive

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


def laplace_threshold_union(*, epsilon: Number, delta: Number, keys: int, linf: Number) -> float:
    """The same τ by the union bound, p = δ/keys: a little higher, and valid however the noises depend on each other.

    Theorem   Pr[some key passes] <= Σ Pr[each passes].
    Requires  as `laplace_threshold`.
    Rounds    up.
    """
    scale = laplace_threshold_scale(epsilon=epsilon, keys=keys, linf=linf)
    require_open_unit(delta=delta)
    share = exact(delta) / keys
    with working(DIGITS + digits_of(1 / (1 - share))):  # as close to 1 as δ is, for one key
        return _laplace_quantile(decimal(share), scale=scale, linf=exact(linf))


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


def discrete_gaussian_upper_tail(*, sigma_squared: Number, at_least: int) -> float:
    """Pr[Z >= at_least] for Pr[Z = x] proportional to exp(−x² / 2σ²) on the integers.

    Theorem   the sum itself, to sixty digits.
    Requires  2**-12 <= sigma_squared <= 2**80; at_least >= 1.
    Rounds    up.
    """
    variance = _checked_variance(sigma_squared)
    require_count(at_least=1, at_most=2**62, start=at_least)
    with working():
        return float_above(upper_tail(int(at_least), variance))


def _checked_variance(sigma_squared: Number) -> Fraction:
    require_positive(sigma_squared=sigma_squared)
    variance = exact(sigma_squared)
    if not SMALLEST_VARIANCE <= variance <= LARGEST_SIGMA**2:
        raise BadParameter(
            f"sigma_squared={sigma_squared!r} is out of reach",
            why="noise this narrow hides nothing, and noise this wide hides every key",
            fix=f"choose σ between 1/64 and {LARGEST_SIGMA}",
        )
    return variance


def discrete_threshold_delta(*, sigma_squared: Number, threshold: int, keys: int) -> float:
    """δ of showing keys whose people plus discrete Gaussian noise are strictly above an integer threshold.

    Theorem   a key of one person passes τ when 1 + Z > τ, that is Z >= τ; one of `keys` independent ones passes
              with probability 1 − (1 − Pr[Z >= τ])^keys.
    Requires  2**-12 <= sigma_squared <= 2**80; threshold >= 1; keys >= 1.
    Rounds    up.
    """
    variance = _checked_variance(sigma_squared)
    require_count(threshold=threshold, at_most=2**62)
    require_count(keys=keys)
    with working():
        tail = upper_tail(int(threshold), variance)
    if tail.adjusted() < -2 * NEGLIGIBLE:
        tail = Decimal(1).scaleb(-2 * NEGLIGIBLE)  # larger, and still far below the smallest float
    with working(DIGITS - tail.adjusted()):
        return min(1.0, float_above(1 - (keys * (1 - tail).ln()).exp()))


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
