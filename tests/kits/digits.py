"""Numbers at high precision, as mpmath holds them."""

from decimal import Decimal
from fractions import Fraction

import mpmath


def mp(value: float | Fraction | Decimal) -> mpmath.mpf:
    """The value as it is, rounded at the precision in force alone."""
    exactly = Fraction(value)
    return mpmath.mpf(exactly.numerator) / exactly.denominator
