"""Where floats and exact numbers meet. Every float that carries a privacy parameter crosses here."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final

from dpsql.errors import BadParameter
from dpsql.require import Number, require_finite

_LONGEST_DECIMAL: Final = 5000


def exact(value: Number) -> Fraction:
    """The rational number a caller wrote: a float stands for its binary value, a Decimal for its decimal one.

    Requires  a finite number; a Decimal of 10**±5000 or beyond would take too long to write out.
    Rounds    nothing.
    """
    if isinstance(value, Fraction):
        return value
    require_finite(value=value)
    if isinstance(value, Decimal) and not value.is_zero() and abs(value.adjusted()) > _LONGEST_DECIMAL:
        raise BadParameter(
            "a Decimal is too large or too small",
            why=f"beyond 10**±{_LONGEST_DECIMAL} it has too many digits to compute with",
            fix="measure in other units",
        )
    return Fraction(value)


def round_up(value: Fraction) -> float:
    """The smallest float that is at least `value` (inf where none is)."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0)
    return near if near >= value else math.nextafter(near, math.inf)


def round_down(value: Fraction) -> float:
    """The largest float that is at most `value` (-inf where none is)."""
    return -round_up(-value)


def pad_up(value: float, *, ulps: int) -> float:
    """`value` moved up by `ulps` units in the last place: the stated error of the floating-point steps before.

    The caller says how many units its formula can lose; the unit tests compare the padded value with a
    50-digit evaluation, in the direction promised.
    """
    return value + ulps * math.ulp(value) if math.isfinite(value) else value
