"""Sensitivity by trying every small database: what closed forms are checked against, and declarations refuted by.

Databases are multisets of rows over a finite domain. A value found here is the exact sensitivity on that domain and
those sizes; a larger database may move more. So it can refute a stated sensitivity, and proves one only here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Any, Final, TypeAlias

from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import require_count, require_that, unmet
from dpsql.sensitivity.global_ import Sensitivity

Function: TypeAlias = Callable[[tuple[Any, ...]], Any]
"""From rows to a number or a sequence of numbers; the order of the rows must not matter."""

Utility: TypeAlias = Callable[[tuple[Any, ...], Any], Any]
"""The score of a candidate on the rows."""

Vector: TypeAlias = tuple[Fraction, ...]
Norm: TypeAlias = Callable[[Vector], Fraction]
Places: TypeAlias = tuple[int, ...]

MOST_PAIRS: Final = 2_000_000
"""No enumeration is longer: at most a minute or so."""


def l1_norm(vector: Vector) -> Fraction:
    """The sum of the absolute values."""
    return sum(map(abs, vector), start=Fraction(0))


def l2_norm_squared(vector: Vector) -> Fraction:
    """The sum of the squares: the square of the l2 norm, which keeps it rational."""
    return sum((entry * entry for entry in vector), start=Fraction(0))


def linf_norm(vector: Vector) -> Fraction:
    """The largest absolute value."""
    return max(map(abs, vector), default=Fraction(0))


def largest_move(
    function: Function, *, domain: Sequence[Any], sizes: Sequence[int], neighbours: Neighbours, norm: Norm
) -> Fraction:
    """max norm(f(D) - f(D')) over all neighbouring databases over `domain` whose sizes are among `sizes`.

    Theorem   the definition of global sensitivity (Dwork, Roth 2014, Def 3.1), for any norm.
    Requires  a domain without repetitions and sizes small enough: at most 2 000 000 pairs. f must not depend on the
              order of rows (each database is also tried backwards, and a difference is refused).
    Rounds    nothing.
    """
    moves = _moves(function, domain=domain, sizes=sizes, neighbours=neighbours)
    return max(map(norm, moves), default=Fraction(0))


def brute_force_global(
    function: Function, *, domain: Sequence[Any], sizes: Sequence[int], neighbours: Neighbours
) -> Sensitivity:
    """The global sensitivity of f on a small domain, in all three norms.

    Theorem   the definition of global sensitivity (Dwork, Roth 2014, Def 3.1 and 3.8).
    Requires  as `largest_move`. Under add_remove both databases of a pair have a size among `sizes`.
    Rounds    l2 up by at most 2**-64 of itself.
    """
    return _largest(_moves(function, domain=domain, sizes=sizes, neighbours=neighbours))


def brute_force_local(
    function: Function, data: Sequence[Any], *, domain: Sequence[Any], neighbours: Neighbours, smallest: int
) -> Sensitivity:
    """The local sensitivity of f at `data`: the largest move to any neighbour whose new row lies in `domain`.

    Theorem   the definition of local sensitivity (Nissim, Raskhodnikova, Smith 2007, Def 2.1). Rows of `data` may lie
              outside the domain: they can leave, never come back.
    Requires  `smallest`, the fewest rows on which f has a value: neighbours with fewer are left out.
    Rounds    l2 up by at most 2**-64 of itself. The result depends on private rows: no noise may be scaled to it.
    """
    require_neighbours(neighbours)
    require_count(at_least=0, smallest=smallest)
    rows, new = tuple(data), tuple(domain)
    require_count(at_least=0, at_most=MOST_PAIRS, pairs=(len(rows) + 1) * (len(new) + 1))
    here = _vector(function(rows))
    return _largest(
        _difference(here, _vector(function(there)))
        for there in _local_neighbours(rows, new, neighbours)
        if len(there) >= smallest
    )


def utility_sensitivity(
    utility: Utility,
    *,
    candidates: Sequence[Any],
    domain: Sequence[Any],
    sizes: Sequence[int],
    neighbours: Neighbours,
) -> Fraction:
    """Δu of an exponential mechanism on a small domain: how far one unit moves the score of any one candidate.

    Theorem   Dwork, Roth (2014), Def 3.4: the largest entry of the vector of all scores, so its linf sensitivity.
    Requires  at least one candidate; otherwise as `largest_move`.
    Rounds    nothing.
    """
    scores = _scores(utility, candidates)
    return largest_move(scores, domain=domain, sizes=sizes, neighbours=neighbours, norm=linf_norm)


def utility_is_monotonic(
    utility: Utility,
    *,
    candidates: Sequence[Any],
    domain: Sequence[Any],
    sizes: Sequence[int],
    neighbours: Neighbours,
) -> bool:
    """Whether, between any two neighbours over a small domain, all scores rise together or fall together.

    Theorem   definition (McKenna, Sheldon 2020): it halves the noise of a selection.
    Requires  as `utility_sensitivity`.
    Rounds    nothing.
    """
    moves = _moves(_scores(utility, candidates), domain=domain, sizes=sizes, neighbours=neighbours)
    return all(min(move) >= 0 or max(move) <= 0 for move in moves)


def _scores(utility: Utility, candidates: Sequence[Any]) -> Function:
    """The scores of all candidates as one vector."""
    require_count(candidates=len(candidates))
    return lambda rows: [utility(rows, candidate) for candidate in candidates]


def _moves(
    function: Function, *, domain: Sequence[Any], sizes: Sequence[int], neighbours: Neighbours
) -> Iterator[Vector]:
    """f(D') - f(D) for every unordered pair of neighbours, each pair at least once."""
    require_neighbours(neighbours)
    allowed = _require_small(domain, sizes, neighbours)
    known: dict[Places, Vector] = {}

    def at(places: Places) -> Vector:
        if places not in known:
            known[places] = _evaluated(function, tuple(domain[place] for place in places))
        return known[places]

    for size in allowed:
        for places in combinations_with_replacement(range(len(domain)), size):
            here = at(places)
            for there in _NEXT[neighbours](places, len(domain)):
                if len(there) in allowed:
                    yield _difference(here, at(there))


def _one_more(places: Places, values: int) -> Iterator[Places]:
    for new in range(values):
        yield tuple(sorted((*places, new)))


def _one_changed(places: Places, values: int) -> Iterator[Places]:
    """Upwards only: the pair is met from its other end too."""
    for old in sorted(set(places)):
        rest = list(places)
        rest.remove(old)
        for new in range(old + 1, values):
            yield tuple(sorted((*rest, new)))


_NEXT: Final[dict[Neighbours, Callable[[Places, int], Iterator[Places]]]] = {
    Neighbours.ADD_REMOVE: _one_more,
    Neighbours.CHANGE_ONE: _one_changed,
}


def _local_neighbours(
    rows: tuple[Any, ...], domain: tuple[Any, ...], neighbours: Neighbours
) -> Iterator[tuple[Any, ...]]:
    for place in range(len(rows)):
        rest = rows[:place] + rows[place + 1 :]
        if neighbours is Neighbours.ADD_REMOVE:
            yield rest
        else:
            yield from ((*rows[:place], new, *rows[place + 1 :]) for new in domain)
    if neighbours is Neighbours.ADD_REMOVE:
        yield from ((*rows, new) for new in domain)


def _require_small(domain: Sequence[Any], sizes: Sequence[int], neighbours: Neighbours) -> tuple[int, ...]:
    require_count(domain=len(domain))
    require_count(sizes=len(sizes))
    for size in sizes:
        require_count(at_least=0, at_most=1000, size=size)
    allowed = tuple(sorted(set(sizes)))
    values = len(domain)
    changed = neighbours is Neighbours.CHANGE_ONE  # any of the distinct rows may go before the new one comes
    pairs = sum(comb(values + size - 1, size) * values * (min(size, values) if changed else 1) for size in allowed)
    require_count(at_least=0, at_most=MOST_PAIRS, pairs=pairs)
    if any(first == second for place, first in enumerate(domain) for second in domain[:place]):
        raise unmet("the domain lists a value twice")
    return allowed


def _evaluated(function: Function, rows: tuple[Any, ...]) -> Vector:
    value = _vector(function(rows))
    require_that(_vector(function(rows[::-1])) == value, "the function depends on the order of the rows")
    return value


def _vector(value: Any) -> Vector:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(map(exact, value))
    return (exact(value),)


def _difference(first: Vector, second: Vector) -> Vector:
    require_that(len(first) == len(second), "the function returns vectors of different lengths")
    return tuple(there - here for here, there in zip(first, second, strict=True))


def _largest(moves: Iterator[Vector]) -> Sensitivity:
    l1, l2_squared, linf = _largest_norms(moves)
    return Sensitivity.of_squares(l1=l1, l2_squared=l2_squared, linf=linf)


def _largest_norms(moves: Iterator[Vector]) -> tuple[Fraction, Fraction, Fraction]:
    """The largest l1 norm, square of the l2 norm, and linf norm."""
    l1 = l2_squared = linf = Fraction(0)
    for move in moves:
        l1 = max(l1, l1_norm(move))
        l2_squared = max(l2_squared, l2_norm_squared(move))
        linf = max(linf, linf_norm(move))
    return l1, l2_squared, linf
