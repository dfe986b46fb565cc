"""What an entry of a ledger says. The entries, in order, are the ledger; everything else is added up from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, TypeVar, get_args

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.errors import InternalError
from dpsql.ledger.ledger import Charge, Conditions, GrantedBy, Ownership, Question, ReleasedStep, Role, User
from dpsql.privacy.events import PRICED_EVENTS
from dpsql.privacy.window import Window

T = TypeVar("T")


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
"""Every kind there is. What else is known of kinds stands in tables that are held to this one."""


def of_every_kind(table: Mapping[type, T]) -> Mapping[type, T]:
    """A table with a row for each kind of facts; InternalError where one is missing, or a row is of no kind."""
    odd = {*get_args(Fact)} ^ {*table}
    if odd:
        raise InternalError(f"a table of facts is wrong about {', '.join(sorted(kind.__name__ for kind in odd))}")
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A fact at its place."""

    number: int
    fact: Fact
    time: int
    """When it was written, in seconds since 1970."""


FACTS: Final[Mapping[str, type[Any]]] = {
    "opened": Opened,
    "promise": Promised,
    "owners": Ownership,
    "version": Versioned,
    "grant": Granted,
    "revoke": Revoked,
    "renew": Renewed,
    "close": Closed,
    "freeze": Frozen,
    "unfreeze": Unfrozen,
    "policy": Adopted,
    "refuse": Refused,
    "issue": Issued,
    "withdraw": Withdrawn,
    "write_off": WrittenOff,
    "charge": Charge,
    "retry": Retried,
    "step": Stored,
}
"""The kinds of entries, by the names they have in ledgers. A name is never given another meaning."""

NAMES: Final[Mapping[str, type[Any]]] = {
    **FACTS,
    **PRICED_EVENTS,
    "account": Account,
    "conditions": Conditions,
    "granted_by": GrantedBy,
    "price": Triple,
    "question": Question,
    "role": Role,
    "user": User,
    "window": Window,
}
"""Everything that entries hold, by the names of the types."""
