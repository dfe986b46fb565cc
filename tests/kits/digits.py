"""Numbers at high precision, as mpmath holds them."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest


def mp(value: float | Fraction | Decimal) -> mpmath.mpf:
    """The value as it is, rounded at the precision in force alone."""
    exactly = Fraction(value)
    return mpmath.mpf(exactly.numerator) / exactly.denominator


def digits(count: int) -> Any:
    """A fixture: so many digits are in force in every test of the file that names it."""

    @pytest.fixture(autouse=True, scope="module")
    def many_digits() -> Iterator[None]:
        with mpmath.workdps(count):
            yield

    return many_digits
