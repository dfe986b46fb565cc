"""Brute force against values known from definitions, against ordered enumeration, and against planted mistakes."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity import brute_force
from dpsql.sensitivity.global_ import Sensitivity
from tests.kits.cases import cases
from tests.kits.refusals import raised

ADD_REMOVE, CHANGE_ONE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE


def ordered_pairs(domain, sizes, neighbours):
    """All pairs of lists that are neighbours: an enumeration that shares nothing with the one under test."""
    lists = [rows for size in sizes for rows in product(domain, repeat=size)]
    for first in lists:
        for second in lists:
            if neighbours is CHANGE_ONE:
                if len(first) == len(second) and sum(x != y for x, y in zip(first, second, strict=True)) == 1:
                    yield first, second
            elif len(second) == len(first) + 1 and any(
                second[:i] + second[i + 1 :] == first for i in range(len(second))
            ):
                yield first, second


def mixture(rows):
    """A function with no structure to speak of."""
    return sum(rows) ** 2 - 3 * len(rows), max(rows, default=7), math.prod(rows)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("domain", [(0, 1), (-2, 1, 5)])
def test_brute_force_equals_the_definition_on_lists(neighbours, domain):
    """C071: multisets and lists give one sensitivity, for a vector function in each norm."""
    sizes = range(4)
    moves = [
        [y - x for x, y in zip(mixture(first), mixture(second), strict=True)]
        for first, second in ordered_pairs(domain, sizes, neighbours)
    ]
    found = brute_force.brute_force_global(mixture, domain=domain, sizes=sizes, neighbours=neighbours)
    assert found.l1 == max(sum(map(abs, move)) for move in moves)
    assert found.linf == max(max(map(abs, move)) for move in moves)
    squared = max(sum(entry**2 for entry in move) for move in moves)
    assert found.l2**2 >= squared
    assert float(found.l2) == pytest.approx(math.sqrt(squared), rel=1e-12)
    for norm, plain in (
        (brute_force.l1_norm, lambda move: sum(map(abs, move))),
        (brute_force.l2_norm_squared, lambda move: sum(entry**2 for entry in move)),
        (brute_force.linf_norm, lambda move: max(map(abs, move))),
        (lambda move: 2 * abs(move[0]) + abs(move[2]), lambda move: 2 * abs(move[0]) + abs(move[2])),
    ):
        best = brute_force.largest_move(mixture, domain=domain, sizes=sizes, neighbours=neighbours, norm=norm)
        assert best == max(map(plain, moves))


@pytest.mark.parametrize("neighbours", Neighbours)
def test_global_is_the_largest_local(neighbours):
    """C073: GS = max LS, for a function without a closed form."""
    domain, sizes = (-2, 1, 5), range(1, 4)
    locals_ = [
        brute_force.brute_force_local(mixture, rows, domain=domain, neighbours=neighbours, smallest=1)
        for size in sizes
        for rows in product(domain, repeat=size)
    ]
    if neighbours is ADD_REMOVE:  # rows of the largest size can also grow beyond it
        sizes = range(1, 5)
    found = brute_force.brute_force_global(mixture, domain=domain, sizes=sizes, neighbours=neighbours)
    assert max(local.l1 for local in locals_) == found.l1
    assert max(local.linf for local in locals_) == found.linf


def test_rows_outside_the_domain_can_leave_but_not_come():
    """The slide's 150000 in a column declared as [10000, 100000]."""
    data = [80, 50, 70, 150, 60]
    found = brute_force.brute_force_local(
        lambda rows: max(rows) - min(rows), data, domain=range(10, 101), neighbours=CHANGE_ONE, smallest=1
    )
    assert found == Sensitivity.scalar(70)


@pytest.mark.parametrize(("neighbours", "expected"), [(ADD_REMOVE, Fraction(3, 4)), (CHANGE_ONE, Fraction(1))])
def test_utility_sensitivity_of_a_quantile(neighbours, expected):
    """C041: Smith (2011): -|#{x < r} - qn| moves by max(q, 1 - q) under add_remove and by 1 under change_one."""
    q = Fraction(1, 4)

    def utility(rows, candidate):
        return -abs(sum(row < candidate for row in rows) - q * len(rows))

    scores = {"candidates": range(5), "domain": range(4), "sizes": range(5), "neighbours": neighbours}
    assert brute_force.utility_sensitivity(utility, **scores) == expected
    assert not brute_force.utility_is_monotonic(utility, **scores)


def test_the_utility_sensitivity_of_votes_is_that_of_their_counts():
    """C041: Δu is one per candidate; both counts together move by more."""

    def votes(rows):
        return [rows.count(candidate) for candidate in "AB"]

    check = {"domain": "AB", "sizes": range(4), "neighbours": CHANGE_ONE}
    assert brute_force.utility_sensitivity(lambda rows, candidate: rows.count(candidate), candidates="AB", **check) == 1
    assert brute_force.brute_force_global(votes, **check) == Sensitivity.of_squares(l1=2, l2_squared=2, linf=1)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda rows: rows[0], "order"),
        (lambda rows: sorted(rows) if sum(rows) else [0], "lengths"),
        (lambda rows: math.inf, "finite"),
        (lambda rows: math.nan, "finite"),
        (lambda rows: "3", "finite"),
        (lambda rows: None, "finite"),
    ],
)
def test_functions_without_a_sensitivity_are_refused(function, why):
    with pytest.raises(BadParameter, match=why):
        brute_force.brute_force_global(function, domain=(0, 1), sizes=[2], neighbours=CHANGE_ONE)


@cases(__file__, "change=")
def test_enumerations_that_are_empty_or_endless_are_refused(change):
    arguments = {"domain": range(10), "sizes": [2], "neighbours": CHANGE_ONE} | change
    for call in (
        lambda: brute_force.brute_force_global(sum, **arguments),
        lambda: brute_force.largest_move(sum, norm=brute_force.l1_norm, **arguments),
        lambda: brute_force.utility_sensitivity(lambda rows, candidate: 0, candidates="A", **arguments),
        lambda: brute_force.utility_is_monotonic(lambda rows, candidate: 0, candidates="A", **arguments),
    ):
        with pytest.raises(BadParameter):
            call()


def test_other_refusals():
    small = {"domain": [0, 1], "sizes": [1], "neighbours": CHANGE_ONE}
    raised(BadParameter, lambda: brute_force.utility_sensitivity(lambda rows, candidate: 0, candidates=[], **small))
    for change in ({"neighbours": "add_remove"}, {"smallest": -1}, {"domain": range(10**7)}):
        with pytest.raises(BadParameter):
            brute_force.brute_force_local(
                sum, [0], **({"domain": [0, 1], "neighbours": ADD_REMOVE, "smallest": 0} | change)
            )


ODD = st.one_of(st.integers(-3, 3), st.floats(), st.none(), st.booleans(), st.text(max_size=2))


@settings(max_examples=60, deadline=None)
@given(st.lists(ODD, max_size=3), st.lists(ODD, max_size=3), st.sampled_from([*Neighbours, None]), ODD)
def test_any_input_gives_a_sensitivity_or_a_refusal(domain, sizes, neighbours, smallest):
    try:
        found = brute_force.brute_force_global(len, domain=domain, sizes=sizes, neighbours=neighbours)
        assert found.l1 <= 1
    except DpsqlError:
        pass
    try:
        found = brute_force.brute_force_local(len, sizes, domain=domain, neighbours=neighbours, smallest=smallest)
        assert found.l1 <= 1
    except DpsqlError:
        pass
