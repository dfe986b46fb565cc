"""AVG, VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP: functions of a count, a centred sum and a sum of squares.

Proof: docs/theorems/bounding.md. Distances are taken from the middle of the bounds, which halves the noise.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

from dpsql.sensitivity.grain import Grain
from dpsql.sql.aggregates.count import values
from dpsql.sql.aggregates.measure import Measured, Subject, call, double, grain_of, grains_of_each, number
from dpsql.sql.scalars import ColumnRef, Scalar
from dpsql.sql.slots import Slot, SlotKind


def avg(subject: Subject) -> Measured:
    """middle + S/N, inside the bounds; N is at least 1. Of rows, or of one average of each person."""
    if subject.of_each is None:
        grain = grain_of(subject)
        middle, half = middle_of(grain)
        total = centred(subject, grain, middle, half)
    else:
        rows, grain = grains_of_each(subject, subject.of_each)
        middle, half = middle_of(grain)
        total = _weighted(SlotKind.MEAN, subject, rows, middle, low=-half, high=half, size=grain.size)

    @cache
    def mean(columns: tuple[ColumnRef, ...]) -> Scalar:
        distance = call("div", double(columns[-1]), _people(columns[0], subject))
        return call("add", number(middle * grain.size), distance)

    lower, upper = number(Fraction(grain.lower)), number(Fraction(grain.upper))
    return Measured(
        slots=(*_counts(subject), total),
        value=lambda columns: call("clamp", mean(columns), lower, upper),
        possible=lambda columns: _inside(mean(columns), lower, upper, columns[0], subject),
    )


def variance(subject: Subject, *, sample: bool) -> Measured:
    """Q/N − (S/N)², between 0 and half²; for a sample × N/(N − 1)."""
    grain = grain_of(subject)
    middle, half = middle_of(grain)
    most = number(Fraction(half * half) * grain.size**2)

    @cache
    def spread(columns: tuple[ColumnRef, ...]) -> Scalar:
        count = _people(columns[0], subject)
        total, total_of_squares = columns[-2:]
        mean = call("div", double(total), count)
        return call("sub", call("div", double(total_of_squares), count), call("mul", mean, mean))

    def value(columns: tuple[ColumnRef, ...]) -> Scalar:
        inside = call("clamp", spread(columns), number(Fraction(0)), most)
        if not sample:
            return inside
        return call("mul", inside, sample_factor(_people(columns[0], subject)))

    return Measured(
        slots=(*_counts(subject), centred(subject, grain, middle, half), squares(subject, grain, middle, half)),
        value=value,
        possible=lambda columns: _inside(spread(columns), number(Fraction(0)), most, columns[0], subject),
    )


def deviation(subject: Subject, *, sample: bool) -> Measured:
    """The square root of the variance."""
    measured = variance(subject, sample=sample)
    return replace(measured, value=lambda columns: call("sqrt", measured.value(columns)))


def middle_of(grain: Grain) -> tuple[int, int]:
    """The middle of the bounds in whole grains, and the largest distance from it."""
    middle = (grain.low + grain.high) // 2
    return middle, max(grain.high - middle, middle - grain.low)


def sample_factor(count: Scalar) -> Scalar:
    """n/(n − 1) for a count of at least 1; 1 of a single one."""
    others = call("greatest", call("sub", count, number(Fraction(1))), number(Fraction(1)))
    return call("div", count, others)


def _counts(subject: Subject) -> tuple[Slot, ...]:
    return () if subject.public_rows is not None else (values(subject),)


def _people(column: Scalar, subject: Subject) -> Scalar:
    return at_least_one(column) if subject.public_rows is None else number(Fraction(max(subject.public_rows, 1)))


def at_least_one(count: Scalar) -> Scalar:
    """N: at least 1, so that nothing is divided by 0 or by a noisy negative number."""
    return call("greatest", double(count), number(Fraction(1)))


def _inside(value: Scalar, low: Scalar, high: Scalar, count: Scalar, subject: Subject) -> Scalar:
    """Somebody is there, and the value needs no clamp."""
    inside = call("and", *between(value, low, high))
    return inside if subject.public_rows is not None else call("and", somebody(count), inside)


def between(value: Scalar, low: Scalar, high: Scalar) -> tuple[Scalar, Scalar]:
    """Both conditions of it."""
    return call("ge", value, low), call("le", value, high)


def somebody(count: Scalar) -> Scalar:
    """What was counted is there."""
    return call("ge", double(count), number(Fraction(1)))


def centred(subject: Subject, grain: Grain, middle: int, half: int) -> Slot:
    """The sum of distances from the middle."""
    reach = subject.cap * half
    return _weighted(SlotKind.CENTRED, subject, grain, middle, low=-reach, high=reach, size=grain.size)


def squares(subject: Subject, grain: Grain, middle: int, half: int) -> Slot:
    """The sum of their squares."""
    return _weighted(
        SlotKind.SQUARES, subject, grain, middle, low=0, high=subject.cap * half * half, size=grain.size**2
    )


def _weighted(
    kind: SlotKind, subject: Subject, grain: Grain, middle: int, *, low: int, high: int, size: Fraction
) -> Slot:
    return Slot(
        kind=kind,
        argument=subject.argument,
        cap=subject.cap,
        low=low,
        high=high,
        size=size,
        grain=grain,
        middle=middle,
    )
