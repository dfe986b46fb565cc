"""Noise at several levels: the coarse law is the fine law plus W, and the draw of W is exact.

The tests that draw have a false alarm once in 10^9 runs each (Dvoretzky, Kiefer, Wolfowitz, Massart).
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.levels import coarsening, coin_bounds, measured_levels
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM

SIZE = 30_000
ALARM = 1e-9
LIMIT = math.sqrt(math.log(2 / ALARM) / (2 * SIZE))
PAIRS = [
    (Fraction(10), Fraction(5)),
    (Fraction(10), Fraction(9)),
    (Fraction(3, 2), Fraction(1, 7)),
    (Fraction(40), Fraction(1)),
]


def law(scale):
    return DiscreteLaplaceLaw(scale=Fraction(scale))


def density(scale, reach=2000):
    """By the formula (1-p)/(1+p)·p^|x|."""
    p = math.exp(-1 / scale)
    return (1 - p) / (1 + p) * p ** np.abs(np.arange(-reach, reach + 1))


def coin(coarse, fine):
    """α by the formula of the proof, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        p, q = ((-Decimal(x.denominator) / x.numerator).exp() for x in (coarse, fine))
        return q * (1 - p) ** 2 / (p * (1 - q) ** 2)


@pytest.mark.parametrize(("coarse", "fine"), PAIRS)
def test_the_fine_law_and_what_is_added_make_the_coarse_law(coarse, fine):
    """No chance: the convolution of the formulas."""
    alpha = float(coin(coarse, fine))
    added = (1 - alpha) * density(float(coarse))
    added[len(added) // 2] += alpha
    both = np.convolve(density(float(fine)), added)[2000:-2000]
    assert np.abs(both - density(float(coarse))).max() < 1e-12


@pytest.mark.parametrize(
    ("coarse", "fine"), [*PAIRS, (Fraction(10**9), Fraction(10**9, 3)), (Fraction(1, 50), Fraction(1, 90))]
)
@pytest.mark.parametrize("bits", [64, 128])
def test_the_coin_is_enclosed_as_closely_as_asked(coarse, fine, bits):
    low, high = coin_bounds(fine=fine, coarse=coarse)(bits)
    with localcontext() as context:
        context.prec = 80
        scaled = coin(coarse, fine) * 2**bits
        assert low <= scaled + Decimal(10) ** -15 * 2 ** (bits - 64)
        assert high >= scaled - Decimal(10) ** -15 * 2 ** (bits - 64)
    assert high - low <= 4


def furthest(drawn, scale):
    reach = 2000
    counts = np.bincount(np.clip(np.array(drawn), -reach, reach) + reach, minlength=2 * reach + 1)
    return np.abs(np.cumsum(counts) / len(drawn) - np.cumsum(density(scale))).max()


def test_every_level_has_its_law_and_each_is_the_next_plus_independent_noise():
    scales = [12, 6, 3, 2]
    rows = Exact([(key, 41) for key in range(SIZE)])
    tables = measured_levels(rows, keys=1, levels=[[law(scale)] for scale in scales], source=SYSTEM)
    noises = [np.array([row[0] - 41 for row in table.values]) for table in tables]
    for scale, noise in zip(scales, noises, strict=True):
        assert furthest(noise, scale) < LIMIT
        assert furthest(noise, scale * 1.3) > LIMIT  # the test can fail
    for coarse, fine in pairwise(noises):
        added = coarse - fine
        large = np.abs(fine) > np.median(np.abs(fine))
        for part in (added[large], added[~large]):  # what is added does not depend on what is fine
            apart = math.sqrt(math.log(2 / ALARM) / (2 * len(part)))
            values = np.arange(-200, 201)
            whole = np.searchsorted(np.sort(added), values, side="right") / len(added)
            own = np.searchsorted(np.sort(part), values, side="right") / len(part)
            assert np.abs(whole - own).max() < LIMIT + apart


@pytest.mark.parametrize(("coarse", "fine"), PAIRS)
def test_how_often_nothing_is_added(coarse, fine):
    drawn = coarsening(fine=law(fine), coarse=law(coarse), size=SIZE, source=SYSTEM)
    p = math.exp(-1 / coarse)
    alpha = float(coin(coarse, fine))
    expected = alpha + (1 - alpha) * (1 - p) / (1 + p)
    assert abs(drawn.count(0) / SIZE - expected) < LIMIT


def test_several_numbers_have_noise_of_their_own():
    levels = [[law(1000), law(10)], [law(500), law(5)]]
    coarse, fine = measured_levels(Exact([(0, 0)]), keys=0, levels=levels, source=SYSTEM)
    assert len(coarse.values) == len(fine.values) == 1
    assert len(coarse.values[0]) == 2


def test_a_level_that_is_not_finer_is_refused():
    with pytest.raises(InternalError):
        coarsening(fine=law(3), coarse=law(3), size=1, source=SYSTEM)
