"""What an audit finds: payments, promises, analysts, and what the owner did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.privacy.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCharge:
    """One payment, and what its record says it should have been."""

    receipt: int
    analyst: str
    sql: str
    """Empty where the reader may not see texts."""
    cost: Fraction
    """In ε of the account, as the analyst was told."""
    charged: Triple
    """What the accounts were charged: (ε, δ, ρ) of the stored event."""
    derived: Triple | None
    """The same, from the stored statements and noise alone; None where they do not hold what they promise."""
    problem: str = ""
    unchecked: str = ""
    """Why the price cannot be derived here, and what helps."""
    batch: int | None = None
    """The receipt of the batch that paid for it: then `charged` is what it would cost alone, and not added up."""
    at: datetime | None = None
    """UTC; None: from before times were kept."""

    @property
    def agrees(self) -> bool:
        return not self.problem and not self.unchecked

    @property
    def verdict(self) -> str:
        """One word, or what is wrong."""
        return self.problem or self.unchecked or "agrees"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPromise:
    """One promise in one of its periods, and everything that was charged under it, added up anew."""

    account: Account
    per: Window | None = None
    """When the owner may renew it; None: not at all, as if it were for ever."""
    period: int = 1
    ended: str | None = None
    """Why it was closed; None: it holds."""
    lost: bool = False
    """Nothing is left of it but that it was: it is counted as spent."""

    @property
    def spent(self) -> Fraction:
        return self.account.spent_epsilon

    @property
    def kept(self) -> bool:
        account = self.account
        within = account.spent.delta <= account.delta - account.delta_prime
        return within and (account.pure_branch_open or account.concentrated_branch_open)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSum:
    """What one analyst did."""

    name: str
    payments: int
    cost: Fraction
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something the owner did, and when."""

    at: datetime | None
    kind: str
    what: str
    by: str = ""
    """Where it was said, or by whom; empty where the ledger does not know."""
