"""What an entry of a ledger says. The entries, in order, are the ledger; everything else is added up from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.ledger.ledger import Charge, Conditions, GrantedBy, Ownership, ReleasedStep, User
from dpsql.privacy.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The first entry of every ledger."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The account of the source, as it was opened: nothing is spent yet."""

    account: Account
    per: Window = Window.FOREVER
    """When the owner may renew it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A budget of this name from here on. Spending goes on where it was."""

    analyst: str
    epsilon: Fraction
    conditions: Conditions = field(default_factory=Conditions)
    by: GrantedBy = GrantedBy.CALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """Nothing is paid from this grant any more."""

    analyst: str
    by_file: bool = False
    """The policy file named it, and does no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """A new period of the promise: accounts start again from nothing, and people are promised one ε more."""

    period: int
    """From 2 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The promise has ended, and every grant with it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """Nothing is told from here on."""

    reason: str
    by: str | None = None
    """Who said so, by the name of their token; None: the owner of the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfrozen:
    """Questions are answered again."""

    reason: str
    by: str | None = None
    """Who said so, by the name of their token; None: the owner of the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The declarations of the owner from here on."""

    digest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A question that was not answered. It reads no rows, and costs nothing."""

    analyst: str
    code: str
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """Somebody was given a token; the token itself is kept nowhere."""

    user: User
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """Whoever has this name has no token any more."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOff:
    """Charges were lost. The source has spent at least this, up to the entry of this number."""

    number: int
    spent: Triple
    periods: int = 0
    """Periods of the promise that are lost as a whole: people were promised one ε more for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    """The data are of this version from here on."""

    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """A paid question is run once more under its receipt."""

    receipt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What one step of a paid question told."""

    receipt: int
    step: int
    released: ReleasedStep


Fact: TypeAlias = (
    Opened
    | Promised
    | Ownership
    | Versioned
    | Granted
    | Revoked
    | Renewed
    | Closed
    | Frozen
    | Unfrozen
    | Adopted
    | Refused
    | Issued
    | Withdrawn
    | WrittenOff
    | Charge
    | Retried
    | Stored
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A fact at its place."""

    number: int
    fact: Fact
    time: int
    """When it was written, in seconds since 1970."""
