"""Released rows: keys and noisy integers, how they become a table on the desk, and what the desk is asked: printed from
our own expressions and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Value
from dpsql.catalog.types import SqlType
from dpsql.engines.desk import DeskType
from dpsql.errors import InternalError
from dpsql.mechanisms.margins import NoisySlotLaw, SlotLaw
from dpsql.sql.functions import print_scalar
from dpsql.sql.intervals import INT64
from dpsql.sql.relations import Column
from dpsql.sql.scalars import ColumnRef, Scalar, Sorted, Windowed, rebuilt

ROW: Final = "r"
"""The column that numbers released rows: it breaks every tie, so that no order is left to the engine."""
DRAW: Final = "d"

_ROW: Final = ColumnRef(-1, SqlType.INTEGER)
_DRAW: Final = ColumnRef(-2, SqlType.INTEGER)
_FIRST_WINDOW: Final = -3  # and downwards; columns of a statement have positive numbers

_ONE_BY_ONE: Final = frozenset({"row_number", "ntile", "lag", "lead", "first_value"})
"""Window functions that tell rows apart which ORDER BY does not."""


@dataclass(slots=True, kw_only=True)
class Layers:
    """Prints expressions in two layers: window functions below, as columns of their own, everything else above."""

    names: Mapping[int, str]
    """The columns of the table below."""
    per_draw: bool = False
    """Every draw is a table of its own: no window looks into another."""
    ties: tuple[Scalar, ...] = (_ROW,)
    """What orders rows that ORDER BY leaves equal."""
    dialect: str = "duckdb"
    windows: list[Windowed] = field(default_factory=list)

    def text(self, scalar: Scalar) -> str:
        """The expression of the upper layer; its windows are added to the lower one."""
        return self._printed(self._lifted(scalar))

    def below(self, source: str) -> str:
        """The lower layer over `source`."""
        return f"SELECT *{listed(list(map(self._printed, self.windows)), 'w')} FROM {source}"

    def _lifted(self, scalar: Scalar) -> Scalar:
        if not isinstance(scalar, Windowed):
            return rebuilt(scalar, self._lifted)
        window = self._settled(scalar)
        if window not in self.windows:
            self.windows.append(window)
        return ColumnRef(_FIRST_WINDOW - self.windows.index(window), window.type)

    def _settled(self, window: Windowed) -> Windowed:
        """The window with every tie broken, within one draw."""
        one_by_one = window.frame.startswith("ROWS") or (window.function in _ONE_BY_ONE and not window.frame)
        return replace(
            window,
            partition_by=(*[_DRAW] * self.per_draw, *window.partition_by),
            order_by=(*window.order_by, *(Sorted(by=tie) for tie in self.ties if one_by_one)),
        )

    def _printed(self, scalar: Scalar) -> str:
        return print_scalar(scalar, dialect=self.dialect, column=self._column)

    def _column(self, number: int) -> str:
        if number <= _FIRST_WINDOW:
            return f"w{_FIRST_WINDOW - number}"
        return {_ROW.id: ROW, _DRAW.id: DRAW}.get(number) or self.names[number]


def directed(key: Sorted) -> str:
    """Which way a sort key runs, and where its NULLs go."""
    return f" {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def listed(texts: Sequence[str], prefix: str) -> str:
    """`, text AS prefix0, text AS prefix1, …`."""
    return "".join(f", {text} AS {prefix}{place}" for place, text in enumerate(texts))


_ROOM: Final = 2**62  # so that a number less its noise still fits into 64 bits
_MORE_ROOM: Final = 2**126


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragedPart:
    """One of the releases that a number is the average of."""

    release: str
    """Which release, among all of all ledgers."""
    place: int
    """Where the number stands in its rows."""
    law: NoisySlotLaw
    share: Fraction
    """All shares together are 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedSlot:
    """One column of released numbers."""

    column: Column
    place: int
    """Where it stands in the rows of its release, which may hold more than was asked for."""
    law: SlotLaw | None
    """None: exact, because nobody private is in it."""
    parts: tuple[AveragedPart, ...] = ()
    """Of an average: whose noise it carries."""

    def shown(self, released: Value) -> Value:
        """The number that a released number of grains stands for, as it is shown."""
        fine = self.fine(released)
        return round(fine) if self.law is not None and self.law.rounded and isinstance(fine, Fraction) else fine

    def shown_column(self, released: Sequence[Value]) -> Sequence[Value | float]:
        """The numbers of a whole column as a desk holds them: whole ones, or the doubles nearest to them."""
        if self.law is None:
            return list(released)
        numbers = [number for number in released if type(number) is int]
        if len(numbers) != len(released):
            raise _misshapen()
        grain = self.law.grain
        if grain == 1:
            return list(released)
        numerator, denominator = grain.numerator, grain.denominator
        if self.law.rounded:
            return [_nearest(number * numerator, denominator) for number in numbers]
        return [number * numerator / denominator for number in numbers]

    def fine(self, released: Value) -> Value:
        """The same before rounding."""
        if self.law is None:
            return released
        if type(released) is not int:
            raise _misshapen()
        return released if self.law.grain == 1 else released * self.law.grain

    def rounding(self, released: Value) -> Fraction:
        """What rounding has added."""
        shown, fine = self.shown(released), self.fine(released)
        return Fraction(shown) - fine if isinstance(shown, int) and isinstance(fine, Fraction) else Fraction(0)

    @property
    def shown_type(self) -> SqlType:
        return SqlType.INTEGER if self.law is not None and self.law.rounded else self.fine_type

    @property
    def fine_type(self) -> SqlType:
        if self.law is None:
            return self.column.type
        return SqlType.INTEGER if self.law.grain == 1 else SqlType.DOUBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTable:
    """Rows in released order. `values` are noisy grains, read by the places of the slots; of an exact slot, the value
    itself."""

    keys: tuple[Column, ...]
    slots: tuple[ReleasedSlot, ...]
    key_rows: tuple[tuple[Value, ...], ...]
    values: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        keys, widths = ({len(row) for row in rows} for rows in (self.key_rows, self.values))
        places = {slot.place for slot in self.slots}
        fitting = len(places) == len(self.slots) and len(widths) <= 1 and all(places <= set(range(w)) for w in widths)
        if keys - {len(self.keys)} or not fitting or len(self.key_rows) != len(self.values):
            raise _misshapen()

    @property
    def names(self) -> Mapping[int, str]:
        """What each column is called on the desk."""
        return {column.id: f"c{column.id}" for column in (*self.keys, *(slot.column for slot in self.slots))}

    def shown_row(self, row: int) -> tuple[Value, ...]:
        """The numbers of a row as they are shown."""
        return tuple(slot.shown(self.values[row][slot.place]) for slot in self.slots)

    def fine_row(self, row: int) -> tuple[Value, ...]:
        """The same before rounding."""
        return tuple(slot.fine(self.values[row][slot.place]) for slot in self.slots)

    def key_columns(self) -> tuple[tuple[str, DeskType], ...]:
        """The keys as columns of a table on the desk. Exact sums of public tables stand here too, and may be wide."""
        return tuple(
            (f"c{column.id}", key_type(column.type, [row[place] for row in self.key_rows]))
            for place, column in enumerate(self.keys)
        )

    def number_columns(self, columns: Sequence[Sequence[object]]) -> tuple[tuple[str, DeskType], ...]:
        """The slots as columns, wide enough for these numbers, column by column, as they are shown."""
        return tuple(
            (f"c{slot.column.id}", fitting_type(slot.shown_type, column))
            for slot, column in zip(self.slots, columns, strict=True)
        )

    def shown_columns(self, rows: Sequence[Sequence[Value]]) -> tuple[tuple[str, DeskType], ...]:
        """The slots as columns, wide enough for these numbers as they are shown."""
        return self._columns([slot.shown_type for slot in self.slots], rows)

    def fine_columns(self, rows: Sequence[Sequence[Value]]) -> tuple[tuple[str, DeskType], ...]:
        """The slots as columns, wide enough for these numbers before rounding."""
        return self._columns([slot.fine_type for slot in self.slots], rows)

    def _columns(self, types: Sequence[SqlType], rows: Sequence[Sequence[Value]]) -> tuple[tuple[str, DeskType], ...]:
        return tuple(
            (f"c{slot.column.id}", fitting_type(type_, [row[place] for row in rows]))
            for place, (slot, type_) in enumerate(zip(self.slots, types, strict=True))
        )


def _nearest(numerator: int, denominator: int) -> int:
    """The quotient as `round` gives it: the nearest whole number, of two the even one."""
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2))


def key_type(type_: SqlType, values: Sequence[object]) -> DeskType:
    """The type itself, but for integers beyond 64 bits. No noise is added to them, so that no room is needed."""
    wholes = [value for value in values if type(value) is int] if type_ is SqlType.INTEGER else []
    fits = not wholes or (INT64.contains(min(wholes)) and INT64.contains(max(wholes)))
    return type_ if fits else fitting_type(type_, values)


def fitting_type(type_: SqlType, values: Sequence[object]) -> DeskType:
    """The type itself, but for integers that need more than 64 bits, or even more than 128."""
    largest = max((abs(value) for value in values if isinstance(value, int)), default=0)
    if type_ is not SqlType.INTEGER or largest < _ROOM:
        return type_
    return "HUGEINT" if largest < _MORE_ROOM else SqlType.DOUBLE


def _misshapen() -> InternalError:
    return InternalError("the released rows do not fit their columns")
