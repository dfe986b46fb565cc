"""Intervals of expressions that are not linear: what could the truth be, if the noise had been another one?

The truth is what was released less its noise. Every draw replaces the noise of all slots by plausible noise, the
desk evaluates the very expression on it, and the middle of what comes out is the interval. Some draws belong to no
rows: a negative number of people, a negative variance. Where they are many, a clamp hides how little is known, so
that the interval also holds the middle of the other draws alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.engines.desk import Desk, DeskTable, DeskType
from dpsql.errors import InternalError
from dpsql.mechanisms.margins import DRAWS, Band, PossibleSpread, Spread, band, outside_of
from dpsql.mechanisms.simulation import OPERATIONS, Drawn, drawn_slot, exact_column, summaries
from dpsql.session.plausible import Fixed, Plausible, pool, shuffle
from dpsql.session.released_rows import DRAW, ROW, Layers, ReleasedTable, fitting_type, listed
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed, walk

_FEWEST_DRAWS: Final = 100
_FEWEST_POSSIBLE: Final = Fraction(1, 25)
"""With fewer draws that rows can be behind, there is no interval."""
_USUALLY_POSSIBLE: Final = Fraction(3, 4)
_NUMBERS: Final = 8
"""What is asked about each expression."""
_MOST_ROWS: Final = 2_000_000
"""Rows times draws in one statement."""
_MOST_IN_WINDOWS: Final = 20_000
"""Windows cannot be computed part by part: over more rows than this they get no interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Some expressions over one released table."""

    desk: Desk
    table: ReleasedTable
    release: str
    expressions: tuple[Scalar, ...]
    possible: tuple[Scalar | None, ...]
    """For each expression what holds where rows can be behind a draw."""
    kept: tuple[int, ...]
    """The rows that HAVING left: windows look at all of them."""
    confidence: Fraction

    def spreads(self, rows: Sequence[int]) -> dict[int, tuple[Spread | None, ...]]:
        """For each of `rows` the spread of each expression; None where there is none."""
        count = self._count(len(rows))
        rule = band(count=count, confidence=self.confidence)
        found: dict[int, list[Spread | None]] = {row: [None] * len(self.expressions) for row in rows}
        arithmetic = [index for index, scalar in enumerate(self.expressions) if self._is_arithmetic(index, scalar)]
        for part in self._parts(rows, count) if arithmetic else ():
            for index, numbers in self._calculated(arithmetic, part, rule):
                for row, each in zip(part, numbers, strict=True):
                    found[row][index] = _spread(each, rule)
        others = [index for index in range(len(self.expressions)) if index not in arithmetic]
        if others and not self._too_many:
            engine = replace(
                self,
                expressions=tuple(self.expressions[index] for index in others),
                possible=tuple(self.possible[index] for index in others),
            )
            for row, index, each in engine.summarised(rows, rule):
                found[row][others[index]] = _spread(each, rule)
        return {row: tuple(spreads) for row, spreads in found.items()}

    def summarised(self, rows: Sequence[int], rule: Band) -> Iterator[tuple[int, int, PossibleSpread]]:
        """The plausible values of each row and expression in short, by the engine: it can evaluate all of them."""
        for part in self._parts(rows, rule.count):
            for row, *numbers in self._ask(part, rule, rule.count, self._summary(rule)):
                for index, start in enumerate(range(0, len(numbers), _NUMBERS)):
                    yield row, index, PossibleSpread(*numbers[start : start + _NUMBERS])

    def _is_arithmetic(self, index: int, scalar: Scalar) -> bool:
        """Whether arrays can evaluate an expression, and what says that rows can be behind it."""
        numbers = {column.id for column in self.table.keys if column.type not in NUMERIC}
        nodes = [node for each in (scalar, self.possible[index]) if each is not None for node in walk(each)]
        return all(
            (isinstance(node, Apply) and node.function in OPERATIONS)
            or (isinstance(node, Constant) and isinstance(node.value, int | Fraction))
            or (isinstance(node, ColumnRef) and node.id not in numbers)
            for node in nodes
        )

    def _calculated(
        self, indexes: Sequence[int], rows: Sequence[int], rule: Band
    ) -> Iterator[tuple[int, list[PossibleSpread]]]:
        """The same for arithmetic, by arrays of rows × draws."""
        columns = self._arrays(rows, rule)
        for index in indexes:
            possible = self.possible[index]
            values = _evaluated(self.expressions[index], columns)
            there = True if possible is None else _evaluated(possible, columns)
            yield index, summaries(values, there, rows=len(rows), rule=rule)

    def _arrays(self, rows: Sequence[int], rule: Band) -> dict[int, Drawn]:
        """Every numeric column of the rows, in every draw."""
        table, shuffles = self.table, [shuffle(release=self.release, row=row) for row in rows]
        fine = [table.fine_row(row) for row in rows]
        columns: dict[int, Drawn] = {}
        for place, slot in enumerate(table.slots):
            values = [_number(row[place]) for row in fine]
            if slot.law is None:
                columns[slot.column.id] = exact_column(values)
            else:
                noises = pool(release=self.release, slot=slot.place, law=slot.law, rule=rule)
                columns[slot.column.id] = drawn_slot(values, noises, shuffles, count=rule.count)
        for place, column in enumerate(table.keys):
            if column.type in NUMERIC:
                columns[column.id] = exact_column([_number(table.key_rows[row][place]) for row in rows])
        return columns

    def plausible(self, row: int, index: int, rule: Band) -> Plausible:
        """The plausible values of one expression in one row, draw by draw."""
        count = min(rule.count, self._count(1))
        if self._too_many:
            return [None] * count
        rows = self._ask([row], rule, count, f"SELECT {DRAW}, o{index} FROM shaped ORDER BY {DRAW}")
        return [value for _, value in rows]

    def _count(self, rows: int) -> int:
        seen = len(self.kept) if self._windowed else rows
        return min(DRAWS, max(_FEWEST_DRAWS, _MOST_ROWS // max(1, seen)))

    @property
    def _windowed(self) -> bool:
        return has_windows(self.expressions)

    @property
    def _too_many(self) -> bool:
        return self._windowed and len(self.kept) > _MOST_IN_WINDOWS

    def _parts(self, rows: Sequence[int], count: int) -> Iterator[Sequence[int]]:
        """Rows that one statement looks at together."""
        size = len(rows) if self._windowed else _MOST_ROWS // count
        return (rows[start : start + size] for start in range(0, len(rows), max(1, size)))

    def _ask(self, rows: Sequence[int], rule: Band, count: int, final: str) -> list[tuple[Any, ...]]:
        layers = Layers(names=self.table.names, per_draw=True)
        texts = [f"CAST({layers.text(scalar)} AS DOUBLE)" for scalar in self.expressions]
        possible = ["true" if scalar is None else layers.text(scalar) for scalar in self.possible]
        columns = f"{ROW}, {DRAW}{listed(texts, 'o')}{listed(possible, 'p')}"
        statement = (
            f"WITH drawn AS ({self._drawn(count)}), framed AS ({layers.below('drawn')}), "
            f"shaped AS (SELECT {columns} FROM framed WHERE shown) {final}"
        )
        return self.desk.query(statement, {"drawable": self._drawable(rows), "pool": self._pool(rule)})

    def _drawn(self, count: int) -> str:
        """One row for each released row and draw, with the noise of that draw taken off."""
        keys = [f"k.c{column.id}" for column in self.table.keys]
        slots = [
            f"k.c{slot.column.id}" + ("" if slot.law is None else f" - p.z{slot.place}") + f" AS c{slot.column.id}"
            for slot in self.table.slots
        ]
        columns = ", ".join([f"k.{ROW}", f"n.i AS {DRAW}", "k.shown", *keys, *slots])
        return (
            f"SELECT {columns} FROM drawable AS k CROSS JOIN pool AS n "
            f"JOIN pool AS p ON p.i = (k.a * n.i + k.b) % {DRAWS} WHERE n.i < {count}"
        )

    def _drawable(self, rows: Sequence[int]) -> DeskTable:
        """The rows to look at, before rounding, and how each of them goes through the pool."""
        seen = self.kept if self._windowed else tuple(rows)
        asked = frozenset(rows)
        values = [self.table.fine_row(row) for row in seen]
        plan = ((ROW, SqlType.INTEGER), ("a", SqlType.INTEGER), ("b", SqlType.INTEGER), ("shown", SqlType.BOOLEAN))
        return DeskTable(
            columns=(*plan, *self.table.key_columns(), *self.table.fine_columns(values)),
            rows=[
                (row, *shuffle(release=self.release, row=row), row in asked, *self.table.key_rows[row], *numbers)
                for row, numbers in zip(seen, values, strict=True)
            ],
        )

    def _pool(self, rule: Band) -> DeskTable:
        """Plausible noise, one column for each noisy slot."""
        columns: list[tuple[str, DeskType]] = [("i", SqlType.INTEGER)]
        noises: list[Sequence[float]] = [range(DRAWS)]
        for slot in self.table.slots:
            if slot.law is not None:
                values: Sequence[float] = pool(release=self.release, slot=slot.place, law=slot.law, rule=rule)
                noises.append([int(value) for value in values] if slot.fine_type is SqlType.INTEGER else values)
                columns.append((f"z{slot.place}", fitting_type(slot.fine_type, noises[-1])))
        return DeskTable(columns=tuple(columns), rows=list(zip(*noises, strict=True)))

    def _summary(self, rule: Band) -> str:
        """For each row and expression: how many plausible values there are, the ends and the quantiles of them; then
        how many of them are possible, and their quantiles."""
        places = range(len(self.expressions))
        every = [f"list_sort(list(o{index}) FILTER (WHERE isfinite(o{index})))" for index in places]
        possible = [f"list_sort(list(o{index}) FILTER (WHERE isfinite(o{index}) AND p{index}))" for index in places]
        summaries = []
        for index in places:
            name, other = f"l{index}", f"m{index}"
            left = f"({rule.outside} - ({rule.count} - len({name}) + 1) // 2)"
            few = f"({rule.outside} * len({other}) // {rule.count})"
            summaries.append(
                f", len({name}), {name}[1], {name}[{left} + 1], {name}[len({name}) - {left}], {name}[len({name})]"
                f", len({other}), {other}[{few} + 1], {other}[len({other}) - {few}]"
            )
        inner = f"SELECT {ROW}{listed(every, 'l')}{listed(possible, 'm')} FROM shaped GROUP BY {ROW}"
        return f"SELECT {ROW}{''.join(summaries)} FROM ({inner})"


def _evaluated(scalar: Scalar, columns: Mapping[int, Drawn]) -> Any:
    match scalar:
        case ColumnRef():
            return columns[scalar.id]
        case Constant(value=int() | Fraction() as value):
            return float(value)
        case Apply():
            return OPERATIONS[scalar.function](*(_evaluated(argument, columns) for argument in scalar.arguments))
        case _:
            raise InternalError("no arithmetic")


def _number(value: object) -> float:
    """NULL is NaN."""
    return float(value) if isinstance(value, int | float | Fraction) else math.nan


def _spread(numbers: PossibleSpread, rule: Band) -> Spread | None:
    known, smallest, low, high, largest, possible, lower, higher = numbers
    if outside_of(known=known or 0, rule=rule) is None or (possible or 0) < _FEWEST_POSSIBLE * rule.count:
        return None
    return Spread(
        smallest=smallest,
        low=min(low, lower),
        high=max(high, higher),
        largest=largest,
        doubtful=possible < _USUALLY_POSSIBLE * known,
    )


def has_windows(scalars: Sequence[Scalar]) -> bool:
    """Whether one of the expressions looks at other rows than its own."""
    return any(isinstance(node, Windowed) for scalar in scalars for node in walk(scalar))


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The plausible values of one cell, computed when somebody calculates with it."""

    simulation: Simulation
    row: int
    index: int
    around: float
    level: Fraction
    """The confidence of the interval of this cell by itself."""

    def plausible(self, rule: Band, /) -> Plausible:
        return self.simulation.plausible(self.row, self.index, rule)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy elsewhere has its values with it, not the desk."""
        values = self.plausible(band(count=DRAWS, confidence=self.level))
        return Fixed, (tuple(values), self.around, self.level)
