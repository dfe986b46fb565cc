"""What an answer from invented rows says of itself, in every form it can take."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.session.answer_value import Answer
from dpsql.session.cost import Cost
from dpsql.session.invented import COLUMN as COLUMN
from dpsql.session.invented import INVENTED as INVENTED
from dpsql.session.tabulated import ColumnType


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
        cost=Cost(epsilon=Fraction(0)),
        release=None,
        budget=None,
        head=None,
        notes=(INVENTED, *told.notes),
        label=INVENTED,
    )
