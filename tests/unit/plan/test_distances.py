"""Distances against every pair of contributions that tiny intervals allow."""

from fractions import Fraction
from itertools import combinations, product

import pytest

from dpsql.privacy.unit import Neighbours
from dpsql.sql.slots import Slot, SlotKind, slot_l1, slot_l2_squared

INTERVALS = [(0, 1), (0, 2), (-1, 0), (-1, 1), (-2, 1), (-1, 2)]
KEYS = 4


def slot(low, high):
    return Slot(kind=SlotKind.SUM, argument=None, cap=1, low=low, high=high, size=Fraction(1))


def vectors(low, high, groups):
    """What one person can add to four keys, to at most so many of them."""
    amounts = range(low, high + 1)
    for chosen in combinations(range(KEYS), groups):
        for values in product(amounts, repeat=groups):
            vector = [0] * KEYS
            for key, value in zip(chosen, values, strict=True):
                vector[key] = value
            yield tuple(vector)


def farthest(pairs):
    distances = [[abs(a - b) for a, b in zip(one, two, strict=True)] for one, two in pairs]
    return max(map(sum, distances)), max(sum(move**2 for move in moves) for moves in distances)


def ours(low, high, **how):
    return slot_l1(slot(low, high), **how), slot_l2_squared(slot(low, high), **how)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_somebody_leaves(low, high, groups):
    there = set(vectors(low, high, groups))
    found = farthest((vector, (0,) * KEYS) for vector in there)
    assert ours(low, high, groups=groups, neighbours=Neighbours.ADD_REMOVE, grouped=True) == found


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_somebody_is_replaced(low, high, groups):
    there = set(vectors(low, high, groups))
    found = farthest(product(there, repeat=2))
    assert ours(low, high, groups=groups, neighbours=Neighbours.CHANGE_ONE, grouped=True) == found


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_without_groups_there_is_one_number(low, high):
    amounts = [(amount,) for amount in range(low, high + 1)]
    leaves = farthest((amount, (0,)) for amount in amounts)
    assert ours(low, high, groups=1, neighbours=Neighbours.ADD_REMOVE, grouped=False) == leaves
    replaced = farthest(product(amounts, repeat=2))
    assert ours(low, high, groups=1, neighbours=Neighbours.CHANGE_ONE, grouped=False) == replaced
