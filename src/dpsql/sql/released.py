"""Released answers inside later questions: awaited while a statement is planned, literal once they are known.

A later question is planned with what is awaited, and only the finished statements get the released values: so its
verdict and its price cannot depend on them. What was released may then be used in any way (post-processing), and a
question that reads people's rows beside it is one more step of an adaptive sequence, with a price of its own.
Theorems: docs/theorems/post_processing.md, docs/theorems/account_rule.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias

from dpsql.catalog.model import Value
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.sql import functions, relations
from dpsql.sql.bound import Bounded
from dpsql.sql.intervals import EVERYTHING, INT64
from dpsql.sql.keys import Domain, KeyTable
from dpsql.sql.notes import Outcome
from dpsql.sql.relations import Column, Relation
from dpsql.sql.rewrite import Measuring, Rewritten, Selecting, Statement, Unprotected
from dpsql.sql.scalars import AwaitedValue, Constant, Scalar, columns_of, rebuilt, rebuilt_call

Told: TypeAlias = bool | int | float | str | date | datetime | None
"""A cell of an answer, without its margin."""
Rows: TypeAlias = tuple[tuple[Value, ...], ...]
Known: TypeAlias = Mapping[int, Rows]
"""The rows that questions of a statement have released, by their place in it."""


def outcome(question: int, bounded: Bounded) -> Outcome:
    """What a question will release, from the question alone."""
    query, finish = bounded.query, bounded.finish
    whole = query.grouped and not query.keys and finish.having is None and finish.qualify is None
    noisy, keys = query.private or bool(_awaited(bounded)), {key.column.id for key in query.keys}
    return Outcome(
        question=question,
        columns=tuple(_column(output.name, output.expression) for output in finish.outputs),
        one_row=whole and finish.limit != 0 and not finish.offset,
        noisy=noisy,
        made_noisy=frozenset(
            place
            for place, output in enumerate(finish.outputs)
            if noisy and not (output.interval and columns_of(output.expression) <= keys)
        ),
    )


def _column(name: str, expression: Scalar) -> Column:
    """A column of released rows. `released_rows` keeps every value inside its range and its type."""
    known = functions.interval_of(expression, lambda _: EVERYTHING)
    proved = known.intersect(INT64) if expression.type is SqlType.INTEGER else known
    return Column(
        id=0, name=folded(name), type=expression.type, proved=proved, kept=proved, declared=known, public=True
    )


def released_rows(outcome: Outcome, rows: tuple[tuple[Told, ...], ...]) -> Rows:
    """The cells of an answer as literals of the types of their columns."""
    return tuple(
        tuple(_literal(cell, column) for cell, column in zip(row, outcome.columns, strict=True)) for row in rows
    )


def _literal(cell: Told, column: Column) -> Value:
    """NULL for what its column cannot hold: no number, or a whole one of more than 64 bits."""
    if isinstance(cell, float):
        value: Value = Fraction(cell) if math.isfinite(cell) else None
    else:
        value = cell
    if value is None:
        return None
    inside = functions.interval_of(Constant(value, column.type), lambda _: EVERYTHING)
    return value if inside == EVERYTHING or inside.within(column.proved) else None


def with_released(rewritten: Rewritten, known: Known) -> Rewritten:
    """The statements of a question with the values that earlier ones have released; what is not known is awaited."""
    if not known:
        return rewritten
    return _Filling(known=known).rewritten(rewritten)


def awaits(rewritten: Rewritten) -> frozenset[int]:
    """The questions whose answers it waits for."""
    filling = _Filling(known={})
    filling.rewritten(rewritten)
    return frozenset(filling.met)


def _awaited(bounded: Bounded) -> set[int]:
    filling = _Filling(known={})
    filling.bounded(bounded)
    return filling.met


def is_complete(statement: Statement) -> bool:
    """It waits for nothing."""
    filling = _Filling(known={})
    filling.relation(statement.relation)
    return not filling.met


@dataclass(slots=True, kw_only=True)
class _Filling:
    known: Known
    met: set[int] = field(default_factory=set)
    """The questions that something awaits."""
    _done: dict[int, Relation] = field(default_factory=dict)
    """What is read twice stays one relation."""

    def rewritten(self, rewritten: Rewritten) -> Rewritten:
        bounded = self.bounded(rewritten.bounded)
        match rewritten:
            case Unprotected():
                return replace(rewritten, bounded=bounded, statement=self._perhaps(rewritten.statement))
            case Measuring():
                return replace(
                    rewritten,
                    bounded=bounded,
                    measurement=self._statement(rewritten.measurement),
                    key_count=self._perhaps(rewritten.key_count),
                )
            case Selecting():
                return replace(
                    rewritten,
                    bounded=bounded,
                    selection=self._statement(rewritten.selection),
                    measurement=self._perhaps(rewritten.measurement),
                )

    def bounded(self, bounded: Bounded) -> Bounded:
        query = bounded.query
        return replace(
            bounded,
            query=replace(query, relation=self.relation(query.relation), finish=query.finish.mapped(self.scalar)),
            domains=tuple(map(self._domain, bounded.domains)),
            slots=tuple(
                replace(placed, slot=replace(placed.slot, argument=self._maybe(placed.slot.argument)))
                for placed in bounded.slots
            ),
            finish=bounded.finish.mapped(self.scalar),
        )

    def _perhaps(self, statement: Statement | None) -> Statement | None:
        return None if statement is None else self._statement(statement)

    def _statement(self, statement: Statement) -> Statement:
        return replace(statement, relation=self.relation(statement.relation))

    def _domain(self, domain: Domain) -> Domain:
        if not isinstance(domain, KeyTable):
            return domain
        return replace(domain, rows=self.relation(domain.rows), expression=self.scalar(domain.expression))

    def relation(self, relation: Relation) -> Relation:
        if id(relation) not in self._done:
            self._done[id(relation)] = self._filled(relation)
        return self._done[id(relation)]

    def _filled(self, relation: Relation) -> Relation:
        below = relations.over(relation, self.relation)
        match below:
            case relations.AwaitedRows():
                self.met.add(below.question)
                rows = self.known.get(below.question)
                return below if rows is None else relations.Listed(columns=below.columns, rows=rows)
            case relations.Filter() | relations.Join() | relations.Exists():
                return replace(below, condition=self.scalar(below.condition))
            case relations.Project():
                return replace(below, expressions=tuple(map(self.scalar, below.expressions)))
            case relations.Group():
                return replace(below, totals=tuple(map(self._total, below.totals)))
            case relations.Rank():
                return replace(below, order=tuple(map(self.scalar, below.order)))
            case relations.Window():
                return replace(below, calls=tuple(rebuilt_call(call, self.scalar) for call in below.calls))
            case relations.Scan() | relations.ListedKeys() | relations.Listed() | relations.Union():
                return below

    def _total(self, total: relations.Total) -> relations.Total:
        return replace(total, argument=self._maybe(total.argument), filter=self._maybe(total.filter))

    def _maybe(self, scalar: Scalar | None) -> Scalar | None:
        return None if scalar is None else self.scalar(scalar)

    def scalar(self, scalar: Scalar) -> Scalar:
        if not isinstance(scalar, AwaitedValue):
            return rebuilt(scalar, self.scalar)
        self.met.add(scalar.question)
        rows = self.known.get(scalar.question)
        if rows is None:
            return scalar
        ((value,),) = rows
        return Constant(value, scalar.type)
