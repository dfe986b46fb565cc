"""Smooth sensitivity of the cost of a minimum spanning tree, where neighbours differ in the weight of one edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, groupby
from typing import Final

from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_bounds, require_count, require_that
from dpsql.sensitivity.smooth import SmoothBound, require_beta, smooth_sensitivity
from dpsql.sensitivity.smooth_values import private_number

MOST_EDGES: Final = 1000
"""One maximum flow is computed per edge; a thousand take about a quarter of a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A connected graph on the vertices 1 … n. Which edges there are is public; their weights are private."""

    vertices: int
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        require_count(vertices=self.vertices, at_least=2, at_most=MOST_EDGES + 1)
        require_count(number_of_edges=len(self.edges), at_most=MOST_EDGES)
        for edge in self.edges:
            require_that(len(edge) == 2, "an edge does not join two vertices")
            require_count(at_most=self.vertices, tail=edge[0], head=edge[1])
            require_that(edge[0] != edge[1], "an edge joins a vertex with itself")
        require_that(len(_spanning(self, range(len(self.edges)))) == self.vertices - 1, "the graph is not connected")


def mst_sensitivities(graph: Graph, weights: Sequence[Number], *, lower: Number, upper: Number) -> tuple[Fraction, ...]:
    """A^(0) … A^(m): the largest local sensitivity of the cost within k changed weights, m the number of edges.

    Theorem   docs/theorems/smooth_mst.md, Theorem 3 (Nissim, Raskhodnikova, Smith 2007, section 3.2): with B_e(k)
              the largest bottleneck around e after k changes,
              max over e of B_e(k) - w_e, min(w_e, B_e(k)) - lower and, for k >= 1, B_e(k-1) - lower.
    Requires  a connected graph of at most 1000 edges, all weights inside [lower, upper].
    Rounds    nothing.
    """
    require_bounds(lower=lower, upper=upper)
    low, high = exact(lower), exact(upper)
    sizes = _exact_weights(graph, weights)
    require_that(low <= min(sizes) <= max(sizes) <= high, "a weight is outside its bounds")
    largest = [Fraction(0)] * (len(sizes) + 1)
    for edge, weight in enumerate(sizes):
        before = low
        around = _bottlenecks(graph, sizes, edge=edge, upper=high)
        for distance in range(len(largest)):
            bottleneck = around[min(distance, len(around) - 1)]
            largest[distance] = max(largest[distance], bottleneck - weight, min(weight, bottleneck) - low, before - low)
            before = bottleneck
    return tuple(accumulate(largest, max))


def mst_smooth_sensitivity(
    graph: Graph, weights: Sequence[Number], *, lower: Number, upper: Number, beta: Number
) -> SmoothBound:
    """The smooth sensitivity of the cost of a minimum spanning tree.

    Theorem   as `mst_sensitivities` and `dpsql.sensitivity.smooth.smooth_sensitivity`.
    Requires  as `mst_sensitivities`; 0 <= β <= 64.
    Rounds    up, to the next double.
    """
    require_beta(beta=beta)
    return smooth_sensitivity(mst_sensitivities(graph, weights, lower=lower, upper=upper), beta=beta)


def _exact_weights(graph: Graph, weights: Sequence[Number]) -> list[Fraction]:
    require_that(len(weights) == len(graph.edges), "there must be one weight for each edge")
    return [private_number(weight) for weight in weights]


def _by_weight(sizes: Sequence[Fraction]) -> list[int]:
    return sorted(range(len(sizes)), key=sizes.__getitem__)


def _spanning(graph: Graph, order: Sequence[int]) -> list[int]:
    """The edges that Kruskal's algorithm keeps when it sees them in this order."""
    parent = list(range(graph.vertices + 1))

    def root(vertex: int) -> int:
        while parent[vertex] != vertex:
            parent[vertex] = vertex = parent[parent[vertex]]
        return vertex

    kept = []
    for edge in order:
        tail, head = map(root, graph.edges[edge])
        if tail != head:
            parent[tail] = head
            kept.append(edge)
    return kept


def _bottlenecks(graph: Graph, sizes: Sequence[Fraction], *, edge: int, upper: Fraction) -> list[Fraction]:
    """B_e(0), B_e(1), …, ending with `upper`: the cheapest way around `edge` after k other weights were raised.

    Edges lighter than v connect the ends of e after any k removals iff k is below their minimum cut. So B_e(k) is the
    weight at which the maximum flow through the edges up to that weight first exceeds k.
    """
    flow = _UnitFlow(source=graph.edges[edge][0], sink=graph.edges[edge][1])
    found: list[Fraction] = []
    others = [other for other in _by_weight(sizes) if other != edge]
    for weight, same in groupby(others, key=sizes.__getitem__):
        for other in same:
            flow.add(*graph.edges[other])
        found.extend([weight] * flow.augment())
    return [*found, upper]


@dataclass(slots=True, kw_only=True)
class _UnitFlow:
    """A maximum flow between two vertices of a graph that grows; each edge carries one unit either way."""

    source: int
    sink: int
    residual: dict[int, dict[int, int]] = field(default_factory=dict)
    reached: frozenset[int] = frozenset()  # by the last search, which failed
    stale: bool = True  # whether an edge was added since that leaves what was reached

    def add(self, tail: int, head: int) -> None:
        self.stale = self.stale or (tail in self.reached) != (head in self.reached)
        for start, end in ((tail, head), (head, tail)):
            room = self.residual.setdefault(start, {})
            room[end] = room.get(end, 0) + 1

    def augment(self) -> int:
        """How much the flow grows now."""
        grown = 0
        while self.stale and (path := self._path()) is not None:
            for vertex, before in path:
                self.residual[before][vertex] -= 1
                self.residual[vertex][before] += 1
            grown += 1
        return grown

    def _path(self) -> list[tuple[int, int]] | None:
        """The steps (vertex, the one before) of a path with room left, or None."""
        came_from = {self.source: self.source}
        waiting = [self.source]
        while waiting and self.sink not in came_from:
            vertex = waiting.pop()
            for following, room in self.residual.get(vertex, {}).items():
                if room and following not in came_from:
                    came_from[following] = vertex
                    waiting.append(following)
        if self.sink not in came_from:
            self.reached, self.stale = frozenset(came_from), False
            return None
        steps, vertex = [], self.sink
        while vertex != self.source:
            steps.append((vertex, came_from[vertex]))
            vertex = came_from[vertex]
        return steps
