"""A ledger over any store: the laws, each in one transaction."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE
from dpsql.errors import LedgerBroken
from dpsql.ledger import grants, laws, owners, promises, sayings
from dpsql.ledger.encoding import question_digest
from dpsql.ledger.entries import Link
from dpsql.ledger.facts import Adopted, Entry, Granted, Revoked
from dpsql.ledger.ledger import (
    NO_CONDITIONS,
    Charge,
    Conditions,
    GrantedBy,
    Head,
    Made,
    Ownership,
    Paid,
    Question,
    Receipt,
    Release,
    ReleasedStep,
    User,
)
from dpsql.ledger.page import NOTHING_FORESEEN, SOURCE, Foreseen, Page
from dpsql.ledger.replay import replaying, totals_broken
from dpsql.ledger.turns import Turns
from dpsql.ledger.unusable import WHY_UNUSABLE
from dpsql.ledger.words import require_new_name
from dpsql.points import Point, reached
from dpsql.privacy.window import Window


def closed() -> LedgerBroken:
    """What is raised by a ledger after `close`."""
    return LedgerBroken(
        "the ledger is closed",
        why=WHY_UNUSABLE,
        fix="open it again",
    )


class BookLedger(ABC):
    """The methods of a ledger. A store says what a transaction is."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._process = os.getpid()

    def _require_own_process(self) -> None:
        """Refuse in a forked child. A store calls this before it takes a lock: a thread that held it is gone there."""
        if os.getpid() != self._process:
            raise LedgerBroken(
                "the ledger was opened by another process",
                why="a fork copies a budget in memory, and shares the connection of a stored one: either could be "
                "spent twice",
                fix="ask in the process that opened it, or keep the ledger in a file and open it after the fork",
            )

    @property
    @abstractmethod
    def id(self) -> str: ...

    @abstractmethod
    def writing(self, foreseen: Foreseen = NOTHING_FORESEEN) -> AbstractContextManager[Page]:
        """One transaction beside which no other writes: durable once it is left, undone if it is left by an error."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Page]:
        """One look at one state."""

    def process_turn(self, same: bytes) -> AbstractContextManager[None]:
        """One process at a time for each `same`, where processes share the store. Threads have their turns already."""
        return nullcontext()

    @abstractmethod
    def close(self) -> None: ...

    # What the owner says

    def promise(
        self,
        *,
        epsilon: Fraction,
        delta: Fraction,
        delta_prime: Fraction,
        per: Window = Window.FOREVER,
        anew: bool = True,
    ) -> bool:
        account = Account.opened(epsilon=epsilon, delta=delta, delta_prime=delta_prime)
        with self.writing() as page:
            return promises.promise(page, account, per=per, anew=anew)

    def renew(self) -> int:
        with self.writing() as page:
            return promises.renew(page)

    def close_promise(self, reason: str) -> None:
        with self.writing() as page:
            promises.close(page, reason)

    def promises(self) -> tuple[Made, ...]:
        with self.reading() as page:
            return promises.promises(page)

    def apply(
        self,
        promise: Account,
        *,
        per: Window,
        anew: bool,
        ownership: Ownership,
        declarations: Adopted,
        granted: Iterable[Granted] | None,
        version: str | None,
    ) -> bool:
        with self.writing() as page:
            if version is not None:
                sayings.say_version(page, version)
            if not promises.promise(page, promise, per=per, anew=anew):
                return False
            owners.own(page, ownership)
            sayings.adopt(page, declarations.digest, declarations.text)
            if granted is not None:
                grants.adopt(page, granted)
            return True

    def own(self, ownership: Ownership) -> None:
        with self.writing() as page:
            owners.own(page, ownership)

    def grant(
        self,
        analyst: str,
        *,
        epsilon: Fraction,
        conditions: Conditions = NO_CONDITIONS,
        by: GrantedBy = GrantedBy.CALL,
    ) -> None:
        with self.writing() as page:
            grants.say(page, analyst, epsilon=epsilon, conditions=conditions, by=by)

    def adopt_grants(self, written: Iterable[Granted]) -> None:
        with self.writing() as page:
            grants.adopt(page, written)

    def revoke(self, analyst: str) -> None:
        with self.writing() as page:
            grants.revoke(page, analyst)

    def freeze(self, reason: str, *, by: str | None = None) -> None:
        with self.writing() as page:
            grants.freeze(page, reason, by=by)

    def unfreeze(self, reason: str, *, by: str | None = None) -> None:
        with self.writing() as page:
            grants.unfreeze(page, reason, by=by)

    def data_version(self, label: str | None = None) -> str:
        with self.reading() if label is None else self.writing() as page:
            return sayings.data_version(page) if label is None else sayings.say_version(page, label)

    def adopt(self, digest: str, text: str) -> None:
        with self.writing() as page:
            sayings.adopt(page, digest, text)

    def issue(self, user: User, digest: bytes, *, instead: bool | None = None) -> None:
        for name in (user.name, user.name if user.grant is None else user.grant):
            require_new_name(name)
        with self.writing() as page:
            sayings.issue(page, user, digest, instead=instead)

    def withdraw(self, name: str) -> None:
        with self.writing() as page:
            sayings.withdraw(page, name)

    # What holds now

    def adopted(self) -> str | None:
        with self.reading() as page:
            return sayings.adopted(page)

    def require_owned(self, ownership: Ownership) -> None:
        with self.reading() as page:
            owners.require_owned(page, ownership)

    def account(self, analyst: str | None = None) -> Account:
        with self.reading() as page:
            return promises.account(page, analyst)

    def accounts(self, analyst: str) -> tuple[Account, Account]:
        with self.reading() as page:
            return promises.account(page, None), promises.account(page, analyst)

    def conditions(self, analyst: str, *, grant: str | None = None) -> Conditions:
        with self.reading() as page:
            paying = analyst if grant is None else grant
            promises.account(page, paying)
            return grants.conditions_for(page, analyst, grant=paying)

    def grants(self) -> dict[str, Granted | Revoked]:
        with self.reading() as page:
            return grants.said(page)

    def grant_end(self, grant: str, *, analyst: str | None = None) -> str | None:
        with self.reading() as page:
            return grants.end_of(page, grant, analyst=analyst)

    def frozen(self) -> str | None:
        with self.reading() as page:
            return grants.frozen(page)

    def holder_of(self, digest: bytes) -> User | None:
        with self.reading() as page:
            return sayings.holder_of(page, digest)

    def users(self) -> tuple[User, ...]:
        with self.reading() as page:
            return sayings.users(page)

    def head(self) -> Head:
        with self.reading() as page:
            number, link = page.head()
            source = page.account(SOURCE)
            return Head(number=number, hash=link, spent=FREE if source is None else source.spent)

    # What analysts ask

    def refuse(self, analyst: str, *, code: str, sql: str) -> None:
        with self.writing() as page:
            sayings.refuse(page, analyst, code=code, sql=sql)

    def charge(self, charge: Charge, *, under: Ownership | None = None) -> Receipt:
        foreseen = laws.foreseen(charge)  # what has no word in a ledger is refused here, where none waits
        with self.writing(foreseen) as page:
            reached(Point.CHARGE_BEGUN)
            receipt = laws.charge(page, charge, under=under, same=foreseen.same)
            reached(Point.CHARGE_WRITTEN)
        reached(Point.CHARGED)
        return receipt

    def charge_together(self, charges: Sequence[Charge], *, under: Iterable[Ownership] = ()) -> tuple[Receipt, ...]:
        for charge in charges:
            laws.foreseen(charge)  # as above
        with self.writing() as page:
            reached(Point.CHARGE_BEGUN)
            receipts = laws.charge_together(page, charges, under=under)
            reached(Point.CHARGE_WRITTEN)
        reached(Point.CHARGED)
        return receipts

    @contextmanager
    def turn(self, analyst: str, question: Question) -> Iterator[None]:
        same = hashlib.sha256(question_digest(question) + analyst.encode()).digest()
        with self._turns.of(same), self.process_turn(same):
            yield

    def store(self, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        with self.writing() as page:
            reached(Point.STORE_BEGUN)
            kept = laws.store(page, receipt=receipt.number, step=step, released=released)
            reached(Point.STORE_WRITTEN)
        reached(Point.STORED)
        return kept

    def recall(self, question: Question, *, told: Container[int] | None = None) -> tuple[Release, ...]:
        with self.reading() as page:
            return laws.recall(page, question, told=told)

    def paid_by(self, analyst: str, *, last: int | None = None) -> tuple[Paid, ...]:
        with self.reading() as page:
            return laws.paid_by(page, analyst, last=last)

    def entries_about(self, analyst: str) -> tuple[Entry, ...]:
        with self.reading() as page:
            return laws.entries_about(page, analyst)

    def entries(self) -> tuple[Entry, ...]:
        with self.reading() as page:
            return tuple(Entry(number=link.number, fact=link.fact, time=link.time) for link in verified(page))

    def verify(self) -> None:
        with self.reading() as page:
            require_verified(page)


def verified(page: Page) -> Iterator[Link]:
    """Every entry, checked and admitted again by its law; LedgerBroken where one is not, or where all of them together
    do not come to the snapshot."""
    snapshot = yield from replaying(page)
    if snapshot.to_bytes() != page.snapshot.to_bytes():
        raise totals_broken()


def require_verified(page: Page) -> None:
    """Read all entries again; LedgerBroken where they are not what was written."""
    deque(verified(page), maxlen=0)
