"""Parallel composition, checked by brute force over all neighbours of tiny databases."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.parallel import Partition, compose_parallel, parts_touched
from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.unit import Neighbours
from tests.vectors.errata import parallel_by_position

F = Fraction
EPSILONS = [F(3, 10), F(7, 10), F(5, 10)]


def parallel(neighbours: Neighbours, partition: Partition) -> Fraction:
    return compose_parallel(
        epsilons=EPSILONS, deltas=[F(1, 100), F(2, 100), F(3, 100)], neighbours=neighbours, partition=partition
    ).epsilon


def test_mcsherry_parallel_composition_per_relation() -> None:
    """C101: the maximum under add_remove, the two largest under change_one, a sum by position."""
    assert parallel(Neighbours.ADD_REMOVE, Partition.BY_VALUE) == F(7, 10)
    assert parallel(Neighbours.CHANGE_ONE, Partition.BY_VALUE) == F(12, 10)
    assert parallel(Neighbours.CHANGE_ONE, Partition.BY_FIXED_VALUE) == F(7, 10)
    assert parallel(Neighbours.ADD_REMOVE, Partition.BY_FIXED_VALUE) == F(7, 10)
    assert parallel(Neighbours.ADD_REMOVE, Partition.BY_POSITION) == F(15, 10)
    assert parallel(Neighbours.CHANGE_ONE, Partition.BY_POSITION) == F(15, 10)


def test_deltas_follow_the_same_rule() -> None:
    """C101: the δ of the parts a neighbour can touch add up."""
    total = compose_parallel(
        epsilons=EPSILONS,
        deltas=[F(1, 100), F(2, 100), F(3, 100)],
        neighbours=Neighbours.CHANGE_ONE,
        partition=Partition.BY_VALUE,
    )
    assert total.delta == F(5, 100)


PARTS = {
    Partition.BY_VALUE: lambda rows: [tuple(r for r in rows if r % 3 == part) for part in range(3)],
    Partition.BY_POSITION: lambda rows: [tuple(rows[:2]), tuple(rows[2:4]), tuple(rows[4:])],
}


def neighbours_of(rows: tuple[int, ...], relation: Neighbours) -> list[tuple[int, ...]]:
    if relation is Neighbours.ADD_REMOVE:
        added = [(*rows[:i], v, *rows[i:]) for i in range(len(rows) + 1) for v in range(6)]
        return added + [rows[:i] + rows[i + 1 :] for i in range(len(rows))]
    return [(*rows[:i], v, *rows[i + 1 :]) for i in range(len(rows)) for v in range(6)]


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("partition", list(PARTS))
def test_no_neighbour_touches_more_parts_than_claimed(partition: Partition, relation: Neighbours) -> None:
    """C101: all databases of 5 rows over 3 values against all their neighbours."""
    split = PARTS[partition]
    claimed = parts_touched(parts=3, neighbours=relation, partition=partition)
    seen = 0
    for rows in itertools.product(range(3), repeat=5):
        for other in neighbours_of(rows, relation):
            changed = sum(sorted(a) != sorted(b) for a, b in zip(split(list(rows)), split(list(other)), strict=True))
            assert changed <= claimed
            seen = max(seen, changed)
    if (partition, relation) != (Partition.BY_POSITION, Neighbours.CHANGE_ONE):
        assert seen == claimed  # by position, change_one is priced for orders that depend on the values


def test_the_maximum_by_position_is_wrong() -> None:
    """C101: an insertion at the front changes all three parts, so the claimed maximum understates the loss."""
    before, after = [0, 1, 2, 0, 1], [2, 0, 1, 2, 0, 1]
    split = PARTS[Partition.BY_POSITION]
    assert all(sorted(a) != sorted(b) for a, b in zip(split(before), split(after), strict=True))
    assert parallel_by_position(epsilons=[0.3, 0.7, 0.5]) < parallel(Neighbours.ADD_REMOVE, Partition.BY_POSITION)


@given(
    st.lists(st.fractions(F(1, 100), 5), min_size=1, max_size=8),
    st.sampled_from(Neighbours),
    st.sampled_from(Partition),
)
def test_between_the_maximum_and_the_sum(epsilons: list[Fraction], relation: Neighbours, partition: Partition) -> None:
    total = compose_parallel(
        epsilons=epsilons, deltas=[0] * len(epsilons), neighbours=relation, partition=partition
    ).epsilon
    assert max(epsilons) <= total <= sum(epsilons)


def test_refusals() -> None:
    with pytest.raises(BadParameter):
        compose_parallel(epsilons=[1], deltas=[0], neighbours="add_remove", partition=Partition.BY_VALUE)  # type: ignore[arg-type]
    with pytest.raises(DpsqlError):
        compose_parallel(epsilons=[], deltas=[], neighbours=Neighbours.ADD_REMOVE, partition=Partition.BY_VALUE)
    with pytest.raises(DpsqlError):
        compose_parallel(
            epsilons=[float("nan")], deltas=[0], neighbours=Neighbours.ADD_REMOVE, partition=Partition.BY_VALUE
        )
