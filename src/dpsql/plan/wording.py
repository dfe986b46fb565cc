"""How explanations say numbers, people and values: one way, wherever they are printed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Value

THIN: Final = "\u2009"
"""Between groups of three digits: no line is broken there."""

_DIGITS: Final = 6
_EXACT_DIGITS: Final = 12
_SMALL: Final = Fraction(1, 10**4)
_LONG: Final = 10**12
_MOST_LISTED: Final = 6


def amount(value: int | Fraction) -> str:
    """A price, a scale or a bound: exact where it has at most twelve digits, else six of them, rounded up."""
    return _decimal(Fraction(value), rounding=ROUND_CEILING)


def about(value: int | float | Fraction) -> str:
    """A number that only gives an idea: to six digits."""
    return _decimal(Fraction(value), rounding=ROUND_HALF_EVEN)


def left_amount(value: Fraction) -> str:
    """What is left of a budget: as `amount`, rounded down."""
    return _decimal(value, rounding=ROUND_FLOOR)


def five_digits(value: Fraction) -> str:
    """At most five digits, rounded up: factors and chances."""
    return _decimal(value, rounding=ROUND_CEILING, exact=5, else_digits=5)


def _decimal(value: Fraction, *, rounding: str, exact: int = _EXACT_DIGITS, else_digits: int = _DIGITS) -> str:
    with localcontext() as context:
        context.rounding = rounding
        for digits in (exact, else_digits):
            context.prec = digits
            quotient = Decimal(value.numerator) / Decimal(value.denominator)
            if Fraction(quotient) == value:
                break
        if value and not _SMALL <= abs(value) < _LONG:
            return _scientific(quotient)
        whole, point, rest = f"{quotient.normalize():f}".partition(".")
    sign, digits_before = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits_before):,}".replace(",", THIN) + point + rest


def _scientific(value: Decimal) -> str:
    digits, _, exponent = f"{value.normalize():e}".partition("e")
    return f"{digits}e{int(exponent)}"


def margin_text(margin: Fraction) -> str:
    """A margin as it is printed, never below what it is: whole from 100 on, else to two digits."""
    if margin == 0:
        return "0"
    if margin >= 100 or margin.denominator == 1:
        return amount(math.ceil(margin))
    places = 1 - math.floor(math.log10(margin))
    return amount(Fraction(math.ceil(margin * 10**places), 10**places))


def percent(share: Fraction) -> str:
    """0.95 as 95 %."""
    return f"{amount(100 * share)} %"


def grain_text(size: Fraction) -> str:
    """A grain: a power of two below 1, or a whole number."""
    return f"2^-{size.denominator.bit_length() - 1}" if size.numerator == 1 and size < 1 else amount(size)


def value_text(value: Value) -> str:
    """A key or a bound as it would be written in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case Fraction():
            return amount(value).replace(THIN, "")
        case datetime() | date():
            return value.isoformat()
        case _:
            return value


def some(values: Iterable[str]) -> str:
    """The first few, and how many there are."""
    listed = list(values)
    if len(listed) <= _MOST_LISTED:
        return ", ".join(listed)
    return f"{', '.join(listed[:_MOST_LISTED])}, … ({amount(len(listed))} in all)"


def plural(name: str) -> str:
    """Several of them, as English says it most of the time."""
    if name.endswith("person"):
        return name.removesuffix("person") + "people"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("s", "x", "ch", "sh")) else "s")


def counted(number: int, name: str) -> str:
    """1 patient, 2 patients."""
    return f"{amount(number)} {name if number == 1 else plural(name)}"
