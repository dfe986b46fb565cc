"""What a question of a statement will release, as far as it is known before it is asked: all that later ones may use.

Names, types and ranges of the columns follow from the question. Its rows do not, so that nothing about a later
question, its verdict and its price least of all, depends on what an earlier one released (rule 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpsql.errors import InternalError, NotSupported
from dpsql.sql.relations import AwaitedRows, Column, Numbers
from dpsql.sql.scalars import AwaitedValue
from dpsql.sql.scope import named
from dpsql.sql.syntax import At, Identifier, PrivateValue, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer to a question that stands before others in its statement."""

    question: int
    """Its place among the questions of the statement."""
    columns: tuple[Column, ...]
    """Without numbers: wherever the rows are read, their columns get numbers of their own."""
    one_row: bool
    """It has one row, whatever is released."""
    noisy: bool = True
    """It reads people's rows, or what other questions have released of them."""
    made_noisy: frozenset[int] = frozenset()
    """The places of the columns that show this; keys are what they are, though noise may choose them."""


Outcomes: TypeAlias = Mapping[At, Outcome]
"""By the place of the query in the text."""


def awaited_rows(query: Query, names: tuple[Identifier, ...], outcomes: Outcomes, numbers: Numbers) -> AwaitedRows:
    """The rows of a PRIVATE query: public once they are released, whatever is done with them."""
    outcome = _of(query, outcomes)
    columns = tuple(replace(column, id=numbers.fresh()) for column in outcome.columns)
    return AwaitedRows(columns=named(columns, names), question=outcome.question)


def awaited_value(expression: PrivateValue, outcomes: Outcomes) -> AwaitedValue:
    """The one value of a PRIVATE query, a constant of every question after it."""
    outcome = _of(expression.query, outcomes)
    if not outcome.one_row or len(outcome.columns) != 1:
        raise NotSupported(
            "PRIVATE (SELECT …) is not one value here",
            why="only an aggregate without GROUP BY, HAVING and LIMIT always has one row, and one column is one value",
            fix="ask for one aggregate; several rows get a name: WITH w AS PRIVATE (SELECT …) SELECT … FROM w",
            at=expression.at,
        )
    (column,) = outcome.columns
    return AwaitedValue(outcome.question, column.type, column.declared, noisy=outcome.noisy)


def _of(query: Query, outcomes: Outcomes) -> Outcome:
    if query.at not in outcomes:
        raise InternalError("a PRIVATE question was not asked before the one that reads it")
    return outcomes[query.at]
