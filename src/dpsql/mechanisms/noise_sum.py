"""The law of a sum of independent noises: how wide it is, certified, by one Fourier transform.

Every noise is a step times a symmetric integer law. Each is sorted into bins of one width; sums of bins are a
product of Fourier transforms; what binning, cutting and rounding can have lost is added to the answer. Where all
steps are multiples of one not too small unit, the bins are that unit and nothing is lost at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw

Law: TypeAlias = DiscreteLaplaceLaw | DiscreteGaussianLaw
"""A law of integer noise that is symmetric around 0."""

_Floats: TypeAlias = NDArray[np.float64]

_MOST_BINS: Final = 2**21
_MOST_WORK: Final = 2**25
_IGNORED: Final = 2.0**-24  # of the probability of failure: what lies beyond the bins
_PRECISION: Final = 0.004  # of the margin: what binning may add to it
_WIDE: Final = 2.0**14  # from this σ on a tail is the normal one


@dataclass(frozen=True, slots=True, kw_only=True)
class Noises:
    """`copies` independent variables step · Z, Z of the law."""

    step: Fraction
    law: Law
    copies: int


def sum_margin(terms: Sequence[Noises], *, confidence: Fraction) -> Fraction:
    """An m with |sum of all noises| <= m with at least this probability: the smallest, or at most 0.5 % above it.

    Theorem   docs/guide/margins.md. Sorting a noise into bins of width h moves it by at most h/2, so the quantiles
              of the sum move by at most k·h/2 for k noises, and by less for many (Hoeffding); what lies beyond the
              bins is bounded by Chernoff.
    Requires  steps > 0, 0 < confidence < 1. The 0.5 % hold for confidences from 0.02 to 1 - 10⁻⁶ and up to some hundred
              different noises; beyond, only "at least this probability" does.
    Rounds    up.
    """
    beta = float(1 - confidence) * (1 - 1e-12)
    silent = [term for term in terms if term.copies * _noise_at_all(term.law) <= beta * _IGNORED / len(terms)]
    terms = [term for term in terms if term not in silent]
    if not terms:
        return Fraction(0)
    beta -= sum(term.copies * _noise_at_all(term.law) for term in silent)
    unit = max(Fraction(_spread(term.law)) * term.step for term in terms)
    scaled = [_Scaled(step=float(term.step / unit), law=term.law, copies=term.copies) for term in terms]
    reach = _chernoff(scaled, beta * _IGNORED)
    lattice = _common_step([term.step for term in terms])
    if 2 * reach < float(lattice / unit) * _MOST_BINS / 4:
        found = _quantile(scaled, beta=beta, width=float(lattice / unit), reach=reach)
        if found is not None:
            return found * lattice
    return _binned(scaled, beta=beta, reach=reach) * unit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scaled:
    """The same in units of the widest noise."""

    step: float
    law: Law
    copies: int


def _binned(terms: Sequence[_Scaled], *, beta: float, reach: float) -> Fraction:
    """Bins as fine as the precision asks for and the work allows."""
    moved = _moved_by_binning(sum(term.copies for term in terms), beta=beta)
    finest = 4 * reach / min(_MOST_BINS, _MOST_WORK / len(terms))
    width = max(finest, 0.0003 * reach / moved)
    while True:
        found = _quantile(terms, beta=beta, width=width, reach=reach)
        if found is None:  # the transform cannot see probabilities that small
            return Fraction(_chernoff(terms, beta))
        certain = (found - moved) * width  # about the smallest that the true quantile can be
        if width <= finest or 2 * moved * width <= _PRECISION * certain:
            return Fraction((found + moved) * width * (1 + 1e-9))
        width = max(finest, min(width / 2, 0.45 * _PRECISION * certain / moved) if certain > 0 else width / 8)


def _moved_by_binning(count: int, *, beta: float) -> float:
    """How many bins the sum can have moved, surely or but for an ignored probability (Hoeffding).

    What sorting does to one noise lies in [-1/2, 1/2], has mean 0 because law and bins are symmetric, and is
    independent of what it does to the others.
    """
    return min(count / 2, math.sqrt(count * math.log(2 / (beta * _IGNORED)) / 2))


def _quantile(terms: Sequence[_Scaled], *, beta: float, width: float, reach: float) -> int | None:
    """The smallest number of bins j with Pr[|sum of bins| > j] surely <= beta; None if rounding hides it."""
    count = sum(term.copies for term in terms)
    bins = 2 ** math.ceil(math.log2(2 * reach / width + count + 4))
    product: _Floats = np.ones(bins // 2 + 1)
    lost = 2 * beta * _IGNORED  # beyond the reach, and moved further than Hoeffding says
    for term in terms:
        weights, beyond = _bin_weights(term, width=width, bins=bins)
        lost += term.copies * beyond
        product = product * np.fft.rfft(weights).real ** term.copies  # a symmetric law has a real transform
    lost += bins * math.log2(bins) * (count + 1) * 2.0**-50  # rounding of the transforms, at its worst
    if lost > beta / 4:
        return None
    mass = np.fft.irfft(product, bins)
    both = mass[1 : bins // 2] + mass[: bins // 2 : -1]
    beyond_each = np.concatenate([np.cumsum(both[::-1])[::-1], [0.0]])  # [j] is Pr[|sum| > j]
    too_much = np.flatnonzero(beyond_each > beta - lost)
    return int(too_much[-1]) + 1 if too_much.size else 0


def _bin_weights(term: _Scaled, *, width: float, bins: int) -> tuple[_Floats, float]:
    """The probabilities of the bins 0, 1, …, -2, -1, and what lies beyond the last on both sides."""
    edges = (np.arange(bins // 2) + 0.5) * (width / term.step)
    tails = upper_tails(term.law, np.floor(edges))
    weights = np.zeros(bins)
    weights[0] = 1 - 2 * tails[0]
    weights[1 : bins // 2] = tails[:-1] - tails[1:]
    weights[bins // 2 + 1 :] = weights[bins // 2 - 1 : 0 : -1]
    return weights, 2 * float(tails[-1])


def upper_tails(law: Law, z: _Floats) -> _Floats:
    """Pr[Z > z] for each z >= 0."""
    if isinstance(law, DiscreteLaplaceLaw):
        scale = float(law.scale)
        result: _Floats = np.exp(-(z + 1) / scale) / (1 + math.exp(-1 / scale))
        return result
    sigma = math.sqrt(law.sigma_squared)
    if sigma > _WIDE:
        return _wide_gaussian_tails(sigma, z)
    beyond = gaussian_tails(sigma)
    narrow: _Floats = beyond[np.minimum(z, len(beyond) - 1).astype(np.int64)]
    return narrow


@lru_cache(maxsize=8)
def gaussian_tails(sigma: float) -> _Floats:
    """Pr[Z > z] of the discrete Gaussian for z = 0, 1, … as far as floats above 0 reach."""
    weights = np.exp(-0.5 * (np.arange(math.ceil(39 * sigma) + 2) / sigma) ** 2)
    beyond: _Floats = np.append(np.cumsum(weights[:0:-1])[::-1], 0.0) / (2 * weights[1:].sum() + weights[0])
    beyond.flags.writeable = False
    return beyond


def _wide_gaussian_tails(sigma: float, z: _Floats) -> _Floats:
    """Pr[N > (z + 1/2)/σ]: at most 0.011/σ² from the true tail, by the midpoint rule."""
    x = (z + 0.5) / sigma
    tails = np.zeros(len(z))
    near = np.flatnonzero(x < 39)  # beyond, nothing is a float
    tails[near] = [math.erfc(value) / 2 for value in x[near] * math.sqrt(0.5)]
    return tails


def _chernoff(terms: Sequence[_Scaled], failure: float) -> float:
    """An R with Pr[|sum| > R] <= failure: (ln(2/failure) + Σ ln M(t)) / t at the best of many t.

    ln M(t) <= -ln(1 - s²t²) for Laplace noise of scale s (sinh(x)/x grows with x) and <= σ²t²/2 for Gaussian noise.
    """
    flat = math.log(2 / failure)
    spreads = [(term.step * _spread(term.law), term) for term in terms]
    variance = sum(term.copies * spread**2 for spread, term in spreads if not isinstance(term.law, DiscreteLaplaceLaw))
    scales = [(spread, term.copies) for spread, term in spreads if isinstance(term.law, DiscreteLaplaceLaw)]
    usual = math.sqrt(2 * flat / (variance + sum(2 * copies * scale**2 for scale, copies in scales)))
    most = min((0.999 / scale for scale, _ in scales), default=10 * usual)
    t = np.geomspace(min(usual, most) / 30, most, 400)
    logs = flat + variance * t * t / 2
    for scale, copies in scales:
        logs = logs - copies * np.log1p(-((scale * t) ** 2))
    return float((logs / t).min()) * (1 + 1e-9)


def _noise_at_all(law: Law) -> float:
    """Pr[Z != 0]: next to nothing for very narrow laws."""
    return 2 * float(upper_tails(law, np.zeros(1))[0])


def _spread(law: Law) -> float:
    """The scale of Laplace noise, the σ of Gaussian noise."""
    return float(law.scale) if isinstance(law, DiscreteLaplaceLaw) else math.sqrt(law.sigma_squared)


def _common_step(steps: Sequence[Fraction]) -> Fraction:
    """The largest number of which every step is a whole multiple."""
    common = steps[0]
    for step in steps[1:]:
        common = Fraction(
            math.gcd(common.numerator * step.denominator, step.numerator * common.denominator),
            common.denominator * step.denominator,
        )
    return common
