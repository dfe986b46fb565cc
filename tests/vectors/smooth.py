"""Readings of the golden vectors on smooth sensitivity."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from dpsql.errors import BadParameter
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.smooth import Rows, SmoothBound, databases, largest_log_ratio, log_ratio, smooth_sensitivity
from dpsql.sensitivity.smooth_extremes import (
    maximum_sensitivities,
    maximum_smooth_sensitivity,
    minimum_sensitivities,
    minimum_smooth_sensitivity,
    range_sensitivities,
    range_smooth_sensitivity,
)
from dpsql.sensitivity.smooth_median import median_sensitivities, median_smooth_sensitivity
from dpsql.sensitivity.smooth_mst import Graph, complete_graph, mst_cost, mst_sensitivities, mst_smooth_sensitivity
from dpsql.sensitivity.smooth_quantile import quantile_sensitivities, quantile_smooth_sensitivity
from tests.vectors.errata_smooth import (
    is_near_local_sensitivity,
    median_windows_two_arguments,
    median_windows_up_to_k,
)
from tests.vectors.verdicts import reading
from tests.vectors.words import relation

Sizes = tuple[Fraction, ...]

LISTED: Final[dict[str, Callable[..., Sizes]]] = {
    "median": median_sensitivities,
    "min": minimum_sensitivities,
    "max": maximum_sensitivities,
    "range": range_sensitivities,
    "max-min": range_sensitivities,
    "quantile": quantile_sensitivities,
}
SMOOTH: Final[dict[str, Callable[..., SmoothBound]]] = {
    "median": median_smooth_sensitivity,
    "min": minimum_smooth_sensitivity,
    "max": maximum_smooth_sensitivity,
    "range": range_smooth_sensitivity,
    "max-min": range_smooth_sensitivity,
    "quantile": quantile_smooth_sensitivity,
}
SHOWN: Final = 6
"""Lists under add/remove are written out to this distance; what follows is bounded by upper - lower."""


@reading("smooth_sensitivity")
def at_distances(
    data: Sequence[float],
    lower: float,
    upper: float,
    k: Sequence[int],
    query: str = "median",
    neighbours: str = "change_one",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
) -> dict[str, Any]:
    listed = _listed(query, data, lower, upper, relation(neighbours), q)
    return {"A_k": [float(listed[min(distance, len(listed) - 1)]) for distance in k]}


@reading("smooth_sensitivity")
def column_statistic(
    data: Sequence[float],
    lower: float,
    upper: float,
    beta: float,
    query: str = "median",
    neighbours: str = "change_one",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
    k: Sequence[int] | None = None,
) -> dict[str, Any]:
    among = relation(neighbours)
    listed = _listed(query, data, lower, upper, among, q)
    found = SMOOTH[query](data, lower=lower, upper=upper, beta=beta, neighbours=among, **_which(query, q))
    shown = k if k is not None else range(len(data) + 1 if among is Neighbours.CHANGE_ONE else SHOWN + 1)
    outputs: dict[str, Any] = {
        "A_k": [float(listed[min(distance, len(listed) - 1)]) for distance in shown],
        "smooth_sensitivity": found.bound,
        "argmax_k": found.distance,
    }
    if query == "median" and among is Neighbours.CHANGE_ONE:
        short = median_windows_up_to_k(data, lower=lower, upper=upper)
        wide = median_windows_two_arguments(data, lower=lower, upper=upper)
        outputs["seed_t0_to_k_formula_A_k_underestimates"] = [float(size) for size in short]
        outputs["seed_t0_to_kplus1_two_arg_formula_A_k"] = [float(size) for size in wide]
    return outputs


@reading("smooth_sensitivity")
def column_statistic_to_the_end(
    data: Sequence[float],
    lower: float,
    upper: float,
    beta: float,
    neighbours: str,
    query: str = "median",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
) -> dict[str, Any]:
    listed = _listed(query, data, lower, upper, relation(neighbours), q)
    found = smooth_sensitivity(listed, beta=beta)
    return {
        "A_k": [float(size) for size in listed],
        "smooth_sensitivity": found.bound,
        "argmax_k": found.distance,
    }


@reading("smooth_sensitivity")
def over_all_databases(
    domain: Sequence[float],
    n: int,
    beta: float,
    query: str = "median",
    neighbours: str = "change_one",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
) -> dict[str, Any]:
    among, bounds = relation(neighbours), {"lower": min(domain), "upper": max(domain)}
    which = _which(query, q)

    def bound(rows: Rows) -> float:
        return SMOOTH[query](rows, beta=beta, neighbours=among, **bounds, **which).bound

    def local(rows: Rows) -> Fraction:
        return LISTED[query](rows, neighbours=among, **bounds, **which)[0]

    every = list(databases(domain=domain, size=n, neighbours=among))
    return {
        "max_ln_ratio_S_over_neighbours": largest_log_ratio(bound, domain=domain, size=n, neighbours=among),
        "max_ln_S_over_LS": max(log_ratio(bound(rows), local(rows)) for rows in every),
        "seed_condition_S_le_ebeta_LS_holds": all(
            is_near_local_sensitivity(bound=bound(rows), local_sensitivity=local(rows), factor=math.exp(beta))
            for rows in every
        ),
    }


@reading("smooth_sensitivity")
def spanning_tree(
    edge_weights: Sequence[float],
    lower: float,
    upper: float,
    beta: float,
    graph: str | Sequence[Sequence[int]] = "complete",
    neighbours: str = "change one edge weight",
    query: str = "mst_cost",
) -> dict[str, Any]:
    shape = _graph(graph, len(edge_weights))
    found = mst_smooth_sensitivity(shape, edge_weights, lower=lower, upper=upper, beta=beta)
    return {
        "mst_cost": float(mst_cost(shape, edge_weights)),
        "A_k": [float(size) for size in mst_sensitivities(shape, edge_weights, lower=lower, upper=upper)],
        "smooth_sensitivity": found.bound,
        "argmax_k": found.distance,
    }


@reading("smooth_sensitivity")
def seed_up_to_k(
    D: Sequence[float], Dprime: Sequence[float], lower: float, upper: float, beta: float
) -> dict[str, Any]:
    return _compared(median_windows_up_to_k, D, Dprime, lower, upper, beta)


@reading("smooth_sensitivity")
def seed_two_arguments(
    D: Sequence[float], Dprime: Sequence[float], lower: float, upper: float, beta: float
) -> dict[str, Any]:
    return _compared(median_windows_two_arguments, D, Dprime, lower, upper, beta)


def _compared(
    wrong: Callable[..., Sizes],
    first: Sequence[float],
    second: Sequence[float],
    lower: float,
    upper: float,
    beta: float,
) -> dict[str, Any]:
    """S at two neighbours by a formula of the notes and by the right one."""
    both = (first, second)
    variant = [smooth_sensitivity(wrong(data, lower=lower, upper=upper), beta=beta).bound for data in both]
    right = [
        median_smooth_sensitivity(data, lower=lower, upper=upper, beta=beta, neighbours=Neighbours.CHANGE_ONE).bound
        for data in both
    ]
    return {
        "seed_variant_S": variant,
        "seed_variant_ln_ratio": abs(log_ratio(*variant)),
        "correct_S": right,
        "correct_ln_ratio": abs(log_ratio(*right)),
    }


def _which(query: str, q: float | None) -> dict[str, float]:
    if query not in SMOOTH:
        raise BadParameter(
            f"query={query!r} has no smooth sensitivity here", why="no theorem is known", fix=f"one of {list(SMOOTH)}"
        )
    return {} if q is None else {"quantile": q}


def _listed(query: str, data: Sequence[float], lower: float, upper: float, among: Neighbours, q: float | None) -> Sizes:
    which = _which(query, q)
    return LISTED[query](data, lower=lower, upper=upper, neighbours=among, **which)


def _graph(name: str | Sequence[Sequence[int]], edges: int) -> Graph:
    """K4, C5 (a circle), P3 (a path), a list of edges, or the complete graph with so many edges."""
    if not isinstance(name, str):
        pairs = tuple((int(tail), int(head)) for tail, head in name)
        shift = 1 - min(min(pair) for pair in pairs)
        moved = tuple((tail + shift, head + shift) for tail, head in pairs)
        return Graph(vertices=max(max(pair) for pair in moved), edges=moved)
    if name == "complete":
        return complete_graph((1 + math.isqrt(1 + 8 * edges)) // 2)
    shape = re.fullmatch(r"([KCP])_?(\d{1,3})", name)
    if shape is None:
        raise BadParameter(f"graph={name!r} is not known", why="its edges are not given", fix="K4, C5, P3, or edges")
    vertices = int(shape[2])
    if shape[1] == "K":
        return complete_graph(vertices)
    path = tuple((vertex, vertex + 1) for vertex in range(1, vertices))
    return Graph(vertices=vertices, edges=path if shape[1] == "P" else (*path, (1, vertices)))
