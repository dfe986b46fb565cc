"""Window functions in a subquery: each looks at rows of one person, in an order that these rows alone decide.

    rows with an owner ─▶ PARTITION BY owner, … ORDER BY …, all other columns ─▶ values beside each row

What the window says of a row is a function of that person's rows as a multiset (rule 3): `window_order` breaks ties,
and fractions are added up in whole grains. Proof: docs/theorems/derivation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Keys
from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported
from dpsql.sql import functions, inner
from dpsql.sql.expressions import applied, condition, row_expression
from dpsql.sql.intervals import EVERYTHING, INT64, Interval
from dpsql.sql.items import inside
from dpsql.sql.notes import Notes, Role
from dpsql.sql.outputs import chosen, frame_text, require_no_group_bounds
from dpsql.sql.people import cap_of, grain_of
from dpsql.sql.relations import Column, Project, Relation, Window
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Sorted, Windowed, rebuilt
from dpsql.sql.scans import Source
from dpsql.sql.syntax import At, Call, Expression, Over, Select, Star
from dpsql.sql.window_order import framed, settled
from dpsql.sql.window_refusals import holds_person, of_nobody, of_several_people
from dpsql.sql.words import WINDOWS

_ONE_OF_THE_VALUES: Final = ("first_value", "lag", "last_value", "lead", "max", "min")
_ADDED_UP: Final = ("avg", "sum")
_AGGREGATES: Final = ("avg", "count", "max", "min", "sum")
_MOST_ROWS: Final = Fraction(2**40)
"""No relation has more: whole numbers of rows can be computed with. No sensitivity rests on it."""


def has_window(expression: Expression) -> bool:
    """True where some part of it is a window function."""
    if not isinstance(expression, Call):
        return False
    return expression.over is not None or any(map(has_window, expression.arguments))


def has_windows(query: Select) -> bool:
    """Some of its columns, or which of its rows are kept, follow from windows."""
    return query.qualify is not None or any(has_window(item.expression) for item in query.items)


@dataclass(slots=True)
class PersonWindows:
    """The window functions of one SELECT over rows of people; each becomes a column beside the row."""

    source: Source
    notes: Notes
    calls: list[tuple[Column, Windowed]] = field(default_factory=list)
    values: list[tuple[Column, Scalar]] = field(default_factory=list)
    """Computed of the columns of `calls`."""

    @property
    def relation(self) -> Relation:
        """The rows, with all columns that were asked for."""
        if not self.calls:
            return self.source.relation
        relation = Window(
            input=self.source.relation,
            added=tuple(column for column, _ in self.calls),
            calls=tuple(call for _, call in self.calls),
        )
        if not self.values:
            return relation
        return Project(
            input=relation,
            columns=(*relation.columns, *(column for column, _ in self.values)),
            expressions=(*map(_ref, relation.columns), *(scalar for _, scalar in self.values)),
        )

    def row(self, expression: Expression) -> Scalar:
        """A function of one row, and of what windows say of it."""
        if not isinstance(expression, Call) or not has_window(expression):
            return row_expression(expression, self.source.scope, self.notes)
        if expression.over is None:
            return applied(expression, tuple(map(self.row, expression.arguments)), self.notes)
        return self._beside(self._read(expression, expression.over), expression.at)

    def read_off(self, scalar: Scalar, at: At) -> Scalar:
        """An expression over the groups of one person, with columns in the place of its windows."""
        if isinstance(scalar, Windowed):
            return self._beside(scalar, at)
        return rebuilt(scalar, lambda part: self.read_off(part, at))

    # ---- what is written --------------------------------------------------------------------------------------------

    def _read(self, call: Call, over: Over) -> Windowed:
        self._require_known(call, over)
        star = bool(call.arguments) and isinstance(call.arguments[0], Star)
        arguments = () if star else tuple(map(self._plain, call.arguments))
        if call.function in _ADDED_UP and arguments and arguments[0].type is SqlType.BOOLEAN:
            arguments = (Apply("to_integer", arguments[:1], SqlType.INTEGER), *arguments[1:])
        if call.filter is not None:
            filter_ = condition(call.filter, self.source.scope, self.notes)
            self.notes.use(Role.FILTER, filter_, call.filter.at)
            counted = chosen(arguments[0] if arguments else None, filter_)
            arguments = arguments if counted is None else (counted, *arguments[1:])
        return functions.windowed(
            call.function,
            arguments,
            partition_by=tuple(map(self._plain, over.partition_by)),
            order_by=tuple(
                Sorted(by=self._plain(key.expression), descending=key.descending, nulls_first=key.nulls_first)
                for key in over.order_by
            ),
            frame=frame_text(over.frame),
            at=call.at,
        )

    def _plain(self, expression: Expression) -> Scalar:
        return row_expression(expression, self.source.scope, self.notes)

    def _require_known(self, call: Call, over: Over) -> None:
        require_no_group_bounds(call)
        if any(map(has_window, (*call.arguments, *inside(over)))):
            raise NotSupported(
                "a window function inside a window function",
                why="the inner one is a column of the rows that the outer one looks at",
                fix="compute the inner one in a subquery of its own: FROM (SELECT …, LAG(x) OVER (…) AS before FROM …)",
                at=call.at,
            )
        filtered = call.filter is not None and call.function not in _AGGREGATES
        if call.function not in WINDOWS or call.distinct or filtered:
            raise NotSupported(
                f"{self._text(call.at) or call.function.upper()} is not available as a window function",
                why="no rule names it",
                fix=f"use one of {', '.join(sorted(WINDOWS))}; FILTER goes with {', '.join(_AGGREGATES)}; "
                "different values are counted in a subquery that groups by the person",
                at=call.at,
            )

    def _text(self, at: At) -> str:
        return self.notes.text[slice(*at)] if at else ""

    # ---- what is computed -------------------------------------------------------------------------------------------

    def _beside(self, call: Windowed, at: At) -> Scalar:
        """The column in which the value of a window stands, beside each row."""
        self._require_one_person(call, at)
        self._note_uses(call, at)
        owner = tuple(_ref(self.notes.columns[number]) for number in self.source.owner)
        others = (part for part in call.partition_by if not self._is_person(part))  # the owner says whose a row is
        call = replace(call, partition_by=tuple(dict.fromkeys((*owner, *others))))
        call = framed(call, at, self.notes)
        if call.function == "sum":
            return self._sum(call, at)
        if call.function == "avg":
            return self._mean(call, at)
        return self._column(call, *self._ranges(call))

    def _column(self, call: Windowed, proved: Interval, kept: Interval, declared: Interval) -> ColumnRef:
        written, call = call, settled(call, self.source.relation.columns)
        for known, other in self.calls:
            if other == call:
                twice = self.notes.columns[known.id]
                return _ref(self.notes.know(replace(twice, declared=twice.declared.intersect(declared))))
        column = self.notes.made(
            Column(
                id=self.notes.numbers.fresh(),
                name="",
                type=call.type,
                proved=proved,
                kept=kept,
                declared=declared,
                keys=self._keys(call),
            ),
            (written,),
        )
        self.calls.append((column, call))
        return _ref(column)

    def _keys(self, call: Windowed) -> Keys | None:
        """The groups of a column are those of its neighbours and extremes, which are values of the same column."""
        match call.arguments:
            case (ColumnRef(id=number),) | (ColumnRef(id=number), Constant()) if call.function in _ONE_OF_THE_VALUES:
                return self.notes.columns[number].keys
            case _:
                return None

    def _sum(self, call: Windowed, at: At) -> Scalar:
        (argument,) = call.arguments
        one, cap = self.notes.declared(argument), self._cap
        declared = EVERYTHING
        if cap is not None and one.low is not None and one.high is not None:
            declared = Interval(cap * min(one.low, Fraction(0)), cap * max(one.high, Fraction(0)))
        if argument.type is not SqlType.DOUBLE:
            return self._column(call, INT64, INT64, declared)
        grain = grain_of(argument, self._text(at), at, self.notes)
        grains = replace(call, arguments=(inner.fine_grains(argument, grain),), type=SqlType.INTEGER)
        total = self._column(grains, EVERYTHING, EVERYTHING, EVERYTHING)
        return self._value(inner.from_grains(total, grain), declared)

    def _mean(self, call: Windowed, at: At) -> Scalar:
        """Σ/n of the rows that have a value; NULL where none has."""
        (argument,) = call.arguments
        whole = _as_whole(argument)
        grain = grain_of(argument, self._text(at), at, self.notes) if whole.type is SqlType.DOUBLE else None
        added = whole if grain is None else inner.fine_grains(argument, grain)
        proved = INT64 if grain is None else EVERYTHING
        total = self._column(
            replace(call, function="sum", arguments=(added,), type=SqlType.INTEGER), proved, proved, EVERYTHING
        )
        number = replace(call, function="count", arguments=(whole,), type=SqlType.INTEGER)
        parts = (total, self._column(number, *self._ranges(number)))
        doubles = tuple(Apply("to_double", (part,), SqlType.DOUBLE) for part in parts)
        mean = functions.apply("div", doubles, proved=lambda _: EVERYTHING)
        return self._value(mean if grain is None else inner.from_grains(mean, grain), self.notes.declared(argument))

    def _value(self, scalar: Scalar, declared: Interval) -> ColumnRef:
        number = self.notes.numbers.fresh()
        column = self.notes.made(Column(id=number, name="", type=scalar.type, declared=declared), (scalar,))
        self.values.append((column, scalar))
        return _ref(column)

    @property
    def _cap(self) -> int | None:
        return cap_of(self.source, self.notes, grouped=False)

    def _ranges(self, call: Windowed) -> tuple[Interval, Interval, Interval]:
        """What is proved, kept and declared."""
        cap = None if self._cap is None else Fraction(self._cap)
        if call.function in ("row_number", "rank", "dense_rank"):
            number = Interval(Fraction(1), _MOST_ROWS)
            return number, number, Interval(Fraction(1), cap)
        if call.function == "count":
            number = Interval(Fraction(0), _MOST_ROWS)
            return number, number, Interval(Fraction(0), cap)
        if call.function in ("percent_rank", "cume_dist"):
            share = Interval(Fraction(0), Fraction(1))
            return share, share, share
        if call.function == "ntile":
            part = Interval(Fraction(1), self.notes.proved(call.arguments[0]).high)
            return part, part, part
        values = [call.arguments[0], *call.arguments[2:]]  # the second argument of LAG is a distance
        proved, kept, declared = (
            _hull([known(value) for value in values])
            for known in (self.notes.proved, self.notes.kept, self.notes.declared)
        )
        return proved, kept, declared

    # ---- what is judged ---------------------------------------------------------------------------------------------

    def _note_uses(self, call: Windowed, at: At) -> None:
        """A hidden column may order the rows of one person as it is, be counted, or be the person; no more."""
        for part in call.partition_by:
            self.notes.use(Role.JOIN if self._is_person(part) else Role.GROUP, part, at)
        for key in call.order_by:
            if not self._as_it_is(key.by):
                self.notes.use(Role.VALUE, key.by, at)
        for argument in call.arguments:
            counted = call.function == "count" and self._as_it_is(argument)
            self.notes.use(Role.COUNT if counted else Role.VALUE, argument, at)

    def _is_person(self, scalar: Scalar) -> bool:
        return isinstance(scalar, ColumnRef) and self.notes.is_person(self.notes.columns[scalar.id])

    def _as_it_is(self, scalar: Scalar) -> bool:
        return isinstance(scalar, ColumnRef) and self.notes.columns[scalar.id].origin is not None

    def _require_one_person(self, call: Windowed, at: At) -> None:
        if not self.source.owner:
            raise of_nobody(self.source, self.notes, at)
        origins = {self.notes.columns[part.id].origin for part in call.partition_by if isinstance(part, ColumnRef)}
        if not holds_person(origins, self.source, self.notes):
            raise of_several_people(self.source, self.notes, at)


def _as_whole(scalar: Scalar) -> Scalar:
    """Whole numbers that were only made fractions to be divided."""
    match scalar:
        case Apply("to_double", (Apply(type=SqlType.INTEGER) | ColumnRef(type=SqlType.INTEGER) as whole,)):
            return whole
        case _:
            return scalar


def _hull(intervals: list[Interval]) -> Interval:
    found = intervals[0]
    for each in intervals[1:]:
        found = found.union(each)
    return found


def _ref(column: Column) -> ColumnRef:
    return ColumnRef(column.id, column.type)
