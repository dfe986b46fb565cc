"""Several questions for one price: all are planned, and known to fit together, before the first is paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType
from typing import Self

from dpsql.accounting.account import remaining
from dpsql.errors import BadParameter, BudgetExhausted
from dpsql.plan.explanation.promise import account_name
from dpsql.require import Number, require_epsilon, require_positive
from dpsql.session.answer_value import Answer
from dpsql.session.digits import shown_amount
from dpsql.session.inquiry import charged, require_few_keys_each, together
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
        for query in queries:
            query.require_allowed(max_cost=None)
        _require_payable(queries)
        for question, query in zip(self.questions, queries, strict=True):
            question._answer = _answered(query)


def _answered(query: Query) -> Answer:
    """Planned again where it has PRIVATE questions: what those before it have asked is stored by now, and free."""
    return query.run() if query.inquiry.inner else query.answered(max_cost=None)


def _require_payable(queries: Sequence[Query]) -> None:
    """Every account admits all of it at once: half a batch would be paid for and not told. A twin is paid for once."""
    paying = charged(sealed for query in queries for sealed in query.inquiry.payments)
    whole = together(paying)
    if whole is None:
        return
    place = queries[0].place
    require_few_keys_each(paying, place.engine)
    short = [account for account in place.accounts if not account.admits(whole)]
    if short:
        price = shown_amount(sum((sealed.plan.cost for sealed in paying), Fraction(0)))
        left = shown_amount(remaining(short))
        raise BudgetExhausted(
            f"the questions cost {price} together, more than {' and '.join(map(account_name, short))} can pay",
            why="a batch that ends in the middle would be paid for in part and told in part; nothing was spent",
            fix=f"ask for less: in ε, {left} is left; or ask fewer questions",
        )


def batch(query: Callable[[str, Fraction], Query], *, total: Number) -> Batch:
    """A batch of this price."""
    require_epsilon(total=total)
    return Batch(query=query, total=stated(total))
