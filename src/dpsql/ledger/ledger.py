"""The shape of a ledger, and the values that go in and out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from dpsql.accounting.account import Account
from dpsql.privacy.events import Event

KeyValue: TypeAlias = bool | int | str | None
"""A released key, as text where it is a date or a timestamp (ISO)."""


PUBLIC_WAY: Final = "public = true"
"""The way of a table nobody is in: exact answers from it are told for nothing, and leave no charge."""

FIRST_VERSION: Final = "1"
"""The data version before the owner says another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What decides which releases may answer: the groups of which rows, the declarations they use, the data version.
    Which numbers a release holds is told by its record."""

    plan: str
    """Digest of the frame of the plan."""
    policy: str
    """Digest of the declarations the plan used."""
    data_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Whom the promise is about: which two databases are neighbours, and whose the rows of each table are."""

    relation: str
    tables: tuple[tuple[str, str], ...]
    """(name in the engine, way to its person in the words of the policy), each table once, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A request to pay for one plan, all of its steps at once."""

    analyst: str
    question: Question
    event: Event
    cost: Fraction
    """In ε of the account, as asked for; what is spent is the event."""
    steps: int
    sql: str
    """The canonical text of the question: seen by its author and the owner."""
    record: str
    """The plan as JSON, from which an auditor re-derives the price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedStep:
    """What one step told: keys in released order, and for each the noisy integers of its slots, in grains."""

    keys: tuple[tuple[KeyValue, ...], ...]
    values: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of payment: durable before the engine is asked anything."""

    number: int
    paid: bool
    """True where it was paid for just now. A receipt without a complete release may be run again, at most 3 times in
    all, and one with a complete release is told again: for nothing."""
    salt: int
    """63 bits from HMAC(ledger key, number), never negative: decides which groups a person keeps."""
    stored: tuple[ReleasedStep, ...] = ()
    """Steps already stored by another attempt; a new attempt resumes after them, and has nothing to do after all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A complete stored release."""

    receipt: int
    analyst: str
    record: str
    steps: tuple[ReleasedStep, ...]


class Ledger(Protocol):
    """Append-only. Every method is one durable transaction."""

    @property
    def id(self) -> str:
        """Stands in the policy; a source opened with another ledger is refused."""
        ...

    def promise(self, *, epsilon: Fraction, delta: Fraction, delta_prime: Fraction) -> None:
        """Open the account of the source. The same promise again is nothing; another one is refused."""
        ...

    def own(self, ownership: Ownership) -> None:
        """Say whom the promise is about. What was said before is nothing, and tables of which nothing was said are
        added. A table that is owned otherwise is said anew while nothing was charged and it never was public; later,
        as another relation at any time, it is BadPolicy."""
        ...

    def data_version(self, label: str | None = None) -> str:
        """The label of the data from here on; None: as it was left. It stays until the owner says another one."""
        ...

    def grant(self, analyst: str, *, epsilon: Fraction) -> None:
        """Open the account of an analyst under the promise. The same grant again is nothing; a changed budget is a new
        limit on the same spending."""
        ...

    def account(self, analyst: str | None = None) -> Account:
        """The account of the source, or of an analyst, as it stands. NotPermitted without one."""
        ...

    def charge(self, charge: Charge, *, under: Ownership | None = None) -> Receipt:
        """Pay, or raise BudgetExhausted: both the analyst's grant and the promise must admit the event, in one
        transaction. A receipt of the same analyst, question, event, cost, steps and record is not paid again: it is
        told again where its release is complete, and continued while it has attempts left. NotPermitted without a
        promise or a grant. `under` is whom the plan protects: BadPolicy where the ledger says others by now."""
        ...

    def store(self, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        """Keep what a step tells, before it is told; what is kept, and may be told. Steps come in order, each once:
        where another attempt was faster, that is what the other drew."""
        ...

    def recall(self, question: Question) -> tuple[Release, ...]:
        """Complete releases that answer this question, oldest first."""
        ...

    def charges(self) -> tuple[tuple[int, Charge], ...]:
        """Every payment under the number of its receipt, oldest first, from a ledger that verifies; LedgerBroken."""
        ...

    def verify(self) -> None:
        """Read every entry again and add everything up anew; LedgerBroken where the ledger is not what was written."""
        ...

    def close(self) -> None: ...
