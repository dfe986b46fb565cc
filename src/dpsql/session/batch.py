"""Several questions for one price: all are planned, and known to fit together, before the first is paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import TracebackType
from typing import Self

from dpsql.accounting.account import Account, remaining
from dpsql.accounting.batch import Proof
from dpsql.errors import BadParameter, BudgetExhausted, NotSupported
from dpsql.ledger.batches import batch_digest
from dpsql.ledger.ledger import Charge
from dpsql.plan.explanation.promise import account_name
from dpsql.plan.seal import Sealed
from dpsql.plan.terms import Scale
from dpsql.require import Number, require_epsilon, require_open_unit, require_positive
from dpsql.session.answer import Place
from dpsql.session.answer_value import Answer
from dpsql.session.batch_text import THEOREMS, batch_cost, batch_text, summary
from dpsql.session.batch_ways import Way, best, ways
from dpsql.session.charging import charge_of
from dpsql.session.cost import Cost
from dpsql.session.declared import ownership_of
from dpsql.session.digits import shown_amount
from dpsql.session.inquiry import charged, require_few_keys_each, together, twin_key
from dpsql.session.query import Query
from dpsql.session.refusing import refusals_written
from dpsql.session.terms import Ask, stated


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
    delta: Fraction | None
    questions: list[Planned] = field(default_factory=list)
    _ran: tuple[list[Query], Way | None, tuple[Account, ...]] | None = None
    """What was run, as it was planned, and the accounts it was planned with."""

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
        told = [question._answer.cost for question in self.questions if question._answer is not None]
        if self._ran is None:
            queries = self._queries()
            return batch_cost(queries, self._way(queries))
        return Cost(
            epsilon=sum((cost.epsilon for cost in told), Fraction(0)),
            delta=sum((cost.delta for cost in told), Fraction(0)),
        )

    def explain(self) -> str:
        """The price of all of it and how it is derived, then the price and the margins of each question. Free."""
        if self._ran is not None:
            return batch_text(*self._ran)
        queries = self._queries()
        return batch_text(queries, self._way(queries), self.place.accounts)

    def __repr__(self) -> str:
        if self._ran is not None:
            return f"Batch({summary(*self._ran)})"
        count = len(self.questions)
        return f"Batch({count} question{'' if count == 1 else 's'} for {shown_amount(self.total)}, not run yet)"

    def _queries(self) -> list[Query]:
        queries = [self.query(question.sql, self._asked(question)) for question in self.questions]
        for query in queries:
            _require_data(query)
        return queries

    def _run(self) -> None:
        queries, accounts = self._queries(), self.place.accounts
        for query in queries:
            query.require_allowed(max_cost=None)
        way = self._way(queries)
        answers = _answered_one_by_one(queries) if way is None else _answered_together(way, self.place)
        for question, answer in zip(self.questions, answers, strict=True):
            question._answer = answer
        self._ran = queries, way, accounts

    def _asked(self, question: Planned, scale: Scale | None = None) -> Ask:
        whole = sum((each.weight for each in self.questions), Fraction(0))
        return Ask(epsilon=self.total * question.weight / whole, scale=scale, total=self.total)

    def _way(self, queries: Sequence[Query]) -> Way | None:
        """By a theorem about planned batches, where somebody has said what it may spend of δ."""
        slack = self._slack(len(queries)) if queries else None
        if slack is None:
            return None

        def scaled(place: int, scale: Scale) -> Query:
            question = self.questions[place]
            return self.query(question.sql, self._asked(question, scale))

        found = list(ways(queries, scaled, total=self.total, slack=slack))
        cap = self.place.grant.max_per_query
        return self._begun(found) or best(queries, found, self.place.accounts, cap=cap)

    def _begun(self, found: Sequence[Way]) -> Way | None:
        """One that was paid for and interrupted: it is continued for nothing, whatever the accounts would grant now."""
        for way in found:
            places = self.place.ledger.begun(_charges(way.members, self.place))
            if places:
                return way.of(places)
        return None

    def _slack(self, questions: int) -> Fraction | None:
        """What the theorem may spend of δ: as the call says, within what the policy allows for so many questions; else
        what it allows for one, for a batch is one charge."""
        allowed = self.place.catalog.policy.defaults.delta_per_query
        if self.delta is None:
            return allowed
        if allowed is None or self.delta > allowed * questions:
            limit = "nothing" if allowed is None else shown_amount(allowed * questions)
            raise BadParameter(
                f"delta={shown_amount(self.delta)} is more than these questions may spend, which is {limit}",
                why="δ is what was promised to people, and the owner says what one query may spend of it",
                fix="leave delta out, ask for less, or have the owner set delta_per_query in [defaults]",
            )
        return self.delta


def _require_data(query: Query) -> None:
    """What is free must not take a share of the price from what is paid for: that would only be noisier."""
    if query.place.invented:
        raise NotSupported(
            "SIMULATE has no part in a batch",
            why="it is free, and a share of the price would be kept for it, at the cost of the other questions",
            fix="ask it by itself: analyst.sql(…), before the batch or after it",
        ).within(query.sql)


def _charges(plans: Sequence[Sealed], place: Place) -> list[Charge]:
    """What would be written down for each of these, as if none of them were stored."""
    paying = [replace(sealed, plan=replace(sealed.plan, stored=None)) for sealed in plans]
    return [charge_of(sealed, analyst=place.analyst, payer=place.payer, dialect=place.dialect) for sealed in paying]


def _answered_one_by_one(queries: Sequence[Query]) -> list[Answer]:
    _require_payable(queries)
    return [_answered(query) for query in queries]


def _answered_together(way: Way, place: Place) -> list[Answer]:
    """In turn: whoever runs the same batch at the same time waits, and is told the same answers."""
    members = _charges(way.members, place)
    whole = replace(members[0].question, plan=batch_digest(members))
    with place.ledger.turn(place.analyst, whole):
        return _answered_in_turn(way, place)


def _answered_in_turn(way: Way, place: Place) -> list[Answer]:
    """One charge for all; then each question under its own receipt, as if it had been paid for alone."""
    require_few_keys_each(way.paying, place.engine, place.ledger)
    proof = way.proof
    batch = proof.batch
    receipts = place.ledger.charge_together(
        _charges(way.paying, place), event=batch, cost=batch.epsilon, under=ownership_of(place.catalog)
    )
    waiting = {twin_key(sealed): receipt for sealed, receipt in zip(way.paying, receipts, strict=True)}
    whole = sum((sealed.plan.terms.cost for sealed in way.paying), Fraction(0))
    answers = []
    for query in way.queries:
        receipt = waiting.get(twin_key(query.sealed)) if query.is_charged else None
        if receipt is None:
            answers.append(query.answered(max_cost=None))
            continue
        share = query.sealed.plan.terms.cost / whole
        answers.append(_priced_in(query.delivered(receipt), proof, share if receipt.paid else Fraction(0)))
        waiting[twin_key(query.sealed)] = replace(receipt, paid=False)  # a twin is told what this one was
    return answers


def _priced_in(answer: Answer, proof: Proof, share: Fraction) -> Answer:
    """The answer with its share of the price of the batch; 0 where it was paid for before."""
    batch = proof.batch
    note = (
        f"one of {len(batch.events)} questions planned together: they cost {shown_amount(batch.epsilon)} and"
        f" δ = {shown_amount(batch.delta)}, by {THEOREMS[proof.by]}"
    )
    cost = Cost(epsilon=batch.epsilon * share, delta=batch.delta * share)
    return replace(answer, cost=cost, notes=(*answer.notes, note))


def _answered(query: Query) -> Answer:
    """Planned again where it has PRIVATE questions: what those before it have asked is stored by now, and free."""
    return (query.anew(query.ask) if query.inquiry.inner else query).answered(max_cost=None)


def _require_payable(queries: Sequence[Query]) -> None:
    """Every account admits all of it at once: half a batch would be paid for and not told. A twin is paid for once."""
    paying = charged(sealed for query in queries for sealed in query.inquiry.payments)
    whole = together(paying)
    if whole is None:
        return
    place = queries[0].place
    require_few_keys_each(paying, place.engine, place.ledger)
    short = [account for account in place.accounts if not account.admits(whole)]
    if short:
        price = shown_amount(sum((sealed.plan.cost for sealed in paying), Fraction(0)))
        left = shown_amount(remaining(short))
        raise BudgetExhausted(
            f"the questions cost {price} together, more than {' and '.join(map(account_name, short))} can pay",
            why="a batch that ends in the middle would be paid for in part and told in part; nothing was spent",
            fix=f"ask for less: in ε, {left} is left; or ask fewer questions",
        )


def batch(query: Callable[[str, Ask], Query], place: Place, *, total: Number, delta: Number | None) -> Batch:
    """A batch of this price, and of at most this δ for the theorem that prices it."""
    require_epsilon(total=total)
    if delta is not None:
        require_open_unit(delta=delta)
    return Batch(query=query, place=place, total=stated(total), delta=None if delta is None else stated(delta))
