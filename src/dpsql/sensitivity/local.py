"""Local sensitivity: how far one unit moves an answer from the database at hand. Exact, and private.

A local sensitivity is computed from the rows and tells about them: noise scaled to it is not differentially private
(examples/ls_breach.py). It is the raw material of smooth sensitivity and a tool for the owner, never a noise scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch

from dpsql.errors import NoTheorem
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.sensitivity.aggregates import Count, Mean, Quantile, Range, Row, Sum, contributing, rank


@singledispatch
def local_sensitivity(aggregate: object, data: Sequence[Row], *, neighbours: Neighbours) -> Fraction:
    """The largest move of the aggregate from `data` to any neighbour. Values enter as the column admits them.

    Theorem   docs/theorems/local_sensitivity.md, one closed form per aggregate; `local_sensitivity.registry` is the
              table of them. What is not in it is refused. The global sensitivity is the largest local one.
    Requires  one row per unit. Aggregates that need a row: at least one, and neighbours without any are left out.
    Rounds    nothing.
    """
    raise NoTheorem(
        f"no local sensitivity is known for {type(aggregate).__name__}",
        why="its closed form has not been proved here",
        fix="use dpsql.sensitivity.brute_force.brute_force_local on a small domain, or the global sensitivity",
    )


@local_sensitivity.register
def local_count(aggregate: Count, data: Sequence[Row], *, neighbours: Neighbours) -> Fraction:
    """1; under change_one 0 where every unit contributes, or where there is no row to change.

    Theorem   docs/theorems/local_sensitivity.md, counts.
    Requires  nothing more.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    contributing(data, every=aggregate.every_unit_contributes)
    constant = neighbours is Neighbours.CHANGE_ONE and (aggregate.every_unit_contributes or not data)
    return Fraction(0 if constant else 1)


@local_sensitivity.register
def local_sum(aggregate: Sum, data: Sequence[Row], *, neighbours: Neighbours) -> Fraction:
    """add_remove: max(|a|, |b|). change_one: the farthest that any row lies from either end of what it may become.

    Theorem   docs/theorems/local_sensitivity.md, sums.
    Requires  nothing more.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    column = aggregate.column
    terms = [
        *column.admit_all(contributing(data, every=aggregate.every_unit_contributes)),
        *(Fraction(0) for row in data if row is None),
    ]
    if neighbours is Neighbours.ADD_REMOVE:
        return max(abs(column.lower), abs(column.upper))
    if not terms:
        return Fraction(0)
    reachable = [column.lower, column.upper, *([] if aggregate.every_unit_contributes else [Fraction(0)])]
    return max(max(reachable) - min(terms), max(terms) - min(reachable))


@local_sensitivity.register
def local_mean(aggregate: Mean, data: Sequence[Row], *, neighbours: Neighbours) -> Fraction:
    """change_one: the local sensitivity of the sum over n. add_remove: the pull of one row that comes or goes.

    Theorem   docs/theorems/local_sensitivity.md, means. A row y that comes moves the mean m by |y - m|/(n + 1), one
              that goes by |y - m|/(n - 1).
    Requires  at least one row.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    values, column = aggregate.admitted(data), aggregate.column
    number, mean = len(values), aggregate.value(data)
    if neighbours is Neighbours.CHANGE_ONE:
        return max(column.upper - min(values), max(values) - column.lower) / number
    comes = max(column.upper - mean, mean - column.lower) / (number + 1)
    return comes if number == 1 else max(comes, max(max(values) - mean, mean - min(values)) / (number - 1))


@local_sensitivity.register
def local_range(aggregate: Range, data: Sequence[Row], *, neighbours: Neighbours) -> Fraction:
    """The largest of the two gaps to the bounds and the two gaps next to the extremes.

    Theorem   docs/theorems/local_sensitivity.md, range: max(x_1 - a, b - x_n, x_2 - x_1, x_n - x_{n-1}). For one row
              the last two are missing, and under change_one the range stays 0.
    Requires  at least one row.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    values = sorted(aggregate.admitted(data))
    outer = (values[0] - aggregate.column.lower, aggregate.column.upper - values[-1])
    if len(values) == 1:
        return max(outer) if neighbours is Neighbours.ADD_REMOVE else Fraction(0)
    return max(*outer, values[1] - values[0], values[-1] - values[-2])


@local_sensitivity.register
def local_quantile(aggregate: Quantile, data: Sequence[Row], *, neighbours: Neighbours) -> Fraction:
    """The largest distance to a value that can take the quantile's place; also minimum, maximum and lower median.

    Theorem   docs/theorems/local_sensitivity.md, quantiles. With x_0 = a, x_{n+1} = b and r(n) the rank among n:
              change_one  x_{r-1} and x_{r+1}, r = r(n);
              add_remove  x_{r-1} and x_r, r = r(n+1), and for n > 1 also x_r and x_{r+1}, r = r(n-1).
    Requires  at least one row.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    values = sorted(aggregate.admitted(data))
    number = len(values)
    padded = [aggregate.column.lower, *values, aggregate.column.upper]
    here = rank(q=aggregate.q, rows=number)
    if neighbours is Neighbours.CHANGE_ONE:
        places = {here - 1, here + 1}
    else:
        more = rank(q=aggregate.q, rows=number + 1)
        places = {more - 1, more}
        if number > 1:
            fewer = rank(q=aggregate.q, rows=number - 1)
            places |= {fewer, fewer + 1}
    return max(abs(padded[place] - padded[here]) for place in places)
