"""Sums of noise against brute force: convolution of exact probabilities, enumeration of all pairs, closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.mechanisms import noise_sum
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.noise_sum import Noises, sum_margin
from tests.kits.cases import cases
from tests.kits.samples import examples


def laplace(scale):
    return DiscreteLaplaceLaw(scale=Fraction(scale))


def gaussian(sigma_squared):
    return DiscreteGaussianLaw(sigma_squared=Fraction(sigma_squared))


def noises(law, step=1, copies=1):
    return Noises(step=Fraction(step), law=law, copies=copies)


def probabilities(law, reach):
    half = [law.pmf(z) for z in range(reach + 1)]
    return np.array(half[:0:-1] + half)


def convolved_margin(terms, confidence, reach):
    """The smallest whole m, by convolving the probabilities term by term."""
    total = np.ones(1)
    for term in terms:
        spread = np.zeros(2 * reach * int(term.step) + 1)
        spread[:: int(term.step)] = probabilities(term.law, reach)
        for _ in range(term.copies):
            total = np.convolve(total, spread)
    middle = len(total) // 2
    inside = np.cumsum(np.concatenate([total[middle : middle + 1], total[middle + 1 :] + total[middle - 1 :: -1]]))
    return int(np.flatnonzero(inside >= confidence)[0])


@pytest.mark.parametrize("confidence", ["0.3", "0.5", "0.9", "0.95", "0.99", "0.9999"])
@cases(__file__, "terms=")
def test_on_a_lattice_it_is_the_smallest(terms, confidence):
    found = sum_margin(terms, confidence=Fraction(confidence))
    assert found == convolved_margin(terms, float(confidence), reach=300)


def test_the_unit_of_the_steps_does_not_matter():
    terms = [noises(laplace(3), step=2), noises(laplace(4), step=3)]
    small = [noises(laplace(3), step=Fraction(2, 7)), noises(laplace(4), step=Fraction(3, 7))]
    wanted = convolved_margin(terms, 0.95, reach=200)
    assert sum_margin(small, confidence=Fraction(19, 20)) == Fraction(wanted, 7)


def enumerated_margin(first, second, ratio, confidence, reach):
    """The quantile of |X + ratio·Y| over all pairs of integers."""
    z = np.arange(-reach, reach + 1)
    sizes = np.abs(z[:, None] + float(ratio) * z[None, :]).ravel()
    weights = np.outer(probabilities(first, reach), probabilities(second, reach)).ravel()
    order = np.argsort(sizes)
    return sizes[order][np.searchsorted(np.cumsum(weights[order]), confidence)]


@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.95, 0.999])
@cases(__file__, "first=", "second=", "ratio=")
def test_off_every_lattice_it_is_at_most_half_a_percent_too_large(first, second, ratio, confidence):
    found = float(sum_margin([noises(first), noises(second, step=ratio)], confidence=Fraction(str(confidence))))
    true = enumerated_margin(first, second, ratio, confidence, reach=600)
    assert true <= found <= 1.005 * true


@examples(25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([laplace(7), laplace(40), gaussian(100), gaussian("2/3")]),
            st.integers(1, 9),
            st.integers(1, 6),
        ),
        min_size=2,
        max_size=4,
    ),
    st.sampled_from(["0.1", "0.5", "0.9", "0.95", "0.999"]),
)
def test_bins_are_never_too_narrow(parts, confidence):
    """The same sum twice: on its lattice, and through bins that know nothing of it."""
    terms = [noises(*part) for part in parts]
    exact = sum_margin(terms, confidence=Fraction(confidence))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_sum, "_common_step", lambda steps: Fraction(1, 10**12))
        binned = sum_margin(terms, confidence=Fraction(confidence))
    assert exact <= binned <= Fraction(1005, 1000) * (exact + 1)


def normal_margin(sigma, confidence):
    """The quantile of |N(0, σ²)|, by halving."""
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > 1 - confidence else (low, middle)
    return sigma * high


@pytest.mark.parametrize("confidence", [0.02, 0.5, 0.95, 0.9999, 0.999999])
def test_wide_gaussians_add_up_like_normal_ones(confidence):
    terms = [noises(gaussian(10**18)), noises(gaussian(10**12), step=Fraction(3000, 7))]
    true = normal_margin(math.sqrt(10**18 + (3000 / 7) ** 2 * 10**12), confidence)
    found = float(sum_margin(terms, confidence=Fraction(str(confidence))))
    assert true * (1 - 1e-9) <= found <= 1.005 * true


def test_a_thousand_wide_noises_are_not_a_thousand_times_as_wide():
    """By the central limit theorem with its first correction: kurtosis 3/1000 moves a quantile by less than 0.1 %."""
    found = float(sum_margin([noises(laplace(10**7), copies=1000)], confidence=Fraction(19, 20)))
    true = normal_margin(math.sqrt(2000) * 1e7, 0.95)
    assert 0.999 * true <= found <= 1.006 * true


def test_beyond_what_a_transform_can_see_it_is_only_wide_enough():
    """1 - 10⁻¹³: two tails of e^(-x/s) need about 33 s; Chernoff gives a little more."""
    found = float(sum_margin([noises(laplace(10), copies=2)], confidence=1 - Fraction(1, 10**13)))
    assert 300 < found < 450
    assert found >= convolved_margin([noises(laplace(10), copies=2)], 1 - 1e-13, reach=900)


@pytest.mark.parametrize(
    "law", [laplace("1/3"), laplace(1000), gaussian("1/5"), gaussian(50), gaussian(10**6), gaussian(10**9)], ids=str
)
def test_tails_are_those_of_the_law(law):
    points = np.array([0, 1, 2, 5, 17, 60, 400, 3000, 60000], dtype=float)
    wanted = [law.tail(int(z)) / 2 for z in points]
    assert noise_sum.upper_tails(law, points) == pytest.approx(wanted, rel=1e-9, abs=2e-11)


def test_different_sizes_of_steps_are_no_trouble():
    """A huge step with hardly any noise beside a small one with much of it."""
    terms = [noises(laplace("1/40"), step=10**6), noises(laplace(1000), step=Fraction(1, 10**6))]
    alone = noises(laplace(1000), step=Fraction(1, 10**6))
    found = sum_margin(terms, confidence=Fraction(19, 20))
    true = alone.step * alone.law.margin(confidence=Fraction(19, 20))
    assert true <= found <= Fraction(1005, 1000) * true
