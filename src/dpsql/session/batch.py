"""Several questions for one price: all are planned before the first is paid for, and paid for in one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import TracebackType
from typing import Final, Self

from dpsql.accounting.account import Account, remaining
from dpsql.accounting.registry import accountant
from dpsql.errors import BadParameter, BudgetExhausted, DpsqlError, NotSupported
from dpsql.ledger.encoding import charge_digest
from dpsql.ledger.ledger import Charge, Receipt
from dpsql.plan.expected import expected
from dpsql.plan.explanation.promise import account_name
from dpsql.plan.seal import Sealed
from dpsql.points import Point, reached
from dpsql.require import Number, require_epsilon, require_positive
from dpsql.session.answer import Place
from dpsql.session.answer_value import Answer
from dpsql.session.charging import charge_of
from dpsql.session.declared import ownership_of
from dpsql.session.digits import Cost, shown_amount
from dpsql.session.inquiry import charged, require_few_keys_each, together, twin_key
from dpsql.session.query import Query
from dpsql.session.refusing import refusals_written
from dpsql.session.terms import Ask, stated

_IN_ADVANCE: Final = ("optimal", "pld", "adaptive")
"""Accountants for releases that are all fixed before the first: no ledger that is open to more adds up by them."""


def paying(queries: Sequence[Query]) -> tuple[Sealed, ...]:
    """What the questions are charged for, twins once."""
    return charged(sealed for query in queries for sealed in query.inquiry.payments)


def batch_cost(queries: Sequence[Query]) -> Cost:
    """What all questions would be charged together."""
    plans = paying(queries)
    return Cost(
        epsilon=sum((sealed.plan.cost for sealed in plans), Fraction(0)),
        delta=sum((sealed.price.delta for sealed in plans), Fraction(0)),
    )


def summary(queries: Sequence[Query]) -> str:
    """How many questions, and for what."""
    count = f"{len(queries)} question{'' if len(queries) == 1 else 's'}"
    cost = batch_cost(queries)
    price = f"{shown_amount(cost.epsilon)}{f' and δ = {shown_amount(cost.delta)}' if cost.delta else ''}"
    return f"{count} for {price}, the sum of their prices"


def batch_text(queries: Sequence[Query], *, delta: Fraction) -> str:
    """The summary, a line for each question, its price and how far off its numbers are, and what accountants for
    releases that are all fixed in advance say of the same noise at this δ."""
    said = ", ".join(_in_advance(queries, delta=delta))
    last = [f"fixed in advance, at δ = {shown_amount(delta)}, the same noise tells ε: {said}"] if said else []
    return "\n".join([summary(queries), *_lines(queries), *last])


def _in_advance(queries: Sequence[Query], *, delta: Fraction) -> Iterator[str]:
    history = together(paying(queries))
    if history is None or not delta:
        return
    for name in _IN_ADVANCE:
        with suppress(DpsqlError):  # no theorem for such noise, or not installed
            yield f"{name} {accountant(name).price(history, delta=delta):.3g}"


def _lines(queries: Sequence[Query]) -> Iterator[str]:
    before = set()  # a question that is asked twice is paid for once
    for number, query in enumerate(queries, start=1):
        cost = Fraction(0) if twin_key(query.sealed) in before or not query.is_charged else query.cost.epsilon
        before.add(twin_key(query.sealed))
        noisy = [each.text for each in expected(query.sealed.plan) if each.noisy]
        yield f"{number:>3}  {f'{float(cost):.3g}' if cost else 'free':<7} {'; '.join((*noisy, query.sql))}"


@dataclass(slots=True, repr=False)
class Planned:
    """A question of a batch; its answer is there once the batch has run."""

    sql: str
    weight: Fraction
    _answer: Answer | None = None

    def __repr__(self) -> str:
        told = "not answered yet" if self._answer is None else f"answered for {self._answer.cost}"
        return f"Planned({self.sql!r}, {told})"

    @property
    def answer(self) -> Answer:
        if self._answer is None:
            raise BadParameter(
                "the batch has not run yet",
                why="its questions are planned together and answered when the `with` block ends",
                fix="read the answer after the block",
            )
        return self._answer


@dataclass(slots=True, repr=False)
class Batch:
    """`with analyst.plan(total=0.5) as p: a = p.sql("…"); b = p.sql("…")`: shares by weight, equal unless said."""

    query: Callable[[str, Ask], Query]
    place: Place
    total: Fraction
    questions: list[Planned] = field(default_factory=list)
    _ran: list[Query] | None = None
    """What was run, as it was planned."""

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
        whole = ";\n".join(question.sql for question in self.questions if isinstance(question.sql, str))
        with refusals_written(self.place.ledger, analyst=self.place.analyst, sql=whole):
            self._run()

    @property
    def cost(self) -> Cost:
        """What all of it would be charged, with the questions so far: nothing is read, nothing is spent. After it has
        run, what it was charged."""
        if self._ran is None:
            return batch_cost(self._queries())
        told = [question._answer.cost for question in self.questions if question._answer is not None]
        return Cost(
            epsilon=sum((cost.epsilon for cost in told), Fraction(0)),
            delta=sum((cost.delta for cost in told), Fraction(0)),
        )

    def explain(self) -> str:
        """The price of all of it, then the price and the margins of each question, then what theorems about releases
        that are all fixed in advance say of them. Free."""
        return batch_text(self._queries() if self._ran is None else self._ran, delta=self.place.accounts[0].delta)

    def __repr__(self) -> str:
        if self._ran is not None:
            return f"Batch({summary(self._ran)})"
        count = len(self.questions)
        return f"Batch({count} question{'' if count == 1 else 's'} for {shown_amount(self.total)}, not run yet)"

    def _queries(self) -> list[Query]:
        queries = [self.query(question.sql, self._asked(question)) for question in self.questions]
        for query in queries:
            _require_data(query)
        return queries

    def _run(self) -> None:
        queries = self._queries()
        for query in queries:
            query.require_allowed()
        for question, answer in zip(self.questions, _answers(queries, self.place), strict=True):
            question._answer = answer
        self._ran = queries

    def _asked(self, question: Planned) -> Ask:
        whole = sum((each.weight for each in self.questions), Fraction(0))
        return Ask(epsilon=self.total * question.weight / whole, total=self.total)


def _require_data(query: Query) -> None:
    """What is free must not take a share of the price from what is paid for: that would only be noisier."""
    if query.place.invented:
        raise NotSupported(
            "SIMULATE has no part in a batch",
            why="it is free, and a share of the price would be kept for it, at the cost of the other questions",
            fix="ask it by itself: analyst.sql(…), before the batch or after it",
        ).within(query.sql)


def _answers(queries: Sequence[Query], place: Place) -> list[Answer]:
    """The answers in order. Statements with PRIVATE questions come last: what they will read is not released before,
    so that they pay in their turn; all of it fits before anything is paid for."""
    plans = paying(queries)
    require_few_keys_each(plans, place.engine, place.ledger)
    plain = [number for number, query in enumerate(queries) if not query.inquiry.inner]
    short = _short(plans, place.accounts) if len(plain) < len(queries) else None
    if short is not None:
        raise short
    told = dict(zip(plain, _paid_at_once([queries[number] for number in plain], place), strict=True))
    return [told[number] if number in told else _in_turn(query) for number, query in enumerate(queries)]


def _in_turn(query: Query) -> Answer:
    """Planned again: what those before it have asked is stored by now, and free."""
    return query.anew(query.ask).answered()


def _paid_at_once(queries: Sequence[Query], place: Place) -> list[Answer]:
    """One transaction for all charges; then each question under its own receipt. Whoever runs the same batch at the
    same time waits, and is told the same answers."""
    plans = paying(queries)
    if not plans:
        return [query.answered() for query in queries]
    charges = [
        charge_of(sealed, analyst=place.analyst, grant=place.grant.to, dialect=place.dialect) for sealed in plans
    ]
    whole = hashlib.sha256(b"".join(map(charge_digest, charges))).hexdigest()
    with place.ledger.turn(place.analyst, replace(charges[0].question, plan=whole)):
        accounts = place.accounts
        receipts = _receipts(plans, charges, place)
        return _delivered(queries, dict(zip(map(twin_key, plans), receipts, strict=True)), accounts)


def _receipts(plans: Sequence[Sealed], charges: Sequence[Charge], place: Place) -> tuple[Receipt, ...]:
    under = {ownership_of(sealed.plan.bounded.query.catalog) for sealed in plans}
    reached(Point.CHARGING)
    try:
        return place.ledger.charge_together(charges, under=under)
    except BudgetExhausted as error:
        raise _short(plans, place.accounts) or error from None


def _delivered(queries: Sequence[Query], receipts: dict[object, Receipt], accounts: Sequence[Account]) -> list[Answer]:
    answers = []
    for query in queries:
        if not query.is_charged:
            answers.append(query.answered())
            continue
        receipt = receipts[twin_key(query.sealed)]
        answers.append(query.delivered(receipt, accounts))
        receipts[twin_key(query.sealed)] = replace(receipt, paid=False)  # a twin is told what this one was
    return answers


def _short(plans: Sequence[Sealed], accounts: Sequence[Account]) -> BudgetExhausted | None:
    """What is said where some account does not admit all of it at once."""
    whole = together(plans)
    short = [account for account in accounts if whole is not None and not account.admits(whole)]
    if not short:
        return None
    price = shown_amount(sum((sealed.plan.cost for sealed in plans), Fraction(0)))
    return BudgetExhausted(
        f"the questions cost {price} together, more than {' and '.join(map(account_name, short))} can pay",
        why="a batch that ends in the middle would be paid for in part and told in part; nothing was spent",
        fix=f"ask for less: in ε, {shown_amount(remaining(short))} is left; or ask fewer questions",
    )


def batch(query: Callable[[str, Ask], Query], place: Place, *, total: Number) -> Batch:
    """A batch of this price."""
    require_epsilon(total=total)
    return Batch(query=query, place=place, total=stated(total))
