"""The fast smooth sensitivity of median and quantiles against the n² list, and what it refuses.

`test_smooth_brute_force` compares the list itself with enumeration.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity import smooth_extremes, smooth_quantile, smooth_search
from dpsql.sensitivity.smooth import smooth_sensitivity
from dpsql.sensitivity.smooth_quantile import (
    median_sensitivities,
    median_smooth_sensitivity,
    median_windows,
    quantile_rank,
    quantile_sensitivities,
    quantile_smooth_sensitivity,
)
from dpsql.sensitivity.smooth_values import sorted_column
from tests.kits.refusals import each_raises, raised
from tests.kits.samples import examples

CHANGE, ADD = Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE
RELATIONS = st.sampled_from([CHANGE, ADD])
BETAS = st.one_of(st.floats(1e-9, 3), st.sampled_from([0, 1e-300, 1e-15, 0.03, 1e-6, 64]))


VALUES = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=40), st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30)
)


@examples(240, every=500)
@given(VALUES, BETAS, RELATIONS)
def test_fast_median_equals_the_list(values: list[float], beta: float, relation: Neighbours) -> None:
    """C078: O(n log n) and O(n²) give the same double; for whole numbers, whose differences it holds, the same k*."""
    limit = 1000 if all(isinstance(value, int) for value in values) else 1e9
    bounds = {"lower": -limit, "upper": limit, "neighbours": relation}
    expected = smooth_sensitivity(median_sensitivities(values, **bounds), beta=beta)
    found = median_smooth_sensitivity(values, beta=beta, **bounds)
    assert found.bound == max(expected.bound, 2 * limit * smooth_search.FLOOR)
    assert limit == 1e9 or found.bound > expected.bound or found.distance == expected.distance


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=30),
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    st.floats(1e-4, 2),
    RELATIONS,
)
def test_fast_quantile_equals_the_list(values: list[int], q: Fraction, beta: float, relation: Neighbours) -> None:
    """C078: any quantile, both relations."""
    bounds = {"quantile": q, "lower": 0, "upper": 50, "neighbours": relation}
    expected = smooth_sensitivity(quantile_sensitivities(values, **bounds), beta=beta)
    assert quantile_smooth_sensitivity(values, beta=beta, **bounds) == expected


@pytest.mark.parametrize("shape", ["uniform", "clusters", "steep"])
@pytest.mark.parametrize("beta", [0.5, 0.01, 1e-3, 1e-5])
def test_fast_median_equals_the_list_at_a_thousand(shape: str, beta: float) -> None:
    """C078: with many levels of halving, pruned and not pruned."""
    spot = np.arange(1, 1000) / 1000
    values = {"uniform": (spot * 7919) % 1, "clusters": np.floor(spot * 9) / 9, "steep": np.exp(40 * (spot - 1))}[shape]
    for relation in (CHANGE, ADD):
        bounds = {"lower": 0.0, "upper": 1.0, "neighbours": relation}
        expected = smooth_sensitivity(median_sensitivities(values, **bounds), beta=beta)
        assert median_smooth_sensitivity(values, beta=beta, **bounds) == expected


def test_quantile_reach_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """C078: add/remove beyond the first reach of 64 rows, and the refusal where the windows are too many."""
    values = [(37 * index) % 1001 for index in range(400)]
    bounds = {"quantile": 0.3, "lower": 0, "upper": 1001, "neighbours": ADD}
    listed = quantile_sensitivities(values, **bounds)
    for beta in (0.5, 0.02, 1e-3, 1e-7, 0):
        assert quantile_smooth_sensitivity(values, beta=beta, **bounds) == smooth_sensitivity(listed, beta=beta)
    monkeypatch.setattr(smooth_quantile, "MOST_WINDOWS", 10**5)
    raised(BadParameter, lambda: quantile_smooth_sensitivity(values, beta=1e-7, **bounds), match="windows")


@pytest.mark.parametrize("relation", [CHANGE, ADD])
def test_ties_are_padded_up(relation: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    """C078: where too many windows tie to be decided, S is above the true value, by 2**-42 at most."""
    monkeypatch.setattr(smooth_search, "MOST_DECIDED", 1)
    monkeypatch.setattr(smooth_search, "MOST_ROWS", 1)
    monkeypatch.setattr(smooth_quantile, "MOST_ROWS", 1)
    values = list(range(1, 200))
    for q in (0.5, 0.3):
        bounds = {"quantile": q, "lower": 0, "upper": 200, "neighbours": relation}
        for beta in (1e-16, 1 / 120, 1 / 64):
            expected = Fraction(smooth_sensitivity(quantile_sensitivities(values, **bounds), beta=beta).bound)
            found = Fraction(quantile_smooth_sensitivity(values, beta=beta, **bounds).bound)
            assert expected <= found <= expected * (1 + Fraction(1, 2**42))


def test_concentrated_data_end_at_a_constant() -> None:
    """C078: S is never below (upper - lower)·2**-800, which is the same for all databases."""
    for relation in (CHANGE, ADD):
        found = median_smooth_sensitivity([5] * 10_000, lower=0, upper=10, beta=1, neighbours=relation)
        assert found.bound == 10 * 2.0**-800
        tiny = median_smooth_sensitivity([0.0] * 5, lower=0, upper=2.0**-1000, beta=64, neighbours=relation)
        assert tiny.bound == pytest.approx(2.0**-1022, rel=0)


@pytest.mark.parametrize("exponent", [-1000, -300, 0, 300, 1020])
def test_scale_does_not_matter(exponent: int) -> None:
    """C078: bounds near the ends of the doubles give the S of the same data in other units."""
    unit = 2.0**exponent
    for relation in (CHANGE, ADD):
        small = median_smooth_sensitivity([1, 2, 5, 6], lower=0, upper=7, beta=0.3, neighbours=relation)
        values = [value * unit for value in (1, 2, 5, 6)]
        large = median_smooth_sensitivity(values, lower=0, upper=7 * unit, beta=0.3, neighbours=relation)
        assert large.bound == small.bound * unit


def test_representations_agree() -> None:
    """C078: lists, arrays, decimals and fractions of the same numbers have the same S."""
    plain = [1, 2, 4, 8, 9]
    forms = [plain, np.array(plain), np.array(plain, dtype=np.float32), np.array(plain, dtype=np.uint8)]
    forms += [[float(v) for v in plain], [Decimal(v) for v in plain], [Fraction(v) for v in plain]]
    for lower, upper in ((0, 10), (0.0, 10.0), (Fraction(-1, 2), 10), (Fraction(1, 3), Decimal("10.1"))):
        found = {
            median_smooth_sensitivity(form, lower=lower, upper=upper, beta=0.2, neighbours=CHANGE) for form in forms
        }
        assert len(found) == 1
    cents = [Decimal("0.10"), Decimal("0.25"), Decimal("9.99")]
    listed = median_sensitivities(cents, lower=0, upper=10, neighbours=CHANGE)
    assert listed == (Fraction(974, 100), Fraction(989, 100), Fraction(999, 100), 10)
    large = [2**61 - 5, 2**61 - 3, 2**61 - 1]  # neighbouring doubles here are 256 apart
    assert median_sensitivities(large, lower=2**61 - 6, upper=2**61, neighbours=CHANGE)[0] == 2


def test_ranks() -> None:
    """C078: the lower median for even n; q·n rounded up, in exact arithmetic."""
    assert [quantile_rank(quantile=0.5, size=n) for n in range(1, 7)] == [1, 1, 2, 2, 3, 3]
    assert quantile_rank(quantile=Fraction(1, 3), size=3) == 1
    assert quantile_rank(quantile=Decimal("0.1"), size=10) == 1
    assert quantile_rank(quantile=0.1, size=10) == 2  # the double 0.1 is above a tenth
    assert quantile_rank(quantile=1e-9, size=10) == 1


def test_one_window_per_distance() -> None:
    """C078: under add/remove the median has n + 2 windows in all, for n = 4 these."""
    low, high, distance = (part.tolist() for part in median_windows(4))
    expected = [(0, 2, 3), (1, 1, 3), (2, 1, 4), (3, 0, 4), (4, 1, 5), (5, 0, 5)]
    assert list(zip(distance, low, high, strict=True)) == expected


def test_extremes_of_a_large_column() -> None:
    """C077: minimum, maximum and range by few windows; the maximum mirrors the minimum."""
    values = [(7 * index) % 1009 for index in range(1, 500)]
    for relation in (CHANGE, ADD):
        bounds = {"lower": 0, "upper": 1009, "neighbours": relation}
        top = smooth_extremes.maximum_smooth_sensitivity(values, beta=0.1, **bounds)
        assert top == smooth_sensitivity(smooth_extremes.maximum_sensitivities(values, **bounds), beta=0.1)
        assert top == smooth_extremes.minimum_smooth_sensitivity([1009 - v for v in values], beta=0.1, **bounds)
        both = smooth_extremes.range_smooth_sensitivity(values, beta=0.1, **bounds)
        assert both == smooth_sensitivity(smooth_extremes.range_sensitivities(values, **bounds), beta=0.1)
        assert both.bound >= top.bound


@pytest.mark.parametrize(
    "values",
    [[], [math.nan], [1, math.nan], [math.inf], [11], [-1], [True, 1], ["1"], [None], [[1]], [10**400], [1, 2**62 + 1]],
)
@pytest.mark.parametrize("smooth", [median_smooth_sensitivity, smooth_extremes.range_smooth_sensitivity])
def test_bad_values_are_refused_without_printing_them(smooth: object, values: list[float]) -> None:
    """C078: empty, not finite, outside the bounds, not numbers; the message shows no private value."""
    with pytest.raises(BadParameter) as refusal:
        smooth(values, lower=0, upper=10, beta=0.1, neighbours=CHANGE)  # type: ignore[operator]
    assert "nan" not in str(refusal.value).replace("NaN", "")
    assert str(10**20) not in str(refusal.value)


@pytest.mark.parametrize("array", [np.zeros((2, 2)), np.array([True]), np.array(["a"]), np.array([1 + 2j])])
def test_bad_arrays_are_refused(array: object) -> None:
    """C078: one dimension of integers or floats."""
    with pytest.raises(BadParameter):
        median_smooth_sensitivity(array, lower=0, upper=10, beta=0.1, neighbours=CHANGE)  # type: ignore[arg-type]


def test_bad_parameters_are_refused() -> None:
    """C078: bounds, β, q, relation and length."""
    good = {"lower": 0, "upper": 10, "beta": 0.1, "neighbours": CHANGE}
    for bad in ({"lower": 10}, {"upper": -1}, {"beta": -1}, {"beta": math.nan}, {"neighbours": "change_one"}):
        with pytest.raises(BadParameter):
            median_smooth_sensitivity([1], **(good | bad))
    each_raises(BadParameter, lambda q: quantile_smooth_sensitivity([1], quantile=q, **good), (0, 1, -0.5, math.nan))
    error = raised(BadParameter, lambda: median_sensitivities([1] * 2001, lower=0, upper=10, neighbours=CHANGE))
    assert "2001" not in str(error)  # the size is private under add/remove
    raised(BadParameter, lambda: smooth_extremes.range_smooth_sensitivity([1], **good))
    with pytest.raises(BadParameter):
        median_smooth_sensitivity([0.0], lower=-1.7e308, upper=1.7e308, beta=0.1, neighbours=CHANGE)
    with pytest.raises(BadParameter):
        median_smooth_sensitivity([0.1, 1e300], lower=Fraction(1, 30), upper=1e300, beta=0.1, neighbours=CHANGE)


ANYTHING = st.one_of(st.floats(), st.integers(), st.fractions(), st.decimals())


@examples(100, every=300)
@given(st.lists(ANYTHING, max_size=6), ANYTHING, ANYTHING, ANYTHING, ANYTHING, RELATIONS)
def test_refuses_or_answers(
    values: list[float], q: float, lower: float, upper: float, beta: float, relation: Neighbours
) -> None:
    """C078: any input gives a finite positive bound or a DpsqlError."""
    try:
        found = quantile_smooth_sensitivity(
            values, quantile=q, lower=lower, upper=upper, beta=beta, neighbours=relation
        )
    except DpsqlError:
        return
    assert 0 < found.bound < math.inf


def test_column_has_no_printed_form() -> None:
    """Rows are private."""
    assert repr(sorted_column([1, 2], lower=0, upper=3)) == "SortedColumn(hidden)"
