"""What an audit finds: payments, promises, analysts, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.ledger.ledger import Made
from dpsql.privacy.window import Window
from dpsql.session.deciding import is_ahead_of_its_window


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCharge:
    """One payment, and what its record says it should have been."""

    receipt: int
    analyst: str
    grant: str
    """Which one paid."""
    sql: str
    """Empty where the reader may not see texts."""
    cost: Fraction
    """In ε of the account, as the analyst was told."""
    charged: Triple
    """What the accounts were charged: (ε, δ, ρ) of the stored event."""
    derived: Triple | None
    """The same, from the stored statements and noise alone; None where they do not hold what they promise."""
    problem: str = ""
    of_promise: Fraction | None = None
    """What it took of the promise, in the branch that is ahead when its period ends: these add up to what is spent.
    None: the branch does not count it."""
    of_grant: Fraction | None = None
    """The same of the grant that paid."""
    upon: int | None = None
    """The receipt of the release that it makes finer."""
    at: datetime
    """UTC."""

    @property
    def agrees(self) -> bool:
        return not self.problem

    @property
    def verdict(self) -> str:
        """One word, or what is wrong."""
        return self.problem or "agrees"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPromise:
    """One promise in one of its periods, and everything that was charged under it, added up anew."""

    account: Account
    per: Window = Window.FOREVER
    """When the owner may renew it."""
    period: int = 1
    begun: tuple[int | None, ...] = ()
    """When this period and those before it began, in seconds since 1970. None: it is lost."""
    ended: str | None = None
    """Why it was closed; None: it holds."""
    lost: bool = False
    """Nothing is left of it but that it was: it is counted as spent."""
    told: Fraction = Fraction(0)
    """What its payments were told to cost, added up: each in the branch that paid when it was priced."""
    written_off: Triple | None = None
    """What counts as spent beside the payments, since entries were lost; None: none were."""

    @property
    def spent(self) -> Fraction:
        return self.account.spent_epsilon

    @property
    def is_early(self) -> bool:
        """It began sooner than the window of the promise lets the one before it end."""
        pair = self.begun[-2:]
        return len(pair) == 2 and None not in pair and self._is_ahead(pair)

    @property
    def is_ahead(self) -> bool:
        """It has more periods than its window means, or nobody knows."""
        return self._is_ahead(self.begun)

    def _is_ahead(self, begun: tuple[int | None, ...]) -> bool:
        return is_ahead_of_its_window(Made(account=self.account, per=self.per, begun=begun))

    @property
    def lost_part(self) -> Fraction:
        """How much of what is spent was written off."""
        return (self.written_off and part_of(self.account, self.written_off)) or Fraction(0)

    @property
    def kept(self) -> bool:
        account = self.account
        within = account.spent.delta <= account.delta - account.delta_prime
        return within and (account.pure_branch_open or account.concentrated_branch_open)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedGrant:
    """The limit of one grant in one period of a promise, and what was paid from it, added up anew."""

    holder: str
    account: Account
    """With the limit that was said last: the owner may lower it below what is spent."""
    period: int
    kept: bool
    """No payment passed the limit of its time."""

    @property
    def spent(self) -> Fraction:
        """What its account says; more than the limit only where that was lowered, or not kept."""
        spent = self.account.spent
        parts = [part for part in (spent.epsilon, _in_rho(self.account, spent)) if part is not None]
        return min(parts, default=self.account.epsilon)


def part_of(account: Account, price: Triple) -> Fraction | None:
    """What a price takes of an account, in ε of the account: in the branch in which it shows what is spent."""
    return price.epsilon if account.counted_in == "ε" else _in_rho(account, price)


def _in_rho(account: Account, price: Triple) -> Fraction | None:
    return None if price.rho is None or not account.rho else account.epsilon * price.rho / account.rho


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSum:
    """What one analyst did."""

    name: str
    payments: int
    cost: Fraction
    """As they were told."""
    spent: Fraction
    """What it took of the grants that paid, as their accounts say."""
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that was decided, and when."""

    at: datetime
    kind: str
    what: str
    by: str = ""
    """Where it was said, or by whom; empty where the ledger does not know."""
