"""The SELECT list as it is written: what its columns are called, and which of them aggregate."""

from __future__ import annotations

from dpsql.catalog.names import folded
from dpsql.sql.syntax import Call, Expression, Item, Name, Over
from dpsql.sql.words import AGGREGATES, RAW_AGGREGATES


def alias_of(item: Item) -> str:
    """The folded name by which the rest of the query may call the column."""
    if item.alias is not None:
        return item.alias.name
    return item.expression.parts[-1].name if isinstance(item.expression, Name) else folded(item.text)


def has_aggregate(expression: Expression) -> bool:
    """True where some part of it is an aggregate over rows: a window is one only if something inside it is."""
    if not isinstance(expression, Call):
        return False
    if expression.over is None and expression.function in AGGREGATES | RAW_AGGREGATES:
        return True
    return any(map(has_aggregate, (*expression.arguments, *inside(expression.over))))


def inside(over: Over | None) -> tuple[Expression, ...]:
    """The expressions of OVER (…)."""
    return () if over is None else (*over.partition_by, *(key.expression for key in over.order_by))
