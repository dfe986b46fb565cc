"""The laws every accountant must obey. Subclass `AccountantKit`, say how to price, and pytest runs them."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from types import MappingProxyType
from typing import Any, ClassVar, Final

from dpsql.errors import UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    PoissonSampled,
    Pure,
)


@dataclass(frozen=True, slots=True)
class Mystery(Event):
    """An event no accountant has a theorem for."""


PARAMETERS: Final[Mapping[type[Event], Mapping[str, Any]]] = MappingProxyType(
    {
        Pure: {"epsilon": 0.1},
        DiscreteGaussian: {"sigma_squared": 100, "l2_squared": 1, "dimensions": 5},
        PoissonSampled: {"event": ContinuousGaussian(noise_multiplier=Fraction(2)), "rate": 0.02},
        BoundedRange: {"epsilon": 0.5},
        Approximate: {"epsilon": 0.3, "delta": 1e-6},
        KeySelection: {"epsilon": 0.5, "delta": 1e-6, "keys": 3},
        GaussianThreshold: {"sigma_squared": 100, "delta": 1e-6, "keys": 3},
        ContinuousGaussian: {"noise_multiplier": 10},
        ContinuousLaplace: {"epsilon": 0.1},
    }
)
"""For every kind of release, parameters as a caller writes them."""


def one_of_each(*, without: Collection[type[Event]] = ()) -> tuple[Event, ...]:
    """One event of every kind, except the kinds an accountant has no theorem for."""
    return tuple(kind(**numbers) for kind, numbers in PARAMETERS.items() if kind not in without)


class AccountantKit:
    """Subclass this, define `price`, list the `events` it knows, and inherit the law.

    `tolerance` is relative, for accountants whose arithmetic is not exact; 0 where it is.
    """

    events: ClassVar[tuple[Event, ...]] = (Pure(epsilon=Fraction(1, 10)), Pure(epsilon=Fraction(1, 2)))
    tolerance: ClassVar[float] = 0.0

    def price(self, event: Event) -> float:
        """What the history costs, in the accountant's own currency. Larger is worse."""
        raise NotImplementedError

    def _never_above(self, small: float, large: float) -> bool:
        return small <= large or small <= large * (1 + self.tolerance)  # exact prices are compared exactly

    def test_nothing_costs_nothing(self) -> None:
        assert self.price(Composed(())) == 0

    def test_a_price_is_a_number_above_zero(self) -> None:
        for event in self.events:
            price = self.price(event)
            assert price > 0, event
            assert math.isfinite(price), event

    def test_composition_never_gets_cheaper(self) -> None:
        alone = {event: self.price(event) for event in self.events}
        for event, other in combinations_with_replacement(self.events, 2):
            both = self.price(Composed((event, other)))
            assert self._never_above(max(alone[event], alone[other]), both), (event, other)

    def test_an_unknown_event_is_refused(self) -> None:
        for wrapped in (Mystery(), Composed((Mystery(),)), Composed((self.events[0], Composed((Mystery(),))))):
            try:
                self.price(wrapped)
            except UnsupportedEvent:
                continue
            raise AssertionError(f"priced an event it does not know: {wrapped}")

    def test_the_order_of_releases_does_not_matter(self) -> None:
        prices = [self.price(Composed(order)) for order in permutations(self.events[:3])]
        assert self._never_above(max(prices), min(prices)), prices

    def test_grouping_does_not_matter(self) -> None:
        flat = self.price(Composed(self.events))
        nested = self.price(Composed((Composed(self.events[:1]), Composed((Composed(self.events[1:]),)))))
        assert self._never_above(flat, nested)
        assert self._never_above(nested, flat)

    def test_a_single_release_costs_the_same_inside_a_list_of_one(self) -> None:
        for event in self.events:
            assert self.price(Composed((event,))) == self.price(event), event
