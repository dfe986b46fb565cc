"""Local sensitivity: closed forms equal brute force on every small database; the largest is the global one."""

import importlib.util
import math
import sys
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError, NoTheorem
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.aggregates import (
    Column,
    Count,
    Histogram,
    Maximum,
    Mean,
    Median,
    Minimum,
    Outside,
    Quantile,
    Range,
    Sum,
    Variance,
)
from dpsql.sensitivity.brute_force import brute_force_local
from dpsql.sensitivity.global_ import global_sensitivity
from dpsql.sensitivity.local import local_sensitivity
from tests.oracles.sensitivity import breakpoints

ADD_REMOVE, CHANGE_ONE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
GRIDS = [(0, 1, 2, 4), (-3, 0, 1, 7), (-9, -8, -2)]
QUANTILES = [0, Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), 1]


def column_of(grid):
    return Column(bounds=(grid[0], grid[-1]), outside=Outside.REJECT)


def aggregates(column):
    yield from (kind(column=column) for kind in (Mean, Range, Maximum, Minimum, Median))
    yield from (Quantile(column=column, q=q) for q in QUANTILES)
    for every in (True, False):
        yield Count(every_unit_contributes=every)
        yield Sum(column=column, every_unit_contributes=every)


def databases(aggregate, grid, largest):
    rows = grid if getattr(aggregate, "every_unit_contributes", True) else (*grid, None)
    return rows, [
        data for size in range(aggregate.smallest, largest + 1) for data in combinations_with_replacement(rows, size)
    ]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("neighbours", Neighbours)
def test_closed_forms_equal_brute_force_and_their_maximum_is_global(grid, neighbours):
    """C072: exact local sensitivity of every supported aggregate. C073: GS = max LS."""
    for aggregate in aggregates(column_of(grid)):
        domain, all_data = databases(aggregate, grid, largest=4)
        largest = Fraction(0)
        for data in all_data:
            found = local_sensitivity(aggregate, data, neighbours=neighbours)
            brute = brute_force_local(
                aggregate.value, data, domain=domain, neighbours=neighbours, smallest=aggregate.smallest
            )
            assert found == brute.l1, (aggregate, data)
            largest = max(largest, found)
        assert largest == global_sensitivity(aggregate, neighbours=neighbours).l1, aggregate


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_global_is_the_largest_local_for_each_public_size(rows):
    """C073: GS = max LS also where the number of rows is public."""
    grid = (0, 1, 5)
    for kind in (Mean, Range, Maximum, Minimum, Median):
        aggregate = kind(column=column_of(grid), rows=rows)
        locals_ = [
            local_sensitivity(aggregate, data, neighbours=CHANGE_ONE)
            for data in combinations_with_replacement(grid, rows)
        ]
        assert max(locals_) == global_sensitivity(aggregate, neighbours=CHANGE_ONE).l1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.sampled_from(Neighbours),
    st.fractions(0, 1, max_denominator=20),
)
def test_larger_data_equal_brute_force_at_the_breakpoints(data, neighbours, q):
    """C072: more rows than can be enumerated; unsorted; any quantile."""
    column = Column(bounds=(0, 30), outside=Outside.REJECT)
    points = breakpoints(column, [Fraction(value) for value in data])
    for aggregate in (Quantile(column=column, q=q), Range(column=column), Mean(column=column)):
        brute = brute_force_local(aggregate.value, data, domain=points, neighbours=neighbours, smallest=1)
        assert local_sensitivity(aggregate, data, neighbours=neighbours) == brute.l1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-5, 15), min_size=1, max_size=6), st.sampled_from(Neighbours))
def test_breakpoints_suffice_also_for_rows_outside(data, neighbours):
    wide = Column(bounds=(-5, 15), outside=Outside.REJECT)
    narrow = Column(bounds=(0, 10), outside=Outside.CLAMP)
    for aggregate in (Median(column=wide), Range(column=wide), Maximum(column=wide)):
        at_points, everywhere = (
            brute_force_local(aggregate.value, data, domain=domain, neighbours=neighbours, smallest=1)
            for domain in (breakpoints(narrow, [Fraction(value) for value in data]), range(11))
        )
        assert at_points == everywhere


@pytest.fixture
def example(monkeypatch):
    module_name = "ls_breach"
    path = Path(__file__).parents[3] / "examples" / "ls_breach.py"
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, module_name, module)  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("largest", "epsilon"), [(1, Fraction(1)), (1000, Fraction(1)), (50, Fraction(1, 10))])
def test_local_sensitivity_noise_is_not_private(example, largest, epsilon):
    """C074: median of (0, …, 0, M, M) with noise scaled to local sensitivity: the loss is infinite."""
    found = example.breach(largest=largest, epsilon=epsilon)
    assert found.medians == (0, 0)
    assert found.local == (0, largest)
    assert found.global_ == largest
    with mpmath.workdps(50):
        p = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator / largest)
        not_zero = 1 - (1 - p) / (1 + p)  # one minus the mass of discrete Laplace noise at 0
        assert found.delta[0] <= not_zero <= found.delta[1]
        assert found.zero_from_second[0] <= 1 - not_zero <= found.zero_from_second[1]
    assert found.delta[1] - found.delta[0] < 1e-12
    assert found.delta[0] > 0, "an event of probability 0 on one side: no ε bounds the loss"
    assert found.zero_from_first == 1
    assert found.loss_with_global <= epsilon


def test_the_example_runs(example, capsys):
    """C074: examples/ls_breach.py prints the loss."""
    example.main()
    assert "the loss is infinite" in capsys.readouterr().out


def test_refusals():
    column = column_of((0, 5))
    for aggregate in (Variance(column=column), Histogram(bins=2, every_unit_contributes=True), "median"):
        with pytest.raises(NoTheorem):
            local_sensitivity(aggregate, [0, 1], neighbours=CHANGE_ONE)
    for aggregate in (Mean(column=column), Range(column=column), Median(column=column)):
        for data in ([], [None], [math.nan], ["1"], [True], [9]):
            with pytest.raises(BadParameter):
                local_sensitivity(aggregate, data, neighbours=ADD_REMOVE)
        with pytest.raises(BadParameter):
            local_sensitivity(aggregate, [1], neighbours="add_remove")


ODD = st.one_of(st.integers(), st.floats(), st.none(), st.booleans(), st.text(max_size=2), st.just(10**400))


@given(st.lists(ODD, max_size=4), st.sampled_from([*Neighbours, None]))
def test_any_data_give_a_local_sensitivity_or_a_refusal(data, neighbours):
    column = Column(bounds=(-1, 5), outside=Outside.CLAMP)
    for aggregate in aggregates(column):
        try:
            found = local_sensitivity(aggregate, data, neighbours=neighbours)
        except DpsqlError:
            continue
        assert 0 <= found <= global_sensitivity(aggregate, neighbours=neighbours).l1
