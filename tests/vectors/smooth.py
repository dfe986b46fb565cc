"""Golden values of smooth sensitivity."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from dpsql.sensitivity import smooth_extremes, smooth_mst, smooth_quantile
from dpsql.sensitivity.smooth import Rows, SmoothBound, databases, smooth_sensitivity
from dpsql.sensitivity.smooth_mst import Graph
from tests.oracles.sensitivity import complete_graph, largest_log_ratio, log_ratio, mst_cost
from tests.vectors import errata
from tests.vectors.words import CHANGE_ONE, Outputs, Readings, relation, taken

Sizes = tuple[Fraction, ...]
Values = Sequence[float]

STATISTICS: Final[Mapping[str, tuple[Callable[..., Sizes], Callable[..., SmoothBound]]]] = {
    "median": (smooth_quantile.median_sensitivities, smooth_quantile.median_smooth_sensitivity),
    "min": (smooth_extremes.minimum_sensitivities, smooth_extremes.minimum_smooth_sensitivity),
    "max": (smooth_extremes.maximum_sensitivities, smooth_extremes.maximum_smooth_sensitivity),
    "range": (smooth_extremes.range_sensitivities, smooth_extremes.range_smooth_sensitivity),
    "max-min": (smooth_extremes.range_sensitivities, smooth_extremes.range_smooth_sensitivity),
    "quantile": (smooth_quantile.quantile_sensitivities, smooth_quantile.quantile_smooth_sensitivity),
}
"""A^(k) for k = 0, 1, …, and S."""

SHOWN: Final = 6
"""Lists under add/remove are written out to this distance; what follows is bounded by upper - lower."""


def _at(listed: Sizes, distances: Sequence[int]) -> list[Fraction]:
    return [listed[min(distance, len(listed) - 1)] for distance in distances]


def _column_statistic(
    data: Values,
    lower: float,
    upper: float,
    beta: float | None = None,
    query: str = "median",
    neighbours: str = "change_one",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
    k: Sequence[int] | None = None,
) -> Outputs:
    among = relation(neighbours)
    given: dict[str, Any] = {
        "lower": lower,
        "upper": upper,
        "neighbours": among,
        **({} if q is None else {"quantile": q}),
    }
    listed, smooth = STATISTICS[query]
    sizes = listed(data, **given)
    shown = k if k is not None else range(len(data) + 1 if among is CHANGE_ONE else SHOWN + 1)
    outputs: dict[str, Any] = {"A_k": _at(sizes, shown)}
    if beta is None:
        return outputs
    outputs |= taken(smooth(data, beta=beta, **given), smooth_sensitivity="bound", argmax_k="distance")
    if query == "median" and among is CHANGE_ONE:
        short = errata.median_windows_up_to_k(data, lower=lower, upper=upper)
        wide = errata.median_windows_two_arguments(data, lower=lower, upper=upper)
        outputs |= {"seed_t0_to_k_formula_A_k_underestimates": short, "seed_t0_to_kplus1_two_arg_formula_A_k": wide}
    return outputs


def _column_statistic_to_the_end(
    data: Values,
    lower: float,
    upper: float,
    beta: float,
    neighbours: str,
    query: str = "median",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
) -> Outputs:
    which = {} if q is None else {"quantile": q}
    sizes = STATISTICS[query][0](data, lower=lower, upper=upper, neighbours=relation(neighbours), **which)
    return {
        "A_k": sizes,
        **taken(smooth_sensitivity(sizes, beta=beta), smooth_sensitivity="bound", argmax_k="distance"),
    }


def _over_all_databases(
    domain: Values,
    n: int,
    beta: float,
    query: str = "median",
    neighbours: str = "change_one",
    q: float | None = None,
    median: str = "",
    empty_dataset: str = "",
) -> Outputs:
    among, (listed, smooth) = relation(neighbours), STATISTICS[query]
    given: dict[str, Any] = {"lower": min(domain), "upper": max(domain), **({} if q is None else {"quantile": q})}

    def bound(rows: Rows) -> float:
        return smooth(rows, beta=beta, neighbours=among, **given).bound

    both = [
        (bound(rows), listed(rows, neighbours=among, **given)[0])
        for rows in databases(domain=domain, size=n, neighbours=among)
    ]
    return {
        "max_ln_ratio_S_over_neighbours": largest_log_ratio(bound, domain=domain, size=n, neighbours=among),
        "max_ln_S_over_LS": max(log_ratio(size, local) for size, local in both),
        "seed_condition_S_le_ebeta_LS_holds": all(
            errata.is_near_local_sensitivity(bound=size, local_sensitivity=local, factor=math.exp(beta))
            for size, local in both
        ),
    }


def _spanning_tree(
    edge_weights: Values,
    lower: float,
    upper: float,
    beta: float,
    graph: str | Sequence[Sequence[int]] = "complete",
    neighbours: str = "change one edge weight",
    query: str = "mst_cost",
) -> Outputs:
    shape = _graph(graph, len(edge_weights))
    found = smooth_mst.mst_smooth_sensitivity(shape, edge_weights, lower=lower, upper=upper, beta=beta)
    return {
        "mst_cost": mst_cost(shape, edge_weights),
        "A_k": smooth_mst.mst_sensitivities(shape, edge_weights, lower=lower, upper=upper),
        **taken(found, smooth_sensitivity="bound", argmax_k="distance"),
    }


def _compared(
    wrong: Callable[..., Sizes], D: Values, Dprime: Values, lower: float, upper: float, beta: float
) -> Outputs:
    """S at two neighbours by a formula of the notes and by the right one."""
    given: dict[str, Any] = {"lower": lower, "upper": upper}
    variant = [smooth_sensitivity(wrong(data, **given), beta=beta).bound for data in (D, Dprime)]
    right = [
        smooth_quantile.median_smooth_sensitivity(data, beta=beta, neighbours=CHANGE_ONE, **given).bound
        for data in (D, Dprime)
    ]
    return {
        "seed_variant_S": variant,
        "seed_variant_ln_ratio": abs(log_ratio(*variant)),
        "correct_S": right,
        "correct_ln_ratio": abs(log_ratio(*right)),
    }


def _graph(name: str | Sequence[Sequence[int]], edges: int) -> Graph:
    """K4, C5 (a circle), P3 (a path), a list of edges, or the complete graph with so many edges."""
    if not isinstance(name, str):
        shift = 1 - min(map(min, name))
        moved = tuple((tail + shift, head + shift) for tail, head in name)
        return Graph(vertices=max(map(max, moved)), edges=moved)
    if name == "complete":
        return complete_graph((1 + math.isqrt(1 + 8 * edges)) // 2)
    shape = re.fullmatch(r"([KCP])_?(\d{1,3})", name)
    if shape is None:
        raise ValueError(f"graph={name!r} is not known: K4, C5, P3, or edges")
    vertices = int(shape[2])
    if shape[1] == "K":
        return complete_graph(vertices)
    path = tuple((vertex, vertex + 1) for vertex in range(1, vertices))
    return Graph(vertices=vertices, edges=path if shape[1] == "P" else (*path, (1, vertices)))


READINGS: Final[Readings] = {
    "smooth_sensitivity": (
        _column_statistic,
        _column_statistic_to_the_end,
        _over_all_databases,
        _spanning_tree,
        lambda D, Dprime, lower, upper, beta: _compared(errata.median_windows_up_to_k, D, Dprime, lower, upper, beta),
        lambda D, Dprime, lower, upper, beta: _compared(
            errata.median_windows_two_arguments, D, Dprime, lower, upper, beta
        ),
    )
}
