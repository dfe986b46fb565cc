"""One statement as the questions it asks: those the analyst calls PRIVATE first, the statement itself last.

Each question has a plan, a price and a seal of its own. All of them are made before the first is paid for, with what
earlier ones will release left open, so that no verdict and no price depends on a released value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from dpsql.accounting.account import Account, admitted_by_all
from dpsql.engines.engine import Engine
from dpsql.ledger.book import Ledger
from dpsql.plan.price import grant_at
from dpsql.plan.seal import Sealed
from dpsql.privacy.events import Composed, Event
from dpsql.session.charging import question_of, require_few_keys
from dpsql.session.terms import Ask
from dpsql.sql.notes import Outcome
from dpsql.sql.released import Rows, awaits, is_complete
from dpsql.sql.rewrite import Measuring, Rewritten
from dpsql.sql.syntax import Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One question of a statement."""

    ask: Ask
    """What was asked for beside it."""
    draft: Rewritten
    """Its statements with everything awaited that earlier questions release."""
    outcome: Outcome
    """What it will release itself, as later questions see it."""
    sealed: Sealed
    """Its plan, with those releases filled in that are stored already."""

    @property
    def is_stored(self) -> bool:
        return self.sealed.plan.stored is not None

    def is_granted(self, accounts: Sequence[Account]) -> bool:
        """Everything it is charged can be paid; also where nothing is."""
        return self.sealed.plan.charged is None or self.would_be_granted(accounts)

    def would_be_granted(self, accounts: Sequence[Account]) -> bool:
        """Its steps can be paid, whether they are taken or a stored answer is told in their place."""
        return admitted_by_all(self.sealed.plan.event, accounts)

    def is_finer(self, accounts: Sequence[Account]) -> bool:
        """It makes a stored answer finer, and what is missing can be paid, at the price that is told."""
        plan = self.sealed.plan
        return plan.finer is not None and plan.charged is not None and grant_at(accounts, plan.charged, plan.cost)

    @property
    def is_priced(self) -> bool:
        """It reads people's rows; a stored answer to it is free all the same."""
        return bool(self.sealed.plan.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """All questions of one statement, planned."""

    inner: tuple[Part, ...] = ()
    outer: Part
    known: Mapping[int, Rows] = field(default_factory=lambda: MappingProxyType({}))
    """What stored answers to inner questions say, by their place. They are used as they were when this was planned."""

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*self.inner, self.outer)

    @property
    def shares(self) -> int:
        """Over how many questions the price is divided: a question that is asked twice is paid for once."""
        return len(different(part.sealed for part in self.parts if part.is_priced))

    @property
    def payments(self) -> tuple[Sealed, ...]:
        """What would be charged, each question once; nothing where an explanation is all that is asked for."""
        if self.outer.sealed.plan.bounded.query.purpose is not Purpose.ANSWER:
            return ()
        return self._prices

    @property
    def cost(self) -> Fraction:
        """In ε of the account."""
        return sum((sealed.plan.cost for sealed in self._prices), Fraction(0))

    @property
    def delta(self) -> Fraction:
        return sum((sealed.price.delta for sealed in self._prices), Fraction(0))

    @property
    def event(self) -> Event | None:
        """Everything that would be charged; None: it is free."""
        return together(self._prices)

    @property
    def _prices(self) -> tuple[Sealed, ...]:
        return charged([part.sealed for part in self.parts])


def charged(plans: Iterable[Sealed]) -> tuple[Sealed, ...]:
    """Those of the plans that are paid for, twins once."""
    return different(sealed for sealed in plans if sealed.plan.charged is not None)


def different(plans: Iterable[Sealed]) -> tuple[Sealed, ...]:
    """The plans without twins: the ledger knows the same question at the same price again."""
    all_plans = tuple(plans)
    if len(all_plans) < 2:
        return all_plans  # reading a long statement for its key takes time
    found: dict[object, Sealed] = {}
    for sealed in all_plans:
        found.setdefault(twin_key(sealed), sealed)
    return tuple(found.values())


def twin_key(sealed: Sealed) -> object:
    """What twins have in common.

    What awaits an answer says which question of its own statement it awaits, so those of two statements may look alike
    and become different questions: they are twins where their statements read the same.
    """
    plan = sealed.plan
    waiting = plan.bounded.query.text if awaits(plan.rewritten) else ""
    return (question_of(plan.recalled), plan.recalled.identity.slots, plan.event, plan.terms.cost, waiting)


def together(plans: Iterable[Sealed]) -> Event | None:
    """One event for all that is charged."""
    events = tuple(sealed.plan.charged for sealed in plans if sealed.plan.charged is not None)
    return Composed(events) if events else None


def require_few_keys_each(plans: Iterable[Sealed], engine: Engine, ledger: Ledger) -> None:
    """Keys of public tables are counted before the first question is paid for, as far as they are known by then."""
    for sealed in plans:
        rewritten = sealed.plan.rewritten
        count = rewritten.key_count if isinstance(rewritten, Measuring) else None
        if count is not None and is_complete(count):
            require_few_keys(sealed, engine, ledger)
