"""The answer to a question: rows of numbers with their margins, what they cost, and ways out into other tools."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.session.again import Again
from dpsql.session.budget import Budget
from dpsql.session.cost import Cost
from dpsql.session.formats import printable_lines
from dpsql.session.page import answer_page, footer
from dpsql.session.release import Cell
from dpsql.session.render import boxed
from dpsql.session.tabular import Tabular
from dpsql.session.tabulated import ColumnType


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(Tabular[Cell]):
    """Rows of cells: `Noisy` where a number depends on noise, plain values for keys and exact numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    cost: Cost
    release: int | None
    """The number of the stored release it comes from; None where nothing private was asked."""
    confidence: Fraction
    types: tuple[ColumnType, ...] = ()
    """Of each column, known from the plan; nothing where there is none."""
    notes: tuple[str, ...] = ()
    """What a reader should know about these numbers: from the plan, and from what was released."""
    head: str | None = None
    """Where the ledger ended when this was told: the number of its last entry, and the beginning of its hash."""
    budget: Budget | None = None
    """What can be spent after it; None where it is an explanation, or rests on invented rows."""
    is_text: bool = False
    """An explanation: its rows are lines, shown as they are."""
    label: str | None = None
    """What nobody may overlook: it stands above the rows."""
    again: Again[Answer] | None = None
    """Asks its question again, within a margin, at a price, for a cost at most; None where that is not at hand."""

    def __str__(self) -> str:
        if self.is_text:
            return "\n".join(printable_lines(self))
        shown = boxed(self.columns, self.rows, footer(self, label=self.label))
        return shown if self.label is None else f"{self.label}\n{shown}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return answer_page(self, label=self.label)
