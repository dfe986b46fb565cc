"""From released numbers to the cells of an answer: free, because nothing private is read any more (rule 12)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from dpsql.catalog.model import Value
from dpsql.catalog.spelling import ENGINE_TYPES
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.engines.desk import Desk, DeskTable
from dpsql.mechanisms.margins import SlotLaw, Spread, confidence_of_each, linear_margin
from dpsql.plan.expected import SelectionScope, selection_scope
from dpsql.session.boxes import Boxes
from dpsql.session.noisy import LinearMargin, Noisy, enclosed_cell, margin_number, simulated_cell, without_interval
from dpsql.session.plausible import Fixed, RoundingCell, SlotCell
from dpsql.session.released_rows import ROW, Layers, ReleasedSlot, ReleasedTable, directed, listed
from dpsql.session.simulate import Simulated, Simulation, has_windows
from dpsql.sql.finish import Finish, LinearForm, Part, linear_form
from dpsql.sql.relations import Column
from dpsql.sql.scalars import ColumnRef, Scalar, columns_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotNoise:
    """The noise of one slot in an expression."""

    slot: ReleasedSlot
    law: SlotLaw
    weight: Fraction
    released: Sequence[Value]
    """The released numbers, where rounding has changed them; none where it has not."""

    def of_row(self, row: int, release: str) -> Iterator[tuple[SlotCell | RoundingCell, Fraction]]:
        """Whose noise the number carries, and how much of it: an average shares it with the releases it was made of.
        What rounding added stays whole where a part of the average cancels out."""
        slot = self.slot
        if self.released:
            size = slot.rounding(self.released[row])
            yield RoundingCell(release=release, row=row, slot=slot.place, size=size), self.weight
        if not slot.parts:
            law = replace(self.law, rounded=False)
            yield SlotCell(release=release, row=row, slot=slot.place, law=law), self.weight
        for part in slot.parts:
            law = replace(part.law, rounded=False)
            yield SlotCell(release=part.release, row=row, slot=part.place, law=law), self.weight * part.share


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearNoise:
    """The noise of one expression."""

    release: str
    slots: tuple[SlotNoise, ...]

    def of_row(self, row: int, /) -> dict[SlotCell | RoundingCell, Fraction]:
        """The noise of the expression in this row, looked up when something is calculated with the number."""
        return {cell: weight for slot in self.slots for cell, weight in slot.of_row(row, self.release)}


Cell: TypeAlias = Noisy | bool | int | float | str | date | datetime | None
"""A number with its margin where it is noisy, a plain value otherwise."""

_TOLD: Final = 1000  # rows that tell two releases apart

_PLAIN: Final[Mapping[SqlType, Callable[[Any], Any]]] = {SqlType.INTEGER: int, SqlType.DOUBLE: float}


def released(
    table: ReleasedTable,
    finish: Finish,
    *,
    confidence: Fraction,
    desk: Desk,
    receipt: int,
    ledger: str = "",
    above_zero: Container[int] = (),
) -> tuple[tuple[Cell, ...], ...]:
    """The rows of the answer: HAVING, windows over the rows that remain, QUALIFY, DISTINCT, ORDER BY, OFFSET and LIMIT.

    Every number that reads a noisy slot is Noisy: exactly where it is linear, by plausible values elsewhere. Where its
    noise decides which rows are shown, its interval holds for all released rows at once. `receipt` and `ledger`
    identify the noise for calculations with numbers of several answers. The columns at the places `above_zero` are of
    numbers that are never negative: one below 0 is doubtful whatever its margin is, because no rows have it.
    """
    outputs = [output.expression for output in finish.outputs]
    rows, *answered = _as_released(table, finish) or _on_the_desk(table, finish, desk)
    laws = {slot.column.id: slot.law for slot in table.slots if slot.law is not None}
    keys = [column.id for column in table.keys]
    scope = selection_scope(finish, laws, keys=keys, groups=len(table.values))
    forms = {scalar: _form(scalar, table, scope) for scalar in outputs if _is_noisy(scalar, table)}
    others = tuple(scalar for scalar, form in forms.items() if form is None)
    possible = {output.expression: output.possible for output in finish.outputs}
    simulation = Simulation(
        desk=desk,
        table=table,
        release=release_identity(table.values, receipt=receipt, ledger=ledger),
        expressions=others,
        possible=tuple(possible[scalar] for scalar in others),
        kept=_kept_rows(table, finish, desk) if has_windows(others) else tuple(rows),
        confidence=confidence,
    )
    boxes = Boxes(desk=desk, table=table, scope=scope, kept=simulation.kept, confidence=confidence)
    enclosed = {scalar for scalar in others if scope.encloses(scalar)}
    drawn = any(scalar not in enclosed or possible[scalar] is not None for scalar in others)
    spreads = simulation.spreads(rows) if drawn else {}
    columns: list[list[Cell]] = []
    for place, scalar in enumerate(outputs):
        values = _plain_column(answered[place], scalar.type)
        form = forms.get(scalar)
        if form is not None:
            columns.append(_linear(values, rows, form, simulation, scope, scalar, above_zero=place in above_zero))
        elif scalar in enclosed:
            columns.append(_enclosed(values, rows, scalar, spreads, simulation, boxes, above_zero=place in above_zero))
        elif scalar in others:
            columns.append(_simulated(values, rows, scalar, spreads, simulation, boxes, above_zero=place in above_zero))
        else:
            columns.append(values)
        if not finish.outputs[place].interval:
            columns[-1] = [
                without_interval(cell.value, confidence=confidence, origin=Fixed(()))
                if isinstance(cell, Noisy)
                else cell
                for cell in columns[-1]
            ]
        part = finish.outputs[place].part
        if part is not None:
            columns[-1] = [_part(cell, part) for cell in columns[-1]]
    return tuple(zip(*columns, strict=True))


def _form(scalar: Scalar, table: ReleasedTable, scope: SelectionScope) -> LinearForm | None:
    """A linear expression whose noise has the law of its slots: that of a number which is shown only above a threshold
    has another one."""
    return linear_form(scalar, _slots(table)) if scope.thresholded.isdisjoint(columns_of(scalar)) else None


def _part(cell: Cell, part: Part) -> Cell:
    """An end of the interval, or its half width, as a plain number; NULL where there is no interval."""
    if not isinstance(cell, Noisy):
        return None
    return {Part.LOW: cell.low, Part.HIGH: cell.high, Part.MARGIN: cell.margin}[part]


def release_identity(values: tuple[tuple[Value, ...], ...], *, receipt: int, ledger: str) -> str:
    """The same for the same release and for no other: receipts of two ledgers have equal numbers, but other noise."""
    return blake2b(f"{ledger} {receipt} {values[:_TOLD]}".encode(), digest_size=16).hexdigest()


def _as_released(table: ReleasedTable, finish: Finish) -> list[Sequence[Any]] | None:
    """The numbers of the rows and the output columns, where the answer is some columns of the released rows in their
    order; None where there is something to compute."""
    wanted = [output.expression.id for output in finish.outputs if isinstance(output.expression, ColumnRef)]
    shaped = finish.having is not None or finish.qualify is not None or finish.order_by or finish.distinct
    if shaped or len(wanted) != len(finish.outputs):
        return None
    keys = {column.id: place for place, column in enumerate(table.keys)}
    slots = {slot.column.id: slot for slot in table.slots}
    shown = slice(finish.offset, None if finish.limit is None else finish.offset + finish.limit)
    return [
        list(range(len(table.values))[shown]),
        *(
            [row[keys[number]] for row in table.key_rows[shown]]
            if number in keys
            else slots[number].shown_column([row[slots[number].place] for row in table.values[shown]])
            for number in wanted
        ),
    ]


def _on_the_desk(table: ReleasedTable, finish: Finish, desk: Desk) -> list[Sequence[Any]]:
    """The same, of any answer."""
    layers = Layers(names=table.names)
    statement = f"SELECT t0, {_outputs(finish)} {_delivered(layers, finish, finish.limit)}"
    answered = desk.query(statement, {"released": _desk_table(table)})
    return [[row[place] for row in answered] for place in range(1 + len(finish.outputs))]


def _kept_rows(table: ReleasedTable, finish: Finish, desk: Desk) -> tuple[int, ...]:
    """The rows that HAVING leaves."""
    statement = f"SELECT {ROW} FROM {_kept(Layers(names=table.names), finish)}"
    return tuple(row for (row,) in desk.query(statement, {"released": _desk_table(table)}))


def _desk_table(table: ReleasedTable) -> DeskTable:
    numbers = [slot.shown_column([row[slot.place] for row in table.values]) for slot in table.slots]
    keys = zip(*table.key_rows, strict=True) if table.key_rows else ((),) * len(table.keys)
    return DeskTable(
        columns=((ROW, SqlType.INTEGER), *table.key_columns(), *table.number_columns(numbers)),
        rows=list(zip(range(len(table.values)), *keys, *numbers, strict=True)),
    )


def exact_statement(text: str, keys: Sequence[Column], finish: Finish, *, dialect: str, most: int) -> str:
    """The whole answer as one statement over `text`, whose columns are `keys`: at most `most` rows, in delivery order.

    No row number is needed: rows that agree in all columns are the same row, so the columns themselves break ties, and
    an engine that knows LIMIT keeps no more rows than are delivered.
    """
    names = {key.id: f"c{key.id}" for key in keys}
    layers = Layers(names=names, ties=tuple(ColumnRef(key.id, key.type) for key in keys), dialect=dialect)
    typed = ", ".join(f"{_typed(names[key.id], key.type)} AS {names[key.id]}" for key in keys)
    rows = f"exact({', '.join(names.values())}) AS ({text}), released AS (SELECT {typed} FROM exact)"
    limit = most if finish.limit is None else min(finish.limit, most)
    return f"WITH {rows} SELECT {_outputs(finish)} {_delivered(layers, finish, limit)}"


def _typed(name: str, type_: SqlType) -> str:
    """A column as its type has it. A sum of integers may need 128 bits, and keeps them."""
    return f"{name} + CAST(0 AS BIGINT)" if type_ is SqlType.INTEGER else f"CAST({name} AS {ENGINE_TYPES[type_]})"


def exact_cells(rows: Sequence[Sequence[Any]], finish: Finish) -> tuple[tuple[Cell, ...], ...]:
    """The rows of an `exact_statement` as the cells of an answer."""
    outputs = finish.outputs
    return tuple(
        tuple(
            None if output.part is not None else _plain(value, output.expression.type)  # no noise, no interval
            for value, output in zip(row, outputs, strict=True)
        )
        for row in rows
    )


def _kept(layers: Layers, finish: Finish) -> str:
    """The rows that HAVING leaves."""
    return (
        "released" if finish.having is None else f"(SELECT * FROM released WHERE {layers.text(finish.having)}) AS kept"
    )


def _shaped(layers: Layers, finish: Finish) -> str:
    """The rows of the answer before they are ordered: outputs o0, o1, …, sort keys s0, …, and t0, … to break ties."""
    outputs = listed([layers.text(output.expression) for output in finish.outputs], "o")
    sorts = listed([layers.text(key.by) for key in finish.order_by], "s")
    ties = listed([layers.text(tie) for tie in layers.ties], "t")
    where = "" if finish.qualify is None else f" WHERE {layers.text(finish.qualify)}"
    kept = _kept(layers, finish)
    framed = f"({layers.below(kept)}) AS framed" if layers.windows else kept
    shaped = f"(SELECT {outputs.removeprefix(', ')}{sorts}{ties} FROM {framed}{where}) AS shaped"
    if not finish.distinct:
        return shaped
    first = f"row_number() OVER (PARTITION BY {_outputs(finish)} ORDER BY {_ties(layers)}) = 1"
    return f"(SELECT * FROM {shaped} QUALIFY {first}) AS chosen"


def _delivered(layers: Layers, finish: Finish, limit: int | None) -> str:
    """From the rows of the answer those that are delivered, in their order."""
    shaped = _shaped(layers, finish)
    order = ", ".join([*(f"s{place}{directed(key)}" for place, key in enumerate(finish.order_by)), _ties(layers)])
    bounded = "" if limit is None else f" LIMIT {limit}"
    after = f" OFFSET {finish.offset}" if finish.offset else ""
    return f"FROM {shaped} ORDER BY {order}{bounded}{after}"


def _outputs(finish: Finish) -> str:
    return ", ".join(f"o{place}" for place in range(len(finish.outputs)))


def _ties(layers: Layers) -> str:
    return ", ".join(f"t{place} NULLS LAST" for place in range(len(layers.ties)))


def _plain(value: Any, type_: SqlType) -> Any:
    """An engine's number as the number its type says: sums of integers and literals come in wider types."""
    return value if value is None or type_ not in _PLAIN else _PLAIN[type_](value)


def _plain_column(values: Sequence[Any], type_: SqlType) -> list[Any]:
    wanted = _PLAIN.get(type_)
    if wanted is None or {*map(type, values)} <= {wanted, type(None)}:
        return list(values)
    return [_plain(value, type_) for value in values]


def _slots(table: ReleasedTable) -> frozenset[int]:
    return frozenset(slot.column.id for slot in table.slots)


def _is_noisy(scalar: Scalar, table: ReleasedTable) -> bool:
    """Whether it is a number that depends on noise."""
    noisy = {slot.column.id for slot in table.slots if slot.law is not None}
    return scalar.type in NUMERIC and not noisy.isdisjoint(columns_of(scalar))


def _linear(
    values: Sequence[Any],
    rows: Sequence[int],
    form: LinearForm,
    about: Simulation,
    scope: SelectionScope,
    scalar: Scalar,
    *,
    above_zero: bool,
) -> list[Cell]:
    """Every row has the same margin, computed once, and noise of its own."""
    table, confidence, groups = about.table, about.confidence, scope.groups_of(scalar)
    level, outputs = scope.each(scalar, confidence)
    slots = tuple(
        SlotNoise(slot=slot, law=slot.law, weight=form.weights[slot.column.id], released=_rounded(slot, table))
        for slot in table.slots
        if slot.law is not None and slot.column.id in form.weights
    )
    exact = linear_margin([(slot.weight, slot.law) for slot in slots], confidence=level, groups=outputs)
    noise = LinearNoise(release=about.release, slots=slots)
    margin = LinearMargin(
        margin=margin_number(exact),
        confidence=confidence,
        weights=noise,
        groups=groups,
        outputs=scope.outputs_of(scalar, confidence),
    )
    return [
        None if value is None else Noisy(value, margin, row, above_zero and value < 0)
        for value, row in zip(values, rows, strict=True)
    ]


def _rounded(slot: ReleasedSlot, table: ReleasedTable) -> Sequence[Value]:
    """The released numbers of a slot that is shown in whole numbers and has a finer grain."""
    if slot.law is None or not slot.law.rounded or slot.law.grain == 1:
        return ()
    return tuple(row[slot.place] for row in table.values)


def _enclosed(
    values: Sequence[Any],
    rows: Sequence[int],
    scalar: Scalar,
    spreads: Mapping[int, Sequence[Spread | None]],
    simulation: Simulation,
    boxes: Boxes,
    *,
    above_zero: bool,
) -> list[Cell]:
    """Intervals made of those of the slots; plausible values only say whether rows can be behind a number. A
    number that is shown only above a threshold has none: its noise has another law than that of its slot."""
    ends, confidence = boxes.intervals(scalar, rows), simulation.confidence
    index, groups = simulation.expressions.index(scalar), boxes.scope.groups_of(scalar)
    outputs = boxes.scope.outputs_of(scalar, confidence)
    level = confidence_of_each(confidence, outputs)
    thresholded = not boxes.scope.thresholded.isdisjoint(columns_of(scalar))
    leans = boxes.scope.leans(scalar)
    cells: list[Cell] = []
    for value, row in zip(values, rows, strict=True):
        spread = spreads[row][index] if row in spreads else None
        cells.append(
            None
            if value is None
            else enclosed_cell(
                value,
                ends[row].low,
                ends[row].high,
                confidence=confidence,
                groups=groups,
                outputs=outputs,
                origin=Fixed(())
                if thresholded
                else Simulated(simulation=simulation, row=row, index=index, around=float(value), level=level),
                doubtful=(above_zero and value < 0) or (spread is not None and spread.doubtful),
                leans=leans,
            )
        )
    return cells


def _simulated(
    values: Sequence[Any],
    rows: Sequence[int],
    scalar: Scalar,
    spreads: Mapping[int, Sequence[Spread | None]],
    simulation: Simulation,
    boxes: Boxes,
    *,
    above_zero: bool,
) -> list[Cell]:
    index, anything = simulation.expressions.index(scalar), boxes.without_interval(scalar, rows)
    leans = boxes.scope.leans(scalar)
    return [
        None
        if value is None
        else simulated_cell(
            value,
            None if row in anything else spreads[row][index],
            confidence=simulation.confidence,
            origin=Simulated(
                simulation=simulation, row=row, index=index, around=float(value), level=simulation.confidence
            ),
            doubtful=above_zero and value < 0,
            leans=leans,
        )
        for value, row in zip(values, rows, strict=True)
    ]
