"""What was done, said in a way every accountant can price: the only words mechanisms and accountants share.

An event holds the privacy parameters of a release, never a value from the data. Numbers are kept as exact
rationals, so that prices add up without drift. A new event is added only where no existing one describes a
mechanism as tightly as a known theorem does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Final

from dpsql.privacy.rounding import exact
from dpsql.require import require_count, require_delta, require_epsilon, require_open_unit, require_positive, unmet

_CHECKS: Mapping[str, Callable[..., None]] = {
    "epsilon": require_epsilon,
    "delta": require_delta,
    "noise_multiplier": require_positive,
    "sigma_squared": require_positive,
    "l2_squared": require_positive,
    "rate": require_open_unit,
    "dimensions": require_count,
    "keys": require_count,
}
"""What a parameter of this name must be, in whichever event it stands."""


@dataclass(frozen=True, slots=True)
class Event:
    """A release, described by its parameters. Fractions, ints and floats are accepted and kept exactly."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _CHECKS:
                _CHECKS[field.name](**{field.name: value})
            if field.type == "Fraction":
                object.__setattr__(self, field.name, exact(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pure(Event):
    """Any ε-DP release known by its ε alone.

    Discrete Laplace, randomized response, permute-and-flip, noisy max with Laplace or exponential noise,
    sparse vector, Cauchy-type smooth noise.
    """

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousLaplace(Event):
    """Laplace noise of scale l1/ε on the real line: ε-DP, with a tighter Rényi curve than `Pure`."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange(Event):
    """An ε-bounded-range selection: the exponential mechanism and its Gumbel form. ε-DP, and ε²/8-zCDP."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousGaussian(Event):
    """Gaussian noise on the real line with σ = noise_multiplier · l2. Library only: it never prices a release."""

    noise_multiplier: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(Event):
    """Discrete Gaussian noise of parameter σ² on every coordinate of an integer vector of squared L2 distance l2²."""

    sigma_squared: Fraction
    l2_squared: Fraction
    dimensions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximate(Event):
    """Any (ε, δ)-DP release known by those two numbers alone: smooth and elastic Laplace noise."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySelection(Event):
    """Optimal (truncated geometric) selection of private keys, `keys` per person, each at (ε/keys, δ/keys)."""

    epsilon: Fraction
    delta: Fraction
    keys: int

    def __post_init__(self) -> None:
        require_open_unit(delta=self.delta)
        Event.__post_init__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianThreshold(Event):
    """Keys kept where a discrete Gaussian people count passes an integer threshold that fails with probability δ."""

    sigma_squared: Fraction
    delta: Fraction
    keys: int

    def __post_init__(self) -> None:
        require_open_unit(delta=self.delta)
        Event.__post_init__(self)


def _described(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events as a tuple: an iterator that is read once by a check would be empty, and free, afterwards."""
    described = tuple(events)
    if not all(isinstance(event, Event) for event in described):
        raise unmet("something that is not an event stands where an event belongs")
    return described


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled(Event):
    """`event` run on a Poisson sample of the people at `rate`, under add/remove neighbours."""

    event: Event
    rate: Fraction

    def __post_init__(self) -> None:
        _described((self.event,))
        Event.__post_init__(self)


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """Several releases on the same data. Their order does not matter to any accountant here."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", _described(self.events))


PRICED_EVENTS: Final[Mapping[str, type[Event]]] = {
    "approximate": Approximate,
    "bounded_range": BoundedRange,
    "composed": Composed,
    "discrete_gaussian": DiscreteGaussian,
    "gaussian_threshold": GaussianThreshold,
    "key_selection": KeySelection,
    "pure": Pure,
}
"""The events that price releases, by the names they have in ledgers. A name is never given another meaning."""
