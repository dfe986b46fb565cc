"""Global sensitivity: every closed form equals brute force over all small databases, under both relations."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError, NoTheorem
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.aggregates import (
    Column,
    Count,
    Histogram,
    MarkCounts,
    Maximum,
    Mean,
    Median,
    Minimum,
    Outside,
    Quantile,
    Range,
    Sum,
    Variance,
    rank,
)
from dpsql.sensitivity.brute_force import brute_force_global
from dpsql.sensitivity.global_ import CustomQuery, Sensitivity, custom_query, global_sensitivity
from tests.kits.refusals import each_raises, raised

ADD_REMOVE, CHANGE_ONE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
GRIDS = [(0, 1, 2, 3), (-3, -1, 0, 5), (10, 40, 100), (-9, -8, -2), (Fraction(-1, 3), 0, Fraction(1, 2))]
QUANTILES = [0, Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), 1]


def column_of(grid):
    return Column(bounds=(grid[0], grid[-1]), outside=Outside.REJECT)


def brute(aggregate, domain, sizes, neighbours):
    return brute_force_global(aggregate.value, domain=domain, sizes=sizes, neighbours=neighbours)


def families(column):
    """The aggregates of a column that need a row, each as a function of the public number of rows."""
    yield lambda rows: Mean(column=column, rows=rows)
    yield lambda rows: Variance(column=column, rows=rows)
    yield lambda rows: Range(column=column, rows=rows)
    yield lambda rows: Maximum(column=column, rows=rows)
    yield lambda rows: Minimum(column=column, rows=rows)
    yield lambda rows: Median(column=column, rows=rows)
    for q in QUANTILES:
        yield lambda rows, q=q: Quantile(column=column, q=q, rows=rows)


@pytest.mark.parametrize("grid", GRIDS)
def test_column_aggregates_equal_brute_force(grid):
    """C070: mean, variance, range, extremes, median and quantiles, under both relations, exactly."""
    for family in families(column_of(grid)):
        for rows in (1, 2, 3, 4):
            declared = family(rows)
            found = brute(declared, grid, [rows], CHANGE_ONE)
            assert global_sensitivity(declared, neighbours=CHANGE_ONE) == found, (declared, rows)
        unstated = family(None)
        for neighbours in Neighbours:
            found = brute(unstated, grid, range(1, 5), neighbours)
            assert global_sensitivity(unstated, neighbours=neighbours) == found, (unstated, neighbours)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("every", [True, False])
def test_counts_and_sums_equal_brute_force(grid, neighbours, every):
    """C070: counts and sums, with and without units that contribute nothing. C002, C003: the constants differ."""
    domain = grid if every else (*grid, None)
    for aggregate in (Count(every_unit_contributes=every), Sum(column=column_of(grid), every_unit_contributes=every)):
        found = brute(aggregate, domain, range(4), neighbours)
        assert global_sensitivity(aggregate, neighbours=neighbours) == found


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("bins", [1, 2, 3, 4])
@pytest.mark.parametrize("every", [True, False])
def test_histograms_equal_brute_force(neighbours, bins, every):
    """C070: histogram 1 under add_remove, 2 and √2 under change_one; one cell is a count."""
    aggregate = Histogram(bins=bins, every_unit_contributes=every)
    domain = [*range(bins), *([] if every else [None])]
    assert global_sensitivity(aggregate, neighbours=neighbours) == brute(aggregate, domain, range(4), neighbours)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("items", [1, 2, 3])
def test_marks_equal_brute_force(neighbours, items):
    """C070: m items of which a unit may mark any subset: l1 = m, l2 = √m under both relations."""
    aggregate = MarkCounts(attributes=items)
    domain = list(product((0, 1), repeat=items))
    assert global_sensitivity(aggregate, neighbours=neighbours) == brute(aggregate, domain, range(3), neighbours)


@pytest.mark.parametrize("grid", GRIDS)
def test_mean_of_one_more_equals_brute_force(grid):
    for rows in (1, 2, 3, 4):
        found = brute(Mean(column=column_of(grid)), grid, [rows, rows + 1], ADD_REMOVE)
        assert column_of(grid).width / (rows + 1) == found.l1


@pytest.mark.parametrize("grid", GRIDS)
def test_an_agreed_answer_for_the_empty_table_keeps_the_bound(grid):
    """The mean may answer the middle, the range 0, an order statistic any fixed value in the bounds."""
    column = column_of(grid)
    agreed = [(Mean(column=column), (column.lower + column.upper) / 2), (Range(column=column), 0)]
    agreed += [(kind(column=column), bound) for kind in (Maximum, Minimum, Median) for bound in (grid[0], grid[-1])]
    agreed += [(Variance(column=column), 0)]
    for aggregate, empty in agreed:

        def total(rows, aggregate=aggregate, empty=empty):
            return aggregate.value(rows) if rows else empty

        found = brute_force_global(total, domain=grid, sizes=range(4), neighbours=ADD_REMOVE)
        assert found == global_sensitivity(aggregate, neighbours=ADD_REMOVE)


def test_every_aggregate_is_in_the_table():
    """An aggregate added without a closed form, or a form without a test above, is noticed."""
    tested = {Count, Sum, Mean, Variance, Range, Quantile, Histogram, MarkCounts, CustomQuery}
    assert set(global_sensitivity.registry) - {object} == tested


def test_l1_and_l2_are_distinct():
    """C032: l1, l2 and linf are three numbers; an irrational l2 is rounded up, by very little."""
    with mpmath.workdps(50):
        for items in (2, 3, 5, 7, 1000, 2**20):
            found = global_sensitivity(MarkCounts(attributes=items), neighbours=ADD_REMOVE)
            assert (found.l1, found.linf) == (items, 1)
            root = mpmath.sqrt(items)
            assert found.l2**2 >= items
            assert mpmath.mpf(found.l2.numerator) / found.l2.denominator - root <= root * mpmath.mpf(2) ** -63
    assert Sensitivity.scalar(0.5) == Sensitivity(l1=0.5, l2=Fraction(1, 2), linf=0.5)
    for mixed in ({"l1": 1, "l2": 2, "linf": 1}, {"l1": 2, "l2": 1, "linf": 2}, {"l1": 1, "l2": 0, "linf": 0.5}):
        with pytest.raises(BadParameter):
            Sensitivity(**mixed)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_joint_sensitivity_bounds_the_joint_answer(neighbours):
    """C032: sensitivities of a workload: l1 adds, squares of l2 add."""
    grid = (-1, 0, 2)
    parts = [Count(every_unit_contributes=True), Sum(column=column_of(grid), every_unit_contributes=True)]
    each = [global_sensitivity(part, neighbours=neighbours) for part in parts]
    joint = Sensitivity.of_squares(
        l1=sum(one.l1 for one in each), l2_squared=sum(one.l2**2 for one in each), linf=max(one.linf for one in each)
    )
    found = brute_force_global(
        lambda rows: [part.value(rows) for part in parts], domain=grid, sizes=range(4), neighbours=neighbours
    )
    assert joint == found  # tight here: the row that moves the sum most also moves the count
    tiny = Fraction(1, 10**40)
    assert 1 < Sensitivity.of_squares(l1=1 + tiny, l2_squared=1 + tiny**2, linf=1).l2 <= 1 + tiny


def test_custom_query_needs_a_stated_sensitivity():
    """C068: hard functions come with a sensitivity proved by their author, or are refused."""

    def diameter(rows):
        return max(rows) - min(rows)

    stated = Sensitivity.scalar(9)
    query = custom_query(diameter, sensitivity=stated, neighbours=CHANGE_ONE)
    assert global_sensitivity(query, neighbours=CHANGE_ONE) == stated
    raised(NoTheorem, lambda: custom_query(diameter, sensitivity=None, neighbours=CHANGE_ONE))
    raised(NoTheorem, lambda: global_sensitivity(query, neighbours=ADD_REMOVE))
    raised(BadParameter, lambda: custom_query(diameter, sensitivity=9, neighbours=CHANGE_ONE))
    raised(BadParameter, lambda: custom_query("max - min", sensitivity=stated, neighbours=CHANGE_ONE))
    check = {"domain": range(10), "sizes": [3], "neighbours": CHANGE_ONE}
    assert brute_force_global(diameter, **check) == stated


def test_what_has_no_theorem_is_refused():
    raised(NoTheorem, lambda: global_sensitivity("kmeans", neighbours=CHANGE_ONE), match="str")
    raised(BadParameter, lambda: global_sensitivity(Count(every_unit_contributes=True), neighbours="change_one"))
    for kind in (Mean, Variance, Range, Median):
        with pytest.raises(BadParameter):
            global_sensitivity(kind(column=column_of((0, 1)), rows=4), neighbours=ADD_REMOVE)


def test_lower_median_and_extremes_by_rank():
    for rows in range(1, 30):
        assert rank(q=Fraction(1, 2), rows=rows) == (rows - 1) // 2 + 1
        assert rank(q=0, rows=rows) == 1
        assert rank(q=1, rows=rows) == rows


def test_values_that_contradict_the_declaration_are_refused():
    column = column_of((0, 5))
    refused = [
        (Sum(column=column, every_unit_contributes=True), [1, None]),
        (Mean(column=column, rows=3), [1, 2]),
        (Median(column=column), []),
        (Histogram(bins=2, every_unit_contributes=True), [2]),
        (Histogram(bins=2, every_unit_contributes=True), [0.5]),
        (MarkCounts(attributes=2), [(1, 2)]),
        (MarkCounts(attributes=2), [(1,)]),
    ]
    for aggregate, rows in refused:
        with pytest.raises(BadParameter):
            aggregate.value(rows)


ODD = st.one_of(st.integers(), st.floats(), st.none(), st.booleans(), st.text(max_size=2), st.just(10**400))


@given(ODD, ODD, ODD, ODD, st.sampled_from([*Neighbours, None, "add_remove"]))
def test_any_input_gives_a_finite_sensitivity_or_a_refusal(lower, upper, number, flag, neighbours):
    def sensitivities():
        yield lambda: Sum(column=column_of((lower, upper)), every_unit_contributes=flag)
        yield lambda: Count(every_unit_contributes=flag)
        yield lambda: Histogram(bins=number, every_unit_contributes=flag)
        yield lambda: MarkCounts(attributes=number)
        yield lambda: Quantile(column=column_of((lower, upper)), q=number, rows=flag)
        for kind in (Mean, Variance, Range, Maximum):
            yield lambda kind=kind: kind(column=column_of((lower, upper)), rows=number)
        yield lambda: Mean(column=number)

    for build in sensitivities():
        try:
            found = global_sensitivity(build(), neighbours=neighbours)
        except DpsqlError:
            continue
        assert 0 <= found.linf <= found.l2 <= found.l1
    for call in (
        lambda: Sensitivity(l1=lower, l2=upper, linf=number),
        lambda: Sensitivity.scalar(lower),
        lambda: Sensitivity.of_squares(l1=lower, l2_squared=upper, linf=number),
        lambda: rank(q=lower, rows=number),
    ):
        try:
            assert call() is not None
        except DpsqlError:
            continue


def test_no_infinite_sensitivity():
    each_raises(BadParameter, lambda bad: Sensitivity.scalar(bad), (math.inf, -1, math.nan))
