"""A ledger over any store: the laws, each in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.errors import LedgerBroken
from dpsql.ledger import laws
from dpsql.ledger.encoding import charge_to_json
from dpsql.ledger.ledger import Charge, Ownership, Question, Receipt, Release, ReleasedStep
from dpsql.ledger.page import Page
from dpsql.ledger.replay import replayed, totals_broken


def closed() -> LedgerBroken:
    """What is raised by a ledger after `close`."""
    return LedgerBroken(
        "the ledger is closed",
        why="an answer that cannot be paid for and stored cannot be given",
        fix="open it again",
    )


class BookLedger(ABC):
    """The methods of a ledger. A store says what a transaction is."""

    @property
    @abstractmethod
    def id(self) -> str: ...

    @abstractmethod
    def writing(self) -> AbstractContextManager[Page]:
        """One transaction beside which no other writes: durable once it is left, undone if it is left by an error."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Page]:
        """One look at one state."""

    @abstractmethod
    def close(self) -> None: ...

    def promise(self, *, epsilon: Fraction, delta: Fraction, delta_prime: Fraction) -> None:
        account = Account.opened(epsilon=epsilon, delta=delta, delta_prime=delta_prime)
        with self.writing() as page:
            laws.promise(page, account)

    def own(self, ownership: Ownership) -> None:
        with self.writing() as page:
            laws.own(page, ownership)

    def data_version(self, label: str | None = None) -> str:
        with self.reading() if label is None else self.writing() as page:
            return laws.data_version(page, label)

    def grant(self, analyst: str, *, epsilon: Fraction) -> None:
        with self.writing() as page:
            laws.grant(page, analyst, epsilon=epsilon)

    def account(self, analyst: str | None = None) -> Account:
        with self.reading() as page:
            return laws.account(page, analyst)

    def charge(self, charge: Charge, *, under: Ownership | None = None) -> Receipt:
        charge_to_json(charge)  # what has no word in a ledger is refused before others are made to wait
        with self.writing() as page:
            if under is not None:
                laws.require_owned(page, under)
            return laws.charge(page, charge)

    def store(self, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        with self.writing() as page:
            return laws.store(page, receipt=receipt.number, step=step, released=released)

    def recall(self, question: Question) -> tuple[Release, ...]:
        with self.reading() as page:
            return laws.recall(page, question)

    def charges(self) -> tuple[tuple[int, Charge], ...]:
        with self.reading() as page:
            _require_verified(page)
            numbered = enumerate(page.facts(), start=1)
            return tuple((number, fact) for number, fact in numbered if isinstance(fact, Charge))

    def verify(self) -> None:
        with self.reading() as page:
            _require_verified(page)


def _require_verified(page: Page) -> None:
    if replayed(page.facts()) != page.totals():
        raise totals_broken()
