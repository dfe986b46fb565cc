"""The SELECT list as it is written: what its columns are called, and which of them aggregate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dpsql.catalog.names import folded
from dpsql.errors import BadName
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import At, Call, Expression, Item, Literal, Name, Over, PrivateValue, Select, Star
from dpsql.sql.words import AGGREGATES, RAW_AGGREGATES


def alias_of(item: Item) -> str:
    """The folded name by which the rest of the query may call the column."""
    if item.alias is not None:
        return item.alias.name
    return item.expression.parts[-1].name if isinstance(item.expression, Name) else folded(item.text)


def shown_name(item: Item) -> str:
    """What the column is called in the answer."""
    if item.alias is not None:
        return item.alias.written
    return item.expression.parts[-1].written if isinstance(item.expression, Name) else item.text


def expanded(items: tuple[Item, ...], scope: Scope) -> Iterator[Item]:
    """Stars become the columns they stand for."""
    for item in items:
        if isinstance(item.expression, Star):
            yield from (
                Item(expression=name, text=name.parts[-1].written) for name in scope.star_names(item.expression)
            )
        else:
            yield item


def aliased(expression: Expression, items: tuple[Item, ...], scope: Scope) -> Expression:
    """Aliases of the SELECT list replaced by what they stand for, where no column is called so."""
    if isinstance(expression, Name) and len(expression.parts) == 1 and not scope.has(expression.parts[0].name):
        named = (item.expression for item in items if item.alias and item.alias.name == expression.parts[0].name)
        return next(named, expression)
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple(aliased(each, items, scope) for each in expression.arguments))
    return expression


def meant(expression: Expression, items: tuple[Item, ...], scope: Scope) -> Expression:
    """What GROUP BY names: an ordinal or an alias stands for a column of the SELECT list."""
    if isinstance(expression, Literal) and type(expression.value) is int:
        require_ordinal(expression.value, len(items), expression.at)
        return items[expression.value - 1].expression
    return aliased(expression, items, scope) if isinstance(expression, Name) else expression


def require_ordinal(ordinal: int, columns: int, at: At) -> None:
    """A number in GROUP BY or ORDER BY is the number of a column."""
    if not 1 <= ordinal <= columns:
        raise BadName(
            f"there is no column {ordinal} in the SELECT list",
            why=f"it has {columns} columns",
            fix=f"use a number from 1 to {columns}, or a name",
            at=at,
        )


def has_aggregate(expression: Expression) -> bool:
    """True where some part of it is an aggregate over rows: a window is one only if something inside it is."""
    if not isinstance(expression, Call):
        return False
    if expression.over is None and expression.function in AGGREGATES | RAW_AGGREGATES:
        return True
    return any(map(has_aggregate, (*expression.arguments, *inside(expression.over))))


def aggregates(query: Select) -> bool:
    """Its rows are groups of rows, or one group of all: GROUP BY, HAVING, or an aggregate that is shown."""
    return bool(query.group_by) or query.having is not None or any(has_aggregate(i.expression) for i in query.items)


def has_private_value(expression: Expression) -> bool:
    """True where some part of it is what a question of its own releases."""
    if isinstance(expression, Call):
        return any(map(has_private_value, expression.arguments))
    return isinstance(expression, PrivateValue)


def inside(over: Over | None) -> tuple[Expression, ...]:
    """The expressions of OVER (…)."""
    return () if over is None else (*over.partition_by, *(key.expression for key in over.order_by))
