"""terms: what the accounts make of a cost, before anything is planned with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.accounting.limits import LARGEST_EPSILON, SMALLEST_EPSILON
from dpsql.accounting.triple import FREE
from dpsql.catalog.model import Defaults, Noise
from dpsql.errors import BadParameter
from dpsql.privacy.events import DiscreteGaussian, Event
from dpsql.require import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is offered for an answer, and what the account makes of it."""

    cost: Fraction
    """In ε of the account."""
    confidence: Fraction
    noise: Noise | None
    pure: bool
    """The account's first branch would grant the cost as ε. Once it is closed, everything is counted in ρ."""
    gaussian_rho: Fraction
    """The ρ this cost buys: the same share of ρ* as the cost is of ε; 0 where the account grants no Gaussian noise."""
    selection_share: Fraction | None
    delta: Fraction | None
    """What finding private keys may spend of δ."""


def terms(
    cost: Fraction, *, confidence: Fraction, noise: Noise | None, defaults: Defaults, accounts: tuple[Account, ...]
) -> Terms:
    """What this cost buys from accounts that must all grant it."""
    if not SMALLEST_EPSILON <= cost <= LARGEST_EPSILON:
        raise BadParameter(
            f"nothing can be bought at COST {shown(cost)}",
            why="no account is opened for so much, and noise for so little is too wide to be drawn",
            fix=f"choose a cost between {shown(SMALLEST_EPSILON)} and {shown(LARGEST_EPSILON)}",
        )
    return Terms(
        cost=cost,
        confidence=confidence,
        noise=noise,
        pure=all(account.admits_pure(epsilon=cost) for account in accounts),
        gaussian_rho=_gaussian_rho(cost, accounts),
        selection_share=defaults.selection_share,
        delta=defaults.delta_per_query,
    )


def as_if_unspent(offered: Terms, accounts: tuple[Account, ...]) -> Terms:
    """With the Gaussian noise that the accounts would have granted at first."""
    return replace(
        offered,
        gaussian_rho=_gaussian_rho(offered.cost, tuple(replace(account, spent=FREE) for account in accounts)),
    )


def _gaussian_rho(cost: Fraction, accounts: tuple[Account, ...]) -> Fraction:
    """The ρ this cost buys, or 0 where some account would not grant a Gaussian of it at this price.

    The first Gaussian closes the first branch: answers bought before it are then counted in ρ, where they may weigh
    more. An account that would so lose more than the cost does not grant it, as long as its first branch is open.
    """
    rho = min(account.rho_for(epsilon=cost) for account in accounts)
    if not rho:
        return Fraction(0)
    event = DiscreteGaussian(sigma_squared=1 / (2 * rho), l2_squared=Fraction(1))
    return rho if grant_at(accounts, event, cost) else Fraction(0)


def grant_at(accounts: Iterable[Account], event: Event, cost: Fraction) -> bool:
    """All accounts admit the event, and lose no more by it than it is said to cost."""
    return all(_grants(account, event, cost) for account in accounts)


def _grants(account: Account, event: Event, cost: Fraction) -> bool:
    return account.admits(event) and account.charged(event).spent_epsilon - account.spent_epsilon <= cost
