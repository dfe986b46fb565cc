"""Several questions for one price: all are planned before the first is paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import Self

from dpsql.errors import BadParameter
from dpsql.require import Number, require_epsilon, require_positive
from dpsql.session.answer_value import Answer
from dpsql.session.query import Query
from dpsql.session.terms import stated


@dataclass(slots=True)
class Planned:
    """A question of a batch; its answer is there once the batch has run."""

    sql: str
    weight: Fraction
    _answer: Answer | None = None

    @property
    def answer(self) -> Answer:
        if self._answer is None:
            raise BadParameter(
                "the batch has not run yet",
                why="its questions are planned together and answered when the `with` block ends",
                fix="read the answer after the block",
            )
        return self._answer


@dataclass(slots=True)
class Batch:
    """`with analyst.plan(total=0.5) as p: a = p.sql("…"); b = p.sql("…")`: shares by weight, equal unless said."""

    query: Callable[[str, Fraction], Query]
    total: Fraction
    questions: list[Planned] = field(default_factory=list)

    def sql(self, sql: str, *, weight: Number = 1) -> Planned:
        """One more question. A stored answer, or one about public tables, leaves its share unspent."""
        require_positive(weight=weight)
        question = Planned(sql=sql, weight=stated(weight))
        self.questions.append(question)
        return question

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        whole = sum((question.weight for question in self.questions), Fraction(0))
        queries = [self.query(question.sql, self.total * question.weight / whole) for question in self.questions]
        for question, query in zip(self.questions, queries, strict=True):
            question._answer = query.run()


def batch(query: Callable[[str, Fraction], Query], *, total: Number) -> Batch:
    """A batch of this price."""
    require_epsilon(total=total)
    return Batch(query=query, total=stated(total))
