"""Releases planned together: priced once, by a theorem that needs all parameters in advance, and charged as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Final

from dpsql.accounting.history import releases
from dpsql.accounting.registry import accountant
from dpsql.accounting.triple import triple
from dpsql.errors import BadParameter, DpsqlError, MissingExtra, UnsupportedEvent
from dpsql.privacy.events import (
    Composed,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    PlannedBatch,
    Pure,
)
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_positive

_STEPS: Final = 2**10
"""Factors are looked for to a thousandth."""
_MOST: Final = 16
"""And between 2**-16 and 2**16."""


def planned_batch(events: Iterable[Event], *, delta: Number, by: str) -> PlannedBatch:
    """The releases as one event, at the ε that the accountant called `by` proves for them at δ.

    Theorem   the accountant's own; then docs/theorems/event_triples.md for what the account charges.
    Requires  parameters all fixed before the first answer; δ at least the sum of the δ of the releases.
    Rounds    ε up.
    """
    planned = Composed(tuple(events))
    price = accountant(by).price(planned, delta=delta)
    batch = PlannedBatch(epsilon=exact(price), delta=exact(delta), events=planned.events)
    triple(batch)  # refuses a δ below that of the releases, here rather than when it is charged
    return batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What releases cost together, and the accountant that proves it."""

    batch: PlannedBatch
    by: str
    without: MissingExtra | None = None
    """A better accountant that is not installed here; None: there is none."""


def proven(events: Sequence[Event], *, delta: Number) -> Proof:
    """The releases as one event, by the accountant that prices such releases best.

    Theorem   `planned_batch`. Of equal pure releases nothing is smaller than optimal composition; unequal ones, and
              Gaussian noise on single numbers, are priced by their loss distributions; the rest by zCDP.
    Requires  as `planned_batch`. Without the extra [pld] the last of the three stands in for the second; MissingExtra
              where it cannot.
    Rounds    ε up.
    """
    missing: MissingExtra | None = None
    for name in ("optimal",) if _equal_and_pure(events) else ("pld", "zcdp"):
        try:
            return Proof(batch=planned_batch(events, delta=delta, by=name), by=name, without=missing)
        except MissingExtra as error:
            missing = error
        except (UnsupportedEvent, BadParameter):
            continue
    if missing is not None:
        raise missing
    raise UnsupportedEvent(
        "no theorem prices these releases together",
        why="each of them needs noise that a theorem about planned batches knows, and δ above that of all of them",
        fix="charge them one by one",
    )


def _equal_and_pure(events: Sequence[Event]) -> bool:
    parts = releases(Composed(tuple(events)))
    return len(set(parts)) == 1 and isinstance(parts[0], Pure)


@singledispatch
def finer(event: Event, *, factor: Fraction) -> Event:
    """The release with its ε times `factor`, or its σ² by the square of it: what a batch leaves open until it is
    priced. The exceptional δ stays."""
    raise UnsupportedEvent(
        f"no finer release is known for {type(event).__name__}",
        why="its noise is not described by one scale",
        fix="charge it by itself",
    )


@finer.register(Pure)
@finer.register(KeySelection)
def _(event: Pure | KeySelection, *, factor: Fraction) -> Event:
    return replace(event, epsilon=event.epsilon * factor)


@finer.register(DiscreteGaussian)
@finer.register(GaussianThreshold)
def _(event: DiscreteGaussian | GaussianThreshold, *, factor: Fraction) -> Event:
    return replace(event, sigma_squared=event.sigma_squared / factor**2)


@finer.register
def _(event: Composed, *, factor: Fraction) -> Event:
    return Composed(tuple(finer(part, factor=factor) for part in event.events))


def finest(events: Sequence[Event], *, epsilon: Number, delta: Number) -> Fraction | None:
    """The largest factor by which all releases can be made finer and still cost at most ε at δ together; None where no
    factor does, or no theorem prices them.

    Theorem   `proven`, by halving: the price grows with the factor.
    Requires  releases that `finer` knows.
    Rounds    down, to a thousandth: the factor that is returned was priced.
    """
    require_positive(epsilon=epsilon)
    target = exact(epsilon)

    def fits(factor: Fraction) -> bool:
        try:
            return proven([finer(event, factor=factor) for event in events], delta=delta).batch.epsilon <= target
        except DpsqlError:  # beyond the range in which the theorem is computed
            return False

    power = next((power for power in range(_MOST) if fits(Fraction(2) ** -power)), None)
    if power is None:
        return None
    below = Fraction(2) ** -power
    while power <= 0 and below < 2**_MOST and fits(2 * below):
        below *= 2
    good, bad = _STEPS, 2 * _STEPS
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(below * middle / _STEPS) else (good, middle)
    return below * good / _STEPS
