"""Quantiles. Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.mechanisms import quantile
from dpsql.mechanisms.quantile import QuantileMechanism, draw_weighted, rank_sensitivity
from dpsql.privacy.events import BoundedRange
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM
from dpsql.sensitivity.brute_force import utility_sensitivity
from tests.kits.mechanism_kit import MechanismKit, surprise
from tests.kits.methods import always

QS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def grid_law(data, *, q, lower, upper, scale):
    """Point by point: exp(−|#{x < r} − q n| / scale), normalised; None is no value."""
    clamped = [min(max(x, lower), upper) for x in data if x is not None]
    distances = [abs(sum(x < r for x in clamped) - q * len(clamped)) for r in range(lower, upper + 1)]
    weights = [math.exp(-(d - min(distances)) / scale) for d in distances]
    return {r: w / math.fsum(weights) for r, w in zip(range(lower, upper + 1), weights, strict=True)}


class TestQuantileKit(MechanismKit):
    """C056: the quantile mechanism obeys the laws of mechanisms."""

    mechanism = always(
        lambda: QuantileMechanism(
            q=Fraction(1, 2), lower=0, upper=6, epsilon=Fraction(1), neighbours=Neighbours.CHANGE_ONE, values_per_unit=1
        )
    )

    value = always(lambda: [1, 1, 4, 5, 99])
    neighbour = always(lambda: [1, 1, 4, 0, 99])
    outputs = always(lambda: range(7))

    def probability(self, value, output):
        return grid_law(value, q=Fraction(1, 2), lower=0, upper=6, scale=2)[output]

    def bad_parameters(self):
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True))
        yield from ({"q": bad} for bad in (-0.1, 1.1, math.nan, None))
        yield from ({"lower": bad} for bad in (6, 7, 0.5, -(2**63)))
        yield from ({"upper": bad} for bad in (0, -1, math.inf))
        yield from ({"values_per_unit": bad} for bad in (0, 1.5))
        yield from ({"neighbours": bad} for bad in ("add_remove", None))

    ill_typed = always(lambda: [0.8675309, "0.8675309", {0.8675309: 1}])
    strange_rows = always(
        lambda: [
            [0.8675309, "0.8675309", None, math.nan, math.inf, [8675309], object(), Decimal("sNaN"), 2**200],
            np.array([0.8675309, math.nan]),
        ]
    )


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("q", QS)
def test_smith_2011_sensitivity_of_the_rank(q, neighbours):
    """C056: brute force over all small databases; attained on four values."""
    largest = utility_sensitivity(
        lambda rows, point: -abs(sum(row < point for row in rows) - q * len(rows)),
        candidates=range(5),
        domain=range(4),
        sizes=range(6) if neighbours is Neighbours.ADD_REMOVE else [4],
        neighbours=neighbours,
    )
    declared = rank_sensitivity(q=q, neighbours=neighbours, values_per_unit=1)
    assert largest <= declared
    assert largest >= Fraction(95, 100) * declared
    assert rank_sensitivity(q=q, neighbours=neighbours, values_per_unit=3) == 3 * declared


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("q", QS)
def test_all_neighbours_on_a_small_grid_are_within_epsilon(q, neighbours):
    """C056: every pair of databases of up to four rows on five points or none, by the law of the release."""
    epsilon = Fraction(2)
    mechanism = QuantileMechanism(q=q, lower=0, upper=4, epsilon=epsilon, neighbours=neighbours, values_per_unit=1)
    worst = 0.0
    for size in range(4):
        for rest in itertools.combinations_with_replacement(range(5), size):
            group = [(*rest, x) for x in (None, *range(5))]
            if neighbours is Neighbours.ADD_REMOVE:
                group = [rest, *group]
            laws = [grid_law(d, q=q, lower=0, upper=4, scale=float(mechanism.scale)) for d in group]
            pairs = (
                itertools.product(laws[:1], laws[1:])
                if neighbours is Neighbours.ADD_REMOVE
                else itertools.combinations(laws, 2)
            )
            for one, other in pairs:
                worst = max(worst, *(abs(math.log(one[r] / other[r])) for r in one))
    assert worst <= float(epsilon) * (1 + 1e-12)


ROWS = st.one_of(st.integers(-3, 9), st.floats(), st.none(), st.text(max_size=2), st.decimals(-5, 12))


def counted(row):
    """What a row counts as: by the words of the class, with Python's own rounding away from a half."""
    number = isinstance(row, (int, float, Decimal)) and math.isfinite(row)
    return math.copysign(math.floor(abs(Fraction(row)) + Fraction(1, 2)), row) if number else None


@given(data=st.lists(ROWS, max_size=8), q=st.sampled_from(QS), epsilon=st.fractions(Fraction(1, 10), 4))
def test_a_release_draws_from_the_law_of_the_points(data, q, epsilon):
    """C056: the runs and exponents that `release` draws from, expanded to points, and the point each choice gives."""
    mechanism = QuantileMechanism(
        q=q, lower=-1, upper=6, epsilon=epsilon, neighbours=Neighbours.CHANGE_ONE, values_per_unit=1
    )
    asked = {}

    def first_run(*, lengths, exponents, source):
        asked.update(lengths=lengths, exponents=exponents)
        return asked["run"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantile, "draw_weighted", first_run)
        patch.setattr(quantile, "uniform_below", lambda bound, *, source: bound - 1)
        points, values = [], [counted(row) for row in data]
        for asked["run"] in range(len([row for row in values if row is not None]) + 1):
            points.append(mechanism.release(Exact(data), source=None))
    weights = [math.exp(-g) for n, g in zip(asked["lengths"], asked["exponents"], strict=True) for _ in range(n)]
    got = {r: w / math.fsum(weights) for r, w in zip(range(-1, 7), weights, strict=True)}
    assert got == pytest.approx(grid_law(values, q=q, lower=-1, upper=6, scale=float(2 / epsilon)), rel=1e-9)
    ends = itertools.accumulate(asked["lengths"], initial=-2)
    assert points == list(ends)[1:]


def test_a_weighted_draw_follows_its_weights():
    """False alarm below 10⁻⁹ per comparison."""
    lengths, exponents = [3, 0, 1, 7], [Fraction(1), Fraction(0), Fraction(0), Fraction(5, 2)]
    weights = [n * math.exp(-g) if n else 0 for n, g in zip(lengths, exponents, strict=True)]
    draws = 4000
    seen = [draw_weighted(lengths=lengths, exponents=exponents, source=SYSTEM) for _ in range(draws)]
    assert 1 not in seen
    for i in (0, 2, 3):
        assert surprise(hits=seen.count(i), draws=draws, probability=weights[i] / sum(weights)) > 1e-9


class ScriptedSource:
    """Gives the bits of a fixed number, then of another: to walk the path on which a draw must be refined."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def bits(self, count):
        return self.answers.pop(0)


def test_a_weighted_draw_that_the_first_bits_leave_open_is_refined():
    """Bits next to the border between two weights: the bounds of exp leave both open until 64 more bits are drawn."""
    equal = {"lengths": [1, 1], "exponents": [Fraction(0), Fraction(0)]}
    assert draw_weighted(**equal, source=ScriptedSource(2**127 - 3)) == 0
    assert draw_weighted(**equal, source=ScriptedSource(2**127 + 2)) == 1
    third = {"lengths": [1, 1], "exponents": [Fraction(0), Fraction(1)]}
    with mpmath.workdps(80):
        border = int(mpmath.floor(mpmath.mpf(2) ** 128 / (1 + mpmath.exp(-1))))
    low = ScriptedSource(border, 0)
    high = ScriptedSource(border, 2**64 - 1)
    assert draw_weighted(**third, source=low) == 0
    assert draw_weighted(**third, source=high) == 1
    assert low.answers == high.answers == []


def test_minimum_maximum_and_empty_data():
    """C056: q = 0 and q = 1; no values at all give a uniform point."""
    common = {"lower": 0, "upper": 100, "epsilon": 10**6, "neighbours": Neighbours.CHANGE_ONE, "values_per_unit": 1}
    # #{x < r} = 0 for every r up to the smallest value, and n for every r beyond the largest.
    assert QuantileMechanism(q=0, **common).release(Exact([40, 60]), source=SYSTEM) <= 40
    assert QuantileMechanism(q=1, **common).release(Exact([40, 60]), source=SYSTEM) > 60
    assert 0 <= QuantileMechanism(q=0.5, **common).release(Exact([]), source=SYSTEM) <= 100


def test_concentrated_data_on_a_fine_grid_is_quick():
    mechanism = QuantileMechanism(
        q=0.5, lower=0, upper=2**40, epsilon=1, neighbours=Neighbours.ADD_REMOVE, values_per_unit=1
    )
    # The best points are the grid's 1 in 2^40: rejection from the grid would take a lifetime.
    assert mechanism.release(Exact([12345] * 500 + [12346] * 500), source=SYSTEM) == 12346


@given(beta=st.floats(1e-9, 0.99), epsilon=st.floats(0.01, 10))
def test_the_rank_error_is_rounded_up(beta, epsilon):
    """C056."""
    mechanism = QuantileMechanism(
        q=0.5, lower=0, upper=999, epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE, values_per_unit=1
    )
    with mpmath.workdps(50):
        truth = mpmath.log(1000 / mpmath.mpf(beta)) / mpmath.mpf(epsilon)
        assert truth <= mechanism.rank_error(beta=beta) <= truth * (1 + mpmath.mpf(10) ** -14)


@pytest.mark.parametrize("beta", [0.5, 0.05])
@pytest.mark.parametrize("data", [[1, 1, 4, 5, 6], [3] * 7, [0, 6]])
def test_the_rank_error_holds_by_the_law(data, beta):
    """C056."""
    mechanism = TestQuantileKit().mechanism()
    law = grid_law(data, q=Fraction(1, 2), lower=0, upper=6, scale=2)
    distance = {r: abs(sum(x < r for x in data) - len(data) / 2) for r in law}
    best, error = min(distance.values()), mechanism.rank_error(beta=beta)
    assert math.fsum(p for r, p in law.items() if distance[r] - best >= error) <= beta


def test_it_is_charged_as_a_bounded_range():
    assert TestQuantileKit().mechanism().event == BoundedRange(epsilon=Fraction(1))
