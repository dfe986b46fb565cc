"""Coverage of intervals for expressions that are not linear: how often the truth is inside, over many releases.

Every row of the released table is one release of the same truth with noise of its own. With R rows and an expected
coverage of at least 95.2 % the share inside falls below 94 % with another seed about once in 400 tests (R = 2000); the
seeds are fixed, so a run that passes once passes always.
"""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk
from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.session import simulate
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Sorted
from tests.kits.refusals import raised
from tests.kits.released import call, decimal, finish, released_table, told, window

RELEASES = 2000
GRAIN = Fraction(1, 2**13)  # of values between 0 and 110, as a plan would choose it
MIDDLE, HALF = 55, 55
KEY = ColumnRef(1, SqlType.INTEGER)
N, S, Q = ColumnRef(2, SqlType.INTEGER), ColumnRef(3, SqlType.DOUBLE), ColumnRef(4, SqlType.DOUBLE)


PEOPLE = call("greatest", Apply("to_double", (N,), SqlType.DOUBLE), decimal(1))
MEAN = call("div", S, PEOPLE)
AVG = call("clamp", call("add", decimal(MIDDLE), MEAN), decimal(0), decimal(2 * MIDDLE))


def slots(family, epsilon, sizes):
    """The laws a plan would give to slots with these largest contributions: the same scale in units of each."""
    found = []
    for size, grain in sizes:
        reach = size / grain
        if family == "laplace":
            law = DiscreteLaplaceLaw(scale=reach * len(sizes) / epsilon)
        else:
            law = DiscreteGaussianLaw(sigma_squared=2 * reach**2 / epsilon**2)
        found.append(NoisySlotLaw(law=law, grain=grain))
    return found


MOMENTS = [(1, Fraction(1)), (HALF, GRAIN), (HALF**2, GRAIN**2)]


def noise(law, size, random):
    """From the law, by numpy: independent of the draws that margins are made of."""
    if isinstance(law, DiscreteLaplaceLaw):
        parts = np.floor(random.exponential(scale=float(law.scale), size=(2, size)))
        return [int(value) for value in parts[0] - parts[1]]
    return [int(value) for value in np.rint(random.normal(scale=float(law.sigma_squared) ** 0.5, size=size))]


def table(truths, laws, random, releases=RELEASES):
    """`truths` in grains, released again and again."""
    slots = [(ColumnRef(2 + place, SqlType.DOUBLE), slot) for place, slot in enumerate(laws)]
    noises = zip(*(noise(slot.law, releases, random) for slot in laws), strict=True)
    rows = (tuple(truth + drawn for truth, drawn in zip(truths, row, strict=True)) for row in noises)
    return released_table((KEY,), slots, ((number,) for number in range(releases)), rows)


def columns(table, *expressions, confidence="0.95", receipt=1):
    rows = told(table, finish(*expressions), confidence=Fraction(confidence), receipt=receipt)
    return list(zip(*rows, strict=True))


def cells(released_table, expression, confidence="0.95", receipt=1):
    (found,) = columns(released_table, expression, confidence=confidence, receipt=receipt)
    return list(found)


def covered(found, truth):
    """The share of intervals that hold the truth, and of values within their margin of it."""
    inside = np.mean([cell is not None and cell.low <= truth <= cell.high for cell in found])
    near = np.mean([cell is not None and abs(cell.value - truth) <= cell.margin for cell in found])
    return inside, near


def moments_of(size, mean=47, deviation=19):
    """Count, centred sum and squares of `size` values, in grains, and the statistics they stand for."""
    distance = mean - MIDDLE
    truths = (size, size * distance * 2**13, size * (deviation**2 + distance**2) * 2**26)
    return truths, {"avg": mean, "var": deviation**2, "stddev": deviation}


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("gap", [0, 3, 40])
def test_expressions_with_a_corner_are_covered(family, gap):
    """|a - b| and the larger of two turn around where the two are equal: quantiles alone would miss the truth there."""
    laws = slots(family, Fraction(1, 2), [(1, Fraction(1))] * 2)
    released_table = table((1000 + gap, 1000), laws, np.random.default_rng([gap, len(family), 2]))
    distances, largest = columns(released_table, call("abs", call("sub", N, S)), call("greatest", N, S))
    for found, truth in ((distances, gap), (largest, 1000 + gap)):
        inside, near = covered(found, truth)
        assert inside >= 0.94
        assert near >= 0.94


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_a_truth_at_the_very_corner_is_covered(family):
    """|x| and x² of a sum on a fine grain that is 0: every plausible value lies above the truth."""
    laws = slots(family, Fraction(1, 2), [(1, Fraction(1)), (1, Fraction(1, 1024))])
    released_table = table((1000, 0), laws, np.random.default_rng([len(family), 5]))
    for found in columns(released_table, call("abs", S), call("mul", S, S)):
        inside, near = covered(found, 0)
        assert inside >= 0.94
        assert near >= 0.94


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_a_high_confidence_is_kept(family):
    """At 99.9 % at most 11 of 4000 may be outside; 4 are expected, and 12 or more happen once in 1000 tests."""
    truths, true = moments_of(2500)
    laws = slots(family, Fraction(1, 2), MOMENTS)
    released_table = table(truths, laws, np.random.default_rng([9, len(family)]), releases=4000)
    inside, _ = covered(cells(released_table, AVG, confidence="0.999"), true["avg"])
    assert inside >= 1 - 11 / 4000


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_a_hundred_draws_are_enough(family, monkeypatch):
    """Where there are many rows the number of draws goes down to 100; rows then share the luck of few draws."""
    monkeypatch.setattr(simulate, "_MOST_ROWS", 10_000)
    truths, true = moments_of(2500)
    released_table = table(truths, slots(family, Fraction(1, 2), MOMENTS), np.random.default_rng([8, len(family)]))
    assert (
        simulate.Simulation(
            desk=Desk(),
            table=released_table,
            release="",
            expressions=(AVG,),
            possible=(None,),
            kept=(),
            confidence=Fraction(19, 20),
        )._count(RELEASES)
        == 100
    )
    for receipt in range(2):
        inside, _ = covered(cells(released_table, AVG, receipt=receipt), true["avg"])
        assert 0.94 <= inside <= 0.99


def test_shares_of_a_total_are_covered():
    """Four groups and their windows, 500 times: every group's share of the whole."""
    (law,) = slots("laplace", Fraction(1, 2), [(1, Fraction(1))])
    sizes, group = [400, 900, 1300, 2400], ColumnRef(5, SqlType.INTEGER)
    drawn = noise(law.law, RELEASES, np.random.default_rng(77))
    keys, values = zip(*(((row // 4, row % 4), (sizes[row % 4] + drawn[row],)) for row in range(RELEASES)), strict=True)
    total = window("sum", N, by=(KEY,))
    before = window("lag", N, by=(KEY,), order=(Sorted(by=group),))
    released = released_table((KEY, group), ((N, law),), keys, values)
    shares, grown = columns(released, call("div", N, total), call("sub", N, before))
    inside = [np.mean([each.low <= sizes[n] / 5000 <= each.high for each in shares[n::4]]) for n in range(4)]
    assert 0.94 <= np.mean(inside) <= 0.99
    steps = ((1, 500), (2, 400), (3, 1100))
    inside = [np.mean([each.low <= step <= each.high for each in grown[place::4]]) for place, step in steps]
    assert 0.94 <= np.mean(inside) <= 0.99
    assert grown[0::4] == (None,) * 500


def test_parts_of_many_rows_are_put_together_again(monkeypatch):
    """One statement for all rows, or several: the same intervals."""
    truths, _ = moments_of(2500)
    released_table = table(truths, slots("laplace", Fraction(1, 2), MOMENTS), np.random.default_rng(3), releases=250)
    monkeypatch.setattr(simulate, "_FEWEST_DRAWS", 997)
    whole = [(cell.low, cell.high) for cell in cells(released_table, AVG)]
    monkeypatch.setattr(simulate, "_MOST_ROWS", 997 * 60)
    parts = [(cell.low, cell.high) for cell in cells(released_table, AVG)]
    assert whole == parts


def test_windows_over_very_many_rows_have_no_interval(monkeypatch):
    """They would not fit into memory, and an answer without margins is better than none."""
    truths, _ = moments_of(2500)
    released_table = table(truths, slots("laplace", Fraction(1, 2), MOMENTS), np.random.default_rng(3), releases=30)
    total = window("sum", N)
    assert cells(released_table, total)[0].margin > 0
    monkeypatch.setattr(simulate, "_MOST_IN_WINDOWS", 29)
    found = cells(released_table, total)
    assert [cell.margin for cell in found] == [None] * 30
    assert (found[0] - 1).margin is None


def test_what_is_no_arithmetic_is_not_simulated():
    raised(InternalError, lambda: simulate._evaluated(Constant("x", SqlType.TEXT), {}))
