"""Smooth sensitivity: from the local sensitivities at every distance to one β-smooth bound, and a check of smoothness.

S is a function of private rows. It sets the scale of noise (`dpsql.mechanisms.smooth_noise`) and is never shown.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Final, TypeAlias

from dpsql.enclosure import LARGEST_EXPONENT, exp_bounds
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, require_count, require_non_negative, require_numbers, require_that, unmet

LARGEST_BETA: Final = 64
"""exp(-64) per row is no smoothing at all; beyond it S is the local sensitivity in all but name."""

SMALLEST_BOUND: Final = Fraction(sys.float_info.min)
"""2**-1022. The larger of S and a constant is as smooth as S, and a double this size still rounds by 2**-52 only."""

ROUNDING: Final = Fraction(1, 2**42)
"""What rounding may add to S, relatively; the mechanisms allow for it (`dpsql.mechanisms.smooth_noise.SLACK`)."""

LARGEST_ENUMERATION: Final = 10**6
_BITS: Final = 96

Rows: TypeAlias = tuple[Number, ...]
Measure: TypeAlias = Callable[[Rows], Number]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SmoothBound:
    """S and the distance k* at which it is attained. Both are functions of private rows: they have no printed form."""

    bound: float
    distance: int

    def __repr__(self) -> str:
        return "SmoothBound(hidden)"


def require_beta(*, beta: Number) -> None:
    """0 <= β <= 64. β = 0 asks for the global sensitivity."""
    require_non_negative(beta=beta)
    require_that(beta <= LARGEST_BETA, f"at most {LARGEST_BETA}", beta=beta)


def smooth_sensitivity(sensitivities: Sequence[Number], *, beta: Number, beyond: Number | None = None) -> SmoothBound:
    """The smooth sensitivity S = max over k of exp(-βk) · A^(k), for `sensitivities` = A^(0), A^(1), ….

    Theorem   Nissim, Raskhodnikova, Smith (2007), Definition 2.2; docs/theorems/smooth_sensitivity.md.
    Requires  A^(k) >= 0 for every k at which it still rises, or `beyond`: a bound of all A^(k) past the list, such as
              the global sensitivity, which then counts at the first distance not listed. 0 <= β <= 64.
    Rounds    up, to the next double; never below 2**-1022 unless every A^(k) is 0.
    """
    require_beta(beta=beta)
    require_numbers(sensitivities=sensitivities)
    entries = [exact(value) for value in sensitivities] + ([] if beyond is None else [exact(beyond)])
    require_non_negative(smallest_sensitivity=min(entries))
    return largest_weighted(list(enumerate(entries)), beta=exact(beta))


def largest_weighted(entries: Sequence[tuple[int, Fraction]], *, beta: Fraction) -> SmoothBound:
    """The largest exp(-βk) · size over pairs (k, size), by certified exponentials; ties to the smallest k."""
    require_representable(max(size for _, size in entries))
    records: list[tuple[int, Fraction]] = []  # later, smaller entries cannot win: the weight only falls
    for distance, size in sorted(entries, key=lambda entry: (entry[0], -entry[1])):
        if not records or size > records[-1][1]:
            records.append((distance, size))
    last, top = records[-1]
    if top == 0:
        return SmoothBound(bound=0.0, distance=records[0][0])
    best, attained = SMALLEST_BOUND, last
    for distance, size in records:
        if beta * distance > LARGEST_EXPONENT:
            break  # any double times exp(-100 000) is below SMALLEST_BOUND
        weight = exp_bounds(-beta * distance, bits=_BITS)[1] if beta * distance else Fraction(1)
        if top * weight <= best:
            break
        if size * weight > best:
            best, attained = size * weight, distance
    return SmoothBound(bound=round_up(best), distance=attained)


def require_representable(size: Fraction) -> None:
    """A sensitivity that fits a double, so that S does."""
    require_that(size <= sys.float_info.max, "a sensitivity is above the largest double")


def is_smooth_bound(
    bound: Measure,
    *,
    domain: Sequence[Number],
    size: int,
    beta: Number,
    neighbours: Neighbours,
    local_sensitivity: Measure | None = None,
) -> bool:
    """Whether S(D) <= exp(β)·S(D') for all neighbours over a small domain, and S >= LS where LS is given.

    Theorem   the definition of a β-smooth upper bound (Nissim, Raskhodnikova, Smith 2007, Definition 2.1), checked
              at every pair: databases of `size` rows under change-one, of 1 to `size` rows under add/remove.
    Requires  at most 10**6 databases; S a function of the sorted rows.
    Rounds    S may exceed the true bound by a relative 2**-42, as its rounding does.
    """
    require_beta(beta=beta)
    factor = exp_bounds(exact(beta), bits=_BITS)[1] * (1 + ROUNDING)
    sizes = {rows: exact(bound(rows)) for rows in databases(domain=domain, size=size, neighbours=neighbours)}
    if any(value < 0 for value in sizes.values()):
        return False
    if local_sensitivity is not None and any(value < exact(local_sensitivity(rows)) for rows, value in sizes.items()):
        return False
    return all(
        sizes[rows] <= factor * sizes[other] and sizes[other] <= factor * sizes[rows]
        for rows, other in neighbouring_pairs(domain=domain, size=size, neighbours=neighbours)
    )


def databases(*, domain: Sequence[Number], size: int, neighbours: Neighbours) -> Iterator[Rows]:
    """Every multiset over the domain, sorted: of `size` rows, or of 1 to `size` rows under add/remove."""
    require_neighbours(neighbours)
    require_numbers(domain=domain)
    require_count(size=size, at_most=10**4)
    smallest = size if neighbours is Neighbours.CHANGE_ONE else 1
    if sum(math.comb(len(domain) + rows - 1, rows) for rows in range(smallest, size + 1)) > LARGEST_ENUMERATION:
        raise unmet(f"a domain of {len(domain)} values has too many databases of {size} rows")
    ordered = sorted(set(domain))
    for rows in range(smallest, size + 1):
        yield from combinations_with_replacement(ordered, rows)


def neighbouring_pairs(*, domain: Sequence[Number], size: int, neighbours: Neighbours) -> Iterator[tuple[Rows, Rows]]:
    """Every unordered pair of neighbours among `databases`, some of them more than once."""
    ordered = sorted(set(domain))
    for rows in databases(domain=domain, size=size, neighbours=neighbours):
        if neighbours is Neighbours.ADD_REMOVE:
            if len(rows) < size:
                yield from ((rows, tuple(sorted((*rows, value)))) for value in ordered)
            continue
        for place, old in enumerate(rows):
            rest = rows[:place] + rows[place + 1 :]
            yield from ((rows, tuple(sorted((*rest, value)))) for value in ordered if value > old)
