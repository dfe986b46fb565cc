"""The price of a stored plan, derived again from its record alone, as `seal` derived it when it was charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from dpsql.accounting.spend import releases
from dpsql.accounting.triple import Triple, triple
from dpsql.catalog.model import Catalog, Defaults, KeyList, Person, Policy, TablePolicy
from dpsql.catalog.ownership import declared_ways
from dpsql.errors import DpsqlError, LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.price import Step, released_noises
from dpsql.plan.recall import Way
from dpsql.plan.record import Kept, ReadTable, kept, read_plan
from dpsql.plan.seal import price_of_steps, reaches_of
from dpsql.privacy.events import Composed, DiscreteGaussian, Event, GaussianThreshold, KeySelection, Pure
from dpsql.privacy.unit import Neighbours

_ROUNDED: Final = 1 - Fraction(1, 2**20)
"""Every σ² is rounded up to 24 bits."""


def audited_upon(record: str, *, upon: int | None, records: Mapping[int, str]) -> None:
    """LedgerBroken where a record that makes a release finer does not fit the records it rests on.

    Its own price is derived from its own steps, as that of every record. Here: that it rests on the release it is
    charged upon, and so has its salt; that both measure the same slots in the same grains, so that they may be
    averaged; what was paid before; and that the average is as precise as the answer it was sold as.
    """
    told = kept(record)
    chain = _chain(told, records)
    first = chain[-1][0] if chain else None
    if first != upon:
        raise _wrong("it is charged upon another release than its record says")
    if not chain or told.upon is None:
        return
    before = chain[0][1]
    if dict(told.noises).keys() != dict(before.noises).keys():
        raise _wrong("it measures other numbers than the release it makes finer")
    if told.upon.paid != sum((each.cost for _, each in chain), Fraction(0)):
        raise _wrong("what it says was paid before is not what was paid")
    if told.upon.way is Way.MEASURED and not _as_precise(told.upon.answers, [told, *(each for _, each in chain)]):
        raise _wrong("it is less precise than the answer it was sold as")


def _chain(told: Kept, records: Mapping[int, str]) -> list[tuple[int, Kept]]:
    """The releases it rests on, the latest first. Receipts only lead to older ones."""
    found: list[tuple[int, Kept]] = []
    while told.upon is not None:
        number = told.upon.receipt
        if number not in records or (found and number >= found[-1][0]):
            raise _wrong("it rests on a release that is not there")
        told = kept(records[number])
        found.append((number, told))
    return found


def _as_precise(answers: Sequence[NoisySlotLaw], measured: Sequence[Kept]) -> bool:
    """Of Gaussian measurements the precisions 1/σ² add up."""
    slots = [slot for slot, _ in measured[0].noises]
    if len(answers) != len(slots):
        return False
    for slot, answer in zip(slots, answers, strict=True):
        noises = [dict(each.noises)[slot] for each in measured]
        precisions = [_precision(noise) for noise in noises]
        if any(noise.grain != answer.grain for noise in noises) or not all(precisions):
            return False
        if sum(precisions) < _precision(answer) * _ROUNDED:
            return False
    return True


def _precision(noise: NoisySlotLaw) -> Fraction:
    return 1 / noise.law.sigma_squared if isinstance(noise.law, DiscreteGaussianLaw) else Fraction(0)


def _wrong(what: str) -> LedgerBroken:
    return LedgerBroken(f"a stored plan does not hold what it promises: {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What a record says was done, and what that costs."""

    steps: tuple[Step, ...]
    price: Triple
    owners: tuple[tuple[str, str], ...] = ()
    """Whom it protects: (table, way to its person) in the words of a ledger, and under the empty name the relation."""


def audited(record: str, *, lists: Mapping[str, KeyList] = MappingProxyType({})) -> Audited:
    """The steps of a record, if what they release costs no more than their events say; LedgerBroken otherwise.

    Nothing but the record is read, and of the declarations in the ledger the `lists` of keys that it names: no engine,
    no data. Whoever keeps the ledger compares the price with the one that was charged.
    """
    steps, tables, neighbours = read_plan(record, lists=lists)
    if tuple(law for _, law in kept(record).noises) != tuple(noise.carried for noise in released_noises(steps)):
        raise LedgerBroken("a stored plan does not hold what it promises: its margins are not those of its noise")
    catalog = _catalog(tables, neighbours)
    try:
        price = price_of_steps(steps, reaches_of(steps, catalog))
    except DpsqlError as error:
        raise LedgerBroken(f"a stored plan does not hold what it promises: {error.what}") from None
    owners = (("", neighbours.value), *declared_ways(catalog.policy.tables))
    return Audited(steps=steps, price=price, owners=owners)


def _catalog(tables: tuple[ReadTable, ...], neighbours: Neighbours) -> Catalog:
    """The declarations the derivation reads, and no others."""
    policy = Policy(
        source="",
        ledger=None,
        data_version="",
        person=Person(relation=neighbours),
        promise=None,
        defaults=Defaults(),
        tables={
            table.name: TablePolicy(
                name=table.name,
                source=table.source,
                public=table.public,
                unit_row=table.unit_row,
                person=table.person,
                path=table.path,
                columns={},
            )
            for table in tables
        },
    )
    return Catalog(policy=policy, schema={table.name: table.engine for table in tables})


_ROUNDED_UP: Final = 1 + Fraction(1, 2**23)
"""Every σ² is rounded up to 24 bits: so much more may have been paid for than is released."""
_ROOT: Final = Fraction(1, 2**40)
"""Every ε that is bought with ρ is a root, rounded down to 40 bits behind the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From what to what: of what was paid for a little is lost where noise is rounded up."""

    low: Fraction
    high: Fraction

    def times(self, factor: Fraction) -> Span:
        return Span(low=self.low * factor, high=self.high * factor)

    def __contains__(self, value: Fraction) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What some steps were bought for, in each currency; None where it is not one of theirs."""

    epsilon: Span | None
    rho: Span | None


def bought(steps: Sequence[Step]) -> Bought:
    """What these steps, all of them, were bought for.

    The cost is told in ε. Noise that is counted in ε costs its ε; noise that is counted in ρ costs the same share of ε
    as its ρ is of ρ*. Nothing here knows what was asked for: the cost follows from the events of the steps alone.
    """
    event = Composed(tuple(step.event for step in steps))
    epsilon = triple(event).epsilon
    spans = [_RHO[type(part)](part) if type(part) in _RHO else None for part in releases(event)]
    known = [span for span in spans if span is not None]
    whole = Span(
        low=sum((span.low for span in known), Fraction(0)), high=sum((span.high for span in known), Fraction(0))
    )
    return Bought(
        epsilon=None if epsilon is None else Span(low=epsilon, high=epsilon),
        rho=whole if len(known) == len(spans) else None,
    )


def costs(steps: Sequence[Step], *, rate: Fraction, in_rho: bool) -> tuple[Span, ...]:
    """What these steps may have been said to cost: their ε; and their ρ at the `rate` of the account, ρ*/ε, where they
    have no ε, or where the account adds up ρ by then: `in_rho`."""
    found = bought(steps)
    told = [] if found.epsilon is None else [found.epsilon]
    if found.rho is not None and rate and (in_rho or not told):
        told.append(found.rho.times(1 / rate))
    return tuple(told)


def _of_gaussian(event: Event) -> Span | None:
    rho = triple(event).rho
    return None if rho is None else Span(low=rho, high=rho * _ROUNDED_UP)


def _of_root(epsilon: Fraction, *, parts: int) -> Span:
    return Span(low=epsilon**2 / (2 * parts), high=(epsilon + _ROOT) ** 2 / (2 * parts))


_RHO: Final[Mapping[type, Callable[[Any], Span | None]]] = {
    Pure: lambda event: _of_root(event.epsilon, parts=1),
    KeySelection: lambda event: _of_root(event.epsilon, parts=event.keys),
    DiscreteGaussian: _of_gaussian,
    GaussianThreshold: _of_gaussian,
}
"""What each was bought for in ρ."""
