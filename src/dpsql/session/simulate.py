"""Intervals of expressions that are not linear: what could the truth be, if the noise had been another one?

The truth is what was released less its noise. Every draw replaces the noise of all slots by plausible noise, the
desk evaluates the very expression on it, and the middle of what comes out is the interval. Some draws belong to no
rows: a negative number of people, a negative variance. Where they are many, a clamp hides how little is known, so
that the interval also holds the middle of the other draws alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk, DeskTable, DeskType
from dpsql.mechanisms.margins import DRAWS, Band, Spread, band, outside_of
from dpsql.session.desk_text import DRAW, ROW, Layers, listed
from dpsql.session.plausible import Fixed, Plausible, pool, shuffle
from dpsql.session.released_rows import ReleasedTable, fitting_type
from dpsql.sql.scalars import Scalar, Windowed, walk

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
        if self._too_many:
            return {row: (None,) * len(self.expressions) for row in rows}
        count = self._count(len(rows))
        rule = band(count=count, confidence=self.confidence)
        found: dict[int, tuple[Spread | None, ...]] = {}
        for part in self._parts(rows, count):
            for row, *numbers in self._ask(part, rule, count, self._summary(rule)):
                parts = (numbers[start : start + _NUMBERS] for start in range(0, len(numbers), _NUMBERS))
                found[row] = tuple(_spread(part, rule) for part in parts)
        return found

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


def _spread(numbers: Sequence[Any], rule: Band) -> Spread | None:
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

    def plausible(self, rule: Band, /) -> Plausible:
        return self.simulation.plausible(self.row, self.index, rule)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy elsewhere has its values with it, not the desk."""
        return Fixed, (tuple(self.plausible(band(count=DRAWS, confidence=self.simulation.confidence))),)
