"""From A^(k) to S, and the check of smoothness. mpmath at 50 digits judges the rounding."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.smooth import SmoothBound, databases, is_smooth_bound, neighbouring_pairs, smooth_sensitivity
from dpsql.sensitivity.smooth_quantile import median_sensitivities, median_smooth_sensitivity
from tests.kits.refusals import each_raises, raised
from tests.kits.samples import examples
from tests.oracles.sensitivity import largest_log_ratio
from tests.vectors.errata import is_near_local_sensitivity, median_windows_up_to_k

CHANGE, ADD = Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE
Rows = tuple[int, ...]


@examples(40)
@given(st.lists(st.fractions(0, 10**6), min_size=1, max_size=12), st.floats(0, 20))
def test_nrs07_definition_2_2_rounds_up(sensitivities: list[Fraction], beta: float) -> None:
    """C077: S = max e^{-βk}·A^(k), never below the 50-digit value and at most one double above it."""
    found = smooth_sensitivity(sensitivities, beta=beta)
    with mpmath.workdps(50):
        terms = [
            mpmath.exp(-mpmath.mpf(beta) * k) * size.numerator / size.denominator
            for k, size in enumerate(sensitivities)
        ]
        assert found.bound >= max(terms)
        assert found.bound <= max(terms) * (1 + mpmath.mpf(2) ** -51) or found.bound <= 2.3e-308
        assert terms[found.distance] >= max(terms) * (1 - mpmath.mpf(2) ** -80)


def test_the_local_sensitivity_itself_is_not_rounded() -> None:
    """C077: at k = 0 the weight is 1, so a double comes back as it is, the largest one too."""
    for size in (1.0, 0.1, 1.7976931348623157e308):
        assert smooth_sensitivity([size], beta=1).bound == size
        assert smooth_sensitivity([size, size], beta=0).bound == size


def test_a_shortened_list_needs_its_tail() -> None:
    """C077: the global sensitivity stands in for what lies beyond the list, at the first distance not listed."""
    assert smooth_sensitivity([0, 0], beta=0.5).bound == 0
    found = smooth_sensitivity([0, 0], beta=0.5, beyond=4)
    assert (found.bound, found.distance) == (pytest.approx(4 * math.exp(-1)), 2)


def test_tiny_weights_end_at_a_constant() -> None:
    """C077: far below the doubles S is the constant 2**-1022, not 0: noise of scale 0 would be no noise."""
    found = smooth_sensitivity([0] * 3000 + [1], beta=1)
    assert found.bound == 2.0**-1022
    assert smooth_sensitivity([0] * 5000 + [1], beta=64).bound == 2.0**-1022


def test_bound_has_no_printed_form() -> None:
    """S and k* are private."""
    assert repr(SmoothBound(bound=1.25, distance=7)) == "SmoothBound(hidden)"


@pytest.mark.parametrize("neighbours", [CHANGE, ADD])
def test_constant_global_sensitivity_is_0_smooth(neighbours: Neighbours) -> None:
    """C076: S = GS, the same everywhere, is a 0-smooth upper bound; any other constant below it is no upper bound."""

    def local(rows: Rows) -> Fraction:
        return median_sensitivities(rows, lower=0, upper=3, neighbours=neighbours)[0]

    arguments = {"domain": range(4), "size": 4, "beta": 0, "neighbours": neighbours, "local_sensitivity": local}
    assert is_smooth_bound(lambda rows: 3, **arguments)
    assert not is_smooth_bound(lambda rows: 2.9, **arguments)


def test_checker_finds_what_is_not_smooth() -> None:
    """C075: local sensitivity itself is not smooth, nor is a negative bound; the right S is, exactly to its β."""
    arguments = {"domain": range(4), "size": 3, "neighbours": CHANGE}

    def local(rows: Rows) -> Fraction:
        return median_sensitivities(rows, lower=0, upper=3, neighbours=CHANGE)[0]

    def smooth(rows: Rows) -> float:
        return median_smooth_sensitivity(rows, lower=0, upper=3, beta=0.4, neighbours=CHANGE).bound

    assert not is_smooth_bound(local, beta=5, **arguments)
    assert not is_smooth_bound(lambda rows: -1, beta=5, **arguments)
    assert is_smooth_bound(smooth, beta=0.4, **arguments)
    assert not is_smooth_bound(smooth, beta=0.39, **arguments)
    assert largest_log_ratio(smooth, **arguments) == pytest.approx(0.4, rel=1e-12)
    assert largest_log_ratio(local, **arguments) == math.inf


def test_first_formula_of_the_notes_is_too_small() -> None:
    """C078: at (0, 0, 0, 2, 4) one change opens a gap of 4; the variant t = 0 … k finds 2."""
    data = (0, 0, 0, 2, 4)
    assert median_sensitivities(data, lower=0, upper=4, neighbours=CHANGE)[1] == 4
    assert median_windows_up_to_k(data, lower=0, upper=4)[1] == 2
    assert not is_near_local_sensitivity(bound=1, local_sensitivity=0, factor=1000)


@pytest.mark.parametrize(("neighbours", "count", "pairs"), [(CHANGE, 10, 18), (ADD, 19, 27)])
def test_enumeration_is_complete(neighbours: Neighbours, count: int, pairs: int) -> None:
    """C075: {0,1,2} has C(5,3) = 10 multisets of 3 and 3 + 6 + 10 of up to 3; the pairs are counted by hand.

    Change-one: each of the 6 multisets of 2 extends to 3 neighbouring triples, which form 3 pairs: 18. Add/remove:
    each of the 3 + 6 smaller multisets has 3 extensions: 27.
    """
    assert len(set(databases(domain=range(3), size=3, neighbours=neighbours))) == count
    found = {frozenset(pair) for pair in neighbouring_pairs(domain=range(3), size=3, neighbours=neighbours)}
    assert len(found) == pairs
    assert all(len(pair) == 2 for pair in found)


def test_refusals() -> None:
    """C075, C077: nothing is guessed."""
    for sensitivities in ([], [-1], [math.nan], [1, math.inf], [10**400], ["1"]):
        with pytest.raises(BadParameter):
            smooth_sensitivity(sensitivities, beta=1)
    each_raises(BadParameter, lambda beta: smooth_sensitivity([1], beta=beta), (-1, math.nan, 65, True, "1"))
    raised(BadParameter, lambda: list(databases(domain=range(100), size=100, neighbours=CHANGE)))
    raised(BadParameter, lambda: list(databases(domain=range(3), size=3, neighbours="change_one")))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(st.floats(), st.integers()), max_size=5), st.one_of(st.floats(), st.integers()))
def test_refuses_or_answers(sensitivities: list[float], beta: float) -> None:
    """C077: any input gives a finite bound or a DpsqlError."""
    try:
        found = smooth_sensitivity(sensitivities, beta=beta)
    except DpsqlError:
        return
    assert 0 <= found.bound < math.inf
    assert (found.bound == 0) == (max(sensitivities) == 0)
