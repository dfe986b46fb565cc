"""One set of goodness-of-fit tests, used on the samplers (which must pass) and on planted bugs (which must not).

False alarms: each of the tests below rejects a correct sampler with probability ALPHA = 1e-8 (the normal
approximations are used where the counts are above 25). A full run of tests/statistical makes fewer than 1 000 of
them, so a correct build fails about once in 100 000 runs. The source is the operating system's: no seed is fixed.
"""

import math

import numpy as np
from scipy.stats import binom, chi2

ALPHA = 1e-8
Z = 5.73  # two-sided normal quantile of ALPHA


def edges_of(law, *, bins: int = 60) -> np.ndarray:
    """Integer bin edges of about equal probability, every integer its own bin where the law is narrow."""
    reach = math.ceil(4 * law.spread) + 3
    step = max(1, 2 * reach // bins)
    return np.arange(-reach, reach + 1, step)


def chi_square(draws: np.ndarray, law) -> float:
    """The p-value of Pearson's test over the bins; bins that expect fewer than 25 draws are merged inward."""
    edges = edges_of(law)
    probability = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    observed = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(probability))
    return _pearson(observed, probability * len(draws))


def _pearson(observed: np.ndarray, expected: np.ndarray) -> float:
    merged_observed, merged_expected = [], []
    room_observed = room_expected = 0.0
    for count, wanted in zip(observed, expected, strict=True):
        room_observed, room_expected = room_observed + count, room_expected + wanted
        if room_expected >= 25:
            merged_observed.append(room_observed)
            merged_expected.append(room_expected)
            room_observed = room_expected = 0.0
    merged_observed[-1] += room_observed
    merged_expected[-1] += room_expected
    o, e = np.array(merged_observed), np.array(merged_expected)
    return float(chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


def low_bits(draws: np.ndarray, law) -> float:
    """For wide laws the residues modulo 64 are uniform to within exp(-spread): the bits below the blocks."""
    if law.spread < 5000:
        return 1.0
    return _pearson(np.bincount(draws % 64, minlength=64), np.full(64, len(draws) / 64))


def sign(draws: np.ndarray) -> float:
    """Negative and positive values are equally likely."""
    negative, positive = int((draws < 0).sum()), int((draws > 0).sum())
    both = negative + positive
    return 1.0 if both == 0 else min(1.0, 2 * float(binom.cdf(min(negative, positive), both, 0.5)))


def tails(draws: np.ndarray, law) -> float:
    """The smallest binomial p-value of the number of draws beyond 2, 4, 6, 8 and 10 spreads, Bonferroni-corrected."""
    smallest = 1.0
    for factor in (2, 4, 6, 8, 10):
        at = max(1, math.ceil(factor * law.spread))
        count, p = int((np.abs(draws) >= at).sum()), law.tail(at)
        above = float(binom.sf(count - 1, len(draws), p))
        below = float(binom.cdf(count, len(draws), p))
        smallest = min(smallest, 10 * min(above, below))
    return smallest


def moments(draws: np.ndarray, law) -> float:
    """How many standard errors the mean and the second moment are off, the larger of the two."""
    x, n = draws.astype(float), len(draws)
    mean = abs(x.mean()) / math.sqrt(law.variance / n)
    second = abs((x**2).mean() - law.variance) / math.sqrt((law.fourth_moment - law.variance**2) / n)
    return max(mean, second)


def objections(draws: np.ndarray, law) -> list[str]:
    """Why these draws cannot come from this law. Empty for a correct sampler, up to the stated false alarms."""
    found = [
        f"{name}: p = {p:.1e}"
        for name, p in {
            "chi-square": chi_square(draws, law),
            "low bits": low_bits(draws, law),
            "sign": sign(draws),
            "tails": tails(draws, law),
        }.items()
        if p < ALPHA
    ]
    if len(draws) * law.variance > 1000 and moments(draws, law) > Z + 0.3:
        found.append("moments")
    return found
