"""The cost of a minimum spanning tree: A^(k) and smoothness against enumeration of every weight of small graphs."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError
from dpsql.sensitivity.smooth_mst import Graph, mst_sensitivities, mst_smooth_sensitivity
from tests.kits.refusals import raised
from tests.oracles.sensitivity import complete_graph, mst_cost

K3, K4 = complete_graph(3), complete_graph(4)
SQUARE = Graph(vertices=4, edges=((1, 2), (2, 3), (3, 4), (1, 4)))
PATH = Graph(vertices=3, edges=((1, 2), (2, 3)))
KITE = Graph(vertices=4, edges=((1, 2), (2, 3), (1, 3), (3, 4)))  # a triangle and a bridge
TWINS = Graph(vertices=2, edges=((1, 2), (1, 2), (2, 1)))  # parallel edges
DIAMOND = Graph(vertices=4, edges=((1, 2), (1, 3), (2, 3), (2, 4), (3, 4)))
GRAPHS = {"K3": (K3, 4), "K4": (K4, 3), "square": (SQUARE, 4), "path": (PATH, 4), "kite": (KITE, 4)} | {
    "twins": (TWINS, 4),
    "diamond": (DIAMOND, 3),
}
Weights = tuple[int, ...]


def cheapest_tree(graph: Graph, weights: Weights) -> int:
    """Every set of n - 1 edges that connects all vertices, the cheapest of them: no greedy step to get wrong."""
    costs = []
    for tree in combinations(range(len(graph.edges)), graph.vertices - 1):
        reached = {1}
        for _ in tree:
            reached |= {v for edge in tree for v in graph.edges[edge] if reached & set(graph.edges[edge])}
        if len(reached) == graph.vertices:
            costs.append(sum(weights[edge] for edge in tree))
    return min(costs)


def changed(weights: Weights, domain: range) -> list[Weights]:
    return [
        (*weights[:edge], value, *weights[edge + 1 :])
        for edge in range(len(weights))
        for value in domain
        if value != weights[edge]
    ]


def local_sensitivities(graph: Graph, domain: range) -> dict[Weights, int]:
    cost = {weights: cheapest_tree(graph, weights) for weights in product(domain, repeat=len(graph.edges))}
    return {
        weights: max(abs(here - cost[other]) for other in changed(weights, domain)) for weights, here in cost.items()
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_nrs07_mst_sensitivities_by_enumeration(name: str) -> None:
    """C079: the cost and A^(k), for all k and all weights over a small domain, and S(D) <= e^β·S(D') for all pairs."""
    graph, values = GRAPHS[name]
    domain = range(values)
    within = local = local_sensitivities(graph, domain)
    listed = {
        weights: mst_sensitivities(graph, weights, lower=0, upper=values - 1)
        for weights in product(domain, repeat=len(graph.edges))
    }
    assert all(len(found) == len(graph.edges) + 1 for found in listed.values())
    for distance in range(len(graph.edges) + 1):
        for weights, found in listed.items():
            assert found[distance] == within[weights], (weights, distance)
        within = {
            weights: max([here, *(within[other] for other in changed(weights, domain))])
            for weights, here in within.items()
        }
    for beta in (0.1, 0.7):
        bounds = {
            weights: mst_smooth_sensitivity(graph, weights, lower=0, upper=values - 1, beta=beta).bound
            for weights in listed
        }
        worst = max(bounds[a] / bounds[b] for a in bounds for b in changed(a, domain))
        assert worst <= math.exp(beta) * (1 + 2**-42)
        assert all(bound >= local[weights] for weights, bound in bounds.items())


@pytest.mark.parametrize("name", GRAPHS)
def test_kruskal56_cost(name: str) -> None:
    """C079: the cost equals the cheapest of all spanning trees."""
    graph, values = GRAPHS[name]
    for weights in product(range(values), repeat=len(graph.edges)):
        assert mst_cost(graph, weights) == cheapest_tree(graph, weights)


def test_a_large_graph_ends() -> None:
    """K20 has 190 edges; the cut that isolates one vertex has 19, so A^(19) at the latest is upper - lower."""
    graph = complete_graph(20)
    weights = [Fraction((17 * index) % 101, 101) for index in range(len(graph.edges))]
    found = mst_sensitivities(graph, weights, lower=0, upper=1)
    assert found[19] == 1
    assert all(earlier <= later for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    ("vertices", "edges"),
    [(3, ((1, 2),)), (2, ((1, 1),)), (2, ()), (2, ((1, 3),)), (1, ()), (2, ((0, 1),)), (3, ((1, 2, 3),))],
)
def test_bad_graphs(vertices: int, edges: tuple[tuple[int, int], ...]) -> None:
    """C079: a graph without a spanning tree is refused."""
    raised(BadParameter, lambda: Graph(vertices=vertices, edges=edges))


NUMBERS = st.one_of(st.floats(), st.integers(-5, 5), st.fractions())


@settings(deadline=None, max_examples=100)
@given(st.lists(NUMBERS, max_size=4), NUMBERS, NUMBERS, NUMBERS)
def test_refuses_or_answers(weights: list[float], lower: float, upper: float, beta: float) -> None:
    """C079: any input gives a finite positive bound or a DpsqlError."""
    try:
        found = mst_smooth_sensitivity(K3, weights, lower=lower, upper=upper, beta=beta)
    except DpsqlError:
        return
    assert 0 < found.bound < math.inf


def test_a_weight_that_is_no_number_is_not_quoted():
    assert "Bob" not in str(raised(BadParameter, lambda: mst_sensitivities(K3, [1, "Bob is ill", 2], lower=0, upper=3)))
