"""The words of aggregates and of functions that are known and refused, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PAIRS: Final = frozenset({"corr", "covar_pop", "covar_samp", "regr_intercept", "regr_slope"})
"""Aggregates of two values."""

AGGREGATES: Final = PAIRS | {"count", "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"}
"""What can be asked about people."""

PUBLIC_AGGREGATES: Final = AGGREGATES | {"min", "max", "median"}
"""What can be asked about public tables."""

RAW_AGGREGATES: Final = frozenset(
    {
        "any_value", "approx_count_distinct", "approx_quantile", "arbitrary", "arg_max", "arg_min", "array_agg",
        "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count_if", "countif", "entropy",
        "favg", "first", "fsum", "geomean", "group_concat", "histogram", "kurtosis", "last", "list", "listagg",
        "logical_and", "logical_or", "mad", "max", "max_by", "median", "min", "min_by", "mode", "percentile_cont",
        "percentile_disc", "product", "quantile", "quantile_cont", "quantile_disc", "sem", "skewness",
        "string_agg",
    }
)  # fmt: skip
"""Aggregates for which no rule exists. Most of them are one person's value."""

WINDOWS: Final = frozenset(
    {
        "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
        "last_value", "sum", "avg", "count", "min", "max",
    }
)  # fmt: skip
"""Window functions over released rows."""

_CLOCK = (
    "an answer that depends on the time of asking is a different question every time, and never free again",
    "write the date as a literal, or CURRENT_DATE, which is fixed when the question is asked",
)
_CHANCE = (
    "chance belongs to the noise; in a query it would make the same question a new one every time",
    "leave it out: a sample is not needed, answers are private as they are",
)
CLOCKS: Final = frozenset(
    {
        "clock_timestamp", "current_datetime", "current_time", "current_timestamp", "get_current_timestamp", "getdate",
        "localtime", "localtimestamp", "now", "sysdate", "transaction_timestamp",
    }
)  # fmt: skip
_DICE = frozenset({"gen_random_uuid", "rand", "random", "setseed", "uuid", "uuidv4", "uuidv7"})

REFUSED_FUNCTIONS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(sorted(CLOCKS), _CLOCK),
    **dict.fromkeys(sorted(_DICE), _CHANCE),
    **dict.fromkeys(
        ("date_format", "format_date", "format_datetime", "format_timestamp", "strftime", "to_char"),
        (
            "text made of dates has no list of groups and no limits",
            "use DATE_TRUNC('month', x), YEAR(x), MONTH(x) or EXTRACT(dow FROM x)",
        ),
    ),
    **dict.fromkeys(
        ("regexp_contains", "regexp_like", "regexp_matches", "rlike"),
        ("some regular expressions take very long on some rows, and time tells", "use LIKE, or CONTAINS(x, part)"),
    ),
    "error": ("an error that depends on rows tells about them", "use a filter"),
    "sleep": ("time that depends on rows tells about them", "leave it out"),
}
"""Known, and refused: why, and what to do instead."""
