"""Every aggregate by name. Adding one is adding its file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from dpsql.sql.aggregates.count import count
from dpsql.sql.aggregates.measure import Measured, Subject, grain_of, grains_of_each
from dpsql.sql.aggregates.moments import avg, deviation, variance
from dpsql.sql.aggregates.pairs import corr, covariance, regr_intercept, regr_slope
from dpsql.sql.slots import Slot, SlotKind


def sum_(subject: Subject) -> Measured:
    """Values inside their bounds row by row, a person's sum inside C times these or inside its own; nothing: 0."""
    if subject.of_each is None:
        grain = grain_of(subject)
        low, high = subject.cap * min(grain.low, 0), subject.cap * max(grain.high, 0)
    else:
        grain, each = grains_of_each(subject, subject.of_each)
        low, high = min(each.low, 0), max(each.high, 0)
    slot = Slot(
        kind=SlotKind.SUM,
        argument=subject.argument,
        cap=subject.cap,
        low=low,
        high=high,
        size=grain.size,
        grain=grain,
    )
    return Measured(slots=(slot,), value=lambda columns: columns[0])


MEASURES: Final[Mapping[str, Callable[[Subject], Measured]]] = {
    "avg": avg,
    "corr": corr,
    "count": count,
    "covar_pop": partial(covariance, sample=False),
    "covar_samp": partial(covariance, sample=True),
    "regr_intercept": regr_intercept,
    "regr_slope": regr_slope,
    "stddev_pop": partial(deviation, sample=False),
    "stddev_samp": partial(deviation, sample=True),
    "sum": sum_,
    "var_pop": partial(variance, sample=False),
    "var_samp": partial(variance, sample=True),
}
