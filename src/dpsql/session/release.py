"""From released numbers to the cells of an answer: free, because nothing private is read any more (rule 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from dpsql.catalog.model import Value
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.engines.desk import Desk, DeskTable
from dpsql.mechanisms.margins import SlotLaw, Spread, linear_margin
from dpsql.session.desk_text import ROW, Layers, directed, listed
from dpsql.session.noisy import Noisy, linear_cell, simulated_cell
from dpsql.session.plausible import SlotCell
from dpsql.session.released_rows import ReleasedSlot, ReleasedTable
from dpsql.session.simulate import Simulated, Simulation, has_windows
from dpsql.sql.finish import Finish, Part
from dpsql.sql.linear import LinearForm, linear_form
from dpsql.sql.scalars import Scalar, columns_of

Cell: TypeAlias = Noisy | bool | int | float | str | date | datetime | None
"""A number with its margin where it is noisy, a plain value otherwise."""

_TOLD: Final = 1000  # rows that tell two releases apart

_PLAIN: Final[Mapping[SqlType, Callable[[Any], Any]]] = {SqlType.INTEGER: int, SqlType.DOUBLE: float}


def released(
    table: ReleasedTable, finish: Finish, *, confidence: Fraction, desk: Desk, receipt: int, ledger: str = ""
) -> tuple[tuple[Cell, ...], ...]:
    """The rows of the answer: HAVING, windows over the rows that remain, DISTINCT, ORDER BY, OFFSET and LIMIT.

    Every number that reads a noisy slot is Noisy: exactly where it is linear, by plausible values elsewhere. `receipt`
    and `ledger` tell which noise is the same noise when somebody calculates with numbers of several answers.
    """
    on_desk = {"released": _on_desk(table)}
    answered = desk.query(_statement(table, finish), on_desk)
    rows = [row for row, *_ in answered]
    outputs = [output.expression for output in finish.outputs]
    forms = {scalar: linear_form(scalar, _slots(table)) for scalar in outputs if _is_noisy(scalar, table)}
    others = tuple(scalar for scalar, form in forms.items() if form is None)
    possible = {output.expression: output.possible for output in finish.outputs}
    simulation = Simulation(
        desk=desk,
        table=table,
        release=release_identity(table.values, receipt=receipt, ledger=ledger),
        expressions=others,
        possible=tuple(possible[scalar] for scalar in others),
        kept=tuple(row for (row,) in desk.query(_kept(table, finish), on_desk)) if has_windows(others) else tuple(rows),
        confidence=confidence,
    )
    spreads = simulation.spreads(rows) if others else {}
    columns: list[list[Cell]] = []
    for place, scalar in enumerate(outputs):
        values = [_plain(cells[place + 1], scalar.type) for cells in answered]
        form = forms.get(scalar)
        if form is not None:
            columns.append(_linear(values, rows, form, simulation))
        elif scalar in others:
            columns.append(_simulated(values, rows, spreads, others.index(scalar), simulation))
        else:
            columns.append(values)
        part = finish.outputs[place].part
        if part is not None:
            columns[-1] = [_part(cell, part) for cell in columns[-1]]
    return tuple(zip(*columns, strict=True))


def _part(cell: Cell, part: Part) -> Cell:
    """An end of the interval, or its half width, as a plain number; NULL where there is no interval."""
    if not isinstance(cell, Noisy):
        return None
    return {Part.LOW: cell.low, Part.HIGH: cell.high, Part.MARGIN: cell.margin}[part]


def release_identity(values: tuple[tuple[Value, ...], ...], *, receipt: int, ledger: str) -> str:
    """The same for the same release and for no other: receipts of two ledgers have equal numbers, but other noise."""
    return blake2b(f"{ledger} {receipt} {values[:_TOLD]}".encode(), digest_size=16).hexdigest()


def _on_desk(table: ReleasedTable) -> DeskTable:
    values = [table.shown_row(row) for row in range(len(table.values))]
    return DeskTable(
        columns=((ROW, SqlType.INTEGER), *table.key_columns(), *table.shown_columns(values)),
        rows=[(row, *table.key_rows[row], *numbers) for row, numbers in enumerate(values)],
    )


def _kept(table: ReleasedTable, finish: Finish, columns: str = ROW) -> str:
    """The rows that HAVING leaves."""
    where = "" if finish.having is None else f" WHERE {Layers(names=table.names).text(finish.having)}"
    return f"SELECT {columns} FROM released{where}"


def _statement(table: ReleasedTable, finish: Finish) -> str:
    """One row for each row of the answer: its number, then the outputs."""
    layers = Layers(names=table.names)
    outputs = [layers.text(output.expression) for output in finish.outputs]
    sorts = [layers.text(key.by) for key in finish.order_by]
    names = [f"o{place}" for place in range(len(outputs))]
    first = (
        f" QUALIFY row_number() OVER (PARTITION BY {', '.join(names)} ORDER BY {ROW}) = 1" if finish.distinct else ""
    )
    order = ", ".join([*(f"s{place}{directed(key)}" for place, key in enumerate(finish.order_by)), ROW])
    limit = "" if finish.limit is None else f" LIMIT {finish.limit}"
    return (
        f"WITH kept AS ({_kept(table, finish, '*')}), framed AS ({layers.below('kept')}), "
        f"shaped AS (SELECT {ROW}{listed(outputs, 'o')}{listed(sorts, 's')} FROM framed), "
        f"chosen AS (SELECT * FROM shaped{first}) "
        f"SELECT {', '.join([ROW, *names])} FROM chosen ORDER BY {order}{limit} OFFSET {finish.offset}"
    )


def _plain(value: Any, type_: SqlType) -> Any:
    """An engine's number as the number its type says: sums of integers and literals come in wider types."""
    return value if value is None or type_ not in _PLAIN else _PLAIN[type_](value)


def _slots(table: ReleasedTable) -> frozenset[int]:
    return frozenset(slot.column.id for slot in table.slots)


def _is_noisy(scalar: Scalar, table: ReleasedTable) -> bool:
    """Whether it is a number that depends on noise."""
    noisy = {slot.column.id for slot in table.slots if slot.law is not None}
    return scalar.type in NUMERIC and not noisy.isdisjoint(columns_of(scalar))


def _linear(values: Sequence[Any], rows: Sequence[int], form: LinearForm, about: Simulation) -> list[Cell]:
    """Every row has the same margin, computed once, and noise of its own."""
    table, confidence = about.table, about.confidence
    slots = [
        (slot, slot.law, form.weights[slot.column.id])
        for slot in table.slots
        if slot.law is not None and slot.column.id in form.weights
    ]
    margin = linear_margin([(weight, law) for _, law, weight in slots], confidence=confidence)
    cells: list[Cell] = []
    for value, row in zip(values, rows, strict=True):
        weights = {cell: weight * share for slot, law, weight in slots for cell, share in _cells(slot, law, row, about)}
        cells.append(None if value is None else linear_cell(value, weights, margin=margin, confidence=confidence))
    return cells


def _cells(slot: ReleasedSlot, law: SlotLaw, row: int, about: Simulation) -> Iterator[tuple[SlotCell, Fraction]]:
    """Whose noise a number carries, and how much of it: an average shares it with the releases it was made of."""
    rounding = slot.rounding(about.table.values[row][slot.place])
    if not slot.parts:
        yield SlotCell(release=about.release, row=row, slot=slot.place, law=law, rounding=rounding), Fraction(1)
    for part in slot.parts:
        own = replace(part.law, rounded=law.rounded)
        yield SlotCell(release=part.release, row=row, slot=part.place, law=own, rounding=rounding), part.share


def _simulated(
    values: Sequence[Any],
    rows: Sequence[int],
    spreads: Mapping[int, Sequence[Spread | None]],
    index: int,
    simulation: Simulation,
) -> list[Cell]:
    return [
        None
        if value is None
        else simulated_cell(
            value,
            spreads[row][index],
            confidence=simulation.confidence,
            origin=Simulated(simulation=simulation, row=row, index=index),
        )
        for value, row in zip(values, rows, strict=True)
    ]
