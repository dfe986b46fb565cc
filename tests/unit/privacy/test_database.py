"""Distances between databases, held against breadth-first search over single steps."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy.database import db_distance, l1_distance, size, to_histogram
from dpsql.privacy.unit import Neighbours
from tests.kits.refusals import raised

ROWS = st.lists(st.integers(0, 2), max_size=4)


def fewest_steps(start, goal, steps) -> int:
    seen, frontier, count = {start}, {start}, 0
    while goal not in frontier:
        frontier = {after for before in frontier for after in steps(before)} - seen
        seen |= frontier
        count += 1
    return count


def add_or_remove(rows: tuple[int, ...]):
    for i in range(len(rows)):
        yield tuple(sorted(rows[:i] + rows[i + 1 :]))
    if len(rows) < 8:
        yield from (tuple(sorted((*rows, row))) for row in range(3))


def change(rows: tuple[int, ...]):
    yield from ((*rows[:i], row, *rows[i + 1 :]) for i in range(len(rows)) for row in range(3))


def change_in_a_bag(rows: tuple[int, ...]):
    yield from (tuple(sorted(after)) for after in change(rows))


@given(x=ROWS, y=ROWS)
def test_symmetric_difference_is_the_fewest_additions_and_removals(x, y):
    """C002, C007: add/remove distance."""
    start, goal = tuple(sorted(x)), tuple(sorted(y))
    wanted = fewest_steps(start, goal, add_or_remove)
    assert db_distance(x, y, neighbours=Neighbours.ADD_REMOVE) == wanted
    assert db_distance(Counter(x), Counter(y), neighbours=Neighbours.ADD_REMOVE) == wanted
    assert l1_distance(Counter(x), Counter(y)) == wanted


@given(pairs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4))
def test_hamming_distance_is_the_fewest_changes(pairs):
    """C003, C007: change-one distance, of lists by place and of multisets."""
    x, y = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    assert db_distance(x, y, neighbours=Neighbours.CHANGE_ONE) == fewest_steps(x, y, change)
    in_bags = db_distance(Counter(x), Counter(y), neighbours=Neighbours.CHANGE_ONE)
    assert in_bags == fewest_steps(tuple(sorted(x)), tuple(sorted(y)), change_in_a_bag)
    assert 2 * in_bags == db_distance(x, y, neighbours=Neighbours.ADD_REMOVE)


def test_order_counts_in_lists_and_not_in_multisets():
    assert db_distance([1, 2], [2, 1], neighbours=Neighbours.CHANGE_ONE) == 2
    assert db_distance([1, 2], [2, 1], neighbours=Neighbours.ADD_REMOVE) == 0
    assert db_distance({1: 1, 2: 1}, {2: 1, 1: 1}, neighbours=Neighbours.CHANGE_ONE) == 0


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_distance_is_a_metric(neighbours):
    databases = list(product(range(2), repeat=3))
    for x, y, z in product(databases, repeat=3):
        xy, yz, xz = (db_distance(a, b, neighbours=neighbours) for a, b in ((x, y), (y, z), (x, z)))
        assert xz <= xy + yz
        assert xy == db_distance(y, x, neighbours=neighbours)


def test_different_sizes_are_not_change_one_apart():
    for x, y in (([1], [1, 2]), ({1: 1}, {1: 2})):
        with pytest.raises(BadParameter):
            db_distance(x, y, neighbours=Neighbours.CHANGE_ONE)


def test_the_refusal_tells_nothing_of_the_sizes():
    error = raised(BadParameter, lambda: db_distance([1] * 83, [1] * 97, neighbours=Neighbours.CHANGE_ONE))
    assert "83" not in str(error)
    assert "97" not in str(error)


def test_histograms_over_a_universe():
    """C006: a database as a histogram over a universe, its size, and the distance between two."""
    first, second = to_histogram([1, 3, 5, 5], universe=range(1, 6)), to_histogram([1, 3, 5], universe=range(1, 6))
    assert first == (1, 0, 1, 0, 2)
    assert size(first) == 4
    assert l1_distance(first, second) == 1
    assert size({"a": 2, "b": 1}) == 3
    assert to_histogram([], universe=["a"]) == (0,)


@pytest.mark.parametrize(
    "call",
    [
        lambda: to_histogram([7], universe=[1, 2]),
        lambda: to_histogram([1], universe=[1, 1]),
        lambda: to_histogram([[1]], universe=[1]),
        lambda: l1_distance([1, 2], [1]),
        lambda: l1_distance([1, -2], [1, 1]),
        lambda: l1_distance([1.5], [1]),
        lambda: l1_distance({1: 1}, [1]),
        lambda: size([True]),
        lambda: db_distance([1], {1: 1}, neighbours=Neighbours.ADD_REMOVE),
        lambda: db_distance([1], [1], neighbours="add_remove"),
        lambda: db_distance([[1]], [[1]], neighbours=Neighbours.ADD_REMOVE),
        lambda: db_distance({1: -1}, {1: 1}, neighbours=Neighbours.ADD_REMOVE),
    ],
)
def test_what_is_not_a_database_is_refused(call):
    raised(BadParameter, lambda: call())
