"""What the laws of the ledger need of a store, inside one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from dpsql.accounting.account import Account
from dpsql.ledger.facts import Fact

F = TypeVar("F", bound=Fact)

SOURCE: Final = ""
"""The holder of the account of the source; analysts have names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """A receipt as the ledger knows it."""

    number: int
    """Of the entry that charged it."""
    analyst: str
    same: bytes
    """Digest of who asked what at which price: equal ones continue each other."""
    question: bytes
    """Digest of the question."""
    steps: int
    attempts: int
    stored: tuple[int, ...] = ()
    """The entries that hold its steps, in order."""

    @property
    def complete(self) -> bool:
        return len(self.stored) == self.steps

    def with_step(self, entry: int) -> Payment:
        """The payment once the entry holds its next step."""
        return replace(self, stored=(*self.stored, entry))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """All that is added up from entries, and could be wrong where somebody changed one and not the other."""

    accounts: Mapping[str, Account]
    payments: Mapping[int, Payment]
    latest: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a law will look at, as far as it is known before it begins: a store may read it on one way. It decides
    nothing, and what is missing here is read when it is looked at."""

    holders: tuple[str, ...] = ()
    """Whose accounts."""
    said: tuple[str, ...] = ()
    """What was said last about this, and the entries that say it."""
    kinds: tuple[type[Fact], ...] = ()
    """All entries of these kinds."""
    counted: tuple[type[Fact], ...] = ()
    """How many entries there are of these kinds together."""
    same: bytes | None = None
    """Payments by who asked what at which price."""


NOTHING_FORESEEN: Final = Foreseen()


class Page(Protocol):
    """One transaction: what is written through it is kept together or not at all."""

    def append(self, fact: Fact) -> int:
        """Add an entry; its number, counted from 1. What cannot be written as bytes is refused and nothing is added."""
        ...

    def now(self) -> int:
        """The UTC time an entry has that is added now, in whole seconds since 1970. Never before that of the last
        entry: a clock that is set back stands still."""
        ...

    def time_of(self, number: int) -> int | None:
        """When an entry that exists was added; None for one from before times were kept."""
        ...

    def times(self) -> Iterator[int | None]:
        """When each entry was added, in order; None for one from before times were kept."""
        ...

    def fact(self, number: int) -> Fact:
        """An entry that exists."""
        ...

    def facts(self) -> Iterator[Fact]:
        """Every entry in order; LedgerBroken where one was changed, removed, added or moved."""
        ...

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        """The entries of one kind with their numbers, oldest first."""
        ...

    def head(self) -> tuple[int, bytes]:
        """The number and the hash of the last entry."""
        ...

    def latest(self, what: str) -> int | None:
        """The entry that holds now of what was said about this."""
        ...

    def keep_latest(self, what: str, entry: int) -> None: ...

    def account(self, holder: str) -> Account | None: ...

    def accounts(self) -> Mapping[str, Account]: ...

    def keep_account(self, holder: str, account: Account) -> None: ...

    def remove_accounts(self) -> None:
        """All of them: the promise they stand under has ended."""
        ...

    def payment(self, number: int) -> Payment | None: ...

    def keep_payment(self, payment: Payment) -> None:
        """A new payment, or one with another attempt."""
        ...

    def keep_step(self, payment: Payment, entry: int) -> None:
        """The next step of the payment, as this page tells it, is what the entry says."""
        ...

    def payments_for(self, same: bytes) -> tuple[Payment, ...]:
        """Payments by who asked what at which price, oldest first."""
        ...

    def payments_of(self, question: bytes) -> tuple[Payment, ...]:
        """Payments by question, oldest first."""
        ...

    def payments_by(self, analyst: str, *, last: int | None = None) -> tuple[Payment, ...]:
        """Payments by who asked, oldest first; only the last ones where a number is given."""
        ...

    def hide(self, receipt: int, step: int, plain: bytes) -> None:
        """Keep something about a stored step under the key, beside the entries and in none of them."""
        ...

    def revealed(self, receipt: int, step: int, *, first: int | None = None) -> bytes | None:
        """What was hidden, or its first bytes; None where it is not there, or not what was hidden."""
        ...

    def salt(self, number: int) -> int: ...

    def totals(self) -> Totals: ...
