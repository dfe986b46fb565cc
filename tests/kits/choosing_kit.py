"""The laws of a mechanism that chooses a candidate by its score: what `MechanismKit` asks of all of them alike."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from dpsql.mechanisms.mechanism import Mechanism
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always


class ChoosingKit(MechanismKit):
    """Three candidates, and scores that one unit moves by 1 at most in either direction, at ε = 1: a scale of 2."""

    kind: ClassVar[Callable[..., Mechanism[Any, Any]]]
    more: ClassVar[Mapping[str, object]] = {}

    def law(self, scores: Sequence[Any]) -> Sequence[float]:
        """The probability of each candidate."""
        raise NotImplementedError

    def mechanism(self) -> Mechanism[Any, Any]:
        common = {"candidates": ["a", "b", "c"], "sensitivity": 1, "monotonic": False, "max_candidates": 10}
        return type(self).kind(**common, **self.more, epsilon=Fraction(1))

    value = always(lambda: [3, 5, 4])
    neighbour = always(lambda: [4, 4, 4])
    outputs = always(lambda: ["a", "b", "c"])

    def probability(self, value: Any, output: Any) -> float:
        return self.law(value)["abc".index(output)]

    def bad_parameters(self) -> Iterable[Mapping[str, object]]:
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True, None))
        yield from ({"sensitivity": bad} for bad in (0, -1, math.nan, math.inf))
        yield from ({"candidates": bad} for bad in ([], range(11), "abc", [*"aba"], {"a": 1}, None))
        yield from ({"max_candidates": bad} for bad in (0, 2, -1, 1.5))
        yield from ({"monotonic": bad} for bad in ("yes", 1, None))

    ill_typed = always(lambda: [[0.8675309, 1, 2], ["0.8675309", 1, 2], [8675309, 1]])
