"""The ranges in which the theorems of this package are computed: outside them a call is refused, never guessed.

The formulas hold further out, but floating point overflows, and a list of 10**9 releases would not end.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpsql.errors import BadParameter
from dpsql.privacy.rounding import exact
from dpsql.require import (
    LARGEST_COUNT,
    Number,
    require_count,
    require_delta,
    require_epsilon,
    require_finite,
    require_numbers,
    require_open_unit,
    require_that,
    shown,
)

SMALLEST_EPSILON: Final = Fraction(1, 2**60)
LARGEST_EPSILON: Final = Fraction(2**20)
SMALLEST_DELTA: Final = Fraction(1, 2**1000)
LONGEST_LIST: Final = 100_000


def require_within(*, lowest: Number, highest: Number, **named: Number) -> None:
    """Each value lies in [lowest, highest]."""
    for name, value in named.items():
        require_finite(**{name: value})
        if not exact(lowest) <= exact(value) <= exact(highest):
            raise BadParameter(
                f"{name} must be between {shown(exact(lowest))} and {shown(exact(highest))}",
                why="outside this range the bound is trivial, or its arithmetic would overflow or not end",
                fix=f"choose a {name} inside the range",
            )


def counted(*, at_least: int = 1, at_most: int = LARGEST_COUNT, **named: int) -> int:
    """The one whole number given, checked."""
    ((name, value),) = named.items()
    require_count(at_least=at_least, at_most=at_most, **{name: value})
    return value


def priced_epsilon(**named: Number) -> Fraction:
    """The one ε given, checked and exact."""
    ((name, value),) = named.items()
    if isinstance(value, Fraction) and SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        return value
    require_epsilon(**{name: value})
    require_within(lowest=SMALLEST_EPSILON, highest=LARGEST_EPSILON, **{name: value})
    return exact(value)


def slack(**named: Number) -> Fraction:
    """The one δ given, strictly inside (0, 1), checked and exact."""
    ((name, value),) = named.items()
    require_open_unit(**{name: value})
    require_within(lowest=SMALLEST_DELTA, highest=1, **{name: value})
    return exact(value)


def priced_lists(*, epsilons: Sequence[Number], deltas: Sequence[Number]) -> list[tuple[Fraction, Fraction]]:
    """The pairs (ε_i, δ_i), checked and exact."""
    require_numbers(epsilons=epsilons, deltas=deltas)
    require_count(number_of_releases=len(epsilons), at_most=LONGEST_LIST)
    require_that(len(epsilons) == len(deltas), "there must be one delta for each epsilon")
    for index, delta in enumerate(deltas):
        require_delta(**{f"deltas[{index}]": delta})
    return [
        (priced_epsilon(**{f"epsilons[{index}]": epsilon}), exact(delta))
        for index, (epsilon, delta) in enumerate(zip(epsilons, deltas, strict=True))
    ]
