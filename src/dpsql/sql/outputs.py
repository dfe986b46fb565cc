"""SELECT, GROUP BY, HAVING, ORDER BY: what is counted by which keys, and what is done with the released rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import BadType, NotSupported, RowLevel
from dpsql.sql import functions
from dpsql.sql.clauses import also_grouped, with_item
from dpsql.sql.expressions import (
    aggregates,
    alias_of,
    aliased,
    applied,
    condition,
    constant,
    expanded,
    has_aggregate,
    has_window,
    inside,
    meant,
    ordinal,
    require_boolean,
    require_plain,
    row_expression,
    shown_name,
)
from dpsql.sql.finish import Finish, OutputColumn, Part
from dpsql.sql.injective import keys_of_people
from dpsql.sql.notes import Notes, Role
from dpsql.sql.relations import Column, ref
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Sorted, Windowed, columns_of, walk
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import (
    At,
    Call,
    ContributionBounds,
    Expression,
    Frame,
    Item,
    Literal,
    Name,
    Over,
    PrivateValue,
    Select,
    SortKey,
    Star,
)
from dpsql.sql.words import AGGREGATES, RAW_AGGREGATES, WINDOWS

# DP_LOW(n), DP_HIGH(n), DP_MARGIN(n): the interval of another column of the answer, as columns of their own.
#
# They are read off the margin that the number has anyway: nothing is drawn for them, and they cost nothing.


PARTS: Final[Mapping[str, Part]] = {
    "dp_low": Part.LOW,
    "dp_high": Part.HIGH,
    "dp_margin": Part.MARGIN,
    "dp_interval_low": Part.LOW,
    "dp_interval_high": Part.HIGH,
}
"""The functions, under Snowflake's names too."""


def shown_part(expression: Expression, items: tuple[Item, ...]) -> tuple[Part | None, Expression]:
    """Which part of which expression a column of the SELECT list shows; None: the number itself."""
    if not isinstance(expression, Call) or expression.function not in PARTS:
        return None, expression
    if len(expression.arguments) != 1 or expression.distinct or expression.filter or expression.over:
        name = expression.function.upper()
        raise BadType(
            f"{name} is of one column of the answer",
            why="it is an end of the interval of a released number",
            fix=f"name the column: SELECT COUNT(*) AS n, {name}(n)",
            at=expression.at,
        )
    (of,) = expression.arguments
    if isinstance(of, Name) and len(of.parts) == 1:
        named = (item.expression for item in items if item.alias and item.alias.name == of.parts[0].name)
        of = next(named, of)
    return PARTS[expression.function], of


def _unsorted(at: At) -> NotSupported:
    return NotSupported(
        "rows sorted by the end of an interval",
        why="no rule names it: intervals are computed after the rows are sorted",
        fix="sort by the number itself, or sort the answer",
        at=at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the query; `column` is where its value will stand."""

    column: Column
    function: str
    arguments: tuple[Scalar, ...]
    """Empty for COUNT(*)."""
    filter: Scalar | None
    distinct: bool
    text: str
    at: At
    places: tuple[tuple[int, int], ...]
    """Everywhere it is written; `at` is the first of them."""
    per_group: ContributionBounds | None = None
    """What one person adds in one group, as the query bounds it."""
    per_person: bool = False
    """Of AVG: the average of each person's average."""


def chosen(argument: Scalar | None, filter_: Scalar | None) -> Scalar | None:
    """The argument of an aggregate with FILTER folded in: NULL where a row does not count. None: every row."""
    if filter_ is None:
        return argument
    if argument is not None and len(parts := functions.parts_of(argument)) > 1:
        return functions.together(parts, where=filter_)
    then = Constant(1, SqlType.INTEGER) if argument is None else argument
    return Apply("case", (filter_, then, Constant(None, then.type)), then.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """One expression of GROUP BY; `column` is where its value will stand."""

    column: Column
    expression: Scalar
    text: str
    at: At


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    keys: tuple[GroupKey, ...]
    aggregates: tuple[Aggregate, ...]
    grouped: bool
    finish: Finish


def outputs_of(query: Select, scope: Scope, notes: Notes, *, inside_person: bool = False) -> Outputs:
    """Everything of a SELECT above FROM and WHERE; `inside_person` where its groups lie inside one person."""
    items = tuple(expanded(query.items, scope))
    grouped = aggregates(query) or any(has_aggregate(key.expression) for key in query.order_by)
    reader = _Reader(scope=scope, notes=notes, items=items, grouped=grouped, inside_person=inside_person, at=query.at)
    for expression in query.group_by:
        key = reader.key(expression)
        if all(known.expression != key.expression for known in reader.keys):  # the same key twice is one key
            reader.keys.append(key)
    columns = tuple(reader.column(item) for item in items)
    for item, column in zip(items, columns, strict=True):
        if column.part is None:
            reader.by_alias.setdefault(alias_of(item), column.expression)
    having = None if query.having is None else reader.having(query.having)
    qualify = None if query.qualify is None else reader.condition(query.qualify)
    order_by = tuple(reader.sort_key(key, columns) for key in query.order_by)
    finish = Finish(
        outputs=columns,
        having=having,
        distinct=query.distinct,
        order_by=order_by,
        limit=query.limit,
        offset=query.offset,
        qualify=qualify,
    )
    if query.distinct and any(column.part is not None for column in columns):
        raise NotSupported(
            "SELECT DISTINCT with the end of an interval",
            why="no rule names it: intervals are computed after rows became one",
            fix="leave DISTINCT out",
            at=query.at,
        )
    if query.distinct and not {key.by for key in order_by} <= {column.expression for column in columns}:
        raise NotSupported(
            "SELECT DISTINCT is sorted by something it does not show",
            why="several rows may have become one, with different values of it",
            fix="add it to the SELECT list, or sort by a column that is shown",
            at=query.order_by[0].expression.at,
        )
    return Outputs(keys=tuple(reader.keys), aggregates=tuple(reader.aggregates), grouped=reader.grouped, finish=finish)


@dataclass(slots=True)
class _Reader:
    """Reads the expressions of one SELECT; collects keys and aggregates as it meets them."""

    scope: Scope
    notes: Notes
    items: tuple[Item, ...]
    grouped: bool
    inside_person: bool
    at: At
    """Where the SELECT stands."""
    keys: list[GroupKey] = field(default_factory=list)
    aggregates: list[Aggregate] = field(default_factory=list)
    numbered: dict[object, int] = field(default_factory=dict)
    """What each of them asks, and its place in the list."""
    by_alias: dict[str, Scalar] = field(default_factory=dict)

    def key(self, expression: Expression) -> GroupKey:
        """One expression of GROUP BY: a column, an ordinal, an alias, or an expression."""
        means = meant(expression, self.items, self.scope)
        scalar = self._row(means)
        whose = isinstance(scalar, ColumnRef) and self.notes.is_person(self.notes.columns[scalar.id])
        self.notes.use(Role.JOIN if whose and self.inside_person else Role.GROUP, scalar, means.at)
        column = self.notes.computed("", scalar)
        if isinstance(scalar, ColumnRef):
            column = replace(self.notes.columns[scalar.id], id=column.id, name="")
        column = self.notes.know(replace(column, kept=column.proved))  # a listed key is shown whatever a filter keeps
        return GroupKey(column=column, expression=scalar, text=self._text(means), at=means.at)

    def column(self, item: Item) -> OutputColumn:
        """One column of the SELECT list."""
        part, expression = shown_part(item.expression, self.items)
        if part is not None and self.inside_person:
            raise NotSupported(
                "the end of an interval inside a subquery",
                why="a number of one person is exact there: it is not released, and has no interval",
                fix="ask for it in the outer query",
                at=item.expression.at,
            )
        scalar = self.released(expression)
        mixed = self.notes.is_released(scalar)
        return OutputColumn(name=shown_name(item), expression=scalar, part=part, interval=not mixed)

    def _text(self, expression: Expression) -> str:
        return self.notes.text[slice(*expression.at)] if expression.at else ""

    def _row(self, expression: Expression) -> Scalar:
        return row_expression(expression, self.scope, self.notes)

    def released(self, expression: Expression) -> Scalar:
        """An expression over keys and aggregates; over plain columns where nothing is grouped."""
        if not self.grouped and not has_window(expression):
            scalar = self._row(expression)
            self.notes.use(Role.OUTPUT, scalar, expression.at)
            return scalar
        if isinstance(expression, Call) and expression.function in PARTS:
            raise NotSupported(
                "the end of an interval inside HAVING or an expression",
                why="no rule names it: intervals are computed after the rows are chosen, and stand in columns of their "
                "own",
                fix="compare and compute with the number itself, or do it with the answer",
                at=expression.at,
            )
        if isinstance(expression, Call) and expression.over is not None:
            return self._window(expression, expression.over)
        if isinstance(expression, Call) and expression.function in AGGREGATES | RAW_AGGREGATES:
            return self._aggregate(expression)
        known = self._grouped_key(expression)
        if known is not None:
            return known
        match expression:
            case Call():
                require_plain(expression)
                return applied(expression, tuple(map(self.released, expression.arguments)), self.notes)
            case Literal() | Star():
                return constant(expression)
            case PrivateValue():
                return self._row(expression)
            case _:
                return self._ungrouped(expression)

    def _grouped_key(self, expression: Expression) -> Scalar | None:
        """The key this expression is, if it is one."""
        if has_aggregate(expression) or has_window(expression) or isinstance(expression, Literal):
            return None
        scalar = self._row(expression)
        found = [key for key in self.keys if key.expression == scalar]
        return ref(found[0].column) if found else None

    def _ungrouped(self, expression: Expression) -> Scalar:
        name = self._text(expression) or "a column"
        scalar = None if expression.at is None else self._row(expression)
        number = scalar is not None and scalar.type in NUMERIC
        shown = () if scalar is None or self.inside_person else (scalar,)
        alone = any(keys_of_people(shown, self.notes, self.notes.catalog))
        raise RowLevel(
            f"{name} is neither grouped nor aggregated",
            why="within one group it has a value for every row, and rows are about people",
            fix=f"put {name} inside COUNT(DISTINCT …): each value of it belongs to one person, so it is no group"
            if alone
            else f"add {name} to GROUP BY, or put it inside COUNT, SUM or AVG",
            at=expression.at,
        ).proposing(
            with_item(self.notes.text, self.at, expression.at, f"AVG({name})") if number and expression.at else None,
            also_grouped(self.notes.text, self.at, by=name),
        )

    def _aggregate(self, call: Call) -> Scalar:
        star = call.arguments == () or isinstance(call.arguments[0], Star)
        if star and call.function != "count":
            raise BadType(
                f"{call.function.upper()}(*) has no meaning",
                why="only rows can be counted without saying what of them",
                fix=f"name a column: {call.function.upper()}(x)",
                at=call.at,
            )
        if self.inside_person:
            require_no_group_bounds(call)
        written = _row(call) or call.arguments
        arguments = () if star else tuple(row_expression(inner, self.scope, self.notes) for inner in written)
        chosen = None if call.filter is None else condition(call.filter, self.scope, self.notes)
        for argument in arguments:
            self.notes.use(self._role(call.function, argument), argument, call.at)
        if chosen is not None and call.filter is not None:
            self.notes.use(Role.FILTER, chosen, call.filter.at)
        if call.function == "count" and call.distinct and len(arguments) > 1:
            chosen = chosen if _row(call) else _all_known(arguments, chosen)
            arguments = (functions.together(arguments),)
        aggregate = Aggregate(
            column=Column(
                id=self.notes.numbers.fresh(), name="", type=_result_type(call.function, arguments), public=True
            ),
            function=call.function,
            arguments=arguments,
            filter=chosen,
            distinct=call.distinct,
            text=self._text(call),
            at=call.at,
            places=(call.at,) if call.at else (),
            per_group=call.per_group,
            per_person=call.per_person,
        )
        return self._once(aggregate)

    def _once(self, aggregate: Aggregate) -> Scalar:
        """The column of the aggregate; written twice, it is asked once."""
        asked = (aggregate.function, aggregate.arguments, aggregate.filter, aggregate.distinct, _limits(aggregate))
        number = self.numbered.setdefault(asked, len(self.aggregates))
        if number < len(self.aggregates):
            known = self.aggregates[number]
            places = tuple(dict.fromkeys((*known.places, *aggregate.places)))
            self.aggregates[number] = replace(known, places=places)
            return ref(known.column)
        self.aggregates.append(aggregate)
        column = self.notes.made(aggregate.column, aggregate.arguments)
        return ref(column)

    def _role(self, function: str, argument: Scalar) -> Role:
        """A hidden column may be counted as it is. COUNT(CASE WHEN name = … THEN 1 END) is a filter in disguise."""
        as_it_is = isinstance(argument, ColumnRef) and self.notes.columns[argument.id].origin is not None
        hidden = any(self.notes.columns[number].hidden for number in columns_of(argument))
        return Role.COUNT if function == "count" and (as_it_is or not hidden) else Role.VALUE

    def _window(self, call: Call, over: Over) -> Scalar:
        require_no_group_bounds(call)
        if call.function not in WINDOWS or call.distinct or call.filter is not None:
            raise NotSupported(
                f"{call.function.upper()} is not available as a window function",
                why="no rule names it",
                fix=f"use one of {', '.join(sorted(WINDOWS))}",
                at=call.at,
            )
        star = call.arguments[:1] and isinstance(call.arguments[0], Star)
        if any(map(has_window, (*call.arguments, *inside(over)))):
            raise NotSupported(
                "a window function inside a window function",
                why="no rule names it",
                fix="compute the inner one in FROM PRIVATE (SELECT …), and the outer one from its column",
                at=call.at,
            )
        arguments = () if star else tuple(map(self.released, call.arguments))
        return functions.windowed(
            call.function,
            arguments,
            partition_by=tuple(map(self.released, over.partition_by)),
            order_by=tuple(self._sorted(key, self.released(key.expression)) for key in over.order_by),
            frame=frame_text(over.frame),
            at=call.at,
        )

    def condition(self, expression: Expression) -> Scalar:
        """A condition on released rows."""
        scalar = self.released(aliased(expression, self.items, self.scope))
        require_boolean(scalar, expression)
        return scalar

    def having(self, expression: Expression) -> Scalar:
        scalar = self.condition(expression)
        if any(isinstance(node, Windowed) for node in walk(scalar)):
            raise NotSupported(
                "a window function in HAVING",
                why="windows are computed over the rows that HAVING leaves",
                fix="compare the aggregate itself, or filter by the window with QUALIFY",
                at=expression.at,
            )
        return scalar

    def sort_key(self, key: SortKey, columns: tuple[OutputColumn, ...]) -> Sorted:
        """ORDER BY an ordinal, an alias, or any expression over released columns."""
        expression = key.expression
        place = ordinal(expression, len(columns))
        if place is not None:
            chosen = columns[place]
            if chosen.part is not None:
                raise _unsorted(expression.at)
            return self._sorted(key, chosen.expression)
        if isinstance(expression, Name) and len(expression.parts) == 1:
            named = self.by_alias.get(expression.parts[0].name)
            if named is not None:
                return self._sorted(key, named)
        if shown_part(aliased(expression, self.items, self.scope), self.items)[0] is not None:
            raise _unsorted(expression.at)
        return self._sorted(key, self.released(aliased(expression, self.items, self.scope)))

    def _sorted(self, key: SortKey, scalar: Scalar) -> Sorted:
        return Sorted(by=scalar, descending=key.descending, nulls_first=key.nulls_first)


def _row(call: Call) -> tuple[Expression, ...]:
    """a and b of COUNT(DISTINCT (a, b)), which counts rows with a NULL in them too."""
    first = call.arguments[0] if call.arguments else None
    return first.arguments if isinstance(first, Call) and first.function == "together" else ()


def _all_known(arguments: tuple[Scalar, ...], chosen: Scalar | None) -> Scalar:
    """COUNT(DISTINCT a, b) passes over a row in which one of them is NULL, on every engine that has it."""
    parts = tuple(Apply("is_not_null", (argument,), SqlType.BOOLEAN) for argument in arguments)
    return Apply("and", parts if chosen is None else (chosen, *parts), SqlType.BOOLEAN)


def require_no_group_bounds(call: Call | Aggregate) -> None:
    """Where groups are not made of people, nothing is added by one of them."""
    if call.per_group is not None:
        raise NotSupported(
            "bounds of what one person adds in a group are not available here",
            why="they are about the rows of many people in one group",
            fix="bound each row: CLAMP(x, 0, 100)",
            at=call.per_group.at,
        )


def _limits(aggregate: Aggregate) -> tuple[object, ...]:
    bounds = aggregate.per_group
    return aggregate.per_person, *(() if bounds is None else (bounds.low.value, bounds.high.value))


def frame_text(frame: Frame | None) -> str:
    """As it is printed; nothing for the default frame."""
    if frame is None:
        return ""
    return f"{frame.unit.value.upper()} BETWEEN {_edge(frame.start, 'PRECEDING')} AND {_edge(frame.end, 'FOLLOWING')}"


def _edge(offset: int | None, endless: str) -> str:
    if offset is None:
        return f"UNBOUNDED {endless}"
    if offset == 0:
        return "CURRENT ROW"
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


def _result_type(function: str, arguments: tuple[Scalar, ...]) -> SqlType:
    if function == "count":
        return SqlType.INTEGER
    if function in ("sum", "min", "max") and arguments:
        return SqlType.INTEGER if arguments[0].type is SqlType.BOOLEAN and function == "sum" else arguments[0].type
    return SqlType.DOUBLE


def paired(aggregate: Aggregate) -> tuple[Scalar, ...]:
    """Both arguments of an aggregate of pairs, each NULL where the other one is, or where FILTER leaves a row out."""
    one, two = aggregate.arguments
    return tuple(_where((*_filters(aggregate), _is_known(b)), a) for a, b in ((one, two), (two, one)))


def both_known(aggregate: Aggregate) -> Scalar:
    """1 where a pair counts."""
    conditions = (*_filters(aggregate), *map(_is_known, aggregate.arguments))
    return _where(conditions, Constant(1, SqlType.INTEGER))


def _filters(aggregate: Aggregate) -> tuple[Scalar, ...]:
    return () if aggregate.filter is None else (aggregate.filter,)


def _is_known(scalar: Scalar) -> Scalar:
    return Apply("is_not_null", (scalar,), SqlType.BOOLEAN)


def _where(conditions: tuple[Scalar, ...], then: Scalar) -> Scalar:
    """NULL where one of the conditions is not true."""
    condition = conditions[0] if len(conditions) == 1 else Apply("and", conditions, SqlType.BOOLEAN)
    return Apply("case", (condition, then, Constant(None, then.type)), then.type)
