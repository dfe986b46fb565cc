"""The answer to a question: rows of numbers with their margins, what they cost, and ways out into other tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.session.budget import Budget
from dpsql.session.digits import NO_COST, Cost
from dpsql.session.formats import answer_page, footer, printable_lines
from dpsql.session.release import Cell
from dpsql.session.render import boxed
from dpsql.session.tables import COLUMN, INVENTED, ColumnType
from dpsql.session.tabular import Again, Tabular


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(Tabular[Cell]):
    """Rows of cells: `Noisy` where a number depends on noise, plain values for keys and exact numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    cost: Cost
    """Never left out: what forgot its price would look free."""
    release: int | None = None
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


def require_apart(*, simulated: bool, invented: bool) -> None:
    """A simulation reads invented rows, and nothing else does: looked at before an engine is asked."""
    if simulated is not invented:
        raise InternalError("a simulation and an answer would change places")


def labelled(told: Answer) -> Answer:
    """The answer as one that tells nothing about anybody: no price, no release, and a column that says so."""
    return replace(
        told,
        columns=(*told.columns, COLUMN),
        types=(*told.types, ColumnType(SqlType.BOOLEAN, is_noisy=False)) if told.types else (),
        rows=tuple((*row, True) for row in told.rows),
        cost=NO_COST,
        release=None,
        budget=None,
        head=None,
        notes=(INVENTED, *told.notes),
        label=INVENTED,
    )
