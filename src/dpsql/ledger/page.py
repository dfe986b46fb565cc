"""What the laws of the ledger need of a store, inside one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from dpsql.accounting.account import Account
from dpsql.errors import BadParameter
from dpsql.ledger.encoding import Link
from dpsql.ledger.facts import Fact
from dpsql.ledger.ledger import Charge
from dpsql.ledger.snapshot import ATTEMPTS, Payment, Snapshot

F = TypeVar("F", bound=Fact)

SOURCE: Final = ""
"""The holder of the account of the source; analysts have names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a law will look at, as far as it is known before it begins: a store may read it at once. It decides nothing,
    and what is missing here is read when it is looked at."""

    subjects: tuple[str, ...] = ()
    """The entries in force for these."""
    under: tuple[str, ...] = ()
    """The entries in force for all subjects that begin so."""
    same: bytes | None = None
    """Charges by who asked what at which price."""


NOTHING_FORESEEN: Final = Foreseen()


class Page(ABC):
    """One transaction: what is written through it is kept together or not at all."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    # Entries

    @abstractmethod
    def append(self, fact: Fact, *, same: bytes | None = None) -> int:
        """Add an entry; its number, counted from 1. What cannot be written as bytes is refused and nothing is added.
        `same`: of a charge, the digest it is continued by."""

    @abstractmethod
    def now(self) -> int:
        """The UTC time an entry has that is added now, in whole seconds since 1970. Never before that of the last
        entry: a clock that is set back stands still."""

    @abstractmethod
    def head(self) -> tuple[int, bytes]:
        """The number and the hash of the last entry."""

    @abstractmethod
    def fact(self, number: int) -> Fact:
        """An entry that exists, checked by its own hash."""

    @abstractmethod
    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        """The entries of one kind with their numbers, oldest first."""

    @abstractmethod
    def _charges_for(self, same: bytes) -> Sequence[int]: ...

    @abstractmethod
    def _steps_of(self, receipt: int) -> Sequence[int]:
        """The entries that hold the steps of a charge, oldest first."""

    # What is in force

    def latest(self, what: str) -> int | None:
        """The entry in force for this subject."""
        found = self.snapshot.latest.get(what)
        return None if found is None else found[0]

    def latest_under(self, prefix: str) -> Mapping[str, int]:
        """The entries in force for all subjects that begin so, in the order of their numbers."""
        return self.snapshot.latest_under(prefix)

    def keep_latest(self, what: str, entry: int) -> None:
        """The entry that was added last is in force for this subject."""
        number, link = self.head()
        if number != entry:
            raise LookupError(entry)
        self.snapshot.keep_latest(what, entry, link)

    # Accounts

    def account(self, holder: str) -> Account | None:
        return self.snapshot.account(holder)

    def accounts(self) -> Mapping[str, Account]:
        return self.snapshot.accounts()

    def keep_account(self, holder: str, account: Account) -> None:
        self.snapshot.keep_account(holder, account)

    def remove_accounts(self) -> None:
        """All of them: the promise they stand under has ended."""
        self.snapshot.remove_accounts()

    def end_periods(self, count: int) -> None:
        """So many periods of the promise have ended."""
        self.snapshot.periods += count

    # Payments

    def payment(self, number: int) -> Payment | None:
        """A charge with its steps; None where the entry is no charge. What was done for an open one stands in the
        snapshot. A closed one counts as complete where all of its steps are found, and never runs again."""
        known = self.snapshot.open.get(number)
        if known is not None:
            return known
        charge = self.fact(number) if 0 < number <= self.head()[0] else None
        if not isinstance(charge, Charge):
            return None
        stored = tuple(self._steps_of(number))
        return Payment(number=number, pin="", steps=charge.steps, attempts=ATTEMPTS, stored=stored, is_open=False)

    def keep_payment(self, payment: Payment) -> None:
        """A new payment, or one with another attempt or step."""
        self.snapshot.keep_payment(payment)

    def payments_for(self, same: bytes) -> tuple[Payment, ...]:
        """Payments by who asked what at which price, oldest first."""
        return self._payments(self._charges_for(same))

    def _payments(self, numbers: Sequence[int]) -> tuple[Payment, ...]:
        return tuple(payment for payment in map(self.payment, numbers) if payment is not None)

    # Under the key

    @abstractmethod
    def salt(self, number: int) -> int: ...


class WholePage(Page):
    """The page of a ledger: it is asked for its past too, which decides nothing about a new entry."""

    @abstractmethod
    def time_of(self, number: int) -> int:
        """When an entry that exists was added."""

    @abstractmethod
    def chained(self) -> Iterator[Link]:
        """Every entry in order; LedgerBroken where one was changed, removed, added or moved."""

    @abstractmethod
    def numbers_by(self, analyst: str, kind: type[Fact], *, last: int | None = None) -> Sequence[int]:
        """The charges or refusals of an analyst, oldest first; only the last ones where a number is given."""

    @abstractmethod
    def _charges_of(self, question: bytes) -> Sequence[int]: ...

    def payments_of(self, question: bytes) -> tuple[Payment, ...]:
        """Payments by question, oldest first."""
        return self._payments(self._charges_of(question))

    def payments_by(self, analyst: str, *, last: int | None = None) -> tuple[Payment, ...]:
        """Payments by who asked, oldest first; only the last ones where a number is given."""
        return self._payments(self.numbers_by(analyst, Charge, last=last))


LONGEST_NAME: Final = 200


def latest_fact(page: Page, what: str, kind: type[F]) -> F | None:
    """What holds now of what was said about this; None: nothing was, or something else holds."""
    number = page.latest(what)
    fact = None if number is None else page.fact(number)
    return fact if isinstance(fact, kind) else None


def about_grant(holder: str) -> str:
    """Under which words the last entry about a grant is kept."""
    return f"grant {holder}"


def about_user(name: str) -> str:
    """Under which words the last entry about a token of this name is kept."""
    return f"user {name}"


def require_name(analyst: str) -> str:
    """The name of an analyst, checked: text that looks the same to everybody who reads it."""
    return readable(
        analyst, "the name of an analyst", "spending is kept by name; an empty or invisible one could stand for anybody"
    )


def require_new_name(name: str) -> None:
    """A name nobody takes for another one, where it comes in."""
    if require_name(name) != name.strip():
        raise BadParameter(
            f"the name {name!r} begins or ends with a blank",
            why="spending is kept by name, and this one looks like another",
            fix=f"write {name.strip()!r}",
        )


def require_reason(reason: str, what: str) -> None:
    """Why the owner does something, in words."""
    readable(reason, f"the reason for {what}", "whoever is refused, or reads the ledger later, must understand why")


def readable(text: str, what: str, why: str) -> str:
    """Text that looks the same to everybody who reads it."""
    if isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable():
        return text
    raise BadParameter(
        f"{what} must be printable text of 1 to {LONGEST_NAME} characters",
        why=why,
        fix="choose a short word without line breaks",
    )
