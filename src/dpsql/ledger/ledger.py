"""The values that go into a ledger and come out of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.errors import LedgerBroken
from dpsql.privacy.events import Event
from dpsql.privacy.window import Window

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
class Conditions:
    """What a grant says beside its budget. A limit on spending; the protection is the promise's."""

    max_per_query: Fraction | None = None
    tables: tuple[str, ...] | None = None
    """None: every table."""
    expires: date | None = None
    """The first day (UTC) on which nothing is paid from it any more."""
    sees_releases: bool = False
    """What others have asked is already known to them, and told again for nothing."""


NO_CONDITIONS: Final = Conditions()


class GrantedBy(Enum):
    """Where the owner has said a grant."""

    CALL = "call"
    """In a call or a command, of somebody whom no policy file names."""
    FILE = "file"
    BESIDE = "beside"
    """In a call or a command, of somebody whom the policy file names: it holds in place of what the file says."""


class Role(Enum):
    """What somebody with a token may do."""

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody who was given a token."""

    name: str
    role: Role
    grant: str | None = None
    """Of an analyst: the grant that pays for what they ask; None: the one of their own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a ledger ends. Whoever has seen a head sees whether a later state of the ledger still holds it."""

    number: int
    hash: bytes
    spent: Triple
    """Of the source, in this period of its promise."""

    def __str__(self) -> str:
        return f"#{self.number}:{self.hash.hex()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A request to pay for one plan, all of its steps at once."""

    analyst: str
    """Who asks."""
    grant: str
    """Whose account pays; the analyst's own where they have no token that names another one."""
    question: Question
    event: Event
    cost: Fraction
    """In ε of the account, as asked for; what is spent is the event."""
    steps: int
    sql: str
    """The canonical text of the question: seen by its author and the owner."""
    record: str
    """The plan as JSON, from which an auditor re-derives the price."""
    upon: int | None = None
    """The first receipt of the release this one makes finer: they share its salt."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A question that was paid for."""

    receipt: int
    charge: Charge
    complete: bool
    """Its answer is stored, and told again for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """How a grant stands for an analyst, and where the ledger ends: at one moment."""

    accounts: tuple[Account, Account]
    """Of the promise to everybody, and of the grant: both must admit a question."""
    ended: str | None
    """Why nothing is paid from it any more; None: it holds."""
    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A promise that was made, and every period it was given."""

    account: Account
    """As it was opened: nothing is spent yet."""
    per: Window
    begun: tuple[int | None, ...]
    """When each period began, in seconds since 1970. None: the period is lost."""

    @property
    def periods(self) -> int:
        return len(self.begun)


WHY_UNUSABLE: Final = "an answer that cannot be paid for and stored cannot be given"
WHY_UNWRITTEN: Final = (
    "an answer is told once it is paid for and stored; what was charged stays charged, and asked again it is told for "
    "nothing"
)
"""Of a ledger that is whole, and could not be written or read just now."""


class Unusable(LedgerBroken):
    """Nothing of the transaction is told, and a later one may succeed. Other kinds of LedgerBroken end the ledger."""
