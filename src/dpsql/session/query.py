"""A question: parsed, typed and priced when it is asked, answered when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from dpsql.accounting.account import Account, admitted_by_all
from dpsql.catalog.model import Mode
from dpsql.errors import BadName, BudgetExhausted, DpsqlError, NotPermitted, NotUnderstood, OverLimit
from dpsql.ledger.ledger import Receipt
from dpsql.plan.expected import expected
from dpsql.plan.price import Plan
from dpsql.plan.seal import Sealed
from dpsql.points import Point, reached
from dpsql.require import Number
from dpsql.session.answer import Place, answer, answered, plan_of
from dpsql.session.answer_value import Answer
from dpsql.session.budget import Budget
from dpsql.session.digits import NO_COST, Cost, shown_amount, shown_up
from dpsql.session.inquiry import Inquiry, charged
from dpsql.session.inventing import invented_place, simulates
from dpsql.session.permits import OTHER_NOISE, WEIGHS_MORE, at_price, permit_weights, repriced, today, weight
from dpsql.session.refusing import refusals_written
from dpsql.session.shortfall import Priced, affordable, otherwise_than_told, said_in_prices, too_dear
from dpsql.session.tabular import Again
from dpsql.session.terms import UNSET, Ask, Session, asked, limited, settled

if TYPE_CHECKING:
    from dpsql.plan.expected import Expectation
    from dpsql.plan.explain import Explanation
    from dpsql.session.plotting import Picture

_NOT_SCALED: Final = 'mode "scale" was not used: nobody is in more groups than count, or moves more than one number'


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Query:
    """A question and its price. Everything but `run` is free and reads no data."""

    sql: str
    ask: Ask
    """What the call said."""
    place: Place
    inquiry: Inquiry
    session: Session = UNSET
    """What was SET when it was asked."""

    @property
    def sealed(self) -> Sealed:
        """The plan of the statement itself; its PRIVATE questions have plans of their own, in `inquiry`."""
        return self.inquiry.outer.sealed

    @property
    def cost(self) -> Cost:
        """What running it would be charged; nothing where a stored release or public tables answer it, or where it only
        explains: DRY RUN tells the price of its question, and has none."""
        if not self.is_charged:
            return NO_COST
        return Cost(epsilon=self.inquiry.cost, delta=self.inquiry.delta)

    @property
    def is_charged(self) -> bool:
        """Whether answering it is paid for: an explanation of it, what is stored and what is public are free."""
        return bool(self.inquiry.payments)

    @property
    def margins(self) -> Mapping[str, Fraction | None]:
        """± of each noisy column, where it is known before running."""
        return {each.name: each.margin for each in expected(self.sealed.plan) if each.noisy}

    def explain(self) -> Explanation:
        """The derivation, from the very plan that would run."""
        from dpsql.session.describing import explained  # only explanations need it

        return explained(self.inquiry, accounts=self.place.accounts, dialect=self.place.dialect)

    def curve(self, *, y: str | None = None) -> Picture:
        """What a margin costs: the ± of a column at several prices, bought anew. Nothing is read, nothing is spent."""
        from dpsql.session.margin_curve import margin_curve  # only pictures need it

        grant, own = self.place.grant, self.place.accounts[-1]
        most = own.epsilon if grant.max_per_query is None else min(own.epsilon, grant.max_per_query)

        def expected_at(price: Fraction) -> Mapping[str, Expectation]:
            return {each.name: each for each in expected(self._alone(price)) if each.noisy}

        return margin_curve(expected_at, usual=min(self.sealed.plan.terms.cost, most), most=most, y=y)

    def two_worlds(self, *, y: str | None = None) -> Picture:
        """How likely each answer is with one person and without: the law of the noise of a count. Free, as `curve`."""
        from dpsql.session.margin_curve import two_worlds  # only pictures need it

        return two_worlds(self._alone(self.sealed.plan.terms.cost), y=y)

    def _alone(self, price: Fraction) -> Plan:
        """The plan at this price, as if nothing were stored."""
        with speaking_of(self.sql):
            ask = replace(self.ask, fresh=True)
            planned = plan_of(self.sql, ask, self.place, today=today(), session=self.session, instead=price)
        return planned.outer.sealed.plan

    def run(
        self, *, epsilon: Number | None = None, within: Number | None = None, max_cost: Number | None = None
    ) -> Answer:
        """The answer: charged first, stored before it is told. Planned anew, so that a repeat finds what is stored.
        With `within`, as precise as that, whatever price the text says."""
        if within is not None:
            return self._priced_anew(within, epsilon, fresh=self.ask.fresh, max_cost=max_cost)
        with refusals_written(self.place.ledger, analyst=self.place.analyst, sql=self.sql):
            ask = self.ask if epsilon is None else replace(self.ask, epsilon=asked(epsilon=epsilon).epsilon)
            return self.anew(limited(ask, max_cost)).answered()

    def simulate(self, *, rows: int | None = None) -> Answer:
        """What the answer looks like, from the same plan on rows that are made from the policy alone: free, labelled,
        nothing of the data. `rows`: how many each private table has."""
        sql = self.sql if simulates(self.sql) else f"SIMULATE {self.sql}"
        return query_of(sql, self.ask, self.place, session=self.session, rows=rows).answered()

    def better(
        self, *, within: Number | None = None, epsilon: Number | None = None, max_cost: Number | None = None
    ) -> Answer:
        """The same question, asked for another margin, or at another price: that is the statement with WITHIN or COST
        at its end, in place of what was said there."""
        return self._priced_anew(within, epsilon, fresh=False, max_cost=max_cost)

    def _priced_anew(
        self, within: Number | None, epsilon: Number | None, *, fresh: bool, max_cost: Number | None
    ) -> Answer:
        text = repriced(self.sql, within=within, epsilon=epsilon)
        with refusals_written(self.place.ledger, analyst=self.place.analyst, sql=text):
            ask = replace(self.ask, epsilon=None, fresh=fresh, total=None)  # of a batch it is no part now
            return query_of(text, limited(ask, max_cost), self.place, session=self.session).answered()

    def anew(self, ask: Ask) -> Query:
        """Planned again, with what is stored by now."""
        return query_of(self.sql, ask, self.place, session=self.session)

    def require_allowed(self) -> None:
        """Raises where it costs more than the call or the session allows, by its price or by what it takes of the
        budget; the smaller of the two limits counts."""
        limit = self.wanted.max_cost
        if limit is None or not self.is_charged:
            return
        if self.cost.epsilon <= limit:
            self._require_weight_within(limit)
            return
        raise OverLimit(
            f"the query was stopped by max_cost {shown_amount(limit)}: it would cost {self.cost}. Nothing was spent",
            why="you limit what one answer may cost",
            fix=f"allow more, with max_cost {shown_amount(self.cost.epsilon)}, or accept a wider margin for less",
            try_sql=self._at(limit),
        ).within(self.sql)

    def _at(self, price: Fraction) -> str | None:
        """The statement at this price, where its text can say that, and it can be paid."""
        text = (
            at_price(self.sql, price, priced_at=self.wanted.priced_at) if price and self.ask.epsilon is None else None
        )
        return None if text is None else _sure(text, self._require_payable, price=Fraction(0))

    def _require_payable(self, sql: str) -> None:
        _require_payable(sql, ask=self.ask, place=self.place, session=self.session)

    def _require_weight_within(self, limit: Fraction) -> None:
        """Raises where its noise takes more of the budget than its price, and than the limit."""
        taken = weight(self.inquiry.event, self.place.accounts[-1])
        if taken > limit:
            raise OverLimit(
                f"the query was stopped by max_cost {shown_amount(limit)}: its price is {self.cost}, and it would take"
                f" {shown_up(taken)} of your budget. Nothing was spent",
                why=f"you limit what one answer may cost; {WEIGHS_MORE}",
                fix=f"{OTHER_NOISE}; or allow more, with max_cost {shown_up(taken)}",
            ).within(self.sql)

    @property
    def wanted(self) -> Ask:
        """What the text, the call and the session say together."""
        return settled(self.sealed.plan.bounded.query.options, self.ask, self.session)

    def answered(self) -> Answer:
        """The answer to this very plan."""
        self.require_allowed()
        with speaking_of(self.sql):
            otherwise = otherwise_than_told(self.sealed.plan, self.place.accounts)
            try:
                told = answer(self.inquiry, self.place)
            except BudgetExhausted as error:
                asked = self._anew() if self.inquiry.inner else self.inquiry  # some may be paid for by now
                raise said_in_prices(
                    error, asked, self.place.accounts, planned_at=self._allowed_at, priced=self._priced
                ) from None
        return self._noted(told, otherwise)

    def delivered(self, receipt: Receipt, accounts: Sequence[Account]) -> Answer:
        """The answer to this very plan, which is paid for; the accounts as they were before."""
        with speaking_of(self.sql):
            told = answered(self.sealed, self.place, receipt=receipt)
        return self._noted(told, otherwise_than_told(self.sealed.plan, accounts))

    def _noted(self, told: Answer, otherwise: tuple[str, ...]) -> Answer:
        if told.cost.epsilon:
            told = replace(told, notes=(*told.notes, *otherwise))
        if not told.is_text and not self.place.invented:
            balance = self.place.balance
            told = replace(told, head=str(balance.head), again=Again(self.better))
            told = replace(told, budget=Budget.under(balance.accounts, ended=balance.ended))
        reached(Point.TOLD)
        return replace(told, notes=(*told.notes, _NOT_SCALED)) if self._not_scaled else told

    @property
    def _priced(self) -> Priced:
        return Priced(
            sql=self.sql,
            by_call=self.ask.epsilon is not None,
            at=self.wanted.priced_at,
            cap=self.place.grant.max_per_query,
            require_payable=self._require_payable,
        )

    @property
    def _not_scaled(self) -> bool:
        """Scaling was asked for and would save no noise."""
        plan = self.sealed.plan
        return self.wanted.mode is Mode.SCALE and bool(plan.steps) and plan.bounded.mode is not Mode.SCALE

    def _anew(self, instead: Fraction | None = None) -> Inquiry:
        return plan_of(self.sql, self.ask, self.place, today=today(), session=self.session, instead=instead)

    def _allowed_at(self, price: Fraction) -> Inquiry:
        """Planned at this price; raises where that is more than the grant, the call or the session allows."""
        found = self._anew(price)
        permit_weights(charged(part.sealed for part in found.parts), self.place.grant, self.place.accounts[-1])
        replace(self, inquiry=found).require_allowed()
        return found

    def __repr__(self) -> str:
        return f"Query({self.sql!r}, cost={self.cost})"

    def _repr_html_(self) -> str:
        """The price before it is paid; what a question of others has cost is not in it."""
        from dpsql.session.formats import price_page  # only pages need it

        balance = self.place.balance
        left = Budget.under(balance.accounts, ended=balance.ended).shown
        price = f"would cost {self.cost}, with {left} left" if self.is_charged else "would cost nothing"
        return price_page(self.sql, price=price, expected=(e.text for e in expected(self.sealed.plan) if e.noisy))


def query_of(sql: str, ask: Ask, place: Place, *, session: Session, rows: int | None = None) -> Query:
    """The question, planned; an error shows where in the text it is."""
    if not isinstance(sql, str):
        raise NotUnderstood(
            f"a question is text, not {type(sql).__name__}",
            why="it is read as SQL",
            fix='pass a string, as in sql("SELECT COUNT(*) FROM …")',
        )
    with speaking_of(sql):
        place = place.as_granted_now()  # once: it is answered under the grant it was planned under
        try:
            return _permitted(sql, ask, place, session=session, rows=rows)
        except DpsqlError as error:
            payable = partial(_require_payable, ask=ask, place=place, session=session)
            caps = (ask.max_cost, session.max_cost, place.grant.max_per_query)
            price = affordable(place.catalog.policy.defaults.cost_per_query, place.accounts, filter(None, caps))
            raise with_sure_proposal(error, sql, payable, price=price) from None


def _permitted(sql: str, ask: Ask, place: Place, *, session: Session, rows: int | None = None) -> Query:
    """The question, planned where it is answered, within what the grant allows for one question."""
    if simulates(sql):  # before anything is planned: no data are in reach from there
        place = invented_place(sql, place, rows=rows)
    inquiry = plan_of(sql, ask, place, today=today(), session=session)
    permit_weights(charged(part.sealed for part in inquiry.parts), place.grant, place.accounts[-1])
    return Query(sql=sql, ask=ask, place=place, inquiry=inquiry, session=session)


def _require_payable(sql: str, *, ask: Ask, place: Place, session: Session) -> None:
    """Raises where this has no plan, where it costs more than was allowed, and where it is more than is left."""
    query = _permitted(sql, ask, place, session=session)
    if query.wanted.max_cost:  # whoever allows nothing asks what is free, and pays later
        query.require_allowed()
    paying = query.place.ledger.accounts(place.grant.to) if query.is_charged or query.place.invented else ()
    short = [account for account in paying if not admitted_by_all(query.inquiry.event, (account,))]
    if short:
        raise BudgetExhausted(
            too_dear(query.inquiry, short), why="what was promised holds for all answers", fix="ask for less"
        )


@contextmanager
def speaking_of(sql: str) -> Iterator[None]:
    """Errors know the text they speak of."""
    try:
        yield
    except DpsqlError as error:
        raise error.within(sql) from None


def with_sure_proposal(error: DpsqlError, sql: str, plan: Callable[[str], object], *, price: Fraction) -> DpsqlError:
    """The same refusal, with its rewrite where that can be asked under the same policy, grant and budget, if need be at
    this price instead of that of the text; else without one.

    Planning reads names, the policy and the ledger, never a row: whether there is a proposal tells nothing of rows.
    """
    from dpsql.sql.other_dialects import in_other_words  # only what is refused needs it

    in_other_words(error, sql)
    proposals = (error.try_sql, _respelt(error, sql), _otherwise(error, sql), *error.or_else)
    sure = (_sure(each, plan, price=price) for each in proposals if each is not None)
    error.try_sql = next((each for each in sure if each is not None), None)
    return error


def _sure(sql: str, plan: Callable[[str], object], *, price: Fraction) -> str | None:
    """This text, or the same at that price where only its own is too high; None where neither has a plan."""
    try:
        plan(sql)
    except (BudgetExhausted, OverLimit, NotPermitted):
        cheaper = repriced(sql, epsilon=price) if price else None
        return None if cheaper in (None, sql) else _sure(cheaper, plan, price=Fraction(0))
    except DpsqlError:
        return None
    return sql


def _respelt(error: DpsqlError, sql: str) -> str | None:
    """The text with the declared name that was perhaps meant."""
    if not isinstance(error, BadName) or error.meant is None or error.at is None:
        return None
    start, end = error.at
    call = _CALL.match(sql, start, end)
    if call is not None:
        return f"{sql[:start]}{error.meant}{sql[call.end() :]}"
    before, point, _ = sql[start:end].rpartition(".")
    return f"{sql[:start]}{before}{point}{error.meant}{sql[end:]}"


_CALL: Final = re.compile(r"\w+(?=\s*\()")
"""The name of a function, where the whole call is marked."""


def _otherwise(error: DpsqlError, sql: str) -> str | None:
    """The text with what might stand at the marked place."""
    if error.instead is None or error.at is None:
        return None
    start, end = error.at
    return f"{sql[:start]}{error.instead.replace('{}', sql[start:end])}{sql[end:]}"
