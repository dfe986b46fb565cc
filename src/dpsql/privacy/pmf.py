"""Two laws of the same output on one scale of integers, so that every comparison of them is exact."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Final, TypeAlias

from dpsql.enclosure import exp_bounds
from dpsql.errors import BadParameter
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_non_negative, unmet

Masses: TypeAlias = Iterable[Number] | Mapping[Hashable, Number]
"""The probabilities of the outcomes, in a fixed order or by outcome. Exact numbers must add up to exactly 1."""

_FLOAT_SLACK: Final = Fraction(1, 10**9)
_LARGEST_EPSILON: Final = 4096
"""exp(4096) passes every ratio of two floats; a smaller ratio than exp(ε) only makes a divergence look larger."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Outcome i has probability p[i] / total under the first law and q[i] / total under the second."""

    outcomes: tuple[Hashable, ...]
    p: tuple[int, ...]
    q: tuple[int, ...]
    total: int

    def reversed(self) -> Pair:
        return Pair(self.outcomes, self.q, self.p, self.total)

    def excess(self, ratio: Fraction) -> Fraction:
        """Sum of max(0, p - ratio · q): the largest Pr[Y in S] - ratio · Pr[Z in S] over all events S, exactly."""
        n, d = ratio.numerator, ratio.denominator
        return Fraction(sum(max(0, d * p - n * q) for p, q in zip(self.p, self.q, strict=True)), d * self.total)


def paired(p: Masses, q: Masses) -> Pair:
    """Both laws over the union of their outcomes, each divided by its exact sum.

    Floats are read as the binary numbers they are; their sum may miss 1 by 1e-9 and is then scaled to 1, so that
    what is computed is a statement about two genuine distributions.
    """
    if isinstance(p, Mapping) != isinstance(q, Mapping):
        raise _not_aligned("one is a mapping, the other a list")
    by_outcome_p, by_outcome_q = _masses("p", p), _masses("q", q)
    if not isinstance(p, Mapping) and len(by_outcome_p) != len(by_outcome_q):
        raise _not_aligned("they have different lengths")
    outcomes = tuple(by_outcome_p | by_outcome_q)
    p_weights, p_total = _integers([by_outcome_p.get(outcome, Fraction(0)) for outcome in outcomes])
    q_weights, q_total = _integers([by_outcome_q.get(outcome, Fraction(0)) for outcome in outcomes])
    return Pair(
        outcomes,
        tuple(weight * q_total for weight in p_weights),
        tuple(weight * p_total for weight in q_weights),
        p_total * q_total,
    )


def post_process(p: Iterable[Number], *, kernel: Sequence[Iterable[Number]]) -> tuple[Fraction, ...]:
    """The law after a randomised map: outcome i becomes outcome j with probability kernel[i][j].

    Theorem   the law of total probability. No divergence grows (docs/theorems/post_processing.md).
    Requires  one row of the kernel per outcome, all rows laws over the same new outcomes.
    Rounds    nothing: floats are read and scaled as in `paired`.
    """
    law = list(_masses("p", p).values())
    rows = [list(_masses(f"kernel[{i}]", row).values()) for i, row in enumerate(kernel)]
    if len(rows) != len(law) or len({len(row) for row in rows}) != 1:
        raise unmet("the kernel does not fit the law")
    weights, total = _integers(law)
    scaled = [_integers(row) for row in rows]
    return tuple(
        sum((Fraction(w * row[j], total * size) for w, (row, size) in zip(weights, scaled, strict=True)), Fraction(0))
        for j in range(len(rows[0]))
    )


def _masses(name: str, masses: Masses) -> dict[Hashable, Fraction]:
    items = dict(masses.items()) if isinstance(masses, Mapping) else dict(enumerate(masses))
    values = list(items.values())
    require_non_negative(**{f"{name}[{outcome!r}]": value for outcome, value in items.items()})
    total = sum(map(exact, values), Fraction(0))
    slack = 0 if all(isinstance(value, (int, Fraction, Decimal)) for value in values) else _FLOAT_SLACK
    if abs(total - 1) > slack:
        raise unmet(f"{name} adds up to {float(total):.12g}, not to 1")
    return {outcome: exact(value) for outcome, value in items.items()}


def _integers(masses: list[Fraction]) -> tuple[list[int], int]:
    common = lcm(*(mass.denominator for mass in masses))
    weights = [mass.numerator * (common // mass.denominator) for mass in masses]
    return weights, sum(weights)


def _not_aligned(how: str) -> BadParameter:
    return unmet(f"p and q cannot be compared: {how}")


def ratio_below(epsilon: Number) -> Fraction:
    """A rational number at most exp(ε), within 2^-256 of it in relation for ε up to 4096; exactly 1 at ε = 0."""
    require_non_negative(epsilon=epsilon)
    value = min(exact(epsilon), Fraction(_LARGEST_EPSILON))
    return max(Fraction(1), exp_bounds(value, bits=256)[0]) if value else Fraction(1)
