"""What an answer was said to cost, against what was released for it and the rate of the account.

The cost is told in ε. Noise that is counted in ε costs its ε; noise that is counted in ρ costs the same share of ε as
its ρ is of ρ*. Nothing here knows what was asked for: the cost follows from the events of the steps alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpsql.accounting.history import releases
from dpsql.accounting.triple import triple
from dpsql.plan.steps import Step
from dpsql.privacy.events import Composed, DiscreteGaussian, Event, GaussianThreshold, KeySelection, Pure

_ROUNDED: Final = 1 + Fraction(1, 2**23)
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
    """What these steps, all of them, were bought for."""
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
    return None if rho is None else Span(low=rho, high=rho * _ROUNDED)


def _of_root(epsilon: Fraction, *, parts: int) -> Span:
    return Span(low=epsilon**2 / (2 * parts), high=(epsilon + _ROOT) ** 2 / (2 * parts))


_RHO: Final[Mapping[type, Callable[[Any], Span | None]]] = {
    Pure: lambda event: _of_root(event.epsilon, parts=1),
    KeySelection: lambda event: _of_root(event.epsilon, parts=event.keys),
    DiscreteGaussian: _of_gaussian,
    GaussianThreshold: _of_gaussian,
}
"""What each was bought for in ρ."""
