"""The vocabulary of preconditions. Every public function states its own with these, by keyword.

A check refuses NaN, infinities, booleans and anything that is not an int, float, Fraction or Decimal, and names the
parameter as the caller wrote it. numpy's own integers are refused too: they wrap around in silence, and a wrapped
sensitivity is a broken promise. Nothing is ever clamped into range: a wrong privacy parameter is a question, not a
rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.errors import BadParameter

Number: TypeAlias = int | float | Fraction | Decimal
"""What a caller may pass where a real number is meant. Decimal and Fraction keep 0.1 exactly 0.1."""

LARGEST_COUNT: Final = 2**53
"""No list, table or repetition is longer; counts up to here are exact in every representation we use."""

_LONG: Final = 10**20
_SHORT: Final = Context(prec=6, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _refuse(name: str, value: object, must: str, why: str, fix: str) -> BadParameter:
    return BadParameter(f"{name}={shown(value)} must be {must}", why=why, fix=fix)


def shown(value: object) -> str:
    """How a message quotes a value: as the caller wrote it, but a Fraction or a very long int as a short decimal."""
    if isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= _LONG):
        short = _SHORT.divide(Decimal(value.numerator), Decimal(value.denominator))
        near = float(short)
        return f"{near:g}" if math.isfinite(near) and (near or not short) else str(short.normalize(_SHORT))
    return repr(value)


def _finite(name: str, value: object, must: str) -> None:
    if isinstance(value, Fraction):
        return
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        raise _refuse(
            name,
            value,
            must,
            f"{name} is a number in the theorem; a {type(value).__name__} has no place in it",
            f"pass {name} as an int, float, Fraction or Decimal",
        )
    finite = (
        value.is_finite() if isinstance(value, Decimal) else isinstance(value, (int, Fraction)) or math.isfinite(value)
    )
    if not finite:
        raise _refuse(
            name,
            value,
            must,
            "NaN and infinities pass through formulas silently and void the promise",
            f"pass a finite {name}",
        )


def unmet(what: str) -> BadParameter:
    """The error of a precondition of a theorem: `what` states it, or says how the arguments break it."""
    return BadParameter(
        what,
        why="the theorem holds, and its exact computation ends, only where its preconditions do",
        fix="correct the argument where it enters",
    )


def require_that(holds: object, must: str, /, **named: object) -> None:
    """A precondition with no word of its own; the message quotes the named values, which are public."""
    if not holds:
        quoted = ", ".join(f"{name}={shown(value)}" for name, value in named.items())
        raise unmet(f"{quoted} must be {must}" if quoted else must)


def require_type(kind: type, **named: object) -> None:
    """Each value is of this class. A message quotes no value: it may be private."""
    for name, value in named.items():
        if not isinstance(value, kind):
            raise unmet(f"{name} must be of type {kind.__name__}, not {type(value).__name__}")


def require_finite(**named: Number) -> None:
    """Each value is a finite number."""
    for name, value in named.items():
        _finite(name, value, "a finite number")


def _each(named: Mapping[str, Number], *, must: str, holds: Callable[[Number], bool], why: str, fix: str) -> None:
    for name, value in named.items():
        _finite(name, value, must)
        if not holds(value):
            raise _refuse(name, value, must, why, fix.format(name=name))


def require_positive(**named: Number) -> None:
    """Each value is a finite number above 0."""
    _each(
        named,
        must="a finite number above 0",
        holds=lambda value: value > 0,
        why="at 0 or below there is no mechanism with this guarantee",
        fix="choose a {name} above 0",
    )


_DAY: Final = 86_400


def require_seconds(**named: Number) -> None:
    """Each value is a time to wait: above 0 seconds, of a day at most."""
    _each(
        named,
        must=f"a number of seconds above 0 and of at most {_DAY}",
        holds=lambda value: 0 < value <= _DAY,
        why="it says how long somebody waits, and nobody waits for less than nothing or for ever",
        fix="choose a {name} of up to a day, for example 60",
    )


def require_non_negative(**named: Number) -> None:
    """Each value is a finite number, 0 or above."""
    _each(
        named,
        must="a finite number, 0 or above",
        holds=lambda value: value >= 0,
        why="it measures a size",
        fix="choose a {name} of at least 0",
    )


def require_epsilon(**named: Number) -> None:
    """Each value is a privacy loss that can be bought: finite and above 0."""
    if all(type(value) is Fraction and value.numerator > 0 for value in named.values()):  # the usual case, at once
        return
    _each(
        named,
        must="a finite number above 0",
        holds=lambda value: value > 0,
        why="ε = 0 means the answer may not depend on the data at all, and a negative ε means nothing",
        fix="choose ε above 0; 0.1 to 1 per question is usual",
    )


def require_delta(**named: Number) -> None:
    """Each value is the slack δ of a promise, 0 <= δ < 1."""
    _each(
        named,
        must="in [0, 1)",
        holds=lambda value: 0 <= value < 1,
        why="δ is slack added to every probability; at 1 nothing is promised",
        fix="choose δ far below one over the number of people, or 0 for a pure promise",
    )


def require_open_unit(**named: Number) -> None:
    """Each value lies strictly between 0 and 1."""
    _each(
        named,
        must="strictly between 0 and 1",
        holds=lambda value: 0 < value < 1,
        why="at 0 and 1 the bound is infinite or says nothing",
        fix="choose a {name} inside (0, 1)",
    )


_NEAREST: Final = Fraction(1, 10**30)


def is_confidence(value: Fraction) -> bool:
    """A share of answers for which every margin can be computed: none nearer to 0 or 1 than 10^-30."""
    return _NEAREST <= value <= 1 - _NEAREST


def require_probability(**named: Number) -> None:
    """Each value lies in [0, 1]."""
    _each(
        named,
        must="in [0, 1]",
        holds=lambda value: 0 <= value <= 1,
        why="it is a probability",
        fix="choose a {name} between 0 and 1",
    )


def require_count(*, at_least: int = 1, at_most: int = LARGEST_COUNT, **named: int) -> None:
    """Each value is a whole number in [at_least, at_most]."""
    for name, value in named.items():
        if type(value) is int and at_least <= value <= at_most:  # the usual case, at once
            continue
        must = f"a whole number from {_limit(at_least)} to {_limit(at_most)}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise _refuse(name, value, must, f"{name} is a whole number here", f"pass {name} as an int")
        if not at_least <= value <= at_most:
            raise _refuse(
                name,
                value,
                must,
                f"outside this range {name} has no meaning here, or the exact computation would not end",
                f"choose a {name} inside the range",
            )


def _limit(limit: int) -> str:
    """A limit as it is read: large powers of two as such, other numbers in digits."""
    size, sign = abs(limit), "-" if limit < 0 else ""
    return f"{sign}2**{size.bit_length() - 1}" if size >= 2**32 and size.bit_count() == 1 else str(limit)


def require_flag(**named: bool) -> None:
    """Each value is True or False; a string such as "no" would count as true."""
    for name, value in named.items():
        if not isinstance(value, bool):
            raise _refuse(
                name,
                value,
                "True or False",
                "it decides how much noise is needed, and nothing else stands for it",
                f"pass {name}=True only where it is known to hold",
            )


def require_bounds(*, lower: Number, upper: Number) -> None:
    """Finite bounds with lower < upper."""
    _finite("lower", lower, "a finite number")
    _finite("upper", upper, "a finite number")
    if not lower < upper:
        raise BadParameter(
            f"bounds lower={shown(lower)}, upper={shown(upper)} must satisfy lower < upper",
            why="reversed bounds clamp every value to the wrong end, equal bounds leave nothing to learn",
            fix="state the smallest value first, then the largest",
        )


def _is_list(values: object) -> bool:
    if hasattr(values, "__array__"):
        return getattr(values, "ndim", 0) == 1
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


def require_numbers(**named: Sequence[Number]) -> None:
    """Each sequence has an entry, and all are finite numbers."""
    for name, values in named.items():
        if not _is_list(values):
            raise BadParameter(
                f"{name} is a {type(values).__name__}, not a list of numbers",
                why="its entries have an order and are looked at more than once",
                fix=f"pass {name} as a list or tuple",
            )
        if not len(values):
            raise BadParameter(
                f"{name} has no entries",
                why="there is nothing to choose from or to add up",
                fix=f"pass {name} with at least one",
            )
        for index, value in enumerate(values):
            _finite(f"{name}[{index}]", value, "a finite number")
