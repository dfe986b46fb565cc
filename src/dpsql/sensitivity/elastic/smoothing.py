"""From sensitivities at all distances to one β-smooth bound, without ever stopping early."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dpsql.enclosure import exp_negative_fixed
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number, require_count, require_positive, require_that, unmet
from dpsql.sensitivity.elastic.algebra import Query, ancestors, join_count
from dpsql.sensitivity.elastic.stability import elastic_sensitivity

LONGEST_SCAN: Final = 10**8
"""Distances one smoothing may range over; beyond, β is so small that the noise would drown any count."""

LARGEST_BETA: Final = 64
LONGEST_DECAY: Final = 256


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ElasticBound:
    """S and the distance k* at which it is attained. Both are functions of private rows: they have no printed form."""

    bound: Fraction
    distance: int

    def __repr__(self) -> str:
        return "ElasticBound(hidden)"


def scan_limit(*, joins: int, beta: Number) -> int:
    """The distance beyond which exp(-βk)·Ŝ^(k) cannot rise any more: ceil(joins / β).

    Theorem   docs/theorems/elastic_sensitivity.md, Lemma 4: Ŝ^(k+1) <= (1 + 1/k)^g · Ŝ^(k), which is at most
              exp(g/k), so the product falls from k = g/β on.
    Requires  joins >= 0, 0 < β <= 64, and a limit of at most 10**8.
    Rounds    up: the scan may be one step longer than needed.
    """
    require_count(at_least=0, joins=joins)
    require_positive(beta=beta)
    limit = -(-joins // exact(beta))
    if exact(beta) > LARGEST_BETA or limit > LONGEST_SCAN:
        raise unmet(f"beta={beta!r} is out of range for {joins} joins")
    return limit


def smooth_bound(sensitivity_at: Callable[[int], int], *, beta: Number, limit: int) -> ElasticBound:
    """The maximum of exp(-βk) · sensitivity_at(k) over all k = 0 … limit.

    Theorem   on [a, b] a rising Ŝ satisfies exp(-βk)·Ŝ^(k) <= exp(-βa)·Ŝ^(b). Intervals are split in order of this
              bound until it is no larger than a value already found times 1 + 2**-62, by which the result is raised.
    Requires  non-negative integers that never fall with k; β as in `scan_limit`.
    Rounds    up, by a relative 2**-60 at most.
    """
    rate = _decay(beta=beta, limit=limit)
    bits = 96 + int(rate * limit * 3 / 2)  # exp(-x) >= 2**-(1.5 x): every weight keeps 94 good bits
    values: dict[int, tuple[int, int, int, int]] = {}  # distance: Ŝ, the weight from above, the product's two bounds

    def look(distance: int) -> tuple[int, int, int, int]:
        if distance not in values:
            size = sensitivity_at(distance)
            low, high = exp_negative_fixed(rate * distance, bits=bits)
            values[distance] = size, high, size * low, size * high
        return values[distance]

    def ceiling(start: int, end: int) -> int:
        return look(end)[0] * look(start)[1]

    _require_rising(look(0)[0], look(limit)[0])
    best = max(look(0)[2], look(limit)[2])
    waiting = [(-ceiling(0, limit), 0, limit)] if limit > 1 else []
    while waiting and -waiting[0][0] > best + (best >> 62):  # what is left out is added to the bound below
        _, start, end = heapq.heappop(waiting)
        middle = (start + end) // 2
        _require_rising(look(start)[0], look(middle)[0], look(end)[0])
        best = max(best, look(middle)[2])
        for left, right in ((start, middle), (middle, end)):
            if right - left > 1:
                heapq.heappush(waiting, (-ceiling(left, right), left, right))
    attained = min((k for k, value in values.items() if value[2] == best), default=0)
    most = max(value[3] for value in values.values())
    return ElasticBound(bound=Fraction(most + (most >> 62), 1 << bits), distance=attained)


def _decay(*, beta: Number, limit: int) -> Fraction:
    """β as a rational, where the weights up to `limit` are worth computing."""
    require_positive(beta=beta)
    require_count(at_least=0, at_most=LONGEST_SCAN, limit=limit)
    if exact(beta) * limit > LONGEST_DECAY:
        raise unmet(f"beta={beta!r} times limit={limit!r} must be at most {LONGEST_DECAY}")
    return exact(beta)


def _require_rising(*sizes: int) -> None:
    if any(later < earlier for earlier, later in pairwise(sizes)) or sizes[0] < 0:
        raise unmet("the sensitivity falls with the distance")


def smooth_elastic(query: Query, *, beta: Number, neighbours: Neighbours) -> ElasticBound:
    """A β-smooth upper bound of the local sensitivity of a counting question: max over k of exp(-βk)·Ŝ^(k).

    Theorem   docs/theorems/elastic_sensitivity.md, Theorem 5: S(x) <= exp(β)·S(y) for all neighbours x, y.
    Requires  measured frequencies; at least one private table.
    Rounds    up, by a relative 2**-60 at most.
    """
    require_that(ancestors(query), "the question reads public tables only")
    return smooth_bound(
        lambda distance: elastic_sensitivity(query, distance=distance, neighbours=neighbours),
        beta=beta,
        limit=scan_limit(joins=join_count(query), beta=beta),
    )
