"""Window functions in a subquery: each looks at rows of one person, in an order that these rows alone decide.

    rows with an owner ─▶ PARTITION BY owner, … ORDER BY …, all other columns ─▶ values beside each row

What the window says of a row is a function of that person's rows as a multiset (rule 3): `settled` breaks ties,
and fractions are added up in whole grains. Proof: docs/theorems/derivation.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Final

from dpsql.catalog.model import Keys
from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported, TwoPeople
from dpsql.sql import functions, inner
from dpsql.sql.expressions import applied, condition, has_window, inside, row_expression
from dpsql.sql.intervals import EVERYTHING, INT64, Interval
from dpsql.sql.notes import Notes, Role
from dpsql.sql.outputs import chosen, frame_text, require_no_group_bounds
from dpsql.sql.parsing.cursor import spelled
from dpsql.sql.people import cap_of, grain_of, sum_of
from dpsql.sql.relations import Column, Project, Relation, Window, ref, refs
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Sorted, Windowed, rebuilt
from dpsql.sql.scans import Source
from dpsql.sql.syntax import At, Call, Expression, Over, Select, Star
from dpsql.sql.words import WINDOWS

_ONE_OF_THE_VALUES: Final = ("first_value", "lag", "last_value", "lead", "max", "min")
_ADDED_UP: Final = ("avg", "sum")
_AGGREGATES: Final = ("avg", "count", "max", "min", "sum")
_MOST_ROWS: Final = Fraction(2**40)
"""No relation has more: whole numbers of rows can be computed with. No sensitivity rests on it."""


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
            expressions=(*refs(relation.columns), *(scalar for _, scalar in self.values)),
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
        if not self.source.owner:
            raise of_nobody(self.source, self.notes, at)
        origins = {self.notes.columns[part.id].origin for part in call.partition_by if isinstance(part, ColumnRef)}
        if not holds_whole_person(origins, self.source, self.notes):
            raise of_several_people(self.source, self.notes, at)
        self._note_uses(call, at)
        owner = tuple(ref(self.notes.columns[number]) for number in self.source.owner)
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
                return ref(self.notes.know(replace(twice, declared=twice.declared.intersect(declared))))
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
        return ref(column)

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
        declared = sum_of(one, cap)
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
        return ref(column)

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
            reduce(Interval.union, map(known, values))
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


def _as_whole(scalar: Scalar) -> Scalar:
    """Whole numbers that were only made fractions to be divided."""
    match scalar:
        case Apply("to_double", (Apply(type=SqlType.INTEGER) | ColumnRef(type=SqlType.INTEGER) as whole,)):
            return whole
        case _:
            return scalar


def holds_whole_person(origins: set[tuple[str, str] | None], source: Source, notes: Notes) -> bool:
    """True where the whole person of some table is among these declared columns."""
    tables = (notes.catalog.policy.tables[name] for name in source.tables)
    return any(
        table.person and not table.path and {(table.name, part) for part in table.person} <= origins for table in tables
    )


def of_several_people(source: Source, notes: Notes, at: At) -> TwoPeople:
    """A window that looks at rows of several people."""
    person, named = notes.catalog.policy.person.name, _names(source, notes)
    return TwoPeople(
        f"a window over rows of several {person}s",
        why=f"what it says of one {person} would depend on the rows of others",
        fix=f"keep it inside one {person}: PARTITION BY {named or f'the {person}'}; or use it in the outer query, on "
        "what is released, as in RANK() OVER (ORDER BY COUNT(*) DESC)",
        at=at,
    )


def qualified(at: At) -> NotSupported:
    """QUALIFY where its windows would be over several people, or over groups of one person."""
    return NotSupported(
        "QUALIFY is not available here",
        why="it filters released groups, or the rows of one person in a subquery that does not group them",
        fix="filter released groups: GROUP BY city QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 3. Filter groups of "
        "one person one SELECT further out: SELECT … FROM (SELECT …, RANK() OVER (…) AS r …) AS t WHERE r <= 3",
        at=at,
    )


def of_nobody(source: Source, notes: Notes, at: At) -> NotSupported:
    """A window over rows that belong to no person."""
    if source.private:
        return NotSupported(
            "a window over rows that are protected one by one",
            why="what it says of one row would depend on others",
            fix="use it in the outer query, on what is released, as in RANK() OVER (ORDER BY COUNT(*) DESC)",
            at=at,
        )
    return NotSupported(
        "a window over a public table inside a subquery",
        why=f"no rule says what it means for the {notes.catalog.policy.person.name}s whose rows meet it",
        fix="use it in the outermost SELECT, over the public table alone: that is free",
        at=at,
    )


def _names(source: Source, notes: Notes) -> str:
    """The whole person of one table, as it may be named here; nothing where it may not."""
    several = len(source.scope.tables) > 1
    for table in source.scope.tables:
        held = [column for column in table.columns if notes.is_person(notes.columns[column.id])]
        if holds_whole_person({column.origin for column in held}, source, notes):
            names = [spelled(column.name) for column in held]
            return ", ".join(f"{table.alias}.{name}" if several else name for name in names)
    return ""


_OF_FRAMES: Final = frozenset({"avg", "count", "max", "min", "sum", "first_value", "last_value"})
"""All others look at the whole partition, whatever frame is written."""
_OF_PLACES: Final = frozenset({"row_number", "ntile", "lag", "lead", "first_value", "last_value"})
"""These tell rows apart that ORDER BY does not, and so does every frame that counts rows."""
_RANGE: Final = "RANGE BETWEEN "
_UP_TO_HERE: Final = f"{_RANGE}UNBOUNDED PRECEDING AND CURRENT ROW"
_ALL_ROWS: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_ENDS: Final = {"first_value": ("UNBOUNDED PRECEDING", 0), "last_value": ("UNBOUNDED FOLLOWING", 1)}
_OPEN_EDGES: Final = frozenset({"UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING"})
_FAR_FROM_OVERFLOW: Final = Interval(Fraction(-(2**62)), Fraction(2**62))


def settled(call: Windowed, columns: Iterable[Column]) -> Windowed:
    """With all columns of its rows that are in neither clause yet as tie-breakers, where ties would tell.

    An engine numbers rows that an order does not tell apart as it likes, and differently when somebody else leaves. So
    where a function tells rows apart, all columns of its rows are appended to ORDER BY: what is tied then is equal in
    everything, and which of two equal rows comes first is no question.
    """
    if call.function not in _OF_PLACES and not call.frame.startswith("ROWS"):
        return call
    parts = (*call.partition_by, *(key.by for key in call.order_by))
    there = {part.id for part in parts if isinstance(part, ColumnRef)}
    rest = (Sorted(by=ref(column)) for column in columns if column.id not in there)
    return replace(call, order_by=(*call.order_by, *rest))


def framed(call: Windowed, at: At, notes: Notes) -> Windowed:
    """In a frame where tie-breakers change nothing but which of several tied rows is the first or the last."""
    if call.function not in _OF_FRAMES:
        return replace(call, frame="")
    if call.function in _ENDS and not call.frame.startswith("ROWS"):
        return _end_of_range(call, at)
    if call.frame.startswith(_RANGE) and any(character.isdigit() for character in call.frame):
        _require_whole_distance(call, at, notes)
    return call


def _end_of_range(call: Windowed, at: At) -> Windowed:
    """The first or the last row of a frame of RANGE: of all rows, or of those that are tied with this one."""
    farthest, place = _ENDS[call.function]
    edges = (call.frame or _UP_TO_HERE).removeprefix(_RANGE).split(" AND ")
    if not _OPEN_EDGES.issuperset(edges):
        raise NotSupported(
            f"{call.function.upper()} in a frame of RANGE with a distance",
            why="no rule says which of several tied rows is meant",
            fix="use MIN or MAX there, or a frame of ROWS",
            at=at,
        )
    if edges[place] == farthest:
        return replace(call, frame=_ALL_ROWS)
    keys = tuple(key.by for key in call.order_by)
    return replace(call, partition_by=(*call.partition_by, *keys), order_by=(), frame=_ALL_ROWS)


def _require_whole_distance(call: Windowed, at: At, notes: Notes) -> None:
    keys = [key.by for key in call.order_by]
    for key in keys:
        notes.use(Role.VALUE, key, at)
    whole = [key.type is SqlType.INTEGER and notes.proved(key).within(_FAR_FROM_OVERFLOW) for key in keys]
    if len(keys) != 1 or not (whole[0] or keys[0].type is SqlType.DATE):
        raise NotSupported(
            "a frame of RANGE with a distance in this order",
            why="distances are exact between dates, and between whole numbers far from the ends of 64 bits",
            fix="order by one date, or by CLAMP(x, -1000000, 1000000) of one whole number; or use a frame of ROWS",
            at=at,
        )
