"""Laws of few outcomes with exact masses, drawn at random, and sixty digits to judge what is said of them."""

from fractions import Fraction
from typing import Any

import mpmath
from hypothesis import strategies as st

M: Any = mpmath.MPContext()
"""A context of its own: other tests keep their precision."""
M.dps = 60


def mp(value: Any) -> Any:
    """The value as it is, at the precision of `M`."""
    exactly = Fraction(value)
    return M.mpf(exactly.numerator) / exactly.denominator


def law(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


def laws(outcomes: int, least: int = 0) -> st.SearchStrategy[list[Fraction]]:
    return st.lists(st.integers(least, 20), min_size=outcomes, max_size=outcomes).filter(any).map(law)


def pairs(least: int = 0) -> st.SearchStrategy[tuple[list[Fraction], list[Fraction]]]:
    """Two laws of the same outcomes, each with at least so much weight."""
    return st.integers(1, 6).flatmap(lambda outcomes: st.tuples(laws(outcomes, least), laws(outcomes, least)))
