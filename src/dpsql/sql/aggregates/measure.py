"""What an aggregate is told and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, Unbounded
from dpsql.sensitivity.grain import Grain, column_grain
from dpsql.sql import functions
from dpsql.sql.intervals import Interval
from dpsql.sql.outputs import Aggregate
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.slots import Slot

LARGEST_GRAINS: Final = 2**62
"""A bounded value is a BIGINT of grains."""

MOST_DECIMALS: Final = 2**31
"""Beyond so many grains between 0 and a bound the last digit of a decimal is too fine: squares must add up too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One aggregate in its query."""

    aggregate: Aggregate
    text: str
    """Of the whole query: a rewrite is made from it."""
    cap: int
    """C: how many rows of one person count in one group."""
    range: Interval
    """Of the argument, by policy and expression."""
    argument: Scalar | None
    """With FILTER folded in; None: every row."""
    scale: int | None
    """The argument is a decimal number with so many digits behind the point."""
    of_person: bool
    """The argument is the person itself."""
    public_rows: int | None
    """The number of values, where it is public and every row has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The slots an aggregate needs, and its value once they are released: columns in the order of the slots."""

    slots: tuple[Slot, ...]
    value: Callable[[tuple[ColumnRef, ...]], Scalar]


def grain_of(subject: Subject) -> Grain:
    """The bounds and the grain of the argument. Unbounded where nothing limits it."""
    low, high = subject.range.low, subject.range.high
    if low is None or high is None:
        raise _unbounded(subject)
    scalar = subject.aggregate.arguments[0]
    if low >= high:  # a constant: the range from 0 to it will do
        low, high = (low, Fraction(0)) if low < 0 else (Fraction(0), max(low, Fraction(1)))
    grain = _decimal_grain(low, high, subject.scale) or column_grain(
        lower=low, upper=high, whole=scalar.type is not SqlType.DOUBLE
    )
    if max(abs(grain.low), abs(grain.high)) >= LARGEST_GRAINS:
        raise BadParameter(
            f"the bounds of {subject.aggregate.text} are too far from 0 for their width",
            why="values would not fit into 64 bits, and an overflow would tell about rows",
            fix="subtract a constant inside the aggregate, or widen the bounds",
        )
    return grain


def _decimal_grain(low: Fraction, high: Fraction, scale: int | None) -> Grain | None:
    """The last digit of a decimal number, so that its sums are exact; None: unknown, or too fine for these bounds.

    A number k·10^-s is read as the double x next to it. Then x·10^s, in doubles, is off k by at most
    2·2^-53·|k| < 1/2, and rounds to k.
    """
    if scale is None or max(abs(low), abs(high)) * 10**scale > MOST_DECIMALS or (high - low) * 10**scale < 2:
        return None
    return Grain(lower=low, upper=high, size=Fraction(1, 10**scale))


def _unbounded(subject: Subject) -> Unbounded:
    aggregate = subject.aggregate
    inside = aggregate.text.partition("(")[2].rpartition(")")[0].strip()
    name = aggregate.function.upper()
    rewrite = f"{name}(CLAMP({inside}, 0, 1000))" if inside and "FILTER" not in aggregate.text.upper() else None
    at = aggregate.at
    whole = f"{subject.text[: at[0]]}{rewrite}{subject.text[at[1] :]}" if rewrite and at else None
    return Unbounded(
        f"{aggregate.text or name} needs limits for {inside or 'its values'}",
        why="without a limit one person could move it by any amount, and no finite noise would hide them",
        fix="say the smallest and the largest value that should count, as in CLAMP(x, 0, 1000); values beyond count as "
        "the limit. The owner can declare bounds = [0, 1000] for the column instead",
        try_sql=whole,
        at=at,
    )


def number(value: int | Fraction) -> Constant:
    """A literal for an expression over slots."""
    return Constant(value, SqlType.INTEGER if isinstance(value, int) else SqlType.DOUBLE)


def call(function: str, *arguments: Scalar) -> Scalar:
    """A function of the allow-list over released columns, which may hold anything."""
    return functions.apply(function, arguments, proved=lambda _: Interval(None, None))


def double(scalar: Scalar) -> Scalar:
    """Arithmetic on released numbers is done in DOUBLE: a noisy number may be of any size."""
    return scalar if scalar.type is SqlType.DOUBLE else Apply("to_double", (scalar,), SqlType.DOUBLE)
