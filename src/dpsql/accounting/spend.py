"""A history as a flat row of releases, and of (ε, δ) spends: what the classical composition theorems read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Final

from dpsql.accounting.subsampling import Scheme, amplify
from dpsql.errors import BadParameter, UnsupportedEvent
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
from dpsql.require import unmet


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


LONGEST_HISTORY: Final = 1_000_000


def require_event(event: object) -> None:
    """What is to be priced is one event."""
    if not isinstance(event, Event):
        raise BadParameter(
            f"a {type(event).__name__} stands where an event belongs",
            why="a history is one event; several releases are one event too, once they are composed",
            fix="pass Composed(tuple of events), from dpsql.privacy.events",
        )


def releases(event: Event) -> list[Event]:
    """The releases inside nested compositions, in order.

    Compositions may share parts and nest deeply; a million releases is the limit, so that none of that hangs.
    """
    require_event(event)
    if not isinstance(event, Composed):
        return [event]
    found: list[Event] = []
    waiting: list[Event] = [event]
    seen = 0
    while waiting:
        part = waiting.pop()
        seen += 1
        if seen > LONGEST_HISTORY:
            raise unmet(f"the history holds more than {LONGEST_HISTORY} releases")
        if isinstance(part, Composed):
            waiting.extend(reversed(part.events))
        else:
            found.append(part)
    return found
