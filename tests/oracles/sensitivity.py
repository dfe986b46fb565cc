"""Sensitivities that no path to an answer needs: what those in use are measured by."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number
from dpsql.sensitivity.aggregates import Column
from dpsql.sensitivity.smooth import Measure, databases, neighbouring_pairs
from dpsql.sensitivity.smooth_mst import Graph, _by_weight, _exact_weights, _spanning


def log_ratio(first: Number, second: Number) -> float:
    """ln(first / second), where 0/0 counts as 1."""
    above, below = exact(first), exact(second)
    if above == below:
        return 0.0
    if not above or not below:
        return math.inf if above else -math.inf
    return math.log1p(float(above / below - 1)) if below / 2 < above < 2 * below else math.log(above / below)


def breakpoints(column: Column, data: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Where a new row can move an order statistic or a range furthest: the bounds and the rows between.

    Between two of them these aggregates are linear in the new row, also when rows lie outside the bounds.
    """
    inside = {value for value in data if column.lower <= value <= column.upper}
    return tuple(sorted({column.lower, column.upper} | inside))


def largest_log_ratio(bound: Measure, *, domain: Sequence[Number], size: int, neighbours: Neighbours) -> float:
    """The largest ln(S(D)/S(D')) over all neighbours of a small domain: the smallest β to which S is smooth."""
    sizes = {rows: bound(rows) for rows in databases(domain=domain, size=size, neighbours=neighbours)}
    pairs = neighbouring_pairs(domain=domain, size=size, neighbours=neighbours)
    return max((abs(log_ratio(sizes[rows], sizes[other])) for rows, other in pairs), default=0.0)


def complete_graph(vertices: int) -> Graph:
    """K_n, its edges in lexicographic order: 12, 13, …, 23, …."""
    return Graph(vertices=vertices, edges=tuple(combinations(range(1, vertices + 1), 2)))


def mst_cost(graph: Graph, weights: Sequence[Number]) -> Fraction:
    """The total weight of a minimum spanning tree."""
    sizes = _exact_weights(graph, weights)
    return sum((sizes[edge] for edge in _spanning(graph, _by_weight(sizes))), Fraction(0))
