"""The analyst: asks questions under one grant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Unpack

from dpsql.catalog.spelling import quoted
from dpsql.closing import Closing
from dpsql.errors import DpsqlError
from dpsql.require import Number, require_count
from dpsql.session.answer import Place
from dpsql.session.answer_value import Answer
from dpsql.session.budget import Budget, outlook
from dpsql.session.inventing import sample
from dpsql.session.query import Query, query_of
from dpsql.session.refusing import refusals_written
from dpsql.session.script import Statement
from dpsql.session.settings import Settings, obeyed
from dpsql.session.terms import Ask, QueryWords, asked, limited
from dpsql.sql.parse import compared
from dpsql.sql.setting_text import SettingStatement, setting_statement
from dpsql.synthetic.tables import MOST_ROWS, interrupt_invented

if TYPE_CHECKING:
    from dpsql.plan.explain import Explanation
    from dpsql.session.batch import Batch
    from dpsql.session.plotting import Picture


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Analyst(Closing):
    """Asks questions under one grant. Embedded in the owner's process this is a role, not a boundary."""

    place: Place
    on_close: Callable[[], None] | None = None
    """Closes what was opened for this analyst alone; None where an owner holds the data, and closes them."""

    @property
    def name(self) -> str:
        return self.place.analyst

    @property
    def budget(self) -> Budget:
        """What can be spent of the grant that pays; less where the promise has less."""
        place = self.place
        balance = place.balance
        more = outlook(place.ledger, self.name, balance.accounts, place.catalog.policy.defaults.cost_per_query)
        return Budget.under(balance.accounts, "" if more is None else more[1], ended=balance.ended)

    def query(self, sql: str, **words: Unpack[QueryWords]) -> Query:
        """A question with its price: nothing is read, nothing is spent. Words: `epsilon`, the price; `confidence`;
        `mode`; `noise`; `fresh`, with new noise, whatever is stored."""
        return self._query(sql, asked(**words))

    def sql(self, sql: str, *, max_cost: Number | None = None, **words: Unpack[QueryWords]) -> Answer:
        """The answer to a question: `query` and `run` in one. Also SET, RESET and SHOW, which speak to this session,
        and EXPLAIN PRIVACY DIFF, which compares two questions."""
        with refusals_written(self.place.ledger, analyst=self.name, sql=sql):
            ask = limited(asked(**words), max_cost)
        statement = setting_statement(sql) if isinstance(sql, str) else None
        if statement is not None:
            return self._obeyed(statement)
        sampled = sample(sql, self.place)
        if sampled is not None:
            return sampled
        both = compared(sql) if isinstance(sql, str) else None
        if both is not None:
            from dpsql.session.describing import comparison  # few questions are compared

            first, second = (self._compared(sql, *each, ask).inquiry for each in both)
            return comparison(first, second, accounts=self.place.accounts, dialect=self.place.dialect)
        with refusals_written(self.place.ledger, analyst=self.name, sql=sql):
            return self._query(sql, ask).answered()

    def _compared(self, sql: str, offset: int, question: str, ask: Ask) -> Query:
        statement = Statement(sql=question, text=sql, offset=offset, is_setting=False, has_result=True)
        with statement.locating_errors():
            return self._query(question, ask)

    def sample(self, table: str, *, rows: int = 5) -> Answer:
        """Rows of a table as they could be: invented from the policy, free, nothing of the data."""
        require_count(rows=rows, at_most=MOST_ROWS)
        return self.sql(f"SIMULATE SELECT * FROM {quoted(table)} LIMIT {rows}")

    def _obeyed(self, statement: SettingStatement) -> Answer:
        place = self.place
        defaults = place.catalog.policy.defaults
        balance = place.balance
        budget = Budget.under(balance.accounts, ended=balance.ended)
        return obeyed(statement, place.settings, grant=place.grant, defaults=defaults, budget=budget)

    def new_session(self) -> Analyst:
        """The same analyst with settings of their own: what is SET there holds there."""
        return Analyst(place=replace(self.place, settings=Settings()))

    def cost(self, sql: str, **words: Unpack[QueryWords]) -> Fraction:
        """What the answer would be charged."""
        return self.query(sql, **words).cost.epsilon

    def explain(self, sql: str, **words: Unpack[QueryWords]) -> Explanation:
        """How the answer would be protected."""
        return self.query(sql, **words).explain()

    def curve(self, sql: str, *, y: str | None = None) -> Picture:
        """What a margin costs: the ± of a column at several prices. Nothing is read, nothing is spent."""
        return self.query(sql).curve(y=y)

    def two_worlds(self, sql: str, *, y: str | None = None) -> Picture:
        """How likely each answer to a count is with one person and without. Nothing is read, nothing is spent."""
        return self.query(sql).two_worlds(y=y)

    def burn_down(self) -> Picture:
        """What was left of the budget after each of the analyst's own payments, in the period that runs now."""
        ledger, holder = self.place.ledger, self.place.grant.to
        begun = ledger.promises()[-1].begun[-1]
        later = (each for each in ledger.entries_about(self.name) if each.time >= (begun or 0))
        from dpsql.session.margin_curve import burn_down, payments_of  # only pictures need it

        payments = payments_of(later, holder=holder)
        return burn_down(self.place.accounts[-1], payments, whose=holder, outlook=self.budget.outlook)

    def plan(self, *, total: Number) -> Batch:
        """Several questions for one price: `with analyst.plan(total=0.5) as p: a = p.sql("…")`, then `a.answer`. All of
        them are paid for at once, each by its share of the total, or none."""
        from dpsql.session.batch import batch  # few questions are asked together

        return batch(self._query, self.place, total=total)

    def _query(self, sql: str, ask: Ask) -> Query:
        return query_of(sql, ask, self.place, session=self.place.settings.now)

    def run(self, statements: Sequence[str], *, total: Number) -> list[Answer]:
        """The same for a list: equal shares, answers in order; of no questions, no answers, for nothing."""
        with self.plan(total=total) as together:
            planned = [together.sql(sql) for sql in statements]
        return [question.answer for question in planned]

    def close(self) -> None:
        """Let go of the data and the ledger, where `dpsql.connect` has opened them for this analyst."""
        if self.on_close is not None:
            self.on_close()

    def interrupt(self) -> None:
        """Stops what the engine runs, from any thread; it ends as EngineFailed. What was charged stays charged, and
        asked again it is told for nothing."""
        self.place.engine.interrupt()
        interrupt_invented()

    def __repr__(self) -> str:
        budget = ""
        with suppress(DpsqlError):  # a ledger that cannot be read must not hide what a debugger looks for
            budget = f", {self.budget!r}"
        return f"Analyst({self.name!r}{budget})"
