"""What an account has left, and how far that goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Final

from dpsql.accounting.account import Account, more_like, remaining
from dpsql.accounting.triple import triple
from dpsql.privacy.events import Pure

if TYPE_CHECKING:
    from dpsql.ledger.book import Ledger


_LAST: Final = 10
"""What people ask now says what they will ask; what they asked long ago does not."""
_BOXES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Budget:
    """What an account may spend, and has spent, in ε."""

    total: Fraction
    spent: Fraction
    counted_in: str = "ε"
    """The branch of the account that is ahead: sums of ε, or of ρ."""
    outlook: str = ""
    """About how many more queries."""
    shared: Fraction | None = None
    """Of a grant: what the promise to everybody has left, where that is less than the grant has."""
    ended: str | None = None
    """Of a grant from which nothing is paid any more: how it ended."""

    @property
    def left(self) -> Fraction:
        """What can really be spent: both the grant and the promise must pay."""
        if self.ended is not None:
            return Fraction(0)
        own = max(Fraction(0), self.total - self.spent)
        return own if self.shared is None else min(own, self.shared)

    @classmethod
    def of(cls, account: Account, outlook: str = "") -> Budget:
        """Of one account."""
        return cls(total=account.epsilon, spent=account.spent_epsilon, counted_in=account.counted_in, outlook=outlook)

    @classmethod
    def under(cls, accounts: Sequence[Account], outlook: str = "", *, ended: str | None = None) -> Budget:
        """Of a grant, the last of the accounts, and the promise it is under, the first."""
        if ended is not None:
            return replace(cls.of(accounts[-1]), ended=ended)
        promise, own = remaining(accounts[:1]), remaining(accounts[-1:])
        return replace(cls.of(accounts[-1], outlook), shared=promise if promise < own else None)

    @property
    def shown(self) -> str:
        """In a few letters; what is left is rounded down."""
        return shown_left(self.left, self.total)

    @property
    def short(self) -> str:
        """Where the promise and not the grant is short, or the grant has ended, in words."""
        if self.ended is not None:
            return f"your grant: {self.ended}"
        if self.shared is None:
            return ""
        own = in_hundredths(max(Fraction(0), self.total - self.spent))
        return f"the promise to everybody has {in_hundredths(self.shared)} left; your grant {own}"

    def __repr__(self) -> str:
        counted = "" if self.counted_in == "ε" else f"counted in {self.counted_in}"
        parts = [f"{budget_bar(self.left, self.total)} {self.shown}", counted, self.short, self.outlook]
        return f"Budget({', '.join(filter(None, parts))})"

    def _repr_html_(self) -> str:
        from dpsql.session.formats import budget_page  # only pages need it

        counted = "" if self.counted_in == "ε" else f"counted in {self.counted_in}"
        return budget_page(self.left, self.total, (f"{self.shown} left", counted, self.short, self.outlook))


def shown_left(left: Fraction, total: Fraction) -> str:
    """What is left of a budget in a few letters, rounded down."""
    return f"{in_hundredths(left)} of {float(total):.2f}"


def budget_bar(left: Fraction, total: Fraction) -> str:
    """What is left of a budget as ten boxes, rounded down: all of them only where nothing was spent."""
    full = min(_BOXES, max(0, floor(_BOXES * left / total))) if total > 0 else 0
    return f"{'▰' * full}{'▱' * (_BOXES - full)}"


def in_hundredths(amount: Fraction) -> str:
    """What is left, never above what it is."""
    return f"{floor(100 * amount) / 100:.2f}"


def outlook(
    ledger: Ledger, analyst: str, accounts: tuple[Account, ...], cost_per_query: Fraction | None
) -> tuple[int, str] | None:
    """About how many more queries like the analyst's last ones fit, or at the price of the policy; in words too."""
    prices = [triple(paid.charge.event) for paid in ledger.paid_by(analyst, last=_LAST)]
    if prices:
        more, like = more_like(prices, accounts), f"like your last {len(prices) if len(prices) > 1 else 'one'}"
    elif cost_per_query is not None:
        more, like = _at_least(cost_per_query, accounts), "at the usual price"
    else:
        return None
    return None if more is None else (more, f"about {more} more {'query' if more == 1 else 'queries'} {like}")


def _at_least(price: Fraction, accounts: tuple[Account, ...]) -> int:
    """How often a price fits whatever noise it buys. Gaussian noise takes the whole share of an account that the price
    names; Laplace noise is at times cheaper in ρ, so that more may fit, and where ρ is ahead it may weigh more."""
    laplace = more_like([triple(Pure(epsilon=price))], accounts)
    gaussian = floor(remaining(accounts) / price)
    return gaussian if laplace is None else min(gaussian, laplace)
