"""What an answer from invented rows says of itself, in every form it can take."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.session.answer_value import Answer
from dpsql.session.cost import Cost
from dpsql.session.invented import COLUMN as COLUMN
from dpsql.session.invented import INVENTED as INVENTED


def require_apart(*, simulated: bool, invented: bool) -> None:
    """A simulation reads invented rows, and nothing else does: looked at before an engine is asked."""
    if simulated is not invented:
        raise InternalError("a simulation and an answer would change places", why="a bug in dpsql", fix="report it")


def labelled(told: Answer) -> Answer:
    """The answer as one that tells nothing about anybody: no price, no release, and a column that says so."""
    return replace(
        told,
        columns=(*told.columns, COLUMN),
        rows=tuple((*row, True) for row in told.rows),
        cost=Cost(epsilon=Fraction(0)),
        release=None,
        budget=None,
        head=None,
        notes=(INVENTED, *told.notes),
        label=INVENTED,
    )
