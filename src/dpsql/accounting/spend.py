"""A history as a flat list of (ε, δ) spends: what the classical composition theorems read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from dpsql.accounting.history import releases
from dpsql.accounting.subsampling import Scheme, amplify
from dpsql.errors import UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    ContinuousLaplace,
    Event,
    KeySelection,
    PlannedBatch,
    PoissonSampled,
    Pure,
)
from dpsql.privacy.rounding import exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One (ε, δ)-DP release."""

    epsilon: Fraction
    delta: Fraction


@singledispatch
def spends(event: Event) -> list[Spend]:
    """The (ε_i, δ_i) of the releases inside an event, one entry per release.

    Theorem   each entry is the definition of its event; `PoissonSampled` by amplification (subsampling.md).
    Requires  events with a finite ε: Gaussian noise has none.
    Rounds    nothing, except the amplified ε and δ: up.
    """
    raise UnsupportedEvent(
        f"{type(event).__name__} has no finite ε that this accountant could add up",
        why="basic, advanced and optimal composition read (ε, δ) pairs; Gaussian noise is only described by ρ",
        fix="use the zcdp, rdp or pld accountant for this event",
    )


@spends.register(Pure)
@spends.register(BoundedRange)
@spends.register(ContinuousLaplace)
def _(event: Pure | BoundedRange | ContinuousLaplace) -> list[Spend]:
    return [Spend(epsilon=event.epsilon, delta=Fraction(0))]


@spends.register
def _(event: Approximate) -> list[Spend]:
    return [Spend(epsilon=event.epsilon, delta=event.delta)]


@spends.register
def _(event: KeySelection) -> list[Spend]:
    return [Spend(epsilon=event.epsilon, delta=event.delta)]


@spends.register
def _(event: PlannedBatch) -> list[Spend]:
    return [Spend(epsilon=event.epsilon, delta=event.delta)]


@spends.register
def _(event: Composed) -> list[Spend]:
    return [spend for part in releases(event) for spend in spends(part)]


@spends.register
def _(event: PoissonSampled) -> list[Spend]:
    inside = spends(event.event)
    epsilon = sum((part.epsilon for part in inside), Fraction(0))
    if not epsilon:
        return []
    delta = sum((part.delta for part in inside), Fraction(0))
    amplified = amplify(epsilon=epsilon, delta=delta, rate=event.rate, scheme=Scheme.POISSON)
    return [Spend(epsilon=exact(amplified.epsilon), delta=exact(amplified.delta))]
