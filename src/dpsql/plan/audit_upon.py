"""What a release that makes another one finer says about it, against the records of both."""

from __future__ import annotations

from collections.abc import Container, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from dpsql.catalog.model import KeyList
from dpsql.errors import LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.finer import Way
from dpsql.plan.price import RevealStep, Step
from dpsql.plan.record import Kept, kept, read_plan

_ROUNDED: Final = 1 - Fraction(1, 2**20)
"""Every σ² is rounded up to 24 bits."""


def audited_upon(
    record: str,
    *,
    upon: int | None,
    records: Mapping[int, str],
    lists: Mapping[str, KeyList] = MappingProxyType({}),
    additive: bool = True,
    batched: Container[int] = (),
) -> None:
    """LedgerBroken where a record that makes a release finer does not fit the records it rests on.

    Its own price is derived from its own steps, as that of every record. Here: that it rests on the release it is
    charged upon, and so has its salt; that both measure the same slots in the same grains, so that they may be
    averaged; what was paid before; and that the average is as precise as the answer it was sold as.

    Finer levels are priced in ε alone: a record that was charged otherwise, not `additive`, neither draws nor tells
    any, and what was charged in a batch, one of `batched`, is not made finer by them.
    """
    told = kept(record)
    revealing = told.upon is not None and told.upon.way is Way.REVEALED
    if not additive and (told.levels or revealing):
        raise _wrong("it has finer levels where ε alone is not what is added up")
    chain = _chain(told, records)
    steps, _, _ = read_plan(record, lists=lists)
    first = chain[-1][0] if chain else None
    if first != upon:
        raise _wrong("it is charged upon another release than its record says")
    reveals = told.upon is not None and told.upon.way is Way.REVEALED
    if reveals != any(isinstance(step, RevealStep) for step in steps):
        raise _wrong("what it tells was drawn otherwise than its record says")
    if not chain or told.upon is None:
        return
    if revealing and any(number in batched for number, _ in chain):
        raise _wrong("it tells a level of a question that was paid for in a batch")
    before = chain[0][1]
    if dict(told.noises).keys() != dict(before.noises).keys():
        raise _wrong("it measures other numbers than the release it makes finer")
    if told.upon.paid != sum((each.cost for _, each in chain), Fraction(0)):
        raise _wrong("what it says was paid before is not what was paid")
    if reveals and not _is_level(steps, told, chain):
        raise _wrong("it tells another level than was drawn with the first release")
    if told.upon.way is Way.MEASURED and not _as_precise(told, [told, *(each for _, each in chain)]):
        raise _wrong("it is less precise than the answer it was sold as")


def _is_level(steps: tuple[Step, ...], told: Kept, chain: list[tuple[int, Kept]]) -> bool:
    """The level of the first release that stands where it is taken from, priced against the one it was paid up to."""
    first, before = chain[-1][1], chain[0][1]
    step, *others = steps
    if told.upon is None or others or not isinstance(step, RevealStep) or not 0 <= step.level < len(first.levels):
        return False
    if told.upon.level != first.levels[step.level]:
        return False
    own, paid, drawn = dict(told.noises), dict(before.noises), dict(first.noises)
    finer = all(_scale(own[slot]) * told.upon.level == _scale(drawn[slot]) for slot in own)
    return finer and step.before == tuple(paid[slot] for slot, _ in told.noises)


def _scale(noise: NoisySlotLaw) -> Fraction:
    return noise.law.scale if isinstance(noise.law, DiscreteLaplaceLaw) else Fraction(0)


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


def _as_precise(told: Kept, measured: list[Kept]) -> bool:
    """Of Gaussian measurements the precisions 1/σ² add up."""
    if told.upon is None or len(told.upon.answers) != len(told.noises):
        return False
    slots = [slot for slot, _ in told.noises]
    for slot, answer in zip(slots, told.upon.answers, strict=True):
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
    return LedgerBroken(
        f"a stored plan does not hold what it promises: {what}",
        why="only measurements of the same numbers may be put together",
        fix="verify the ledger and compare it with its backup",
    )
