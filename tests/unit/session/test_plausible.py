"""Noise by identity: the same cell, the same draws; another cell, independent ones."""

from fractions import Fraction

import pytest

from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import DRAWS, NoisySlotLaw, band
from dpsql.session.plausible import Fixed, RoundingCell, SlotCell, noise_of, plausible_sums, pool, shuffle

LAW = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(30)), grain=Fraction(1))
RULE = band(count=DRAWS, confidence=Fraction(19, 20))


def cell(row=0, slot=0, release="a", law=LAW):
    return SlotCell(release=release, row=row, slot=slot, law=law)


def correlation(one, two):
    return sum(map(float.__mul__, one, two)) / sum(value * value for value in one)


def test_every_row_goes_through_the_whole_pool_and_the_same_identity_has_the_same_noise():
    for row in range(50):
        assert sorted(noise_of(cell(row), RULE)) == sorted(pool(release="a", slot=0, law=LAW, rule=RULE))
    assert noise_of(cell(3), RULE) == noise_of(cell(3), RULE)
    assert cell(3) == cell(3)
    assert hash(cell(3)) == hash(cell(3, law=NoisySlotLaw(law=LAW.law, grain=Fraction(1, 2))))


@pytest.mark.parametrize("other", [cell(1), cell(slot=1), cell(release="b")])
def test_another_identity_has_independent_noise(other):
    """|r| of two shuffled lists of 997 is above 0.2 once in 10⁹ pairs."""
    assert cell() != other
    assert abs(correlation(noise_of(cell(), RULE), noise_of(other, RULE))) < 0.2


def test_rows_are_shuffled_in_many_ways():
    ways = {shuffle(release="a", row=row) for row in range(2000)}
    assert len(ways) > 1980  # of 993 012; two of 2000 meet about twice
    assert all(1 <= a < DRAWS and 0 <= b < DRAWS for a, b in ways)


def test_sums_take_the_noise_off_and_what_rounding_added():
    first, second = noise_of(cell(), RULE), noise_of(cell(1), RULE)
    found = plausible_sums(100.0, {cell(): Fraction(2), cell(1): Fraction(-1, 2)}, RULE)
    assert found == [100.0 - 2 * a + 0.5 * b for a, b in zip(first, second, strict=True)]
    rounding = RoundingCell(release="a", row=0, slot=0, size=Fraction(1, 4))
    assert rounding != cell()
    found = plausible_sums(100.0, {cell(): Fraction(2), rounding: Fraction(2)}, RULE)
    assert found == [100.0 - 2 * a - 0.5 for a in first]


def test_fewer_draws_are_the_first_ones():
    few = band(count=100, confidence=Fraction(1, 2))
    values = tuple(map(float, range(DRAWS)))
    assert Fixed(values).plausible(few) == list(values[:100])
