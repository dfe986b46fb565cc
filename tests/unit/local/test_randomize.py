"""Input perturbation at the source. Statistical tests below fail by accident less than once in 10⁹ runs each."""

import math
from fractions import Fraction

import pytest

from dpsql.errors import BadParameter
from dpsql.local import estimate_share, estimate_shares, randomize_bits, randomize_categories
from dpsql.mechanisms.randomized_response import KaryResponse, RandomizedResponse
from dpsql.randomness import SYSTEM
from dpsql.testing.seeded import SeededSource

QUARTER = RandomizedResponse.with_gamma(gamma=Fraction(1, 4))


def test_bits_are_perturbed_at_the_source_and_debiased_at_the_curator():
    """C016: 3000 people, 900 of whom say yes; the estimate is within its margin except once in 10⁹."""
    bits = [1] * 900 + [0] * 2100
    reports = randomize_bits(bits, response=QUARTER, source=SYSTEM)
    assert len(reports) == len(bits)
    assert set(reports) <= {0, 1}
    estimate = estimate_share(reports, response=QUARTER, beta=1e-9)
    assert abs(estimate.value - 0.3) <= estimate.margin < 0.13


def test_categories_are_perturbed_at_the_source_and_debiased_at_the_curator():
    """C016."""
    response = KaryResponse(categories=["red", "green", "blue"], epsilon=2)
    values = ["red"] * 2000 + ["green"] * 1000
    reports = randomize_categories(values, response=response, source=SYSTEM)
    estimates = estimate_shares(reports, response=response, beta=1e-9 / 3)
    for colour, share in (("red", 2 / 3), ("green", 1 / 3), ("blue", 0)):
        assert abs(estimates[colour].value - share) <= estimates[colour].margin
    assert math.fsum(e.value for e in estimates.values()) == pytest.approx(1)


def test_each_person_is_perturbed_alone_and_in_order():
    """C016: one report per person; the same source gives the same reports, another gives others."""
    bits = [0, 1] * 200
    first, second, third = (randomize_bits(bits, response=QUARTER, source=SeededSource(seed)) for seed in (1, 1, 2))
    assert first == second != third
    differs = sum(a != b for a, b in zip(bits, first, strict=True))
    assert 0 < differs < len(bits)


@pytest.mark.parametrize("bits", [[2], [0.8675309], ["yes"], [None]])
def test_values_that_are_not_bits_are_refused_at_the_source(bits):
    with pytest.raises(BadParameter) as refusal:
        randomize_bits(bits, response=QUARTER, source=SYSTEM)
    assert "0.8675309" not in str(refusal.value)
