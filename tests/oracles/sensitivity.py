"""Sensitivities that no path to an answer needs: what those in use are measured by."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from dpsql.require import (
    Number,
    require_count,
    require_non_negative,
    require_that,
    require_type,
    unmet,
)
from dpsql.sensitivity.aggregates import (
    Column,
    require_column,
)
from dpsql.sensitivity.brute_force import Function, _largest_norms, _moves
from dpsql.sensitivity.global_ import Sensitivity
from dpsql.sensitivity.smooth import Measure, databases, neighbouring_pairs
from dpsql.sensitivity.smooth_mst import Graph, _by_weight, _exact_weights, _spanning


def log_ratio(first: Number, second: Number) -> float:
    """ln(first / second), where 0/0 counts as 1.

    Theorem   the definition.
    Requires  both finite and non-negative.
    Rounds    to nearest.
    """
    require_non_negative(first=first, second=second)
    above, below = exact(first), exact(second)
    if above == below:
        return 0.0
    if not above or not below:
        return math.inf if above else -math.inf
    ratio = above / below
    return (
        math.log(ratio.numerator) - math.log(ratio.denominator)
        if ratio > 2 or ratio < 0.5
        else math.log1p(float(ratio - 1))
    )


def joint_sensitivity(parts: Iterable[Sensitivity]) -> Sensitivity:
    """The sensitivity of several answers released together, as one vector.

    Theorem   l1 adds, the squares of l2 add, linf is the largest: the norms of a vector made of blocks.
    Requires  at least one part, all for the same neighbour relation.
    Rounds    l2 up by at most 2**-64 of itself.
    """
    blocks = list(parts)
    require_that(blocks, "there is no part")
    return Sensitivity.of_squares(
        l1=sum((part.l1 for part in blocks), start=Fraction(0)),
        l2_squared=sum((part.l2**2 for part in blocks), start=Fraction(0)),
        linf=max(part.linf for part in blocks),
    )


def mean_move_of_one_more(*, column: Column, rows: int) -> Fraction:
    """How far a mean of exactly `rows` values moves when one more value arrives: (b - a)/(n + 1).

    Theorem   docs/theorems/global_sensitivity.md, means. It is a bound for this size alone: noise scaled to it would
              depend on the size that add_remove protects, so it is no global sensitivity.
    Requires  rows >= 1.
    Rounds    nothing.
    """
    require_column(column)
    require_count(rows=rows)
    return column.width / (rows + 1)


def breakpoints(column: Column, data: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The points of [a, b] where a new row can move an order statistic or a range furthest: the bounds and the rows.

    Theorem   between two neighbouring rows these aggregates are linear in the new row, and the distance of a linear
              function from a number is largest at an end. So brute force over these points is exact, also for rows
              outside [a, b].
    Requires  nothing more.
    Rounds    nothing.
    """
    inside = {value for value in data if column.lower <= value <= column.upper}
    return tuple(sorted({column.lower, column.upper} | inside))


def largest_log_ratio(bound: Measure, *, domain: Sequence[Number], size: int, neighbours: Neighbours) -> float:
    """The largest ln(S(D)/S(D')) over all neighbours of a small domain: the smallest β to which S is smooth.

    Theorem   as `is_smooth_bound`. inf where S is 0 at one of two neighbours only, 0 where it is 0 at both.
    Requires  at most 10**6 databases, S >= 0.
    Rounds    to nearest.
    """
    sizes = {rows: exact(bound(rows)) for rows in databases(domain=domain, size=size, neighbours=neighbours)}
    ratios = (
        log_ratio(sizes[rows], sizes[other])
        for rows, other in neighbouring_pairs(domain=domain, size=size, neighbours=neighbours)
    )
    return max((abs(ratio) for ratio in ratios), default=0.0)


def complete_graph(vertices: int) -> Graph:
    """K_n, its edges in lexicographic order: 12, 13, …, 23, …."""
    require_count(vertices=vertices, at_least=2, at_most=45)  # 990 edges
    return Graph(vertices=vertices, edges=tuple(combinations(range(1, vertices + 1), 2)))


def mst_cost(graph: Graph, weights: Sequence[Number]) -> Fraction:
    """The total weight of a minimum spanning tree.

    Theorem   Kruskal (1956): edges in order of weight, leaving out those that close a circle.
    Requires  one finite weight per edge, in the order of the edges.
    Rounds    nothing.
    """
    sizes = _exact_weights(graph, weights)
    return sum((sizes[edge] for edge in _spanning(graph, _by_weight(sizes))), Fraction(0))


def require_declared_sensitivity(
    function: Function,
    *,
    declared: Sensitivity,
    domain: Sequence[Any],
    sizes: Sequence[int],
    neighbours: Neighbours,
) -> None:
    """Refuses a declared sensitivity that some pair of small databases contradicts, in any of the three norms.

    Theorem   one counterexample suffices. Passing proves the declaration for this domain and these sizes only.
    Requires  as `largest_move`. A Δu is declared as the linf of the scores.
    Rounds    l2 is compared by exact squares.
    """
    require_type(Sensitivity, declared=declared)
    found = _largest_norms(_moves(function, domain=domain, sizes=sizes, neighbours=neighbours))
    bounds = {"l1": declared.l1, "l2": declared.l2**2, "linf": declared.linf}
    for (name, bound), move in zip(bounds.items(), found, strict=True):
        if move > bound:
            raise unmet(f"the declared {name} sensitivity {getattr(declared, name)} does not hold")
