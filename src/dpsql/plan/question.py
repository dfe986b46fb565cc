"""question: what makes two questions the same, read off the statements and not off the text. Rewritten -> Identity.

A relation is a set of rows, and each of its columns a function of a row. Both get a digest that is put together from
the digests below, so that names, numbers of columns, unused columns and the other slots of a statement leave no trace.
An expression is a text over the digests of its columns; a column that holds one is the digest of that text.
What is written differently and means the same is made alike by the rules of `_RULES` and `_conditions`, each of them an
identity of SQL for every row, NULL included. What has no rule stays different: it is then paid for again, no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final, TypeAlias, TypeVar

from dpsql.catalog.digest import digest
from dpsql.catalog.key_lists import list_digest, value_text
from dpsql.catalog.model import KeyRange
from dpsql.errors import InternalError
from dpsql.sql import inner, relations
from dpsql.sql.bound import Bounded
from dpsql.sql.relations import Relation
from dpsql.sql.rewrite import Measuring, Rewritten, Selecting, Statement, Unprotected
from dpsql.sql.scalars import Apply, AwaitedValue, ColumnRef, Constant, Scalar, conjuncts, taken_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Questions of equal frame show the same groups of the same rows; equal slots are then the same numbers."""

    frame: str
    policy: str
    """Digest of the declarations the frame uses; those of a slot are part of its own digest."""
    slots: tuple[str, ...]
    declarations: str
    """Digest of all the declarations it uses."""


def identity(rewritten: Rewritten) -> Identity:
    """The digests of a question; price, confidence, salt and post-processing are no part of them."""
    query = rewritten.bounded.query
    reader = _Reader()
    shown = _shown(rewritten, reader)
    asked = reader.rows(query.relation).digest
    read = reader.read
    measurement = None if isinstance(rewritten, Unprotected) else rewritten.measurement
    slots = [] if measurement is None else _slots(rewritten.bounded, measurement, reader)

    @cache  # slots mostly read the same columns
    def declared(columns: frozenset[_Declared]) -> str:
        return digest(query.catalog, query.tables, columns=columns)

    return Identity(
        frame=_digest("frame", rewritten.bounded.neighbours.value, shown, asked),
        policy=declared(frozenset(read)),
        slots=tuple(_digest("slot", *slot, declared(of_slot)) for slot, of_slot in slots),
        declarations=declared(frozenset(read).union(*(of_slot for _, of_slot in slots))),
    )


def _shown(rewritten: Rewritten, reader: _Reader) -> str:
    """The rows of the answer: of a selection with its counts, which decide about them."""
    match rewritten:
        case Selecting():
            return reader.statement(rewritten.selection, values=True)
        case Measuring():
            return reader.statement(rewritten.measurement, values=False)
        case Unprotected():
            return "" if rewritten.statement is None else reader.statement(rewritten.statement, values=False)


def _slots(
    bounded: Bounded, measurement: Statement, reader: _Reader
) -> list[tuple[tuple[str, str, list[str]], frozenset[_Declared]]]:
    """For each slot its rows, its column of the measurement and what one unit of it stands for; and the declared
    columns it reads."""
    reader.read = set()
    shown = reader.statement(measurement, values=False)
    of_all, found = frozenset(reader.read), []
    for placed in bounded.slots:
        reader.read = set()
        value = reader.column(measurement.relation, placed.column.id)
        slot = placed.slot
        unit = [slot.kind.value, str(slot.low), str(slot.high), str(slot.size)]
        found.append(((shown, value, unit), of_all | reader.read))
    return found


def _digest(*parts: str | Sequence[str]) -> str:
    return hashlib.sha256(ascii(parts).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Those rows of a base for which all conditions are true: filters over filters are one."""

    base: str
    conditions: frozenset[str] = frozenset()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", _digest("rows", self.base, sorted(self.conditions)))

    def where(self, conditions: frozenset[str]) -> _Rows:
        return _Rows(base=self.base, conditions=self.conditions | conditions)


_ONE_ROW: Final = _Rows(base="one row")
_Column: TypeAlias = Callable[[int], str]
_Declared: TypeAlias = tuple[str, str]
"""A column that the policy declares: its table and its name."""
T = TypeVar("T")


@dataclass(slots=True)
class _Reader:
    """Digests of the parts of one question, each computed once, with the declared columns that each reads."""

    read: set[_Declared] = field(default_factory=set)
    """The declared columns that were met since this was emptied."""
    _lists: dict[int, str] = field(default_factory=dict)
    _rows: dict[int, tuple[_Rows, set[_Declared]]] = field(default_factory=dict)
    _columns: dict[tuple[int, int], tuple[str, set[_Declared]]] = field(default_factory=dict)
    _places: dict[int, dict[int, int]] = field(default_factory=dict)

    def statement(self, statement: Statement, *, values: bool) -> str:
        """Which rows it returns and their keys, or all of its columns."""
        columns = statement.columns if values else statement.keys
        known = [self.column(statement.relation, column.id) for column in columns]
        return _digest("statement", self.rows(statement.relation).digest, known)

    def rows(self, relation: Relation) -> _Rows:
        if id(relation) not in self._rows:
            self._rows[id(relation)] = self._reading(lambda: self._rows_of(relation))
        rows, read = self._rows[id(relation)]
        self.read |= read
        return rows

    def column(self, relation: Relation, number: int) -> str:
        """A column as a function of the rows of its relation."""
        place = (id(relation), number)
        if place not in self._columns:
            self._columns[place] = self._reading(lambda: self._column_of(relation, number))
        column, read = self._columns[place]
        self.read |= read
        return column

    def _reading(self, part: Callable[[], T]) -> tuple[T, set[_Declared]]:
        """The digest of a part, and the declared columns it reads."""
        outside, self.read = self.read, set()
        found = part()
        read, self.read = self.read, outside
        return found, read

    def _rows_of(self, relation: Relation) -> _Rows:
        match relation:
            case relations.Scan():
                return _Rows(base=_digest("table", relation.table, relation.source))
            case relations.ListedKeys():
                return _Rows(base=_listed_keys(relation))
            case relations.Listed():
                return _Rows(base=self._list(relation))
            case relations.AwaitedRows():
                return _Rows(base=_digest("awaited", str(relation.question)))
            case relations.Filter():
                return self.rows(relation.input).where(_conditions(relation.condition, self._of(relation.input)))
            case relations.Project() | relations.Rank() | relations.Window():
                return self.rows(relation.input)
            case relations.Group():
                return _Rows(base=self._grouped(relation)) if relation.by else _ONE_ROW
            case relations.Join():
                return self._joined(relation)
            case relations.Union():
                return _Rows(base=_digest("union", self._branches(relation)))
            case relations.Exists():
                return self.rows(relation.input).where(frozenset({self._found(relation)}))

    def _column_of(self, relation: Relation, number: int) -> str:
        match relation:
            case relations.Scan():
                return self._scanned(relation, number)
            case relations.ListedKeys():
                return _digest("key", _listed_keys(relation))
            case relations.Listed():
                return _digest("listed", self._list(relation), str(self._place(relation, number)))
            case relations.AwaitedRows():
                return _digest("awaited", str(relation.question), str(self._place(relation, number)))
            case relations.Filter() | relations.Exists():
                return self.column(relation.input, number)
            case relations.Project():
                expression = relation.expressions[self._place(relation, number)]
                text = _scalar(expression, self._of(relation.input))
                return text if isinstance(expression, ColumnRef) else _digest("value", text)
            case relations.Rank():
                return self._ranked(relation) if number == relation.column.id else self.column(relation.input, number)
            case relations.Window():
                return self._windowed(relation, number)
            case relations.Group():
                return self._total(relation, number)
            case relations.Join():
                return self._beside(relation, number)
            case relations.Union():
                return self._united(relation, number)

    def _of(self, relation: Relation) -> _Column:
        return partial(self.column, relation)

    def _list(self, listed: relations.Listed) -> str:
        if id(listed) not in self._lists:
            self._lists[id(listed)] = _listed(listed)
        return self._lists[id(listed)]

    def _scanned(self, scan: relations.Scan, number: int) -> str:
        place = self._place(scan, number)
        column = scan.columns[place]
        if column.origin is not None:
            self.read.add(column.origin)
        return _digest("read", scan.sources[place], column.type.value, str(number in scan.raw))

    def _grouped(self, group: relations.Group) -> str:
        """The different combinations of some columns: their order means nothing."""
        by = {self.column(group.input, number) for number in group.by}
        return _digest("group", self.rows(group.input).digest, sorted(by))

    def _total(self, group: relations.Group, number: int) -> str:
        if number in group.by:
            return _digest("by", self.column(group.input, number))
        total, below = group.totals[self._place(group, number) - len(group.by)], self._of(group.input)
        parts = ["" if part is None else _scalar(part, below) for part in (total.argument, total.filter)]
        return _digest("total", total.function, parts, self._grouped(group))

    def _ranked(self, rank: relations.Rank) -> str:
        below = self._of(rank.input)
        partition = {below(number) for number in rank.partition}
        order = [_scalar(scalar, below) for scalar in rank.order]
        return _digest("rank", self.rows(rank.input).digest, sorted(partition), order)

    def _branches(self, union: relations.Union) -> list[str]:
        return [self.rows(branch).digest for branch in union.branches]

    def _united(self, union: relations.Union, number: int) -> str:
        """What each branch has for the column, in the order of the branches."""
        place = self._place(union, number)
        columns = [self.column(branch, branch.columns[place].id) for branch in union.branches]
        return _digest("united", self._branches(union), columns)

    def _found(self, exists: relations.Exists) -> str:
        """Whether a row has a partner: a condition on the row, given all the others."""

        def side(number: int) -> str:
            if self._is_in(exists.input, number):
                return self.column(exists.input, number)
            return _digest("partner", self.column(exists.among, number))

        conditions = _conditions(exists.condition, side)
        return _digest("exists", str(exists.negated), self.rows(exists.among).digest, sorted(conditions))

    def _windowed(self, window: relations.Window, number: int) -> str:
        """What a window function says of a row depends on all rows it looks at."""
        if self._is_in(window.input, number):
            return self.column(window.input, number)
        call, below = window.calls[self._place(window, number) - len(window.input.columns)], self._of(window.input)
        arguments = [_scalar(scalar, below) for scalar in call.arguments]
        partition = {_scalar(scalar, below) for scalar in call.partition_by}
        order = [_digest(_scalar(key.by, below), str(key.descending), str(key.nulls_first)) for key in call.order_by]
        words = [call.function, call.frame, call.type.value]
        return _digest("window", self.rows(window.input).digest, words, arguments, sorted(partition), order)

    def _joined(self, join: relations.Join) -> _Rows:
        if join.outer and self._looks_up(join):
            return self.rows(join.left)
        left, right = self.rows(join.left), self.rows(join.right)
        conditions = _conditions(join.condition, partial(self._side, join))
        if join.outer:
            return _Rows(base=_digest("outer", left.digest, right.digest, sorted(conditions)))
        if _beside_one_row(join):
            return (right if _is_one_row(join.left) else left).where(conditions)
        return _Rows(base=_digest("pairs", left.digest, right.digest)).where(conditions)

    def _beside(self, join: relations.Join, number: int) -> str:
        """A column of one side as a column of the join."""
        if not join.outer:
            return self._side(join, number)
        if self._is_in(join.left, number):
            return self.column(join.left, number) if self._looks_up(join) else self._side(join, number)
        conditions = _conditions(join.condition, partial(self._side, join))
        return _digest("found", self.column(join.right, number), self.rows(join.right).digest, sorted(conditions))

    def _side(self, join: relations.Join, number: int) -> str:
        """A column of one of two rows; a single row's columns are the same beside every row."""
        side, name = (join.left, "left") if self._is_in(join.left, number) else (join.right, "right")
        column = self.column(side, number)
        return column if _beside_one_row(join) else _digest(name, column)

    def _looks_up(self, join: relations.Join) -> bool:
        """Every row of the left finds at most one on the right, by the columns that are grouped there: it stays one."""
        group = join.right
        while isinstance(group, relations.Project):
            group = group.input
        if not isinstance(group, relations.Group) or not group.by:
            return False
        found = set()
        for condition in conjuncts(join.condition):
            match condition:
                case Apply("alike", (ColumnRef(id=one), ColumnRef(id=two))) if self._is_in(join.left, one):
                    found |= {self.column(join.right, two)} if self._is_in(join.right, two) else set()
        return {self.column(group, number) for number in group.by} <= found

    def _is_in(self, relation: Relation, number: int) -> bool:
        return number in self._places_of(relation)

    def _place(self, relation: Relation, number: int) -> int:
        return self._places_of(relation)[number]

    def _places_of(self, relation: Relation) -> dict[int, int]:
        """Where the columns of a relation stand, by their numbers."""
        if id(relation) not in self._places:
            self._places[id(relation)] = {column.id: place for place, column in enumerate(relation.columns)}
        return self._places[id(relation)]


def _is_one_row(relation: Relation) -> bool:
    """Totals of everything: one row, whatever there is to add up."""
    match relation:
        case relations.Project():
            return _is_one_row(relation.input)
        case relations.Group():
            return not relation.by
        case relations.Join(outer=False, condition=inner.TRUE):
            return _is_one_row(relation.left) and _is_one_row(relation.right)
        case _:
            return False


def _beside_one_row(join: relations.Join) -> bool:
    return not join.outer and (_is_one_row(join.left) or _is_one_row(join.right))


def _listed_keys(listed: relations.ListedKeys) -> str:
    (column,), keys = listed.columns, listed.keys
    if isinstance(keys, KeyRange):
        steps = [str(keys.count), str(keys.months), str(keys.microseconds)]
        return _digest("range", column.type.value, ascii(value_text(keys.first)), steps)
    return _digest("keys", column.type.value, list_digest(keys))


def _listed(listed: relations.Listed) -> str:
    types = [column.type.value for column in listed.columns]
    rows = [ascii([value_text(value) for value in row]) for row in listed.rows]
    return _digest("list", types, sorted(rows), str(listed.from_step))


def _conditions(scalar: Scalar, column: _Column) -> frozenset[str]:
    """Rows stay where all parts are true: in any order, each once, and TRUE is."""
    return frozenset(_scalar(part, column) for part in conjuncts(scalar) if part != inner.TRUE)


def _scalar(scalar: Scalar, column: _Column) -> str:
    match scalar:
        case Apply():
            return _RULES.get(scalar.function, _in_order)(scalar, column)
        case ColumnRef():
            return column(scalar.id)
        case Constant():
            return f"{scalar.type.value} {value_text(scalar.value)!a}"
        case AwaitedValue():
            return f"{scalar.type.value} awaited {scalar.question}"
        case _:
            raise InternalError("a window in an engine statement")


def _called(name: str, scalar: Apply, arguments: Sequence[str]) -> str:
    return f"{name}:{scalar.type.value}({','.join(arguments)})"


def _in_order(scalar: Apply, column: _Column) -> str:
    return _called(scalar.function, scalar, [_scalar(argument, column) for argument in scalar.arguments])


def _in_any_order(scalar: Apply, column: _Column) -> str:
    """a = b is b = a, and so are sums and products of two numbers, rounding included."""
    return _called(scalar.function, scalar, sorted(_scalar(argument, column) for argument in scalar.arguments))


def _turned(name: str) -> Callable[[Apply, _Column], str]:
    """a > b is b < a."""
    return lambda scalar, column: _called(name, scalar, [_scalar(each, column) for each in reversed(scalar.arguments)])


def _connected(scalar: Apply, column: _Column) -> str:
    """AND and OR, in any order and nested in any way, each part once."""
    parts = sorted({_scalar(part, column) for part in taken_apart(scalar, (scalar.function,))})
    return parts[0] if len(parts) == 1 else _called(scalar.function, scalar, parts)


def _one_of(scalar: Apply, column: _Column) -> str:
    """A list in any order, each once; one of one is equal to it."""
    wanted, *listed = (_scalar(argument, column) for argument in scalar.arguments)
    choices = sorted(set(listed))
    return (
        _called("eq", scalar, sorted([wanted, *choices]))
        if len(choices) == 1
        else _called("in", scalar, [wanted, *choices])
    )


_RULES: Final[Mapping[str, Callable[[Apply, _Column], str]]] = {
    **dict.fromkeys(("and", "or", "all"), _connected),
    **dict.fromkeys(("eq", "ne", "is_distinct", "is_not_distinct", "same", "alike"), _in_any_order),
    **dict.fromkeys(("add", "mul", "multiplied", "plus"), _in_any_order),
    "gt": _turned("lt"),
    "ge": _turned("le"),
    "in": _one_of,
}
