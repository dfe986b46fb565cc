"""The privacy loss random variable: ln(P(y)/Q(y)) for y drawn from P, kept exactly for finite pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.privacy.divergence import paired, ratio_below
from dpsql.privacy.rounding import round_up
from dpsql.require import Number, require_count

LARGEST_SUPPORT: Final = 100_000


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """The law of the loss of a pair (P, Q): probability under P of every likelihood ratio P(y)/Q(y).

    Ratios are exact rationals, so that losses of composed releases that should coincide do. The key None is the
    ratio infinity: outcomes that Q never shows.
    """

    masses: Mapping[Fraction | None, Fraction]

    @classmethod
    def of(cls, p: Mapping[Hashable, Number], q: Mapping[Hashable, Number]) -> PrivacyLoss:
        """The loss of two probability mass functions over the same outcomes.

        Theorem   definition; outcomes of equal ratio are one value of the loss.
        Requires  at most 100 000 outcomes; masses as `paired` reads them: exact ones add up to 1, floats to 1e-9.
        Rounds    nothing; floats are rescaled to add up to exactly 1.
        """
        require_count(outcomes_of_p=len(p), outcomes_of_q=len(q), at_most=LARGEST_SUPPORT)
        pair = paired(p, q)
        masses: dict[Fraction | None, Fraction] = defaultdict(Fraction)
        for first, second in zip(pair.p, pair.q, strict=True):
            if first:
                masses[Fraction(first, second) if second else None] += Fraction(first, pair.total)
        return cls(dict(masses))

    def pmf(self) -> dict[float, float]:
        """The law of the loss as floats, for display: loss -> probability, in rising order, inf last."""
        law: dict[float, float] = defaultdict(float)
        for ratio, mass in self.masses.items():
            law[math.inf if ratio is None else _log(ratio)] += float(mass)
        return dict(sorted(law.items()))

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """The loss of both releases: ratios multiply, probabilities multiply.

        Theorem   for independent releases the density of the pair is the product.
        Requires  at most 100 000 different losses.
        Rounds    nothing.
        """
        require_count(different_losses=len(self.masses) * len(other.masses), at_most=LARGEST_SUPPORT)
        masses: dict[Fraction | None, Fraction] = defaultdict(Fraction)
        for ratio, mass in self.masses.items():
            for factor, weight in other.masses.items():
                both = None if ratio is None or factor is None else ratio * factor
                masses[both] += mass * weight
        return PrivacyLoss(dict(masses))

    def repeated(self, k: int) -> PrivacyLoss:
        """The loss of k independent copies.

        Theorem   `compose`, k times.
        Requires  1 <= k, and at most 100 000 different losses at every step.
        Rounds    nothing.
        """
        require_count(k=k, at_most=LARGEST_SUPPORT)
        total = self
        for _ in range(k - 1):
            total = total.compose(self)
        return total

    def delta(self, *, epsilon: Number) -> float:
        """The smallest δ with P(S) <= e^ε Q(S) + δ for every event S.

        Theorem   δ(ε) = E[(1 − e^{ε−L})₊] = Σ_y (P(y) − e^ε Q(y))₊; Pr[L > ε] is larger.
        Requires  ε >= 0.
        Rounds    up.
        """
        low = ratio_below(epsilon)
        total = Fraction(0)
        for ratio, mass in self.masses.items():
            if ratio is None:
                total += mass
            elif ratio > low:
                total += mass * (1 - low / ratio)
        return round_up(min(Fraction(1), total))


def _log(ratio: Fraction) -> float:
    """ln of a positive rational, also where it leaves the floats."""
    shift = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return math.log(ratio / Fraction(2) ** shift) + shift * math.log(2)
