"""What the desk is asked, printed from our own expressions and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.functions import print_scalar
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
