"""Engine text of an expression. Nothing of the analyst's text comes through: names by number, literals re-quoted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported
from dpsql.sql.functions.constants import constant_interval, print_constant
from dpsql.sql.functions.function import Argument, Form, Function
from dpsql.sql.functions.once import finite, short
from dpsql.sql.functions.table import entry
from dpsql.sql.functions.windows import may_overflow, print_window, window_range
from dpsql.sql.intervals import EVERYTHING, Interval, typed
from dpsql.sql.scalars import Apply, AwaitedValue, ColumnRef, Constant, Scalar, Windowed

_GUARDS: Final = {SqlType.DOUBLE: finite, SqlType.TEXT: short}
_LONGEST_WAIT: Final = 8
"""Texts that are joined before the length is looked at: fewer guards, and never more than so many times the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Printed:
    text: str
    range: Interval
    waiting: int = 0
    """A guard is still to come: the value may be NaN or infinite, or be this many texts in one."""


def _guarded(printed: _Printed, type_: SqlType) -> _Printed:
    """With everything turned to NULL that is not a value of the type."""
    return _Printed(text=_GUARDS[type_](printed.text), range=printed.range) if printed.waiting else printed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Printer:
    dialect: str
    column: Callable[[int], str]

    def raw(self, scalar: Scalar) -> _Printed:
        match scalar:
            case ColumnRef():
                return _Printed(text=self.column(scalar.id), range=EVERYTHING)
            case Constant():
                return _Printed(text=print_constant(scalar), range=constant_interval(scalar))
            case AwaitedValue():  # the canonical text of what is not known yet; never sent to an engine
                return _Printed(text=f":released{scalar.question}", range=scalar.range)
            case Apply():
                return self.applied(scalar)
            case Windowed():
                return self.windowed(scalar)

    def guarded(self, scalar: Scalar) -> _Printed:
        return _guarded(self.raw(scalar), scalar.type)

    def applied(self, call: Apply) -> _Printed:
        """Arguments are guarded, unless the function only passes on to its own guard what theirs would stop."""
        function = entry(call.function)
        parts = [self.raw(scalar) for scalar in call.arguments]
        too_long = sum(max(part.waiting, 1) for part in parts) > _LONGEST_WAIT if function.grows else False
        parts = [
            part if number in function.passes and not too_long else _guarded(part, scalar.type)
            for number, (part, scalar) in enumerate(zip(parts, call.arguments, strict=True))
        ]
        arguments = [
            Argument(text=part.text, scalar=scalar, range=typed(part.range, scalar.type))
            for part, scalar in zip(parts, call.arguments, strict=True)
        ]
        known = function.range(call, [argument.range for argument in arguments])
        waiting = 0
        if function.grows:
            waiting = sum(max(part.waiting, 1) for part in parts)
        elif call.type is SqlType.DOUBLE:
            waiting = int(not known.bounded or any(part.waiting for part in parts))
        return _Printed(text=_form(function, self.dialect)(arguments), range=known, waiting=waiting)

    def windowed(self, scalar: Windowed) -> _Printed:
        parts = [self.guarded(argument) for argument in scalar.arguments]
        text = print_window(
            scalar,
            [part.text for part in parts],
            [self.guarded(key).text for key in scalar.partition_by],
            [self.guarded(key.by).text for key in scalar.order_by],
        )
        known = window_range(scalar, [part.range for part in parts])
        return _Printed(text=text, range=known, waiting=int(may_overflow(scalar)))


def _form(function: Function, dialect: str) -> Form:
    form = function.forms.get(dialect)
    if form is None:
        raise NotSupported(
            f"{function.usage} is not available on {dialect}",
            why="no form of it is known there that fails on no row",
            fix="write the expression without it, or run the query on another engine",
        )
    return form


def print_scalar(scalar: Scalar, *, dialect: str, column: Callable[[int], str]) -> str:
    """The expression as text of that engine; `column` prints a column by its number.

    Total (rule 6): it fails on no row, and is never NaN, infinite or outside of the years 1 to 9999, provided that
    columns are not either: they are read through `clean` where a table is read.
    """
    return _Printer(dialect=dialect, column=column).guarded(scalar).text
