"""A ledger over any store: the laws, each in one transaction."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from functools import wraps
from math import inf
from typing import Concatenate, ParamSpec, TypeVar

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE
from dpsql.errors import LedgerBroken
from dpsql.ledger import grants as limits
from dpsql.ledger import laws, owners, sayings
from dpsql.ledger import promises as vows
from dpsql.ledger.encoding import Link, question_digest
from dpsql.ledger.facts import Adopted, Entry, Granted
from dpsql.ledger.ledger import (
    WHY_UNUSABLE,
    Balance,
    Charge,
    Conditions,
    Head,
    Ownership,
    Question,
    Receipt,
    ReleasedStep,
    Role,
    User,
)
from dpsql.ledger.page import NOTHING_FORESEEN, SOURCE, Foreseen, Page, WholePage, about_user, require_new_name
from dpsql.ledger.replay import replaying
from dpsql.ledger.turns import Turns
from dpsql.points import Point, reached
from dpsql.privacy.window import Window

P = ParamSpec("P")
T = TypeVar("T")


def closed() -> LedgerBroken:
    """What is raised by a ledger after `close`."""
    return LedgerBroken("the ledger is closed", why=WHY_UNUSABLE, fix="open it again")


def _law(law: Callable[Concatenate[WholePage, P], T], *, writes: bool = False) -> Callable[Concatenate[Ledger, P], T]:
    """A law as a method: it tells what holds at one moment, or all that it `writes` is kept together, or nothing."""

    @wraps(law)
    def method(self: Ledger, /, *given: P.args, **named: P.kwargs) -> T:
        with self.writing() if writes else self.reading() as page:
            return law(page, *given, **named)

    return method


class Ledger(ABC):
    """Append-only. Every method is one durable transaction; a store says what that is, and the laws what is kept."""

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
    def id(self) -> str:
        """Stands in the policy; a source opened with another ledger is refused."""

    @abstractmethod
    def writing(self, foreseen: Foreseen = NOTHING_FORESEEN) -> AbstractContextManager[WholePage]:
        """One transaction beside which no other writes: durable once it is left, undone if it is left by an error."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[WholePage]:
        """One look at one state."""

    def process_turn(self, same: bytes) -> AbstractContextManager[None]:
        """One process at a time for each `same`, where processes share the store. Threads have their turns already."""
        return nullcontext()

    @abstractmethod
    def close(self) -> None: ...

    # What the owner says

    renew = _law(vows.renew, writes=True)
    close_promise = _law(vows.close, writes=True)
    own = _law(owners.own, writes=True)
    grant = _law(limits.say, writes=True)
    freeze = _law(limits.freeze, writes=True)
    unfreeze = _law(limits.unfreeze, writes=True)
    withdraw = _law(sayings.withdraw, writes=True)

    def declare(self, ownership: Ownership, declarations: Adopted) -> None:
        """Whom the promise is about and what is declared, both or neither."""
        with self.writing() as page:
            _declare(page, ownership, declarations)

    def revoke(self, holder: str) -> None:
        """Nothing is paid from the grant any more, and the tokens that name it have ended: whoever revokes because one
        was stolen does not arm it again by the next grant. A grant that ended with its promise has left its tokens."""
        with self.writing() as page:
            if page.account(holder) is not None or not _paid_by(page, {holder}):
                limits.revoke(page, holder)
            _end_tokens(page, {holder})

    def adopt_grants(self, written: Iterable[Granted]) -> None:
        """The grants of a policy file, when it is opened. What it names no more is revoked, and so are its tokens."""
        with self.writing() as page:
            _adopt_grants(page, written)

    def promise(
        self,
        *,
        epsilon: Fraction,
        delta: Fraction,
        delta_prime: Fraction,
        per: Window = Window.FOREVER,
        anew: bool = True,
    ) -> bool:
        """Open the account of the source. The same promise again is nothing; another one is refused, and so is another
        window. Without `anew`, nothing is opened where a promise was closed; whether one holds afterwards."""
        account = Account.opened(epsilon=epsilon, delta=delta, delta_prime=delta_prime)
        with self.writing() as page:
            return vows.promise(page, account, per=per, anew=anew)

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
        """Write a policy down, all of it or nothing: the label of the data, as `data_version`; the promise; whom it is
        about and what is declared, as `declare`; and the grants of the file, as `adopt_grants`. None leaves label
        or grants as they are. False where the promise was closed and is not to be made anew: the label alone is
        written."""
        with self.writing() as page:
            if version is not None:
                sayings.say_version(page, version)
            if not vows.promise(page, promise, per=per, anew=anew):
                return False
            _declare(page, ownership, declarations)
            if granted is not None:
                _adopt_grants(page, granted)
            return True

    def data_version(self, label: str | None = None) -> str:
        """The label of the data from here on; None: as it was left. It stays until the owner says another
        one; NotPermitted where that was used before."""
        with self.reading() if label is None else self.writing() as page:
            return sayings.data_version(page) if label is None else sayings.say_version(page, label)

    def issue(self, user: User, digest: bytes, *, instead: bool | None = None) -> None:
        """Somebody has a token of this digest from here on, and no older one. NotPermitted where it is to be `instead`
        of one they do not hold in this role, or, with False, where they hold one."""
        for name in (user.name, user.name if user.grant is None else user.grant):
            require_new_name(name)
        with self.writing() as page:
            sayings.issue(page, user, digest, instead=instead)

    # What holds now

    promises = _law(vows.promises)
    account = _law(vows.account)
    grants = _law(limits.said)
    granted_to = _law(limits.granted_to)
    grant_end = _law(limits.end_of)
    frozen = _law(limits.frozen)
    adopted = _law(sayings.adopted)
    holder_of = _law(sayings.holder_of)
    users = _law(sayings.users)
    require_owned = _law(owners.require_owned)

    def accounts(self, grant: str) -> tuple[Account, Account]:
        """That of the source and that of a grant, as they stand at one moment."""
        with self.reading() as page:
            return _accounts(page, grant)

    def conditions(self, analyst: str, *, grant: str | None = None) -> Conditions:
        """What the owner says now of the grant that pays for this analyst; None: that of their own name. Raises where
        they may not ask: nothing was granted, it was revoked, their token is for none or another, or the source is
        frozen."""
        with self.reading() as page:
            paying = analyst if grant is None else grant
            vows.account(page, paying)
            return limits.conditions_for(page, analyst, grant=paying)

    def balance(self, grant: str, *, analyst: str) -> Balance:
        """What is left of this grant for an analyst, however it stands by now."""
        with self.reading() as page:
            accounts = _accounts(page, grant)
            return Balance(accounts=accounts, ended=limits.end_of(page, grant, analyst=analyst), head=_head(page))

    def head(self) -> Head:
        """Where the ledger ends now."""
        with self.reading() as page:
            return _head(page)

    # What analysts ask

    refuse = _law(sayings.refuse, writes=True)
    recall = _law(laws.recall)
    paid_by = _law(laws.paid_by)
    entries_about = _law(laws.entries_about)

    def charge(self, charge: Charge, *, under: Ownership | None = None) -> Receipt:
        """Pay, or raise BudgetExhausted: both the analyst's grant and the promise must admit the event, in one
        transaction. A receipt of the same analyst, question, event, cost, steps and record is not paid again: it is
        told again where its release is complete, and continued while it has attempts left. NotPermitted without a
        promise or a grant. `under` is whom the plan protects: BadPolicy where the ledger says others by now, or nothing
        of one of its tables; nobody pays before `own`."""
        foreseen = laws.foreseen(charge)  # what has no word in a ledger is refused here, where none waits
        with self.writing(foreseen) as page:
            reached(Point.CHARGE_BEGUN)
            receipt = laws.charge(page, charge, under=under, same=foreseen.same)
            reached(Point.CHARGE_WRITTEN)
        reached(Point.CHARGED)
        return receipt

    def charge_together(self, charges: Sequence[Charge], *, under: Iterable[Ownership] = ()) -> tuple[Receipt, ...]:
        """`charge` for each of them, in one transaction: where one is refused, none is written. `under` is whom their
        plans protect. BadParameter where they are more than may be without an answer at a time."""
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
        """From the charge to the answer: whoever asks the same at the same time waits, and is told the first one's
        answer. Without it every payment is right all the same, but twins use up each other's attempts."""
        same = hashlib.sha256(question_digest(question) + analyst.encode()).digest()
        with self._turns.of(same), self.process_turn(same):
            yield

    def store(self, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        """Keep what a step tells, before it is told; what is kept, and may be told. Steps come in order, each once:
        where another attempt was faster, that is what the other drew."""
        with self.writing() as page:
            reached(Point.STORE_BEGUN)
            kept = laws.store(page, receipt=receipt.number, step=step, released=released)
            reached(Point.STORE_WRITTEN)
        reached(Point.STORED)
        return kept

    # The whole of it

    def entries(self) -> tuple[Entry, ...]:
        """Every entry in order, from a ledger that verifies; LedgerBroken."""
        with self.reading() as page:
            return entries_of(page)

    def verify(self) -> None:
        """Read every entry again and add everything up anew; LedgerBroken where the ledger is not what was written."""
        with self.reading() as page:
            require_verified(page)


def _accounts(page: Page, grant: str) -> tuple[Account, Account]:
    return vows.account(page), vows.account(page, grant)


def _head(page: Page) -> Head:
    number, link = page.head()
    source = page.account(SOURCE)
    return Head(number=number, hash=link, spent=FREE if source is None else source.spent)


def _paid_by(page: Page, holders: Collection[str]) -> list[str]:
    """Analysts with a token that is paid for by one of these grants."""
    users = sayings.users(page) if holders else ()
    return [user.name for user in users if user.role is Role.ANALYST and (user.grant or user.name) in holders]


def _end_tokens(page: Page, holders: Collection[str], *, before: float = inf) -> None:
    """Of these grants, where nothing was said of the token since the entry `before`."""
    for name in _paid_by(page, holders):
        if (page.latest(about_user(name)) or 0) < before:
            sayings.withdraw(page, name)


def _declare(page: Page, ownership: Ownership, declarations: Adopted) -> None:
    owners.own(page, ownership)
    sayings.adopt(page, declarations.digest, declarations.text)


def _adopt_grants(page: Page, written: Iterable[Granted]) -> None:
    """What a file does not name any more ends with its tokens; where it went with a closed promise, those of then."""
    _end_tokens(page, limits.adopt(page, written))
    _end_tokens(page, limits.of_closed_files(page), before=page.latest("close") or 0)


def verified(page: WholePage) -> Iterator[Link]:
    """Every entry, checked and admitted again by its law; LedgerBroken where one is not, or where all of them together
    do not come to the snapshot."""
    snapshot = yield from replaying(page)
    if snapshot.to_bytes() != page.snapshot.to_bytes():
        raise LedgerBroken("the ledger does not verify: its totals are not the sum of its entries")


def entries_of(page: WholePage) -> tuple[Entry, ...]:
    return tuple(Entry(number=link.number, fact=link.fact, time=link.time) for link in verified(page))


def require_verified(page: WholePage) -> None:
    """Read all entries again; LedgerBroken where they are not what was written."""
    deque(verified(page), maxlen=0)
