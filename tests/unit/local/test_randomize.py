"""Input perturbation at the source. Statistical tests below fail by accident less than once in 10⁹ runs each."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpsql.local import estimate_share, estimate_shares, randomize_bits, randomize_categories
from dpsql.mechanisms.randomized_response import KaryResponse, RandomizedResponse
from dpsql.randomness import SYSTEM
from dpsql.testing.fixed import SeededSource

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


STRANGE = [2, -1, 0.4, math.nan, None, "yes", [], np.array([1, 2]), Decimal("sNaN"), object()]


def test_no_value_at_the_source_is_an_error():
    """Whether a column holds a value of the wrong kind is known to its people alone."""
    bits = randomize_bits(STRANGE, response=QUARTER, source=SYSTEM)
    assert len(bits) == len(STRANGE)
    assert set(bits) <= {0, 1}
    colours = KaryResponse(categories=["red", "green"], epsilon=2)
    assert set(randomize_categories(STRANGE, response=colours, source=SYSTEM)) <= {"red", "green"}


def test_people_without_a_category_add_the_same_to_every_share():
    """2000 of 3000 hold nothing that is listed: each of the three shares has a third of their share in it."""
    response = KaryResponse(categories=["red", "green", "blue"], epsilon=2)
    reports = randomize_categories(["red"] * 1000 + [None] * 2000, response=response, source=SYSTEM)
    estimates = estimate_shares(reports, response=response, beta=1e-9 / 3)
    for colour, share in (("red", 1 / 3), ("green", 0), ("blue", 0)):
        assert abs(estimates[colour].value - share - 2 / 9) <= estimates[colour].margin
