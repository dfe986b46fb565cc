"""The shape of a ledger, and the values that go in and out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.privacy.events import Event
from dpsql.privacy.window import Window

if TYPE_CHECKING:
    from dpsql.ledger.facts import Adopted, Entry, Granted, Revoked

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


class Ledger(Protocol):
    """Append-only. Every method is one durable transaction."""

    @property
    def id(self) -> str:
        """Stands in the policy; a source opened with another ledger is refused."""
        ...

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
        ...

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
        about, as `own`; what is declared, as `adopt`; and the grants of the file, as `adopt_grants`. None leaves label
        or grants as they are. False where the promise was closed and is not to be made anew: the label alone is
        written."""
        ...

    def own(self, ownership: Ownership) -> None:
        """Say whom the promise is about. What was said before is nothing, and tables of which nothing was said are
        added. A table that is owned otherwise is said anew while nothing was charged, the promise was not renewed, and
        the table never was public; later, as another relation at any time, it is BadPolicy."""
        ...

    def require_owned(self, ownership: Ownership) -> None:
        """BadPolicy where the ledger says others by now than a plan believes, or nothing of one of its tables: what is
        told exactly leaves no charge that would notice."""
        ...

    def data_version(self, label: str | None = None) -> str:
        """The label of the data from here on; None: as it was left. It stays until the owner says another
        one; NotPermitted where that was used before."""
        ...

    def renew(self) -> int:
        """Begin a new period: every account starts again from nothing. What each period may tell adds up for people;
        the number of the period that begins, from 2 on. NotPermitted where the promise was made for ever."""
        ...

    def close_promise(self, reason: str) -> None:
        """End the promise with all grants. What was spent under it stays promised to people; the next `promise` and
        `own` begin anew, and people are then promised the sum of both."""
        ...

    def promises(self) -> tuple[Made, ...]:
        """Every promise made so far with its periods, those that are lost among them; the last one holds."""
        ...

    def grant(
        self,
        analyst: str,
        *,
        epsilon: Fraction,
        conditions: Conditions = NO_CONDITIONS,
        by: GrantedBy = GrantedBy.CALL,
    ) -> None:
        """Open an account of this name under the promise. The same grant again is nothing; a changed one is a new limit
        on the same spending. BadParameter where its last day is past."""
        ...

    def adopt_grants(self, written: Iterable[Granted]) -> None:
        """The grants of a policy file, all of them, when it is opened: what an earlier one named and this one does not
        is revoked. What the owner has revoked, or granted otherwise than the file, under this promise stays
        so."""
        ...

    def revoke(self, analyst: str) -> None:
        """Nothing is paid from this grant any more. Its spending is remembered, should there be a new one."""
        ...

    def grants(self) -> Mapping[str, Granted | Revoked]:
        """What was said last about each grant under the promise, by its name."""
        ...

    def grant_end(self, grant: str, *, analyst: str | None = None) -> str | None:
        """Why nothing is paid from a grant any more, or nothing that this analyst asks: "revoked", "ended on
        2026-12-31"; None: it holds."""
        ...

    def freeze(self, reason: str, *, by: str | None = None) -> None:
        """Nothing is charged and nothing told until `unfreeze`. `by` is who says so; None: the owner."""
        ...

    def unfreeze(self, reason: str, *, by: str | None = None) -> None: ...

    def frozen(self) -> str | None:
        """Why nothing is told now; None: it is."""
        ...

    def adopt(self, digest: str, text: str) -> None:
        """The declarations that hold from here on. The same digest again is nothing."""
        ...

    def adopted(self) -> str | None:
        """The text of the declarations that hold; None: nothing was adopted yet."""
        ...

    def refuse(self, analyst: str, *, code: str, sql: str) -> None:
        """Write down that a question was refused."""
        ...

    def issue(self, user: User, digest: bytes, *, instead: bool | None = None) -> None:
        """Somebody has a token of this digest from here on, and no older one. NotPermitted where it is to be `instead`
        of one they do not hold in this role, or, with False, where they hold one."""
        ...

    def withdraw(self, name: str) -> None:
        """Whoever has this name has no token any more."""
        ...

    def holder_of(self, digest: bytes) -> User | None:
        """Whose token has this digest."""
        ...

    def users(self) -> tuple[User, ...]:
        """Everybody who has a token, by name."""
        ...

    def head(self) -> Head:
        """Where the ledger ends now."""
        ...

    def account(self, analyst: str | None = None) -> Account:
        """The account of the source, or of an analyst, as it stands. NotPermitted without one."""
        ...

    def accounts(self, analyst: str) -> tuple[Account, Account]:
        """That of the source and that of an analyst, as they stand at one moment."""
        ...

    def conditions(self, analyst: str, *, grant: str | None = None) -> Conditions:
        """What the owner says now of the grant that pays for this analyst; None: that of their own name. Raises where
        they may not ask: nothing was granted, it was revoked, their token is for none or another, or the source is
        frozen."""
        ...

    def charge(self, charge: Charge, *, under: Ownership | None = None) -> Receipt:
        """Pay, or raise BudgetExhausted: both the analyst's grant and the promise must admit the event, in one
        transaction. A receipt of the same analyst, question, event, cost, steps and record is not paid again: it is
        told again where its release is complete, and continued while it has attempts left. NotPermitted without a
        promise or a grant. `under` is whom the plan protects: BadPolicy where the ledger says others by now, or nothing
        of one of its tables; nobody pays before `own`."""
        ...

    def charge_together(self, charges: Sequence[Charge], *, under: Iterable[Ownership] = ()) -> tuple[Receipt, ...]:
        """`charge` for each of them, in one transaction: where one is refused, none is written. `under` is whom their
        plans protect. BadParameter where they are more than may be without an answer at a time."""
        ...

    def turn(self, analyst: str, question: Question) -> AbstractContextManager[None]:
        """From the charge to the answer: whoever asks the same at the same time waits, and is told the first one's
        answer. Without it every payment is right all the same, but twins use up each other's attempts."""
        ...

    def store(self, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        """Keep what a step tells, before it is told; what is kept, and may be told. Steps come in order, each once:
        where another attempt was faster, that is what the other drew."""
        ...

    def recall(self, question: Question, *, told: Container[int] | None = None) -> tuple[Release, ...]:
        """Complete releases that answer this question, oldest first. `told`: the receipts whose steps are needed; of
        others they are not read, and left empty. None: all are needed."""
        ...

    def paid_by(self, analyst: str, *, last: int | None = None) -> tuple[Paid, ...]:
        """What this analyst has paid for, oldest first; only the last ones where a number is given. In a ledger of any
        length this reads no more than that."""
        ...

    def entries_about(self, analyst: str) -> tuple[Entry, ...]:
        """What this analyst has paid for and was refused, and the grants of this name, oldest first. Entries of others
        are not lived through for it, so that whoever asks often costs little."""
        ...

    def entries(self) -> tuple[Entry, ...]:
        """Every entry in order, from a ledger that verifies; LedgerBroken."""
        ...

    def verify(self) -> None:
        """Read every entry again and add everything up anew; LedgerBroken where the ledger is not what was written."""
        ...

    def close(self) -> None: ...
