"""Margins and plausible noise against the laws they come from. No chance is involved."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import (
    DRAWS,
    NoisySlotLaw,
    Spread,
    averaged_slot,
    band,
    draws,
    largest_margin,
    linear_margin,
    spread_of,
)
from tests.kits.refusals import raised

LAPLACE = DiscreteLaplaceLaw(scale=Fraction(20))
GAUSSIAN = DiscreteGaussianLaw(sigma_squared=Fraction(50))
LAWS = [
    LAPLACE,
    GAUSSIAN,
    DiscreteLaplaceLaw(scale=Fraction(1, 3)),
    DiscreteLaplaceLaw(scale=Fraction(10**8, 7)),
    DiscreteGaussianLaw(sigma_squared=Fraction(1, 4)),
    DiscreteGaussianLaw(sigma_squared=Fraction(10**5)),
]


def slot(law, grain=1, rounded=False):
    return NoisySlotLaw(law=law, grain=Fraction(grain), rounded=rounded)


def smallest(law, confidence):
    """The smallest m with probability >= confidence inside, by adding up probabilities."""
    m, inside = 0, law.pmf(0)
    while inside < confidence:
        m += 1
        inside += 2 * law.pmf(m)
    return m


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=str)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_one_slot_has_the_exact_margin_of_its_law(law, confidence):
    found = linear_margin([(Fraction(-3), slot(law, "1/1024"))], confidence=confidence)
    assert found == Fraction(3, 1024) * smallest(law, confidence)


def test_rounding_adds_half_a_unit_of_each_rounded_slot():
    exact = linear_margin([(Fraction(2), slot(LAPLACE, "1/8"))], confidence=0.9)
    rounded = linear_margin([(Fraction(2), slot(LAPLACE, "1/8", rounded=True))], confidence=0.9)
    assert rounded == exact + 1


def test_no_weight_no_margin():
    assert linear_margin([], confidence=0.95) == 0
    assert linear_margin([(Fraction(0), slot(LAPLACE))], confidence=0.95) == 0


def test_the_order_of_terms_does_not_matter():
    terms = [(Fraction(1), slot(LAPLACE, "1/3")), (Fraction(5, 7), slot(GAUSSIAN)), (Fraction(2), slot(LAPLACE))]
    assert linear_margin(terms, confidence=0.9) == linear_margin(terms[::-1], confidence=0.9)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, math.nan, True])
def test_a_confidence_is_between_0_and_1(confidence):
    raised(BadParameter, lambda: linear_margin([(Fraction(1), slot(LAPLACE))], confidence=confidence))
    raised(BadParameter, lambda: band(count=100, confidence=confidence))


@pytest.mark.parametrize("grain", [0, -1])
def test_a_grain_is_above_0(grain):
    raised(BadParameter, lambda: slot(LAPLACE, grain))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_are_the_quantiles_of_the_law(law):
    """The i-th smallest lies in the i-th of equally likely parts: its distribution function reaches the middle."""
    count = 201
    values = sorted(draws(slot(law), count, seed=b"any"))
    for place, value in enumerate(values):
        z = int(value)
        assert value == z
        level = (place + 0.5) / count
        assert law.cdf(z) >= level - 1e-9
        assert law.cdf(z - 1) <= level + 1e-9


def test_draws_have_the_size_of_the_grain_and_are_symmetric():
    values = sorted(draws(slot(LAPLACE, "1/16"), DRAWS, seed=b"any"))
    assert values == [value / 16 for value in sorted(draws(slot(LAPLACE), DRAWS, seed=b"other"))]
    assert values == [-value for value in values[::-1]]


def test_the_seed_decides_the_order_and_nothing_else():
    first, again, other = (draws(slot(LAPLACE), DRAWS, seed=seed) for seed in (b"one", b"one", b"two"))
    assert first == again != other
    assert sorted(first) == sorted(other)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("count", "confidence"), [(DRAWS, 0.9999), (100, 0.95), (100, 0.99)])
def test_stretched_draws_show_a_confidence_that_plain_ones_cannot(law, count, confidence):
    """At the place where the shown confidence is read off, they have the margin of the wanted one."""
    rule = band(count=count, confidence=confidence)
    assert rule.shown < confidence
    fine = 10_001  # levels so fine that the place is met exactly enough
    values = sorted(draws(slot(law), fine, seed=b"", rule=rule))
    place = int((1 - float(1 - rule.shown) / 2) * fine)
    wanted = law.margin(confidence=confidence)
    assert values[place] == pytest.approx(wanted, rel=5e-3, abs=1.01 if law.std > 1 else 0.01)


@given(st.integers(20, 2000), st.fractions(Fraction(1, 10), Fraction(999, 1000)))
def test_a_band_covers_what_it_shows(count, confidence):
    rule = band(count=count, confidence=confidence)
    assert rule.shown <= confidence
    assert Fraction(count - 2 * rule.outside - 1, count + 1) >= rule.shown


def test_usual_bands():
    assert band(count=DRAWS, confidence=Fraction(19, 20)).shown == Fraction(19, 20)
    assert band(count=DRAWS, confidence=Fraction(99, 100)).shown == Fraction(99, 100)
    assert 18 <= band(count=DRAWS, confidence=Fraction(19, 20)).outside <= 23


def test_a_spread_leaves_out_as_many_as_its_band_says():
    rule = band(count=DRAWS, confidence=Fraction(9, 10))
    values = [float(value) for value in range(DRAWS)]
    assert spread_of(values[::-1], rule=rule) == Spread(
        smallest=0, low=rule.outside, high=DRAWS - 1 - rule.outside, largest=DRAWS - 1
    )


def test_missing_values_are_outside():
    rule = band(count=DRAWS, confidence=Fraction(9, 10))
    values = [None] * 11 + [float(value) for value in range(DRAWS - 11)]
    spread = spread_of(values, rule=rule)
    assert spread.low == rule.outside - 6
    assert spread.high == DRAWS - 12 - (rule.outside - 6)


def test_too_many_missing_values_leave_no_spread():
    rule = band(count=DRAWS, confidence=Fraction(9, 10))
    most = 2 * rule.outside
    assert spread_of([None] * most + [1.0] * (DRAWS - most), rule=rule) is not None
    assert spread_of([None] * (most + 1) + [1.0] * (DRAWS - most - 1), rule=rule) is None
    assert spread_of([math.nan] * DRAWS, rule=rule) is None


def test_an_interval_reaches_as_far_on_both_sides_but_not_beyond_everything():
    spread = Spread(smallest=0.0, low=0.5, high=9.0, largest=12.0)
    around = spread.around(4.0)
    assert (around.margin, around.low, around.high) == (5.0, -0.5, 9.0)


def test_an_interval_contains_the_value():
    """Also where every plausible value lies on one side of it."""
    around = Spread(smallest=3.0, low=4.0, high=9.0, largest=12.0).around(1.0)
    assert (around.margin, around.low, around.high) == (8.0, 1.0, 9.0)


@pytest.mark.parametrize(("first", "second"), [(100, 40), (9, 9), (400, 25)])
def test_an_average_of_whole_numbers_is_off_by_a_whole_number(first, second):
    """Told rounded: the margin is the smallest number of people that holds, by the law of the rounded average."""
    laws = [DiscreteGaussianLaw(sigma_squared=Fraction(size)) for size in (first, second)]
    slot = averaged_slot([NoisySlotLaw(law=law, grain=Fraction(1)) for law in laws])
    (one, _), (other, _) = slot.parts
    chances = [0.0] * 200
    first_chance, second_chance = ({number: law.pmf(number) for number in range(-120, 121)} for law in laws)
    for x, of_x in first_chance.items():
        for y, of_y in second_chance.items():
            off = (2 * abs(one * x + other * y) + one + other) // (2 * (one + other))  # rounded, halves away from 0
            chances[off] += of_x * of_y
    margin = linear_margin([(Fraction(-3), slot)], confidence=Fraction(19, 20))
    people = margin / 3
    assert people.denominator == 1
    assert sum(chances[: int(people) + 1]) >= 0.95
    assert sum(chances[: int(people)]) < 0.95


def test_a_margin_that_does_not_depend_on_what_is_shown_is_the_largest():
    """Only a threshold on Gaussian noise says anything about the size of the noise above it."""
    for slot in (
        NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(20)), grain=Fraction(3)),
        NoisySlotLaw(law=DiscreteGaussianLaw(sigma_squared=Fraction(50)), grain=Fraction(1, 2)),
    ):
        wanted = slot.grain * slot.law.margin(confidence=Fraction(19, 20), outputs=7)
        assert largest_margin(slot, confidence=Fraction(19, 20), groups=7) == wanted
