"""Numbers as people and programs write them, with what they mean; and every door through which one enters.

The oracle is written here from the words of the documentation and shares no code with dpsql: a float means the decimal
it prints as, text means nothing where a number is asked for, and no number means NaN, an infinity or a truth value.
"""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tests.kits.rows import listed

Meaning = Fraction | None
"""None: no number."""

ODD: tuple[object, ...] = (
    *(
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        0.0,
        5e-324,
        -5e-324,
        1e-320,
        2.2250738585072014e-308,
        1.7976931348623157e308,
    ),
    *(float("1e999"), 10**400, -(10**400), 10**19, 2**63, True, False, None, 1j, b"1", [], [1], {}, (1,), object()),
    *("0.1", "1", "", "nan", "inf", "-0", "1e999", "１", "٣", "½", "0x1", "1_0", " 1", "1 ", "0.1\x00", "∞"),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity"), Decimal("-0"), Decimal("1e999999")),
    *(Decimal("1e-999999"), Decimal("0.1"), Fraction(0), Fraction(1, 3), Fraction(-1, 10**30), Fraction(10**30)),
    *(
        np.float64("nan"),
        np.float64("inf"),
        np.float64(0.25),
        np.float32(0.25),
        np.int64(1),
        np.bool_(True),
        np.uint8(1),
    ),
    *(date(2026, 1, 1), float, len),
)
ODD_TEXTS: tuple[str, ...] = (
    *listed("nan, inf, -inf, +inf, -0, -0.0, 0, 0.0, 5e-324, -5e-324, 1e999, -1e999, 1e-999, 1e400"),
    *(
        "1e99999999999",
        "true",
        "NULL",
        "'0.1'",
        '"0.1"',
        "１",
        "٣",
        "½",
        "0.１",
        "0x1F",
        "0b1",
        "1_0",
        "1__0",
        "_1",
        "1.",
    ),
    *(".5", ".", "1e", "e1", "- 1", "+1", "1/2", "1 0", "1,0", "∞", "[1]", "{}", "1979-05-27", "0.1.2", "1e1e1", "١٢"),
)


def any_value(rng: random.Random) -> object:
    """Of every kind, and of every size."""
    size = 10.0 ** rng.uniform(-15, 6) * rng.choice((1, 1, 1, -1))
    return rng.choice(
        (
            rng.choice(ODD),
            rng.choice(ODD),
            size,
            round(size, 3),
            rng.uniform(0, 1),
            rng.randint(-3, 30),
            rng.randint(-(10**18), 10**18),
            Fraction(rng.randint(-5, 50), rng.randint(1, 50)),
            Decimal(rng.randint(-50, 500)).scaleb(-rng.randint(0, 9)),
            str(size),
        )
    )


def any_text(rng: random.Random) -> str:
    return rng.choice(
        (
            rng.choice(ODD_TEXTS),
            rng.choice(ODD_TEXTS),
            str(rng.randint(-3, 30)),
            f"{10.0 ** rng.uniform(-15, 6) * rng.choice((1, 1, 1, -1)):.3g}",
            f"{rng.uniform(-0.2, 1.2):.{rng.randint(1, 9)}f}",
            f"{rng.randint(0, 99)}.{rng.randint(0, 10**9)}",
            f"{rng.randint(0, 99)}e-{rng.randint(0, 30)}",
        )
    )


def meaning(value: object) -> Meaning:
    """What a Python value says."""
    if isinstance(value, (bool, str, bytes, np.integer, np.bool_)):
        return None
    if isinstance(value, float):
        return Fraction(Decimal(float.__repr__(float(value)))) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() and abs(value.adjusted()) <= 400 else None
    return Fraction(value) if isinstance(value, (int, Fraction)) else None


def meaning_of_text(text: str) -> Meaning:
    """What a text of plain digits says; signs, other scripts, hexadecimal and separators are not plain."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, places = mantissa.partition(".")
    digits = set("0123456789")
    if not (set(whole) <= digits and set(places) <= digits and whole + places):
        return None
    if "e" in text.lower() and not (exponent.lstrip("+-") and set(exponent.lstrip("+-")) <= digits):
        return None
    if abs(int(exponent or 0)) > 400:
        return None
    return Fraction(int(whole + places), 10 ** len(places)) * Fraction(10) ** int(exponent or 0)


def meaning_of_toml(text: str) -> Meaning:
    """TOML also has signs, single underscores between digits, and whole numbers in other bases."""
    sign, plain = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if plain[:2] in ("0x", "0b") and text == plain:
        return Fraction(int(plain, 0))
    parts = re.split(r"[.eE]", plain)
    if "__" in plain or any(part.strip("+-").strip("_") != part.strip("+-") or not part for part in parts):
        return None
    found = meaning_of_text(plain.replace("_", ""))
    return None if found is None else sign * found


def meaning_of_mode(text: str) -> Meaning:
    """Up to three digits below 8, after a 0 or not."""
    digits = text[1:] if len(text) == 4 and text[0] == "0" else text
    return Fraction(int(digits, 8)) if 1 <= len(digits) <= 3 and set(digits) <= set("01234567") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where a number enters, which ones may, and what is said by those that did."""

    name: str
    enter: Callable[[object], object]
    """Raises, or gives what was understood; None where that cannot be seen."""
    holds: Callable[[Fraction], bool]
    read: Callable[[str], Meaning] | None = None
    """What a text means that is written there; None: a Python value is passed."""


def above_0(x: Fraction) -> bool:
    return x > 0


def up_to(limit: int) -> Callable[[Fraction], bool]:
    return lambda x: 0 < x <= limit


def from_0_below_1(x: Fraction) -> bool:
    return 0 <= x < 1


def inside_0_1(x: Fraction) -> bool:
    return 0 < x < 1


def counting(x: Fraction) -> bool:
    return x.denominator == 1 and 1 <= x <= 2**53
