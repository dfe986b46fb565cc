"""COVAR_POP, COVAR_SAMP, CORR, REGR_SLOPE, REGR_INTERCEPT: functions of a count, two centred sums, a sum of products.

A row counts where both values are there. Proof: docs/theorems/bounding.md. Distances are taken from the middles of both
bounds, where the sum of products is as small as the sum of squares of VAR_POP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dpsql.errors import InternalError
from dpsql.sensitivity.grain import Grain
from dpsql.sql.aggregates.measure import Measured, Subject, call, double, grain_of, number
from dpsql.sql.aggregates.moments import at_least_one, between, centred, middle_of, sample_factor, somebody, squares
from dpsql.sql.outputs import both_known
from dpsql.sql.scalars import ColumnRef, Scalar
from dpsql.sql.slots import Slot, SlotKind

_Columns: TypeAlias = tuple[ColumnRef, ...]
_ZERO, _ONE = number(Fraction(0)), number(Fraction(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of the two values: its bounds in whole grains."""

    subject: Subject
    grain: Grain
    middle: int
    half: int

    @property
    def centred(self) -> Slot:
        return centred(self.subject, self.grain, self.middle, self.half)

    @property
    def squares(self) -> Slot:
        return squares(self.subject, self.grain, self.middle, self.half)

    @property
    def widest(self) -> Fraction:
        """The largest distance from the middle."""
        return self.half * self.grain.size


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    first: _Side
    second: _Side

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The number of pairs, both centred sums, and the sum of products."""
        subject, cap = self.first.subject, self.first.subject.cap
        count = Slot(
            kind=SlotKind.VALUES,
            argument=both_known(subject.aggregate),
            cap=cap,
            low=0,
            high=cap,
            size=Fraction(1),
        )
        reach = cap * self.first.half * self.second.half
        products = Slot(
            kind=SlotKind.PRODUCTS,
            argument=subject.argument,
            cap=cap,
            low=-reach,
            high=reach,
            size=self.first.grain.size * self.second.grain.size,
            grain=self.first.grain,
            middle=self.first.middle,
            partner=self.second.centred,
        )
        return (count, self.first.centred, self.second.centred, products)

    def covariance(self, columns: _Columns) -> Scalar:
        """P/N − (Sx/N)(Sy/N)."""
        count, one, two, products = columns[:4]
        means = call("mul", _mean(one, count), _mean(two, count))
        return call("sub", _mean(products, count), means)

    def bounded(self, columns: _Columns) -> Scalar:
        """No covariance is larger than the product of the two largest deviations."""
        most = self.first.widest * self.second.widest
        return call("clamp", self.covariance(columns), number(-most), number(most))


def _mean(total: Scalar, count: Scalar) -> Scalar:
    return call("div", double(total), at_least_one(count))


def _pair(subject: Subject) -> _Pair:
    if subject.partner is None:
        raise InternalError("an aggregate of pairs with one argument")
    return _Pair(first=_side(subject), second=_side(subject.partner))


def _side(subject: Subject) -> _Side:
    grain = grain_of(subject)
    middle, half = middle_of(grain)
    return _Side(subject=subject, grain=grain, middle=middle, half=half)


def _variance(squares_: Scalar, centred_: Scalar, count: Scalar) -> Scalar:
    mean = _mean(centred_, count)
    return call("sub", _mean(squares_, count), call("mul", mean, mean))


def covariance(subject: Subject, *, sample: bool) -> Measured:
    """P/N − (Sx/N)(Sy/N); for a sample × N/(N − 1)."""
    pair = _pair(subject)
    most = number(pair.first.widest * pair.second.widest)
    least = number(-(pair.first.widest * pair.second.widest))

    def value(columns: _Columns) -> Scalar:
        inside = pair.bounded(columns)
        return call("mul", inside, sample_factor(at_least_one(columns[0]))) if sample else inside

    return Measured(
        slots=pair.slots,
        value=value,
        possible=lambda columns: call("and", somebody(columns[0]), *between(pair.covariance(columns), least, most)),
    )


def corr(subject: Subject) -> Measured:
    """The covariance over both deviations, between −1 and 1; NULL where the noise leaves no deviation."""
    pair = _pair(subject)
    most = tuple(number(side.widest**2) for side in (pair.first, pair.second))

    def variances(columns: _Columns) -> tuple[Scalar, Scalar]:
        count, one, two, _, first, second = columns
        return _variance(first, one, count), _variance(second, two, count)

    def value(columns: _Columns) -> Scalar:
        inside = (call("clamp", each, _ZERO, top) for each, top in zip(variances(columns), most, strict=True))
        quotient = call("div", pair.bounded(columns), call("sqrt", call("mul", *inside)))
        return call("clamp", quotient, number(Fraction(-1)), _ONE)

    def possible(columns: _Columns) -> Scalar:
        both = variances(columns)
        within = [each for variance, top in zip(both, most, strict=True) for each in between(variance, _ZERO, top)]
        covariance = pair.covariance(columns)
        squared = call("mul", covariance, covariance)
        return call("and", somebody(columns[0]), *within, call("le", squared, call("mul", *both)))

    return Measured(slots=(*pair.slots, pair.first.squares, pair.second.squares), value=value, possible=possible)


def regr_slope(subject: Subject) -> Measured:
    """The covariance over the variance of the second value; NULL where the noise leaves no variance."""
    return _line(subject, lambda slope, _pair, _columns: slope)


def regr_intercept(subject: Subject) -> Measured:
    """The mean of the first value less the slope times that of the second."""

    def meets(slope: Scalar, pair: _Pair, columns: _Columns) -> Scalar:
        count, one, two, *_ = columns
        first, second = (
            call("add", number(side.middle * side.grain.size), _mean(total, count))
            for side, total in ((pair.first, one), (pair.second, two))
        )
        return call("sub", first, call("mul", slope, second))

    return _line(subject, meets)


def _line(subject: Subject, value: Callable[[Scalar, _Pair, _Columns], Scalar]) -> Measured:
    pair = _pair(subject)
    most = number(pair.second.widest**2)

    def variance(columns: _Columns) -> Scalar:
        return _variance(columns[4], columns[2], columns[0])

    def slope(columns: _Columns) -> Scalar:
        return call("div", pair.bounded(columns), call("clamp", variance(columns), _ZERO, most))

    return Measured(
        slots=(*pair.slots, pair.second.squares),
        value=lambda columns: value(slope(columns), pair, columns),
        possible=lambda columns: call("and", somebody(columns[0]), *between(variance(columns), _ZERO, most)),
    )
