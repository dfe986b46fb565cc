"""Golden values of global and local sensitivity."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

from dpsql.errors import Unbounded
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number
from dpsql.sensitivity import aggregates
from dpsql.sensitivity.aggregates import Aggregate, Column, Count, Mean, Outside, Quantile, Range, Sum
from dpsql.sensitivity.brute_force import brute_force_local
from dpsql.sensitivity.global_ import global_sensitivity
from dpsql.sensitivity.local import local_sensitivity
from tests.oracles.sensitivity import breakpoints
from tests.vectors.errata import rows_with_one_zero_less
from tests.vectors.words import ADD_REMOVE, CHANGE_ONE, Outputs, Readings, relation

Bound = Number | str | None
Numeric = Count | Sum | Mean | Range | Quantile

QUERIES: Final[Mapping[str, Callable[[Column], Numeric]]] = {
    "max-min": lambda column: Range(column=column),
    "range": lambda column: Range(column=column),
    "median": lambda column: aggregates.Median(column=column),
    "max": lambda column: aggregates.Maximum(column=column),
    "min": lambda column: aggregates.Minimum(column=column),
    "mean": lambda column: Mean(column=column),
    "sum": lambda column: Sum(column=column, every_unit_contributes=True),
    "count": lambda column: Count(every_unit_contributes=True),
}


def _column(lower: Bound, upper: Bound, outside: Outside = Outside.CLAMP) -> Column:
    """JSON has no infinities; the vectors write them as text."""
    bounds = tuple(float(bound) if isinstance(bound, str) else bound for bound in (lower, upper))
    return Column(bounds=bounds, outside=outside)  # type: ignore[arg-type]


def _l1(aggregate: Aggregate, neighbours: Neighbours = CHANGE_ONE) -> Any:
    return global_sensitivity(aggregate, neighbours=neighbours).l1


def _sums(lower: Bound, upper: Bound) -> dict[str, Any]:
    total = Sum(column=_column(lower, upper), every_unit_contributes=True)
    return {"change_one": _l1(total), "add_remove": _l1(total, ADD_REMOVE)}


def _sums_without_bounds(lower: Bound, upper: Bound) -> Outputs:
    """A column that the library refuses has sensitivity ∞; one that it accepts is not rejected."""
    try:
        return {**_sums(lower, upper), "must_reject_without_bounds": False}
    except Unbounded:
        return {"change_one": inf, "add_remove": inf, "must_reject_without_bounds": True}


def _order_statistics(lower: Number, upper: Number, n: int) -> Outputs:
    column = _column(lower, upper)
    return {
        "max": _l1(aggregates.Maximum(column=column, rows=n)),
        "min": _l1(aggregates.Minimum(column=column, rows=n)),
        "range_max_minus_min": _l1(Range(column=column, rows=n)),
        "median_odd_n": _l1(aggregates.Median(column=column, rows=n)),
    }


def _both_relations(aggregate: Aggregate) -> Outputs:
    changed, added = (global_sensitivity(aggregate, neighbours=among) for among in (CHANGE_ONE, ADD_REMOVE))
    return {
        "l1_change_one": changed.l1,
        "l1_add_remove": added.l1,
        "l2_change_one": changed.l2,
        "l2_add_remove": added.l2,
        "linf": max(changed.linf, added.linf),
    }


def _inside_the_domain(
    data: Sequence[Number],
    lower: Number,
    upper: Number,
    neighbours: str,
    query: str = "median",
    q: Number | None = None,
    median: str = "",
    empty_dataset: str = "excluded",
) -> Outputs:
    """A row outside the declared range is refused here; the next reading is about such rows."""
    aggregate = _aggregate(query, q, _column(lower, upper, Outside.REJECT))
    value = aggregate.value(data)
    return {
        "f": value,
        (query if q is None else "quantile"): value,
        "local_sensitivity": local_sensitivity(aggregate, data, neighbours=relation(neighbours)),
    }


def _outside_the_domain(
    data: Sequence[Number],
    lower: Number,
    upper: Number,
    neighbours: str,
    query: str = "median",
    q: Number | None = None,
) -> Outputs:
    """What a row outside the declared range does if it is kept, and if it is clamped."""
    among, column = relation(neighbours), _column(lower, upper)
    rows = [exact(value) for value in data]
    wide = _column(min(column.lower, *rows), max(column.upper, *rows))
    kept, clamped = _aggregate(query, q, wide), _aggregate(query, q, column)
    domain = breakpoints(column, rows)
    moved = brute_force_local(kept.value, rows, domain=domain, neighbours=among, smallest=kept.smallest)
    meant = rows_with_one_zero_less(rows, column=column)
    return {
        "f_unclamped": kept.value(rows),
        "ls_if_row_kept_unclamped": moved.l1,
        "f_after_clamping": clamped.value(rows),
        "local_sensitivity_after_clamping": local_sensitivity(clamped, rows, neighbours=among),
        "seed_claims": local_sensitivity(clamped, meant, neighbours=among),
    }


def _aggregate(query: str, q: Number | None, column: Column) -> Numeric:
    return QUERIES[query](column) if q is None else Quantile(column=column, q=q)


READINGS: Final[Readings] = {
    "global_sensitivity": (
        _sums,
        _sums_without_bounds,
        lambda lower, upper, n: {
            "change_one_n_public": _l1(Mean(column=_column(lower, upper), rows=n)),
            "add_one_to_size_n": _column(lower, upper).width / (n + 1),
            "add_remove_worst_over_all_sizes_ge_1": _l1(Mean(column=_column(lower, upper)), ADD_REMOVE),
        },
        lambda lower, upper, n: {"change_one_n_public": _l1(aggregates.Variance(column=_column(lower, upper), rows=n))},
        _order_statistics,
        lambda: {
            "count_star_change_one": _l1(Count(every_unit_contributes=True)),
            "count_where_change_one": _l1(Count(every_unit_contributes=False)),
            "add_remove": _l1(Count(every_unit_contributes=True), ADD_REMOVE),
        },
        lambda bins: _both_relations(aggregates.Histogram(bins=bins, every_unit_contributes=True)),
        lambda m: _both_relations(aggregates.MarkCounts(attributes=m)),
    ),
    "local_sensitivity": (_inside_the_domain, _outside_the_domain),
}
