"""What is asked for beside the question: a price, a confidence, a way to bound; and what the account makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter
from dpsql.plan.price import Terms
from dpsql.privacy.events import DiscreteGaussian
from dpsql.require import Number, require_epsilon, require_open_unit
from dpsql.sql.bound import Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Wishes of one query; None: what the policy says."""

    epsilon: Fraction | None = None
    confidence: Fraction | None = None
    mode: Mode | None = None
    noise: Noise | None = None


def stated(value: Number) -> Fraction:
    """A number as a person wrote it: 0.1 is a tenth, not the float beside it."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def asked(
    *,
    epsilon: Number | None = None,
    confidence: Number | None = None,
    mode: str | None = None,
    noise: str | None = None,
) -> Ask:
    """The wishes of a query, checked."""
    if epsilon is not None:
        require_epsilon(epsilon=epsilon)
    if confidence is not None:
        require_open_unit(confidence=confidence)
    return Ask(
        epsilon=None if epsilon is None else stated(epsilon),
        confidence=None if confidence is None else stated(confidence),
        mode=None if mode is None else _chosen("mode", mode, Mode),
        noise=None if noise is None else _chosen("noise", noise, Noise),
    )


Choice = TypeVar("Choice", Mode, Noise)


def _chosen(name: str, value: str, choices: type[Choice]) -> Choice:
    for choice in choices:
        if choice.value == value:
            return choice
    raise BadParameter(
        f"{name}={value!r} is not known",
        why="it decides how the answer is protected",
        fix=f"use one of {', '.join(repr(choice.value) for choice in choices)}",
    )


def terms_of(
    ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], *, as_if_unspent: bool = False
) -> tuple[Wishes, Terms]:
    """The wishes and the terms of a plan. `as_if_unspent`: what the accounts would have granted at first."""
    cost = ask.epsilon if ask.epsilon is not None else defaults.cost_per_query
    if cost is None:
        raise BadParameter(
            "nobody said what this answer may cost",
            why="the cost decides how much anybody can learn, so the system has no default for it",
            fix="the owner sets cost_per_query in [defaults], or say it with the query: epsilon=0.05",
        )
    noise = ask.noise or defaults.noise
    rho = _gaussian_rho(
        cost, tuple(replace(account, spent=FREE) for account in accounts) if as_if_unspent else accounts
    )
    wishes = Wishes(mode=ask.mode or defaults.mode, noise=noise, gaussian=rho > 0)
    terms = Terms(
        cost=cost,
        confidence=ask.confidence if ask.confidence is not None else defaults.confidence,
        noise=noise,
        pure=all(account.admits_pure(epsilon=cost) for account in accounts),
        gaussian_rho=rho,
        selection_share=defaults.selection_share,
        delta=defaults.delta_per_query,
    )
    return wishes, terms


def _gaussian_rho(cost: Fraction, accounts: tuple[Account, ...]) -> Fraction:
    """The ρ this cost buys, or 0 where some account would not grant a Gaussian of it at this price.

    The first Gaussian closes the first branch: answers bought before it are then counted in ρ, where they may weigh
    more. An account that would so lose more than the cost does not grant it, as long as its first branch is open.
    """
    rho = min(account.rho_for(epsilon=cost) for account in accounts)
    if not rho:
        return Fraction(0)
    event = DiscreteGaussian(sigma_squared=1 / (2 * rho), l2_squared=Fraction(1))
    return rho if all(_grants(account, event, cost) for account in accounts) else Fraction(0)


def _grants(account: Account, event: DiscreteGaussian, cost: Fraction) -> bool:
    return account.admits(event) and account.charged(event).spent_epsilon - account.spent_epsilon <= cost
