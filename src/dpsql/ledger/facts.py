"""What an entry of a ledger says. The entries, in order, are the ledger; everything else is added up from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dpsql.accounting.account import Account
from dpsql.ledger.ledger import Charge, Ownership, ReleasedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The first entry of every ledger."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The account of the source, as it was opened: nothing is spent yet."""

    account: Account


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The budget of an analyst from here on. Spending goes on where it was."""

    analyst: str
    epsilon: Fraction


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


Fact: TypeAlias = Opened | Promised | Ownership | Versioned | Granted | Charge | Retried | Stored
