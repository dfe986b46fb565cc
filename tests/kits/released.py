"""Released rows and expressions over them, without a question: what is told of them is computed by the real code."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.session.answer_value import Answer
from dpsql.session.digits import Cost
from dpsql.session.noisy import Noisy, OwnInterval
from dpsql.session.plausible import Fixed
from dpsql.session.release import released
from dpsql.session.released_rows import ReleasedSlot, ReleasedTable
from dpsql.sql.finish import Finish, OutputColumn
from dpsql.sql.functions import apply
from dpsql.sql.intervals import EVERYTHING
from dpsql.sql.relations import Column
from dpsql.sql.scalars import ColumnRef, Constant, Scalar, Sorted, Windowed

CONFIDENCE = Fraction(19, 20)


def call(function: str, *arguments: Scalar) -> Scalar:
    return apply(function, arguments, proved=lambda _: EVERYTHING)


def whole(value: int) -> Constant:
    return Constant(value, SqlType.INTEGER)


def decimal(value: Fraction | int | str) -> Constant:
    return Constant(Fraction(value), SqlType.DOUBLE)


def window(
    function: str,
    *arguments: Scalar,
    by: tuple[Scalar, ...] = (),
    order: tuple[Sorted, ...] = (),
    frame: str = "",
    type_: SqlType = SqlType.INTEGER,
) -> Windowed:
    return Windowed(function=function, arguments=arguments, partition_by=by, order_by=order, frame=frame, type=type_)


def column(reference: ColumnRef) -> Column:
    return Column(id=reference.id, name="", type=reference.type)


def released_table(
    keys: Sequence[ColumnRef],
    slots: Iterable[tuple[ColumnRef, NoisySlotLaw | None]],
    key_rows: Iterable[tuple[Any, ...]],
    values: Iterable[tuple[int, ...]],
) -> ReleasedTable:
    """Rows of these keys, and of noisy values in the order of the slots."""
    return ReleasedTable(
        keys=tuple(map(column, keys)),
        slots=tuple(ReleasedSlot(column=column(each), place=n, law=law) for n, (each, law) in enumerate(slots)),
        key_rows=tuple(key_rows),
        values=tuple(values),
    )


def finish(*outputs: Scalar, **rest: Any) -> Finish:
    return Finish(outputs=tuple(OutputColumn(name="", expression=each) for each in outputs), **rest)


def told(
    table: ReleasedTable, done: Finish, *, confidence: Fraction = CONFIDENCE, receipt: int = 1, ledger: str = ""
) -> tuple[tuple[Any, ...], ...]:
    """The rows of the answer."""
    return released(table, done, confidence=confidence, desk=Desk(), receipt=receipt, ledger=ledger)


def noisy(value: float, margin: float | None, *, confidence: Fraction = CONFIDENCE, doubtful: bool = False) -> Noisy:
    """A cell of which nothing but its interval is known."""
    low, high = (None, None) if margin is None else (value - margin, value + margin)
    interval = OwnInterval(margin=margin, low=low, high=high, confidence=confidence, origin=Fixed(()))
    return Noisy(value, interval, doubtful=doubtful)


def answer_of(columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]], **said: Any) -> Answer:
    """An answer that cost 0.05, unless something else is said."""
    return Answer(
        columns=columns,
        rows=tuple(rows),
        **{"cost": Cost(epsilon=Fraction(1, 20)), "release": 42, "confidence": CONFIDENCE, **said},
    )


def plain(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    """The rows of an answer, without margins."""
    return [tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row) for row in rows]
