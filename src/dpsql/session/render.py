"""An answer as text for a terminal: margins inline, doubtful cells marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dpsql.charts.letters import padded, width
from dpsql.safe_text import THIN, printable
from dpsql.session.digits import shown_number, shown_value
from dpsql.session.noisy import Estimate, Noisy
from dpsql.session.release import Cell

WITHOUT_MARGIN: Final = "is computed from noisy numbers and shows no margin"
"""After the name of a column, in a note."""
DOUBTFUL: Final = "⚠"
PLUS_MINUS: Final = "±"
MEANING: Final = f"{DOUBTFUL} the noise may be all there is: do not use these cells"
ROWS: Final = 60
"""Longer answers are cut on a screen; data frames and files have every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The letters a table is drawn with."""

    line: str
    bar: str
    corners: tuple[str, str, str]
    """Left, between and right: of the upper edge, of the line below the head, of the lower edge."""
    sign: str
    """Between a value and its margin."""
    doubtful: str
    thousands: str


FRAMED: Final = Look(
    line="─", bar="│", corners=("┌┬┐", "├┼┤", "└┴┘"), sign=PLUS_MINUS, doubtful=DOUBTFUL, thousands=THIN
)
PLAIN: Final = Look(
    line="-", bar="|", corners=("+++", "+++", "+++"), sign="plus or minus", doubtful="(doubtful)", thousands=""
)
"""In letters every terminal has and every screen reader says."""


def boxed(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell | Estimate]],
    footer: Sequence[str],
    *,
    look: Look = FRAMED,
    most: int = ROWS,
) -> str:
    """A table with a frame, and lines below it; rows beyond `most` are counted only."""
    shown = rows[:most]
    texts = [_Column.of(name, [row[place] for row in shown], look) for place, name in enumerate(columns)]
    rule = [look.line * (column.width + 2) for column in texts]
    upper, below_head, lower = (edge[0] + edge[1].join(rule) + edge[2] for edge in look.corners)
    bar = look.bar
    body = [bar + bar.join(f" {column.cells[row]} " for column in texts) + bar for row in range(len(shown))]
    head = bar + bar.join(f" {column.head} " for column in texts) + bar
    more = [f"… {len(rows) - most} more rows"] if len(rows) > most else []
    return "\n".join([upper, head, below_head, *body, lower, *more, *footer])


def remarks(rows: Sequence[Sequence[Cell | Estimate]], *, percent: str) -> str:
    """What the table means: how many rows, what ± is, what ⚠ is."""
    noisy = [cell for row in rows for cell in row if isinstance(cell, Noisy | Estimate)]
    parts = [f"{len(rows)} row{'' if len(rows) == 1 else 's'}"]
    parts += [f"± is {percent} %"] if noisy else []
    parts += [MEANING] if any(map(is_doubtful, noisy)) else []
    return " · ".join(parts)


def is_doubtful(cell: object) -> bool:
    """Whether the noise may be all there is: the margin is as large as the value, or hardly anybody is behind it."""
    return isinstance(cell, Noisy | Estimate) and (
        cell.doubtful or cell.margin is None or cell.margin >= abs(cell.value) > 0 or cell.margin > abs(cell.value)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column, every text of the same width."""

    head: str
    cells: tuple[str, ...]
    width: int

    @classmethod
    def of(cls, name: str, cells: Sequence[Cell | Estimate], look: Look) -> _Column:
        texts = _aligned(cells, look)
        head = printable(name)
        columns = max(map(width, (head, *texts)))
        right = any(is_number(cell) for cell in cells)
        lined = tuple(padded(text, columns, right=right) for text in texts)
        return cls(head=padded(head, columns, right=right), cells=lined, width=columns)


def _aligned(cells: Sequence[Cell | Estimate], look: Look) -> list[str]:
    """The texts of a column; values and margins each end below one another."""
    pairs = [
        shown_number(cell.value, cell.margin, thousands=look.thousands) if isinstance(cell, Noisy | Estimate) else None
        for cell in cells
    ]
    values = max((len(pair[0]) for pair in pairs if pair), default=0)
    margins = max((len(pair[1]) for pair in pairs if pair), default=0)
    blank = " " * len(look.doubtful)
    marked = any(map(is_doubtful, cells))
    return [
        plain_cell(cell, look)
        if pair is None
        else f"{pair[0]:>{values}} {look.sign} {pair[1]:>{margins}}"
        + (f" {look.doubtful if is_doubtful(cell) else blank}" * marked)
        for cell, pair in zip(cells, pairs, strict=True)
    ]


def plain_cell(cell: object, look: Look = FRAMED) -> str:
    """A key or an exact number as a text that steers no terminal."""
    match cell:
        case None:
            return "NULL"
        case bool():
            return str(cell).lower()
        case int():
            return str(cell)  # a key or an exact number: a year is no amount
        case float():
            return shown_value(cell, thousands=look.thousands)
        case datetime():
            return cell.isoformat(sep=" ")
        case _:
            return printable(str(cell))


def is_number(cell: object) -> bool:
    """Whether it is written with its digits below one another."""
    return isinstance(cell, Noisy | Estimate | int | float) and not isinstance(cell, bool)
