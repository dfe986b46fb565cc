"""Expressions over the rows of a relation: syntax in, typed scalars out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from dpsql.catalog.names import folded
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import BadName, BadType, NotSupported
from dpsql.sql import functions
from dpsql.sql.notes import Notes, awaited_value
from dpsql.sql.relations import Column, ref
from dpsql.sql.scalars import Constant, Scalar
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import Among, Call, Expression, Item, Literal, Name, Over, PrivateValue, Select, Star
from dpsql.sql.words import AGGREGATES, CLOCKS, RAW_AGGREGATES, REFUSED_FUNCTIONS, WINDOWS


def row_expression(expression: Expression, scope: Scope, notes: Notes) -> Scalar:
    """A function of one row: columns, literals, functions of the allow-list."""
    match expression:
        case Name():
            column = _column(expression, scope, notes)
            return ref(column)
        case PrivateValue():
            return awaited_value(expression, notes.outcomes)
        case Call():
            return _call(expression, lambda inner: row_expression(inner, scope, notes), notes)
        case Among():
            raise _inside(expression)
        case _:
            return constant(expression)


def _inside(among: Among) -> NotSupported:
    word = "x IN (SELECT …)" if among.operands else "EXISTS (SELECT …)"
    return NotSupported(
        f"{word} inside another expression is not available",
        why="it keeps or drops whole rows, so it has to be a condition of WHERE by itself, joined to others by AND",
        fix=f"write WHERE … AND {word}, or NOT before it; for OR and CASE, LEFT JOIN the subquery with SELECT DISTINCT "
        "and ask whether its column is NULL",
        at=among.at,
    )


def _column(name: Name, scope: Scope, notes: Notes) -> Column:
    """The column that is meant. A name in double quotes that is none was perhaps meant as text."""
    (first, *more) = name.parts
    if more or name.at is None or scope.has(first.name):
        return scope.column(name)
    try:
        return scope.column(name)
    except BadName as unknown:
        text, (start, end) = notes.text, name.at
        literal = "'" + first.written.replace("'", "''") + "'"
        if not first.quoted:
            raise unknown.instead_of(literal if _COMPARED.search(text[:start]) else None) from None
        raise BadName(
            unknown.what,
            why="double quotes are around names of columns and tables, not around text",
            fix=f"text goes in single quotes: {literal[:60]}. For a column, {unknown.fix}",
            try_sql=f"{text[:start]}{literal}{text[end:]}" if _COMPARED.search(text[:start]) else None,
            at=name.at,
        ) from None


_COMPARED: Final = re.compile(r"(=|<>|\blike)\s*$", re.IGNORECASE)


def constant(expression: Literal | Star) -> Scalar:
    """A literal. NULL takes the type of what it stands beside."""
    if isinstance(expression, Star):
        raise NotSupported(
            "* stands where one value belongs",
            why="a whole row is not a value",
            fix="name the column, or write COUNT(*)",
            at=expression.at,
        )
    return Constant(expression.value, expression.type or SqlType.TEXT)


def condition(expression: Expression, scope: Scope, notes: Notes) -> Scalar:
    """A function of one row that is true or not."""
    scalar = row_expression(expression, scope, notes)
    require_boolean(scalar, expression)
    return scalar


def require_boolean(scalar: Scalar, expression: Expression) -> None:
    """A condition is a yes or a no."""
    if scalar.type is not SqlType.BOOLEAN:
        raise BadType(
            f"a condition is needed here, not {scalar.type.value}",
            why="rows are kept where a condition is true",
            fix="compare it with something, as in x > 0 or x = 'a'",
            at=expression.at,
        ).instead_of("{} > 0" if scalar.type in NUMERIC else None)


def _call(call: Call, convert: Callable[[Expression], Scalar], notes: Notes) -> Scalar:
    if call.over is not None:
        raise NotSupported(
            "a window function stands where a function of one row belongs",
            why="WHERE, GROUP BY and the inside of an aggregate speak about single rows, and a window looks at several",
            fix="compute it in a subquery, inside one person: FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY the "
            "person ORDER BY …) AS rn FROM …) AS t WHERE rn = 1; over released groups it is free: "
            "RANK() OVER (ORDER BY COUNT(*) DESC)",
            at=call.at,
        )
    if call.function in AGGREGATES | RAW_AGGREGATES:
        raise NotSupported(
            f"{call.function.upper()} stands where a function of one row belongs",
            why="WHERE, GROUP BY and the inside of an aggregate speak about single rows",
            fix="move it to SELECT, HAVING or ORDER BY",
            at=call.at,
        )
    return applied(call, tuple(map(convert, call.arguments)), notes)


def applied(call: Call, arguments: tuple[Scalar, ...], notes: Notes) -> Scalar:
    """A function of the allow-list on arguments that are resolved already."""
    require_plain(call)
    if call.function == "current_date" and not arguments:
        return Constant(notes.today, SqlType.DATE)
    if call.function in REFUSED_FUNCTIONS:
        why, fix = REFUSED_FUNCTIONS[call.function]
        error = NotSupported(f"{call.function}() is not available", why=why, fix=fix, at=call.at)
        raise error.instead_of("CURRENT_DATE" if call.function in CLOCKS else None)
    return functions.apply(call.function, arguments, proved=notes.proved, kept=notes.kept, at=call.at)


def require_plain(call: Call) -> None:
    """DISTINCT and FILTER belong to aggregates."""
    if call.distinct or call.filter is not None:
        raise BadName(
            f"{call.function} is no aggregate",
            why="DISTINCT and FILTER choose rows for an aggregate",
            fix=f"leave them out, or use one of {', '.join(sorted(AGGREGATES | WINDOWS))}",
            at=call.at,
        )


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
    place = ordinal(expression, len(items))
    if place is not None:
        return items[place].expression
    return aliased(expression, items, scope) if isinstance(expression, Name) else expression


def ordinal(expression: Expression, columns: int) -> int | None:
    """The place of the column whose number stands in GROUP BY or ORDER BY; None where no number stands there."""
    if not isinstance(expression, Literal) or type(expression.value) is not int:
        return None
    if not 1 <= expression.value <= columns:
        raise BadName(
            f"there is no column {expression.value} in the SELECT list",
            why=f"it has {columns} columns",
            fix=f"use a number from 1 to {columns}, or a name",
            at=expression.at,
        )
    return expression.value - 1


def has_aggregate(expression: Expression) -> bool:
    """True where some part of it is an aggregate over rows: a window is one only if something inside it is."""
    if not isinstance(expression, Call):
        return False
    if expression.over is None and expression.function in AGGREGATES | RAW_AGGREGATES:
        return True
    return any(map(has_aggregate, (*expression.arguments, *inside(expression.over))))


def has_window(expression: Expression) -> bool:
    """True where some part of it is a window function."""
    if not isinstance(expression, Call):
        return False
    return expression.over is not None or any(map(has_window, expression.arguments))


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
