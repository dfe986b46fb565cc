"""C047: the samplers have exactly the law they state. False-alarm rate: see judge.py."""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from judge import ALPHA, objections
from laws import GaussianLaw, LaplaceLaw
from scipy.stats import binom, chi2

from dpsql.randomness import SYSTEM, bernoulli_exp, bernoulli_exp_many, discrete_gaussian, discrete_laplace
from dpsql.randomness.discrete import discrete_gaussian_draw, discrete_laplace_draw
from tests.kits.cases import cases

MILLION = 10**6
SCALES = [
    Fraction(1, 3), Fraction(1), Fraction(10), Fraction(63, 2), Fraction(32), Fraction(1001, 7),
    Fraction(10**4), Fraction(123456789, 100), Fraction(10**9), Fraction(2**43 + 1),
]  # fmt: skip


def laplace(scale, size):
    return discrete_laplace(scale=scale, size=size, source=SYSTEM)


def gaussian(sigma, size):
    return discrete_gaussian(sigma_squared=sigma * sigma, size=size, source=SYSTEM)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_has_its_exact_law(scale):
    """C047: chi-square, tails, moments, sign and low bits at a million draws."""
    assert objections(laplace(scale, MILLION), LaplaceLaw(scale)) == []


@pytest.mark.parametrize("sigma", SCALES, ids=str)
def test_discrete_gaussian_has_its_exact_law(sigma):
    """C047: chi-square, tails, moments, sign and low bits at a million draws."""
    assert objections(gaussian(sigma, MILLION), GaussianLaw(sigma)) == []


@cases(__file__, "gamma=")
def test_bernoulli_exp_has_its_exact_probability(gamma):
    """C047: Bernoulli(exp(-γ)), a million coins at once."""
    heads = int(bernoulli_exp_many(gamma, size=MILLION, source=SYSTEM).sum())
    p = float(np.exp(-float(gamma)))
    assert min(binom.cdf(heads, MILLION, p), binom.sf(heads - 1, MILLION, p)) > ALPHA


@pytest.mark.parametrize("gamma", [Fraction(1, 7), Fraction(1), Fraction(7, 2)], ids=str)
def test_the_one_coin_sampler_agrees_with_the_many_coin_one(gamma):
    heads, p = sum(bernoulli_exp(gamma, source=SYSTEM) for _ in range(20_000)), float(np.exp(-float(gamma)))
    assert min(binom.cdf(heads, 20_000, p), binom.sf(heads - 1, 20_000, p)) > ALPHA


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10), Fraction(1001, 7)], ids=str)
def test_the_reference_samplers_have_the_same_law(scale):
    """The textbook algorithms, one draw at a time, against the law and so against the fast samplers."""
    one = np.array([discrete_laplace_draw(scale=scale, source=SYSTEM) for _ in range(20_000)])
    assert objections(one, LaplaceLaw(scale)) == []
    two = np.array([discrete_gaussian_draw(sigma_squared=scale**2, source=SYSTEM) for _ in range(20_000)])
    assert objections(two, GaussianLaw(scale)) == []


@pytest.mark.parametrize("scale", [Fraction(10), Fraction(1001, 7)], ids=str)
def test_single_draws_from_tables_have_the_same_law(scale):
    laplace(scale, 200)  # builds the tables; below 16 draws at a time they are read without arrays
    assert objections(np.concatenate([laplace(scale, 10) for _ in range(3000)]), LaplaceLaw(scale)) == []
    gaussian(scale, 200)
    assert objections(np.concatenate([gaussian(scale, 10) for _ in range(3000)]), GaussianLaw(scale)) == []


def two_sample(one: np.ndarray, other: np.ndarray, edges: np.ndarray) -> float:
    """The p-value of Pearson's test that two samples share a law."""
    a, b = (np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (one, other))
    both = a + b
    share = len(one) / (len(one) + len(other))
    kept = both * min(share, 1 - share) >= 25
    expected = np.concatenate([both[kept] * share, both[kept] * (1 - share)])
    observed = np.concatenate([a[kept], b[kept]])
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), int(kept.sum()) - 1))


@pytest.mark.parametrize("scale", [0.5, 10.0, 1000.0])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_agreement_with_opendp(kind, scale):
    """OpenDP's samplers, an independent implementation, draw from the same law."""
    dp.enable_features("contrib")
    size = 40_000
    if kind == "laplace":
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        theirs = dp.m.make_laplace(*space, scale=scale)([0] * size)
        ours = laplace(Fraction(scale), MILLION)
    else:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
        theirs = dp.m.make_gaussian(*space, scale=scale)([0] * size)
        ours = gaussian(Fraction(scale), MILLION)
    reach = int(4 * scale) + 3
    edges = np.arange(-reach, reach + 1, max(1, reach // 25))
    assert two_sample(ours, np.array(theirs), edges) > ALPHA


# Planted bugs: each must be rejected by `objections`, the very function the samplers pass above.


def wrong_scale(scale, size):
    return laplace(scale * Fraction(102, 100), size)


def off_by_one_geometric(scale, size):
    """The geometric magnitude starts at 1 instead of 0."""
    draws = laplace(scale, size)
    return draws + np.sign(draws) + (draws == 0)


def zero_counted_twice(scale, size):
    """Forgets to reject minus zero, so that 0 comes up twice as often as it should."""
    draws = laplace(scale, size)
    zeros = draws[draws == 0]
    return np.concatenate([draws, zeros])[len(zeros) :]


def biased_sign(scale, size):
    draws = laplace(scale, size)
    flip = bernoulli_exp_many(Fraction(4), size=size, source=SYSTEM)  # 1.8 % of the negative draws turn positive
    return np.where(flip & (draws < 0), -draws, draws)


def short_tail(scale, size):
    """Cuts at seven scales, as a table without an exact tail would."""
    return np.clip(laplace(scale, size), -int(7 * scale), int(7 * scale))


def stuck_low_bit(scale, size):
    draws = laplace(scale, size)
    return np.where(bernoulli_exp_many(Fraction(3), size=size, source=SYSTEM), draws & ~1, draws)


LAPLACE_BUGS = [
    (wrong_scale, Fraction(1)), (wrong_scale, Fraction(10)), (wrong_scale, Fraction(10**9)),
    (off_by_one_geometric, Fraction(1)), (off_by_one_geometric, Fraction(10)),
    (zero_counted_twice, Fraction(1)), (zero_counted_twice, Fraction(10)),
    (biased_sign, Fraction(10)), (biased_sign, Fraction(10**9)),
    (short_tail, Fraction(10)), (stuck_low_bit, Fraction(10**9)),
]  # fmt: skip


@pytest.mark.parametrize(("bug", "scale"), LAPLACE_BUGS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_planted_laplace_bugs_are_rejected(bug, scale):
    assert objections(bug(scale, MILLION), LaplaceLaw(scale)) != []


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(10), Fraction(10**9)], ids=str)
def test_planted_gaussian_bugs_are_rejected(sigma):
    law = GaussianLaw(sigma)
    assert objections(gaussian(sigma * Fraction(102, 100), MILLION), law) != []
    draws = gaussian(sigma, MILLION)
    flip = bernoulli_exp_many(Fraction(4), size=MILLION, source=SYSTEM)
    assert objections(np.where(flip & (draws < 0), -draws, draws), law) != []
    if sigma < 100:
        assert objections(draws + np.sign(draws) + (draws == 0), law) != []


def test_the_judge_accepts_numpys_own_laplace_on_the_grid():
    """The tests are not so strict that nothing passes: the difference of two geometric draws has the same law."""
    rng = np.random.default_rng()
    q = 1 - np.exp(-1 / 10)
    draws = rng.geometric(q, MILLION) - rng.geometric(q, MILLION)
    assert objections(draws, LaplaceLaw(Fraction(10))) == []
