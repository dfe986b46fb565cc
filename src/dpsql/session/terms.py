"""What is asked for beside the question: a price, a confidence, a way to bound. Who says so goes before whom:

clauses at the end of the text > a hint in it > SET of the session > the policy

An argument of a call stands beside the text: both may say the same, and never something else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypedDict, TypeVar

from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter
from dpsql.plan.price import Terms, terms
from dpsql.require import Number, is_confidence, require_epsilon, require_non_negative, require_open_unit, shown
from dpsql.sql.bound import Wishes
from dpsql.sql.syntax import At, Options, Said


class QueryWords(TypedDict, total=False):
    """What a call can say beside its text. What is left out, or None, is not said."""

    epsilon: Number | None
    """The price."""
    confidence: Number | None
    mode: str | None
    noise: str | None
    fresh: bool
    """New noise is bought, whatever is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Wishes of one query; None: what the policy says."""

    epsilon: Fraction | None = None
    confidence: Fraction | None = None
    mode: Mode | None = None
    noise: Noise | None = None
    within: Fraction | None = None
    """The margin that every number should have: the price is looked for."""
    only_stored: bool = False
    """Nothing is bought."""
    rows_per_person: int | None = None
    """At most so many rows of one person count; the policy may allow fewer."""
    groups_per_person: int | None = None
    """The same for groups."""
    delta: Fraction | None = None
    """At most so much of δ is spent to find groups; the policy may allow less."""
    fresh: bool = False
    """New noise is bought, whatever is stored."""
    priced_at: At = None
    """Where in the text the price, or the margin it follows from, stands."""
    total: Fraction | None = None
    """Of a question in a batch: the price of all of it, as the caller said it."""
    max_cost: Fraction | None = None
    """An answer that costs more is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What was SET; None: nothing."""

    epsilon: Fraction | None = None
    confidence: Fraction | None = None
    max_cost: Fraction | None = None
    noise: Noise | None = None
    mode: Mode | None = None


UNSET: Final = Session()
_LARGEST_EXPONENT: Final = 400


def settled(options: Options, call: Ask, session: Session) -> Ask:
    """The one wish of a query, out of everything that was said about it."""
    _require_agreement(options, call)
    epsilon, within = options.epsilon, options.within
    fresh = call.fresh or options.fresh is not None
    if fresh and epsilon is not None and not epsilon.value:
        raise BadParameter(
            "fresh buys new noise, and COST 0 buys nothing",
            why="only one of them could count",
            fix="leave one of them out",
            at=epsilon.at if options.fresh is None else options.fresh.at,
        )
    priced = epsilon or within
    return Ask(
        epsilon=call.epsilon
        or (session.epsilon if priced is None else None if epsilon is None else epsilon.value or None),
        confidence=call.confidence or _said(options.confidence) or session.confidence,
        mode=call.mode or _said(options.mode) or session.mode,
        noise=call.noise or _said(options.noise) or session.noise,
        within=_said(within),
        only_stored=epsilon is not None and not epsilon.value,
        rows_per_person=min(filter(None, map(_said, (options.rows_per_person, options.rows_in_all))), default=None),
        groups_per_person=_said(options.groups_per_person),
        delta=_said(options.delta),
        fresh=fresh,
        priced_at=None if priced is None else priced.at,
        total=call.total,
        max_cost=min((each for each in (call.max_cost, session.max_cost) if each is not None), default=None),
    )


Option = TypeVar("Option")


def _said(option: Said[Option] | None) -> Option | None:
    return None if option is None else option.value


def _require_agreement(options: Options, call: Ask) -> None:
    """A call and its text that differ would leave it to chance which of them the reader believes."""
    priced = options.within or options.epsilon
    if call.total is not None and priced is not None and (options.within or priced.value != call.epsilon):
        raise BadParameter(
            f"the batch has one price, total={shown(call.total)}, and the text of this question says another here",
            why="each question of a batch is paid for by its share of the total",
            fix="leave the price out of the text: total= of the batch and weight= of the question decide it",
            at=priced.at,
        )
    if call.epsilon is not None and options.within is not None:
        raise _disagreement("epsilon", "WITHIN also decides the price", options.within.at)
    pairs: tuple[tuple[str, object, Said[Fraction] | Said[Mode] | Said[Noise] | None], ...] = (
        ("epsilon", call.epsilon, options.epsilon),
        ("confidence", call.confidence, options.confidence),
        ("mode", call.mode, options.mode),
        ("noise", call.noise, options.noise),
    )
    for name, argument, option in pairs:
        if argument is not None and option is not None and argument != option.value:
            raise _disagreement(name, "the text says something else here", option.at)


def _disagreement(name: str, what: str, at: At) -> BadParameter:
    return BadParameter(
        f"{name} is also an argument of the call, and {what}",
        why="a reader of either would be wrong about the answer",
        fix=f"say {name} once: in the text, or as the argument",
        at=at,
    )


def stated(value: Number) -> Fraction:
    """A number as a person wrote it: 0.1 is a tenth, not the float beside it."""
    if isinstance(value, Decimal) and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise BadParameter(
            f"{value} is of no sensible size",
            why="no double holds it, and exact arithmetic with it would not end",
            fix="write a plain number, for example 0.05",
        )
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def asked(
    *,
    epsilon: Number | None = None,
    confidence: Number | None = None,
    mode: str | None = None,
    noise: str | None = None,
    fresh: bool = False,
) -> Ask:
    """The wishes of a query, checked."""
    if not isinstance(fresh, bool):
        raise BadParameter(
            f"fresh={fresh!r} is neither True nor False",
            why="it decides whether new noise is bought",
            fix="pass fresh=True for new noise, or leave it out",
        )
    if epsilon is not None:
        require_epsilon(epsilon=epsilon)
    if confidence is not None:
        _require_confidence(confidence)
    return Ask(
        epsilon=None if epsilon is None else stated(epsilon),
        confidence=None if confidence is None else stated(confidence),
        mode=None if mode is None else _chosen("mode", mode, Mode),
        noise=None if noise is None else _chosen("noise", noise, Noise),
        fresh=fresh,
    )


def limited(ask: Ask, max_cost: Number | None) -> Ask:
    """The same wishes, for an answer that may cost so much."""
    if max_cost is None:
        return replace(ask, max_cost=None)
    require_non_negative(max_cost=max_cost)
    return replace(ask, max_cost=stated(max_cost))


def _require_confidence(confidence: Number) -> None:
    """One that margins can have: looked at before anything is planned, let alone paid for."""
    require_open_unit(confidence=confidence)
    if not is_confidence(stated(confidence)):
        raise BadParameter(
            f"confidence={shown(confidence)} must be at least 1e-30 away from 0 and 1",
            why="it is the share of answers that lie inside their margin, and no margin can be computed nearer to them",
            fix="choose a confidence such as 0.95",
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
    if ask.delta is not None and defaults.delta_per_query is not None:
        defaults = replace(defaults, delta_per_query=min(ask.delta, defaults.delta_per_query))
    return terms(
        cost,
        confidence=ask.confidence if ask.confidence is not None else defaults.confidence,
        noise=ask.noise or defaults.noise,
        defaults=defaults,
        accounts=accounts,
    )


def wishes_of(ask: Ask, defaults: Defaults, offered: Terms) -> Wishes:
    """How to bound and to add noise, as far as somebody said so."""
    return Wishes(
        mode=ask.mode or defaults.mode,
        noise=offered.noise,
        gaussian=offered.gaussian_rho > 0,
        rows_per_person=ask.rows_per_person,
        groups_per_person=ask.groups_per_person,
    )
