"""Readings of the golden vectors on global and local sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

from dpsql.errors import BadParameter, Unbounded
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number
from dpsql.sensitivity.aggregates import (
    Aggregate,
    Count,
    Histogram,
    MarkCounts,
    Maximum,
    Mean,
    Median,
    Minimum,
    Quantile,
    Range,
    Sum,
    Variance,
)
from dpsql.sensitivity.brute_force import brute_force_local
from dpsql.sensitivity.column import Column, Outside
from dpsql.sensitivity.global_ import global_sensitivity, mean_move_of_one_more
from dpsql.sensitivity.local import breakpoints, local_sensitivity
from tests.vectors.errata_local import rows_with_one_zero_less
from tests.vectors.verdicts import reading
from tests.vectors.words import relation

ADD_REMOVE, CHANGE_ONE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE
Bound = Number | str | None
Numeric = Count | Sum | Mean | Range | Quantile

QUERIES: Final[dict[str, Callable[[Column], Numeric]]] = {
    "max-min": lambda column: Range(column=column),
    "range": lambda column: Range(column=column),
    "median": lambda column: Median(column=column),
    "max": lambda column: Maximum(column=column),
    "min": lambda column: Minimum(column=column),
    "mean": lambda column: Mean(column=column),
    "sum": lambda column: Sum(column=column, every_unit_contributes=True),
    "count": lambda column: Count(every_unit_contributes=True),
}


def _column(lower: Bound, upper: Bound, outside: Outside = Outside.CLAMP) -> Column:
    """JSON has no infinities; the vectors write them as text."""
    return Column(bounds=(_bound(lower), _bound(upper)), outside=outside)


def _bound(bound: Bound) -> Number | None:
    return float(bound) if isinstance(bound, str) else bound


@reading("global_sensitivity")
def sums(lower: Bound, upper: Bound) -> dict[str, Any]:
    total = Sum(column=_column(lower, upper), every_unit_contributes=True)
    return {
        "change_one": global_sensitivity(total, neighbours=CHANGE_ONE).l1,
        "add_remove": global_sensitivity(total, neighbours=ADD_REMOVE).l1,
    }


@reading("global_sensitivity")
def sums_without_bounds(lower: Bound, upper: Bound) -> dict[str, Any]:
    """A column that the library refuses has sensitivity ∞; one that it accepts is not rejected."""
    try:
        return {**sums(lower, upper), "must_reject_without_bounds": False}
    except Unbounded:
        return {"change_one": inf, "add_remove": inf, "must_reject_without_bounds": True}


@reading("global_sensitivity")
def means(lower: Number, upper: Number, n: int) -> dict[str, Any]:
    column = _column(lower, upper)
    return {
        "change_one_n_public": global_sensitivity(Mean(column=column, rows=n), neighbours=CHANGE_ONE).l1,
        "add_one_to_size_n": mean_move_of_one_more(column=column, rows=n),
        "add_remove_worst_over_all_sizes_ge_1": global_sensitivity(Mean(column=column), neighbours=ADD_REMOVE).l1,
    }


@reading("global_sensitivity")
def variances(lower: Number, upper: Number, n: int) -> dict[str, Any]:
    variance = Variance(column=_column(lower, upper), rows=n)
    return {"change_one_n_public": global_sensitivity(variance, neighbours=CHANGE_ONE).l1}


@reading("global_sensitivity")
def order_statistics(lower: Number, upper: Number, n: int) -> dict[str, Any]:
    column = _column(lower, upper)
    named: dict[str, Aggregate] = {
        "max": Maximum(column=column, rows=n),
        "min": Minimum(column=column, rows=n),
        "range_max_minus_min": Range(column=column, rows=n),
        "median_odd_n": Median(column=column, rows=n),
    }
    return {name: global_sensitivity(aggregate, neighbours=CHANGE_ONE).l1 for name, aggregate in named.items()}


@reading("global_sensitivity")
def counts() -> dict[str, Any]:
    everybody, filtered = Count(every_unit_contributes=True), Count(every_unit_contributes=False)
    return {
        "count_star_change_one": global_sensitivity(everybody, neighbours=CHANGE_ONE).l1,
        "count_where_change_one": global_sensitivity(filtered, neighbours=CHANGE_ONE).l1,
        "add_remove": global_sensitivity(everybody, neighbours=ADD_REMOVE).l1,
    }


@reading("global_sensitivity")
def histograms(bins: int) -> dict[str, Any]:
    return _both_relations(Histogram(bins=bins, every_unit_contributes=True))


@reading("global_sensitivity")
def marks(m: int) -> dict[str, Any]:
    return _both_relations(MarkCounts(attributes=m))


def _both_relations(aggregate: Aggregate) -> dict[str, Any]:
    changed = global_sensitivity(aggregate, neighbours=CHANGE_ONE)
    added = global_sensitivity(aggregate, neighbours=ADD_REMOVE)
    return {
        "l1_change_one": changed.l1,
        "l1_add_remove": added.l1,
        "l2_change_one": changed.l2,
        "l2_add_remove": added.l2,
        "linf": max(changed.linf, added.linf),
    }


@reading("local_sensitivity")
def inside_the_domain(
    data: Sequence[Number],
    lower: Number,
    upper: Number,
    neighbours: str,
    query: str = "median",
    q: Number | None = None,
    median: str = "",
    empty_dataset: str = "excluded",
) -> dict[str, Any]:
    """A row outside the declared range is refused here; the next reading is about such rows."""
    aggregate = _aggregate(query, q, _column(lower, upper, Outside.REJECT))
    value = aggregate.value(data)
    return {
        "f": value,
        (query if q is None else "quantile"): value,
        "local_sensitivity": local_sensitivity(aggregate, data, neighbours=relation(neighbours)),
    }


@reading("local_sensitivity")
def outside_the_domain(
    data: Sequence[Number],
    lower: Number,
    upper: Number,
    neighbours: str,
    query: str = "median",
    q: Number | None = None,
) -> dict[str, Any]:
    """What a row outside the declared range does if it is kept, and if it is clamped."""
    among, column = relation(neighbours), _column(lower, upper)
    rows = [exact(value) for value in data]
    wide = _column(min(column.lower, *rows), max(column.upper, *rows))
    kept, clamped = _aggregate(query, q, wide), _aggregate(query, q, column)
    moved = brute_force_local(
        kept.value, rows, domain=breakpoints(column, rows), neighbours=among, smallest=kept.smallest
    )
    meant = rows_with_one_zero_less(rows, column=column)
    return {
        "f_unclamped": kept.value(rows),
        "ls_if_row_kept_unclamped": moved.l1,
        "f_after_clamping": clamped.value(rows),
        "local_sensitivity_after_clamping": local_sensitivity(clamped, rows, neighbours=among),
        "seed_claims": local_sensitivity(clamped, meant, neighbours=among),
    }


def _aggregate(query: str, q: Number | None, column: Column) -> Numeric:
    if q is not None:
        return Quantile(column=column, q=q)
    if query not in QUERIES:
        raise BadParameter(
            f"no query is called {query!r}", why=f"known: {', '.join(QUERIES)}", fix="check the spelling"
        )
    return QUERIES[query](column)
