"""A^(k) and smoothness of median, quantiles, minimum, maximum and range against enumeration of every small database.

The reference knows nothing of windows or ranks: it computes the statistic of every multiset over a small domain,
the local sensitivity as a maximum over all neighbours, and A^(k) by walking outwards k steps. Under add/remove the
walk may reach sizes up to n + 2 + the largest k looked at, so k is limited where the enumeration would not end.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest

from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity import smooth_extremes
from dpsql.sensitivity.smooth import is_smooth_bound, smooth_sensitivity
from dpsql.sensitivity.smooth_quantile import (
    median_sensitivities,
    median_smooth_sensitivity,
    quantile_sensitivities,
    quantile_smooth_sensitivity,
)

CHANGE, ADD = Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE
Rows = tuple[int, ...]


def rank_of(q: Fraction) -> Callable[[Rows], int]:
    return lambda rows: sorted(rows)[max(1, math.ceil(q * len(rows))) - 1]


def lower_median(rows: Rows) -> int:
    return sorted(rows)[(len(rows) - 1) // 2]


def spread(rows: Rows) -> int:
    return max(rows) - min(rows)


def neighbours_of(rows: Rows, domain: range, relation: Neighbours) -> set[Rows]:
    without = {rows[:i] + rows[i + 1 :] for i in range(len(rows))}
    if relation is CHANGE:
        return {tuple(sorted((*rest, value))) for rest in without for value in domain}
    return {tuple(sorted((*rows, value))) for value in domain} | {rest for rest in without if rest}


class Enumeration:
    """Local sensitivities of one statistic over one domain, remembered."""

    def __init__(self, statistic: Callable[[Rows], int], domain: range, relation: Neighbours) -> None:
        self.statistic, self.domain, self.relation = statistic, domain, relation
        self.known: dict[Rows, int] = {}

    def local(self, rows: Rows) -> int:
        if rows not in self.known:
            here = self.statistic(rows)
            around = neighbours_of(rows, self.domain, self.relation)
            self.known[rows] = max(abs(here - self.statistic(other)) for other in around)
        return self.known[rows]

    def within(self, rows: Rows, most: int) -> list[int]:
        """A^(0) … A^(most)."""
        reached, edge, found = {rows}, {rows}, [self.local(rows)]
        for _ in range(most):
            edge = {other for one in edge for other in neighbours_of(one, self.domain, self.relation)} - reached
            reached |= edge
            found.append(max([found[-1], *map(self.local, edge)]))
        return found


QUANTILES = [Fraction(1, 10), Fraction(1, 4), Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)]
STATISTICS = {
    "median": (lower_median, median_sensitivities, median_smooth_sensitivity, {}),
    "min": (min, smooth_extremes.minimum_sensitivities, smooth_extremes.minimum_smooth_sensitivity, {}),
    "max": (max, smooth_extremes.maximum_sensitivities, smooth_extremes.maximum_smooth_sensitivity, {}),
    "range": (spread, smooth_extremes.range_sensitivities, smooth_extremes.range_smooth_sensitivity, {}),
} | {f"q={q}": (rank_of(q), quantile_sensitivities, quantile_smooth_sensitivity, {"quantile": q}) for q in QUANTILES}


# The range of one value is always 0: nothing to enumerate.
CASES = [(name, size) for name in STATISTICS for size in range(1, 6) if (name, size) != ("range", 1)]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_sensitivities_at_distance_change_one(name: str, size: int) -> None:
    """C077, C078: A^(k) of every database of up to 5 rows over 4 values equals the enumeration, for all k."""
    statistic, sensitivities, _, extra = STATISTICS[name]
    domain = range(4)
    enumeration = Enumeration(statistic, domain, CHANGE)
    for rows in combinations_with_replacement(domain, size):
        found = sensitivities(rows, lower=0, upper=3, neighbours=CHANGE, **extra)
        assert list(found) == enumeration.within(rows, size), rows


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(("size", "domain"), [(1, 4), (2, 4), (3, 3), (4, 3)])
def test_sensitivities_at_distance_add_remove(name: str, size: int, domain: int) -> None:
    """C077, C078: the same under add/remove, to the distance n + 2 at which A^(k) is upper - lower."""
    statistic, sensitivities, _, extra = STATISTICS[name]
    enumeration = Enumeration(statistic, range(domain), ADD)
    for rows in combinations_with_replacement(range(domain), size):
        found = sensitivities(rows, lower=0, upper=domain - 1, neighbours=ADD, **extra)
        assert len(found) == size + 2
        assert [*found, found[-1]] == enumeration.within(rows, size + 2), rows


@pytest.mark.parametrize("relation", [CHANGE, ADD])
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("beta", [0.05, 0.4, 1.5])
def test_smooth_over_all_pairs(name: str, relation: Neighbours, beta: float) -> None:
    """C075: LS(D) <= S(D) <= e^β·S(D') for all neighbouring databases of up to 5 rows, both relations."""
    statistic, _, smooth, extra = STATISTICS[name]
    domain = range(4)
    local = Enumeration(statistic, domain, relation).local

    def bound(rows: Rows) -> float:
        return smooth(rows, lower=0, upper=3, beta=beta, neighbours=relation, **extra).bound

    assert is_smooth_bound(bound, domain=list(domain), size=5, beta=beta, neighbours=relation, local_sensitivity=local)
    assert not is_smooth_bound(bound, domain=list(domain), size=5, beta=beta * 0.99, neighbours=relation)


@pytest.mark.parametrize("relation", [CHANGE, ADD])
@pytest.mark.parametrize("name", STATISTICS)
def test_smooth_sensitivity_is_the_maximum_over_the_list(name: str, relation: Neighbours) -> None:
    """C077: the search over windows finds the S of the list A^(0), A^(1), … and the same k*."""
    _, sensitivities, smooth, extra = STATISTICS[name]
    for rows in combinations_with_replacement(range(5), 4):
        listed = sensitivities(rows, lower=0, upper=4, neighbours=relation, **extra)
        for beta in (0, 0.02, 0.3, 2.0):
            expected = smooth_sensitivity(listed, beta=beta)
            assert smooth(rows, lower=0, upper=4, beta=beta, neighbours=relation, **extra) == expected, rows
