"""Every aggregate by name. Adding one is adding its file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dpsql.sql.aggregates.count import count
from dpsql.sql.aggregates.measure import Measured, Subject
from dpsql.sql.aggregates.moments import avg, stddev_pop, stddev_samp, var_pop, var_samp
from dpsql.sql.aggregates.pairs import corr, covar_pop, covar_samp, regr_intercept, regr_slope
from dpsql.sql.aggregates.sum import sum_

MEASURES: Final[Mapping[str, Callable[[Subject], Measured]]] = {
    "avg": avg,
    "corr": corr,
    "count": count,
    "covar_pop": covar_pop,
    "covar_samp": covar_samp,
    "regr_intercept": regr_intercept,
    "regr_slope": regr_slope,
    "stddev_pop": stddev_pop,
    "stddev_samp": stddev_samp,
    "sum": sum_,
    "var_pop": var_pop,
    "var_samp": var_samp,
}
