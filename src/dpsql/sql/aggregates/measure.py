"""What an aggregate is told and what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, Unbounded
from dpsql.sensitivity.grain import RESOLUTION, Grain, column_grain, power_of_two_below
from dpsql.sql import functions
from dpsql.sql.clauses import call_text, with_argument
from dpsql.sql.intervals import Interval
from dpsql.sql.outputs import Aggregate
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.slots import Slot

LARGEST_GRAINS: Final = 2**62
"""A bounded value is a BIGINT of grains."""
_FINEST: Final = 2**40
"""Bounds nearer to each other than this part of their distance from 0 would need more than 62 bits of grains."""
_LARGEST: Final = Fraction(2) ** 200
_SMALLEST: Final = 1 / _LARGEST
"""Squares of grains stay far inside the sizes that noise can be computed for."""
MOST_ROWS: Final = 2**40
"""No table has more rows. This keeps sums inside the engine's integers; no sensitivity rests on it."""
ROOM: Final = 2**126
"""Sums are HUGEINT, with a bit to spare."""

MOST_DECIMALS: Final = 2**31
"""Beyond so many grains between 0 and a bound the last digit of a decimal is too fine: squares must add up too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One aggregate in its query."""

    aggregate: Aggregate
    text: str
    """Of the whole query: a rewrite is made from it."""
    rewritable: bool
    """No other aggregate lacks limits: the query compiles once this one has them."""
    cap: int
    """C: how many rows of one person count in one group."""
    range: Interval
    """Of the argument, by policy and expression."""
    unlimited: tuple[str, ...]
    """The numeric columns of the argument that have no limits."""
    argument: Scalar | None
    """With FILTER folded in; None: every row."""
    scale: int | None
    """The argument is a decimal number with so many digits behind the point."""
    of_person: bool
    """The argument is the person itself."""
    public_rows: int | None
    """The number of values, where it is public and every row has one."""
    partner: Subject | None = None
    """The other value of an aggregate of pairs."""
    of_each: Interval | None = None
    """What one person's sum or average in a group is moved into; None: rows are bounded one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The slots an aggregate needs, and its value once they are released: columns in the order of the slots."""

    slots: tuple[Slot, ...]
    value: Callable[[tuple[ColumnRef, ...]], Scalar]
    possible: Callable[[tuple[ColumnRef, ...]], Scalar] | None = None
    """What holds for slots that rows can have, before noise: the value is then inside its bounds by itself."""


def grain_of(subject: Subject) -> Grain:
    """The bounds and the grain of the argument. Unbounded where nothing limits it."""
    low, high = subject.range.low, subject.range.high
    if low is None or high is None:
        raise _unbounded(subject)
    whole = subject.argument is None or subject.argument.type is not SqlType.DOUBLE
    low, high = _with_width(low, high, whole=whole)
    _require_reach(subject, max(abs(low), abs(high)), high - low, whole=whole)
    return _decimal_grain(low, high, subject.scale) or column_grain(lower=low, upper=high, whole=whole)


def grains_of_each(subject: Subject, of_each: Interval) -> tuple[Grain, Grain]:
    """The grain of rows, and that of what one person has together, both of one size: fine enough for the narrower.

    Theorem   docs/theorems/bounding.md: no sum or mean of rows is moved by cutting its bounds to what rows can make.
    Requires  rows with limits (Unbounded otherwise); of a sum bounds with 0 between them.
    Rounds    down to a power of two; whole numbers not at all, where their bounds are whole.
    """
    rows = subject.range
    if rows.low is None or rows.high is None:
        raise _unbounded(subject)
    whole = subject.argument is None or subject.argument.type is not SqlType.DOUBLE
    low, high = _with_width(rows.low, rows.high, whole=whole)
    together = Interval(low, high)
    if subject.aggregate.function == "sum":
        together = Interval(subject.cap * min(low, Fraction(0)), subject.cap * max(high, Fraction(0)))
    within = of_each.intersect(together)
    least, most = within.low or Fraction(0), within.high or Fraction(0)
    if _with_width(least, most, whole=whole) != (least, most):
        raise BadParameter(
            f"{subject.aggregate.text or subject.aggregate.function.upper()} would count the same for every person",
            why=f"rows lie within {float(low):g} and {float(high):g}, and its bounds leave one number of those",
            fix="give bounds that overlap what one person's rows can make",
            at=subject.aggregate.at,
        )
    farthest, width = max(abs(low), abs(high)), min(high - low, most - least)
    _require_reach(subject, farthest, width, whole=whole)
    size = Fraction(1) if whole else power_of_two_below(width / 2**RESOLUTION)
    if farthest / size >= LARGEST_GRAINS:
        raise BadParameter(
            f"the bounds of {subject.aggregate.text or subject.aggregate.function.upper()} are too narrow beside its "
            f"values, which go up to {float(farthest):.1e}",
            why="rows are added up in steps that are fine enough for the bounds, and would not fit into 64 bits",
            fix="clamp the values of rows too, as in CLAMP(x, 0, 1000), or have the owner declare bounds for them",
            try_sql=_clamped(subject, subject.unlimited),
            at=subject.aggregate.at,
        )
    return Grain(lower=low, upper=high, size=size), Grain(lower=least, upper=most, size=size)


def _with_width(low: Fraction, high: Fraction, *, whole: bool) -> tuple[Fraction, Fraction]:
    """The bounds; of a constant, or of what is nearly one, moved apart toward 0, which makes no sum larger."""
    least = Fraction(1) if whole else max(abs(low), abs(high)) / _FINEST or Fraction(1)
    if high - low >= least:
        return low, high
    return (high - least, high) if high > 0 else (low, low + least)


def _require_reach(subject: Subject, farthest: Fraction, width: Fraction, *, whole: bool) -> None:
    """Every value is a whole number of grains in 64 bits, and every size a number the accounts can calculate with."""
    name, at = subject.aggregate.text or subject.aggregate.function.upper(), subject.aggregate.at
    if whole and farthest >= LARGEST_GRAINS:
        raise BadParameter(
            f"the values of {name} go beyond {LARGEST_GRAINS}",
            why="values would not fit into 64 bits, and an overflow would tell about rows",
            fix="subtract a constant inside the aggregate, clamp the values, or calculate in fractions: CAST(x AS "
            "DOUBLE)",
            at=at,
        )
    if farthest > _LARGEST or width < _SMALLEST:
        raise BadParameter(
            f"the values of {name} are too large or too small to calculate with",
            why=f"their bounds are {float(width):.1e} apart, and sizes lie between {float(_SMALLEST):.1e} and "
            f"{float(_LARGEST):.1e}",
            fix="use another unit, so that values are nearer to 1",
            at=at,
        )


def require_room(subject: Subject, slots: Sequence[Slot]) -> None:
    """Everybody's contributions together fit into the engine's integers, whatever the rows hold.

    `seal` derives the same for each step on the way there; here it becomes a sentence about bounds and caps.
    """
    largest = max((slot.reach for slot in slots), default=0)
    if largest * MOST_ROWS < ROOM:
        return
    name = subject.aggregate.text or subject.aggregate.function.upper()
    narrow = "" if subject.range.low is None else "clamp the values to narrower bounds, as in CLAMP(x, 0, 1000); or "
    raise BadParameter(
        f"{name} could need more than 128 bits: one person may add {float(largest):.1e} to a group",
        why="its sums are whole numbers in the engine, and an overflow would tell about rows",
        fix=f"{narrow}the owner lowers the {subject.cap} rows that count of one person, rows_per_group or "
        "rows_per_person",
        try_sql=_clamped(subject, ()) if narrow and subject.cap < 2**20 else None,
        at=subject.aggregate.at,
    )


def _clamped(subject: Subject, columns: tuple[str, ...]) -> str | None:
    """The query with these columns inside CLAMP wherever the aggregate is written; where there are none, with its
    whole argument."""
    aggregate = subject.aggregate
    if not subject.rewritable:
        return None
    written = [call_text(subject.text[slice(*place)]).argument for place in aggregate.places]
    limits = _example_limits(subject)
    limited = partial(_limited, columns=columns, limits=limits)
    if len(aggregate.arguments) > 1 and any(limited(each) == f"CLAMP({each}, {limits})" for each in written):
        return None
    return with_argument(subject.text, aggregate.places, limited)


def _example_limits(subject: Subject) -> str:
    """Those that the question gives for each person, or an example."""
    of_each = subject.of_each
    if of_each is None or of_each.low is None or of_each.high is None:
        return "0, 1000"
    return ", ".join(str(int(end)) if end.denominator == 1 else str(float(end)) for end in (of_each.low, of_each.high))


def _limited(inside: str, columns: tuple[str, ...], limits: str) -> str:
    """Limits for the columns that need them; for all of it where they are not found in the text."""
    clamped = inside
    for name in columns:
        written = re.compile(rf"(?<![\w.\"'])(?:\w+\.)?{re.escape(name)}(?![\w.(\"'])", re.IGNORECASE)
        clamped = written.sub(lambda found: f"CLAMP({found.group()}, {limits})", clamped)
    return clamped if clamped != inside else f"CLAMP({inside}, {limits})"


def _decimal_grain(low: Fraction, high: Fraction, scale: int | None) -> Grain | None:
    """The last digit of a decimal number, so that its sums are exact; None: unknown, or too fine for these bounds.

    Theorem   docs/theorems/grain.md: a number k·10^-s that is read as a double, times the double of 10^s, rounds to k.
    Requires  bounds with low < high.
    Rounds    nothing.
    """
    if scale is None or max(abs(low), abs(high)) * 10**scale > MOST_DECIMALS or (high - low) * 10**scale < 2:
        return None
    return Grain(lower=low, upper=high, size=Fraction(1, 10**scale))


def _unbounded(subject: Subject) -> Unbounded:
    aggregate = subject.aggregate
    without = ", ".join(subject.unlimited)
    example = subject.unlimited[0] if subject.unlimited else "x"
    return Unbounded(
        f"{aggregate.text or aggregate.function.upper()} needs limits for "
        f"{without or call_text(aggregate.text).argument or 'its values'}",
        why="without a limit one person could move it by any amount, and no finite noise would hide them",
        fix=f"say the smallest and the largest value that should count, as in CLAMP({example}, 0, 1000); values beyond "
        "count as the limit. 0 and 1000 are an example: put in what you know of such values. The owner can declare "
        f"bounds = [0, 1000] for {without or 'the column'} instead",
        try_sql=_clamped(subject, subject.unlimited),
        at=aggregate.at,
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
