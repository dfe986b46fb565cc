"""A history as a flat list of (ε, δ) spends: what the classical composition theorems read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from dpsql.accounting.history import releases, require_event
from dpsql.accounting.subsampling import Scheme, amplify
from dpsql.errors import UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    ContinuousLaplace,
    Event,
    KeySelection,
    PoissonSampled,
    Pure,
)
from dpsql.privacy.rounding import exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One (ε, δ)-DP release."""

    epsilon: Fraction
    delta: Fraction


def total(parts: Iterable[Spend]) -> Spend:
    """Σε and Σδ, exactly."""
    epsilon = delta = Fraction(0)
    for part in parts:
        epsilon, delta = epsilon + part.epsilon, delta + part.delta
    return Spend(epsilon=epsilon, delta=delta)


@singledispatch
def spends(event: Event) -> list[Spend]:
    """The (ε_i, δ_i) of the releases inside an event, one entry per release.

    Theorem   each entry is the definition of its event; `PoissonSampled` by amplification (subsampling.md).
    Requires  events with a finite ε: Gaussian noise has none.
    Rounds    nothing, except the amplified ε and δ: up.
    """
    require_event(event)
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


@spends.register(Approximate)
@spends.register(KeySelection)
def _(event: Approximate | KeySelection) -> list[Spend]:
    return [Spend(epsilon=event.epsilon, delta=event.delta)]


@spends.register
def _(event: Composed) -> list[Spend]:
    return [spend for part in releases(event) for spend in spends(part)]


@spends.register
def _(event: PoissonSampled) -> list[Spend]:
    inside = total(spends(event.event))
    if not inside.epsilon:
        return []
    amplified = amplify(epsilon=inside.epsilon, delta=inside.delta, rate=event.rate, scheme=Scheme.POISSON)
    return [Spend(epsilon=exact(amplified.epsilon), delta=exact(amplified.delta))]
