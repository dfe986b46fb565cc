"""Numbers as people read them: as many digits as the margin leaves, and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Final

from dpsql.safe_text import THIN

_LONG: Final = 1e15
_MOST_DECIMALS: Final = 15
_MILLION: Final = 10**6


def shown_number(value: int | float, margin: int | float | None, *, thousands: str = THIN) -> tuple[str, str]:
    """Value and margin, rounded alike: the margin to one digit, two if the first is 1; never below what it is.

    Whole numbers keep all of their digits, and `?` stands for a margin that is not known.
    """
    if margin is None:
        return shown_value(value, thousands=thousands), "?"
    if margin == 0:
        return shown_value(value, thousands=thousands), "0"
    if max(abs(value), margin) >= _LONG or not math.isfinite(margin):
        return f"{value:.6g}", f"{margin:.2g}"
    decimals = _decimals(margin)
    upper = math.ceil(Fraction(margin) * 10**decimals * (1 - Fraction(1, 10**9)))  # 0.3 is a little more than 0.3
    margin_text = _grouped(Fraction(upper, 10**decimals), 0 if isinstance(margin, int) else decimals, thousands)
    return _grouped(Fraction(value), 0 if isinstance(value, int) else decimals, thousands), margin_text


def _decimals(margin: int | float) -> int:
    exponent = math.floor(math.log10(margin))
    digits = 2 if margin < 2 * 10.0**exponent else 1
    return min(max(0, digits - 1 - exponent), _MOST_DECIMALS)


def _grouped(number: Fraction, decimals: int, thousands: str) -> str:
    rounded = round(number * 10**decimals)
    whole, rest = divmod(abs(rounded), 10**decimals)
    sign = "-" if rounded < 0 else ""
    return f"{sign}{whole:,}".replace(",", thousands) + (f".{rest:0{decimals}d}" if decimals else "")


def shown_value(value: int | float, *, thousands: str = THIN) -> str:
    """A number without a margin: whole numbers in full, others to ten digits."""
    if isinstance(value, int):
        return f"{value:,}".replace(",", thousands)
    if not math.isfinite(value) or abs(value) >= _LONG:
        return f"{value:.10g}"
    text = f"{value:.10g}"
    whole, point, rest = text.lstrip("-").partition(".")
    if "e" in text:
        return text
    return "-" * text.startswith("-") + f"{int(whole):,}".replace(",", thousands) + point + rest


def shown_percent(share: Fraction) -> str:
    """0.95 as 95, to ten digits; what is not certain is never shown as 100."""
    text = f"{float(100 * share):.10g}"
    return "99.99999999" if text == "100" and share < 1 else text


def shown_up(amount: Fraction) -> str:
    """What was spent, to a millionth: never below what it is."""
    return shown_amount(Fraction(math.ceil(amount * _MILLION), _MILLION))


def shown_down(amount: Fraction) -> str:
    """What is left, to a millionth: never above what it is."""
    return shown_amount(Fraction(math.floor(amount * _MILLION), _MILLION))


def shown_amount(amount: Fraction) -> str:
    """A price as a decimal number: exact where it ends within twelve places, else rounded up."""
    with localcontext() as context:
        context.prec = 60
        quotient = Decimal(amount.numerator) / Decimal(amount.denominator)
        places = Decimal(1).scaleb(min(-12, quotient.adjusted() - 6) if quotient else -12)
        return f"{quotient.quantize(places, rounding=ROUND_CEILING).normalize():f}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Cost:
    """What an answer was charged, in ε of the account and in δ. Both are exact, and 0 where it was paid for before."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"Cost(epsilon={shown_amount(self.epsilon)}, delta={shown_amount(self.delta)})"

    def __str__(self) -> str:
        """At least two places, as prices have."""
        whole, _, places = shown_amount(self.epsilon).partition(".")
        return f"{whole}.{places:0<2}"


NO_COST: Final = Cost(epsilon=Fraction(0))
