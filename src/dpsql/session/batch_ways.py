"""Which theorem prices a batch, and how finely its questions are answered for its price.

A batch is fixed before its first answer, so that theorems about planned releases may price it: for the same total its
noise is smaller than that of shares that are added up. Everything here is a function of texts, policy and accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.accounting.account import Account
from dpsql.accounting.batch import Proof, finest, proven
from dpsql.accounting.triple import triple
from dpsql.catalog.model import Noise
from dpsql.errors import DpsqlError
from dpsql.plan.price import Plan
from dpsql.plan.seal import Sealed
from dpsql.plan.terms import Scale, grant_at
from dpsql.privacy.events import Composed, Event
from dpsql.session.inquiry import different
from dpsql.session.query import Query
from dpsql.sql.syntax import Purpose

Scaled: TypeAlias = Callable[[int, Scale], Query]
"""The question of this place in the batch, answered this finely."""

_WORTHWHILE: Final = 0.98
"""A theorem that leaves more of the variance than this is not worth its δ."""
_START: Final = Fraction(1, 64)
"""The ρ of a share of the total to begin with, in units of share times total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A batch as a theorem prices it: how its questions are answered, which of them are paid for, and the proof."""

    queries: tuple[Query, ...]
    members: tuple[Sealed, ...]
    """Every question about people, each once, whether it is stored or not."""
    paying: tuple[Sealed, ...]
    """Those of the members that are paid for, in the order of their charges."""
    total: Fraction
    slack: Fraction

    proof: Proof
    """The total, where all of it is paid for; of a part, stored answers being free, what the part costs."""
    begun: bool = False
    """It was paid for before."""

    def of(self, places: Sequence[int]) -> Way:
        """The same batch, where these members have been paid for before."""
        return replace(self.paid_for(tuple(self.members[place] for place in places)), begun=True)

    def paid_for(self, paying: tuple[Sealed, ...]) -> Way:
        """The same batch, where these of its members are paid for."""
        events = _events(paying)
        proof = proven(events, delta=_delta(events, self.slack))
        if len(paying) == len(self.members) or proof.batch.epsilon >= self.total:
            proof = _at(self.total, proof)
        return replace(self, paying=paying, proof=proof)


def _at(total: Fraction, proof: Proof) -> Proof:
    return replace(proof, batch=replace(proof.batch, epsilon=total))


def ways(plain: Sequence[Query], scaled: Scaled, *, total: Fraction, slack: Fraction) -> Iterator[Way]:
    """The ways in which a theorem prices these questions within the total, and within this δ beside their own.

    How fine they are is settled by all questions, stored ones too: so a batch that was interrupted is planned again as
    it was. Statements with PRIVATE questions have no such way: they are planned anew when they are asked.
    """
    if any(query.inquiry.inner for query in plain) or len(_members(plain)) < 2:
        return
    if any(query.sealed.plan.finer is not None for query in plain):  # what is missing is bought by itself
        return
    for noise in Noise:
        try:
            found = _way(noise, plain, scaled, total=total, slack=slack)
        except DpsqlError:  # some question has no plan of this kind
            continue
        if found is not None:
            yield found


def _way(noise: Noise, plain: Sequence[Query], scaled: Scaled, *, total: Fraction, slack: Fraction) -> Way | None:
    units = [query.sealed.plan.terms.cost for query in plain]
    if noise is Noise.GAUSSIAN:
        units = [unit * total * _START for unit in units]
    power = 1 if noise is Noise.LAPLACE else 2
    rough: Sequence[Query] = plain
    if noise is Noise.GAUSSIAN or not all(_is_pure(sealed) for sealed in _members(plain)):
        rough = [scaled(place, Scale(noise=noise, amount=unit)) for place, unit in enumerate(units)]
    events = _events(_members(rough))
    factor = finest(events, epsilon=total, delta=_delta(events, slack))
    if factor is None:
        return None
    amounts = [unit * factor**power for unit in units]
    queries = tuple(scaled(place, Scale(noise=noise, amount=amount)) for place, amount in enumerate(amounts))
    members = _members(queries)
    events = _events(members)
    paying = tuple(sealed for sealed in members if sealed.plan.stored is None)
    proof = proven(events, delta=_delta(events, slack))
    if not paying or proof.batch.epsilon > total:
        return None
    whole = Way(queries=queries, members=members, paying=members, total=total, slack=slack, proof=_at(total, proof))
    return whole if len(paying) == len(members) else whole.paid_for(paying)


def _members(queries: Sequence[Query]) -> tuple[Sealed, ...]:
    found = [query.sealed for query in queries if query.inquiry.outer.is_priced]
    return different(sealed for sealed in found if sealed.plan.bounded.query.purpose is Purpose.ANSWER)


def _is_pure(sealed: Sealed) -> bool:
    """It is planned as it would be in a batch with Laplace noise, at the ε of its share."""
    plan = sealed.plan
    return plan.terms.pure and plan.event is not None and triple(plan.event).epsilon is not None


def _events(plans: Sequence[Sealed]) -> list[Event]:
    return [sealed.plan.event for sealed in plans if sealed.plan.event is not None]


def _delta(events: Sequence[Event], slack: Fraction) -> Fraction:
    return triple(Composed(tuple(events))).delta + slack


def best(
    plain: Sequence[Query], found: Sequence[Way], accounts: Sequence[Account], *, cap: Fraction | None
) -> Way | None:
    """The way with the least noise that all accounts grant, and in which no answer is worth more than the `cap` of one
    query; None where the plain sum has no more."""
    granted = [
        way
        for way in found
        if grant_at(accounts, way.proof.batch, way.proof.batch.epsilon)
        and (cap is None or all(_is_within(cap, event, accounts) for event in _events(way.paying)))
    ]
    left, way = min(((_noise_left(plain, way.queries), way) for way in granted), key=_first, default=(1.0, None))
    return way if left < _WORTHWHILE else None


def _first(pair: tuple[float, Way | None]) -> float:
    return pair[0]


def _is_within(cap: Fraction, event: Event, accounts: Sequence[Account]) -> bool:
    worth = accounts[0].worth(event)
    return worth is not None and worth <= cap


def _noise_left(plain: Sequence[Query], finer: Sequence[Query]) -> float:
    """The largest part of its variance that is left to any question."""
    pairs = ((before.sealed.plan, after.sealed.plan) for before, after in zip(plain, finer, strict=True))
    return max((_part(before, after) for before, after in pairs if after.steps and after.stored is None), default=1.0)


def _part(before: Plan, after: Plan) -> float:
    first, second = _spread(before), _spread(after)
    if len(first) != len(second):
        return 1.0
    return max((new / old for old, new in zip(first, second, strict=True)), default=1.0)


def _spread(plan: Plan) -> list[float]:
    """The variance of each number, and where groups are found the number of people that takes."""
    noises = [noise.carried.law.variance * float(noise.carried.grain) ** 2 for noise in plan.noises]
    return [*noises, *([] if plan.people is None else [float(plan.people)])]
