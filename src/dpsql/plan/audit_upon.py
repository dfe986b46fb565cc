"""What a release that makes another one finer says about it, against the records of both."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from dpsql.errors import LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.finer import Way
from dpsql.plan.record import Kept, kept

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
    if told.upon.way is Way.MEASURED and not _as_precise(told, [told, *(each for _, each in chain)]):
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
