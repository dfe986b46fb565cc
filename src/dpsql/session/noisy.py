"""A released number that knows how far off it may be, and takes that along through arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final, TypeAlias, cast
from warnings import warn

from dpsql.errors import BadParameter, BadType, InternalError
from dpsql.mechanisms.margins import DRAWS, SlotLaw, Spread, band, confidence_of_each, linear_margin, spread_of
from dpsql.privacy.rounding import round_down, round_up
from dpsql.session.digits import shown_number, shown_percent
from dpsql.session.plausible import ColumnNoise, Fixed, Origin, Plausible, RoundingCell, Weights, plausible_sums

Number: TypeAlias = int | float

_FEWEST: Final = 20  # draws that a band can be made of
_MOST_CHOICES: Final = 10**100  # what fails more rarely than once in so many is 0 in floating point


class UncertainComparison(UserWarning):
    """Two numbers were compared that are too close to tell apart: the answer is that of the noisy values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearMargin:
    """The margin of a number whose noise is linear in released slots: all rows of a column share one."""

    margin: Number
    confidence: Fraction
    weights: Weights | ColumnNoise
    """The noise: that of one number, or that of its column, of which a number is one row."""
    groups: int
    outputs: int
    """As many independent intervals hold at the confidence together: those of all groups, in all columns that noise
    has helped to choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnInterval:
    """The interval of any other number; None where no interval can be given."""

    margin: Number | None
    low: Number | None
    high: Number | None
    confidence: Fraction
    origin: Origin
    """Where plausible values come from."""
    groups: int = 1
    outputs: int = 1
    leans: bool = False
    """Noise pushes such numbers to one side, as |x| and x² where x may be 0: in sums of them it adds up."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Noisy:
    """`value`, off by at most `margin` at the stated confidence; then the truth lies between `low` and `high`.

    Sums, differences, products and quotients are Noisy again. Noise that two numbers share is counted once: n − n is
    0 ± 0. A comparison compares the values and warns where the noise could turn it around.
    """

    value: Number
    interval: LinearMargin | OwnInterval
    row: int = 0
    """Which row of its column it is."""
    doubtful: bool = False
    """Hardly anybody may be behind it: most plausible values belong to no possible rows."""

    @property
    def margin(self) -> Number | None:
        """None where no interval can be given, as for `low` and `high`."""
        return self.interval.margin

    @property
    def low(self) -> Number | None:
        interval = self.interval
        return interval.low if isinstance(interval, OwnInterval) else self.value - interval.margin

    @property
    def high(self) -> Number | None:
        interval = self.interval
        return interval.high if isinstance(interval, OwnInterval) else self.value + interval.margin

    @property
    def confidence(self) -> Fraction:
        return self.interval.confidence

    @property
    def groups(self) -> int:
        """For how many groups at once the margin holds at the confidence: more than one where noise has decided which
        rows are shown. Sums and differences keep the largest; other results of two such numbers hold for all pairs of
        groups."""
        return self.interval.groups

    def __add__(self, other: object) -> Noisy:
        return _combined("+", self, other)

    def __radd__(self, other: object) -> Noisy:
        return _combined("+", other, self)

    def __sub__(self, other: object) -> Noisy:
        return _combined("-", self, other)

    def __rsub__(self, other: object) -> Noisy:
        return _combined("-", other, self)

    def __mul__(self, other: object) -> Noisy:
        return _combined("*", self, other)

    def __rmul__(self, other: object) -> Noisy:
        return _combined("*", other, self)

    def __truediv__(self, other: object) -> Noisy:
        return _combined("/", self, other)

    def __rtruediv__(self, other: object) -> Noisy:
        return _combined("/", other, self)

    def __neg__(self) -> Noisy:
        return _combined("*", -1, self)

    def __pos__(self) -> Noisy:
        return self

    def __abs__(self) -> Noisy:
        """The interval is the image of this one: few plausible values lie just where |x| turns around."""
        level = confidence_of_each(self.confidence, self.interval.outputs)
        values = tuple(None if value is None else abs(value) for value in _plausible(self, level))
        ends = None if self.low is None or self.high is None else (abs(self.low), abs(self.high))
        return enclosed_cell(
            abs(self.value),
            None if ends is None else Fraction(0) if _may_be_zero(self) else Fraction(min(ends)),
            None if ends is None else Fraction(max(ends)),
            confidence=self.confidence,
            groups=self.groups,
            outputs=self.interval.outputs,
            origin=Fixed(values, float(abs(self.value)), level),
            leans=_leans(self) or _may_be_zero(self),
        )

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __lt__(self, other: object) -> bool:
        return _compared(operator.lt, self, other)

    def __le__(self, other: object) -> bool:
        return _compared(operator.le, self, other)

    def __gt__(self, other: object) -> bool:
        return _compared(operator.gt, self, other)

    def __ge__(self, other: object) -> bool:
        return _compared(operator.ge, self, other)

    def __eq__(self, other: object) -> bool:
        return _compared(operator.eq, self, other)

    def __ne__(self, other: object) -> bool:
        return _compared(operator.ne, self, other)

    __hash__ = object.__hash__  # by identity: equal values may stand for different truths

    def __bool__(self) -> bool:
        raise BadType(
            "a noisy number is neither true nor false",
            why="whether it is exactly 0 is a matter of chance",
            fix="compare it, as in x > 0, or look at x.value, x.low and x.high",
        )

    def __repr__(self) -> str:
        value, margin = shown_number(self.value, self.margin, thousands="")
        return f"Noisy({value}, ±{margin}, {shown_percent(self.confidence)}%)"

    def __str__(self) -> str:
        return " ± ".join(shown_number(self.value, self.margin, thousands=""))

    def __format__(self, spec: str) -> str:
        """Value and margin, both in the format asked for."""
        if not spec:
            return str(self)
        return f"{self.value:{spec}} ± " + ("?" if self.margin is None else f"{self.margin:{spec}}")


def margin_number(margin: Fraction) -> Number:
    """An exact margin as it is shown: a whole number as it is, another never below it."""
    return int(margin) if margin.denominator == 1 else round_up(margin)


def simulated_cell(
    value: Number,
    spread: Spread | None,
    *,
    confidence: Fraction,
    origin: Origin,
    groups: int = 1,
    outputs: int = 1,
    doubtful: bool = False,
    leans: bool = False,
) -> Noisy:
    """A number whose interval is read off plausible values; None: too few of them exist."""
    if spread is None:
        return without_interval(value, confidence=confidence, origin=origin)
    found = spread.around(float(value))
    margin, low, high = (_alike(value, number) for number in (found.margin, found.low, found.high))
    interval = OwnInterval(
        margin=margin,
        low=low,
        high=high,
        confidence=confidence,
        origin=origin,
        groups=groups,
        outputs=outputs,
        leans=leans,
    )
    return Noisy(value, interval, doubtful=doubtful or spread.doubtful)


def enclosed_cell(
    value: Number,
    low: Fraction | None,
    high: Fraction | None,
    *,
    confidence: Fraction,
    groups: int,
    outputs: int,
    origin: Origin,
    doubtful: bool = False,
    leans: bool = False,
) -> Noisy:
    """A number with the ends of its interval; None: there is no end. The released number itself is always inside."""
    if low is None or high is None:
        return without_interval(value, confidence=confidence, origin=origin)
    released = Fraction(value)
    below = _end(value, min(low, released), round_down)
    above = _end(value, max(high, released), round_up)
    margin = _end(value, max(released - Fraction(below), Fraction(above) - released), round_up)
    interval = OwnInterval(
        margin=margin,
        low=below,
        high=above,
        confidence=confidence,
        origin=origin,
        groups=groups,
        outputs=outputs,
        leans=leans,
    )
    return Noisy(value, interval, doubtful=doubtful)


def without_interval(value: Number, *, confidence: Fraction, origin: Origin) -> Noisy:
    """A number of which nothing is known but itself."""
    return Noisy(value, OwnInterval(margin=None, low=None, high=None, confidence=confidence, origin=origin))


def _alike(value: Number, number: float) -> Number:
    """Whole numbers around a whole number stay whole."""
    return int(number) if isinstance(value, int) and number.is_integer() else number


def _end(value: Number, end: Fraction, rounded: Callable[[Fraction], float]) -> Number:
    return int(end) if isinstance(value, int) and end.denominator == 1 else rounded(end)


def _plausible(number: Noisy | Fraction, level: Fraction) -> Plausible:
    rule = band(count=DRAWS, confidence=level)
    if isinstance(number, Noisy) and isinstance(number.interval, OwnInterval):
        return number.interval.origin.plausible(rule)
    if isinstance(number, Noisy):
        return plausible_sums(float(number.value), _weights(number) or {}, rule)
    return [float(number)] * DRAWS


def _read(number: object) -> Noisy | Fraction | None:
    """Something to calculate with, exactly; None for anything else."""
    match number:
        case Noisy():
            return number
        case bool():
            return None
        case Rational():
            return Fraction(int(number.numerator), int(number.denominator))
        case Decimal() if number.is_finite():
            return Fraction(number)
        case Real() if math.isfinite(number):
            return Fraction(float(number))
        case _:
            return None


def _combined(sign: str, left: object, right: object) -> Noisy:
    """Left and right, put together: linear noise exactly, any other by the plausible values of both."""
    a, b = _read(left), _read(right)
    if a is None or b is None:
        return cast(Noisy, NotImplemented)  # Python then asks the other operand
    in_floats = any(isinstance(part.value if isinstance(part, Noisy) else part, float) for part in (left, right))
    try:
        return _calculated(sign, a, b, in_floats=in_floats)
    except ZeroDivisionError:
        raise BadParameter(
            "a noisy number was divided by 0",
            why="no number is the quotient, and a noisy divisor may be 0 by chance",
            fix="leave such rows out, or divide in SQL, where x / NULLIF(y, 0) is NULL",
        ) from None
    except OverflowError:
        raise BadParameter(
            "the result is too large for a floating-point number",
            why="its margin could not be told",
            fix="calculate in larger units, or with x.value",
        ) from None


def _calculated(sign: str, a: Noisy | Fraction, b: Noisy | Fraction, *, in_floats: bool) -> Noisy:
    operation = _OPERATIONS[sign]
    exact = operation(_value(a), _value(b))
    nearest = float(exact)  # raises where no margin could be told, of whole numbers too
    value = int(exact) if exact.denominator == 1 and not in_floats else nearest
    confidence = min(part.confidence for part in (a, b) if isinstance(part, Noisy))
    chosen = [part.groups for part in (a, b) if isinstance(part, Noisy)]
    together = [part.interval.outputs for part in (a, b) if isinstance(part, Noisy)]
    weights, groups, outputs = _combined_weights(sign, a, b), max(chosen), max(together)
    if weights is not None:
        margin = margin_number(_margin(weights, confidence=confidence, groups=groups, outputs=outputs))
        return Noisy(
            value, LinearMargin(margin=margin, confidence=confidence, weights=weights, groups=groups, outputs=outputs)
        )
    groups, outputs = (min(math.prod(each), _MOST_CHOICES) for each in (chosen, together))  # each may be of another row
    level = confidence_of_each(confidence, outputs)
    sides = zip(_plausible(a, level), _plausible(b, level), strict=False)
    values = [_or_none(operation, x, y) for x, y in sides]
    origin = Fixed(tuple(values), float(value), level)
    known = all(part.margin is not None for part in (a, b) if isinstance(part, Noisy))
    if not known or (sign == "/" and _may_be_zero(b)):
        return without_interval(value, confidence=confidence, origin=origin)
    one = isinstance(b, Fraction) or (isinstance(a, Fraction) and sign != "/")
    leans = _leans(a) or _leans(b)
    if one or (leans and set(values) != {float(value)}):  # what cancels out draw by draw is gone
        low, high = _added(sign, a, b) or _reached(operation, a, b)
        return enclosed_cell(
            value,
            low,
            high,
            confidence=confidence,
            groups=groups,
            outputs=outputs,
            origin=origin,
            leans=leans,
        )
    rule = band(count=max(len(values), _FEWEST), confidence=level)
    found = simulated_cell(
        value,
        spread_of(values, rule=rule),
        confidence=confidence,
        origin=origin,
        groups=groups,
        outputs=outputs,
        leans=sign == "*" and _turns(a, b),
    )
    return _with_zero(found) if sign == "*" and (_may_be_zero(a) or _may_be_zero(b)) else found


def _reached(
    operation: Callable[[Any, Any], Any], a: Noisy | Fraction, b: Noisy | Fraction
) -> tuple[Fraction, Fraction]:
    """Between what the ends of both intervals come to."""
    corners = [operation(x, y) for x in _ends(a) for y in _ends(b)]
    return min(corners), max(corners)


def _added(sign: str, a: Noisy | Fraction, b: Noisy | Fraction) -> tuple[Fraction, Fraction] | None:
    """As far from a sum or difference of two noisy numbers as their margins together. Their ends would not do: |x| is
    0 or more, and the truth 0 of a sum lies outside where any one of many ends lies above it."""
    if sign not in "+-" or not (isinstance(a, Noisy) and isinstance(b, Noisy)):
        return None
    value, reach = _OPERATIONS[sign](_value(a), _value(b)), Fraction(a.margin or 0) + Fraction(b.margin or 0)
    lows, highs = zip(_ends(a), _ends(b), strict=True)
    never_below, never_above = sign == "+" and min(lows) >= 0, sign == "+" and max(highs) <= 0
    low = max(value - reach, Fraction(0)) if never_below else value - reach
    return low, min(value + reach, Fraction(0)) if never_above else value + reach


def _ends(number: Noisy | Fraction) -> tuple[Fraction, Fraction]:
    """Both ends of the interval of a noisy number; an exact one is both."""
    if isinstance(number, Fraction):
        return number, number
    if number.low is None or number.high is None:
        raise InternalError("a number without an interval has no ends")
    return Fraction(number.low), Fraction(number.high)


def _leans(number: Noisy | Fraction) -> bool:
    return isinstance(number, Noisy) and isinstance(number.interval, OwnInterval) and number.interval.leans


def _turns(a: Noisy | Fraction, b: Noisy | Fraction) -> bool:
    """Whether a product is a square in some noise, or may be one near 0."""
    left, right = (_weights(number) if isinstance(number, Noisy) else {} for number in (a, b))
    if left is None or right is None:
        return _may_be_zero(a) or _may_be_zero(b)
    return not left.keys().isdisjoint(right)


def _with_zero(number: Noisy) -> Noisy:
    """Where a factor may be 0 the product may: few plausible values lie just where a square turns around."""
    interval = number.interval
    if not isinstance(interval, OwnInterval) or interval.low is None or interval.high is None:
        return number
    low, high = min(interval.low, 0), max(interval.high, 0)
    margin = max(number.value - low, high - number.value)
    return replace(number, interval=replace(interval, low=low, high=high, margin=max(margin, interval.margin or 0)))


def _may_be_zero(number: Noisy | Fraction) -> bool:
    """Whether 0 is in its interval: a quotient by it may be anything, or nothing, as in SQL."""
    if not isinstance(number, Noisy) or number.low is None or number.high is None:
        return False
    return number.low <= 0 <= number.high


def _margin(weights: Weights, *, confidence: Fraction, groups: int, outputs: int) -> Fraction:
    """Of rows that noise has chosen, the parts of each row hold for all groups at once, so that their sum does; the law
    of the sum would hold for rows that were named before."""
    rows: dict[int, list[tuple[Fraction, SlotLaw]]] = {}
    rounded = Fraction(0)
    for cell, weight in weights.items():
        if isinstance(cell, RoundingCell):
            rounded += weight * cell.size
        else:
            rows.setdefault(cell.row if groups > 1 else 0, []).append((weight, cell.law))
    level = confidence_of_each(confidence, outputs)
    return sum((linear_margin(terms, confidence=level) for terms in rows.values()), abs(rounded))


def _value(number: Noisy | Fraction) -> Fraction:
    return Fraction(number.value) if isinstance(number, Noisy) else number


def _or_none(operation: Callable[[Any, Any], Any], x: float | None, y: float | None) -> float | None:
    try:
        return None if x is None or y is None else float(operation(x, y))
    except ZeroDivisionError:
        return None


def _weights(number: Noisy) -> Weights | None:
    if isinstance(number.interval, OwnInterval):
        return None
    noise = number.interval.weights
    return noise if isinstance(noise, Mapping) else noise.of_row(number.row)


def _combined_weights(sign: str, a: Noisy | Fraction, b: Noisy | Fraction) -> Weights | None:
    left, right = (_weights(number) if isinstance(number, Noisy) else {} for number in (a, b))
    if left is None or right is None:
        return None
    return _WEIGHTS[sign](left, right, _value(a), _value(b))


def _sum(left: Weights, right: Weights) -> Weights:
    weights = dict(left)
    for cell, weight in right.items():
        weights[cell] = weights.get(cell, Fraction(0)) + weight
    return {cell: weight for cell, weight in weights.items() if weight}


def _times(weights: Weights, factor: Fraction) -> Weights:
    return {cell: weight * factor for cell, weight in weights.items() if factor}


def _product(left: Weights, right: Weights, a: Fraction, b: Fraction) -> Weights | None:
    if left and right:
        return None
    return _times(left, b) if left else _times(right, a)


_OPERATIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_WEIGHTS: Final[Mapping[str, Callable[[Weights, Weights, Fraction, Fraction], Weights | None]]] = {
    "+": lambda left, right, a, b: _sum(left, right),
    "-": lambda left, right, a, b: _sum(left, _times(right, Fraction(-1))),
    "*": _product,
    "/": lambda left, right, a, b: None if right else _times(left, 1 / b),
}


def _compared(operation: Callable[[Any, Any], Any], left: Noisy, right: object) -> bool:
    """The comparison of the values, with a warning where the noise could turn it around."""
    other = _read(right)
    if other is None:
        return cast(bool, NotImplemented)
    if not _told_apart(left, other):
        close = f"comparing {left} with {right}: too close to tell apart at {shown_percent(left.confidence)} %"
        warn(close, UncertainComparison, stacklevel=3)
    return bool(operation(_value(left), _value(other)))


def _told_apart(left: Noisy, right: Noisy | Fraction) -> bool:
    """Whether noise leaves no doubt which is larger: by the law of the difference where it is linear, else because
    the intervals are apart."""
    weights = _combined_weights("-", left, right)
    if weights is not None:
        if not weights:
            return True  # the same noise in both
        numbers = [part for part in (left, right) if isinstance(part, Noisy)]
        confidence, groups = min(part.confidence for part in numbers), max(part.groups for part in numbers)
        outputs = max(part.interval.outputs for part in numbers)
        margin = _margin(weights, confidence=confidence, groups=groups, outputs=outputs)
        return abs(_value(left) - _value(right)) > margin
    low, high = (right.low, right.high) if isinstance(right, Noisy) else (right, right)
    if left.low is None or left.high is None or low is None or high is None:
        return False
    return left.high < low or high < left.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A released number: `value`, off by at most `margin` at the confidence of its answer. A plain value: to calculate
    with margins, ask for the calculation in SQL."""

    value: int | float
    margin: int | float | None
    low: int | float | None
    high: int | float | None
    doubtful: bool = False
    """Hardly anybody may be behind it."""

    def __str__(self) -> str:
        return f"{self.value} ± {'?' if self.margin is None else self.margin}"
