"""What is asked for beside the question: a price, a confidence, a way to bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter
from dpsql.plan.terms import Terms, terms
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


def terms_of(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...]) -> Terms:
    """The terms of a plan: what the query says, else the policy."""
    cost = ask.epsilon if ask.epsilon is not None else defaults.cost_per_query
    if cost is None:
        raise BadParameter(
            "nobody said what this answer may cost",
            why="the cost decides how much anybody can learn, so the system has no default for it",
            fix="the owner sets cost_per_query in [defaults], or say it with the query: epsilon=0.05",
        )
    return terms(
        cost,
        confidence=ask.confidence if ask.confidence is not None else defaults.confidence,
        noise=ask.noise or defaults.noise,
        defaults=defaults,
        accounts=accounts,
    )


def wishes_of(ask: Ask, defaults: Defaults, offered: Terms) -> Wishes:
    """How to bound and to add noise, as far as somebody said so."""
    return Wishes(mode=ask.mode or defaults.mode, noise=offered.noise, gaussian=offered.gaussian_rho > 0)
