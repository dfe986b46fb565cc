"""The total cast to a declared type: a function of one value, and the same whatever type a library gave the column."""

from __future__ import annotations

from typing import Final

from dpsql.catalog.column_types import WHOLE_DOUBLES
from dpsql.catalog.spelling import ENGINE_TYPES
from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.engines.duckdb_schema import sql_type

_TEXT: Final = ENGINE_TYPES[SqlType.TEXT]


def total_cast(field: str, engine_type: str, target: SqlType, *, by_rows: bool, is_person: bool) -> str:
    """The expression that reads `field`, a column of DuckDB's `engine_type`, as `target`; NULL where it does not fit.

    `by_rows`: the library has chosen the type by looking at values, so that integers may come as doubles. They are then
    read as doubles hold them: one missing value must not move the others. A person is never rounded to another one.
    Elsewhere fractions are rounded to whole numbers, halves away from 0: DuckDB does so with texts and decimals, and
    would round the half of a double to the even number.
    """
    kind, goal = sql_type(engine_type), ENGINE_TYPES[target]
    if kind is target is SqlType.BOOLEAN or (kind in TEMPORAL and target in TEMPORAL):
        return f"TRY_CAST({field} AS {goal})"
    written = field if kind in NUMERIC or engine_type == _TEXT else f"CAST({field} AS {_TEXT})"
    number = f"TRY_CAST({written} AS DOUBLE)"
    if kind is SqlType.BOOLEAN or (by_rows and kind not in NUMERIC):
        number = f"CASE {written} WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE ELSE {number} END"
    if target is SqlType.DOUBLE:
        return number
    as_double = by_rows or kind is SqlType.DOUBLE or kind is SqlType.BOOLEAN
    safe = f"abs({number}) < {WHOLE_DOUBLES}"
    if target is SqlType.INTEGER:
        whole = f"TRY_CAST({f'round({number})' if as_double else written} AS {goal})"
        held = [safe] * as_double + [f"{number} = CAST({whole} AS DOUBLE)"] * is_person
        return f"CASE WHEN {' AND '.join(held)} THEN {whole} END" if held else whole
    if as_double and kind in NUMERIC:  # 8001 and 8001.0 are one text
        whole = f"WHEN {safe} AND {number} = trunc({number}) THEN CAST(CAST({number} AS BIGINT) AS {_TEXT})"
        written = f"CASE {whole} WHEN {safe} THEN CAST({number} AS {_TEXT}) END"
    elif kind in NUMERIC:
        written = f"CAST({field} AS {_TEXT})"
    return written if target is SqlType.TEXT else f"TRY_CAST({written} AS {goal})"
