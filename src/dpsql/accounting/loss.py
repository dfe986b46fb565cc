"""The privacy loss random variable: ln(P(y)/Q(y)) for y drawn from P, kept exactly for finite pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.accounting.limits import asked_epsilon
from dpsql.enclosure import exp_bounds
from dpsql.errors import BadParameter
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import Number, require_count, require_non_negative

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
        Requires  non-negative masses that add up to 1, to within 2**-40 for floats.
        Rounds    nothing; masses are rescaled to add up to exactly 1.
        """
        first, second = _normalised("p", p), _normalised("q", q)
        masses: dict[Fraction | None, Fraction] = defaultdict(Fraction)
        for outcome, mass in first.items():
            if mass:
                other = second.get(outcome, Fraction(0))
                masses[mass / other if other else None] += mass
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
        Requires  0 <= ε <= 700.
        Rounds    up.
        """
        asked = asked_epsilon(epsilon=epsilon)
        require_non_negative(epsilon=epsilon)
        if asked > 700:
            asked = Fraction(700)  # δ never rises with ε
        low = exp_bounds(asked, bits=96)[0]
        total = Fraction(0)
        for ratio, mass in self.masses.items():
            if ratio is None:
                total += mass
            elif ratio > low:
                total += mass * (1 - low / ratio)
        return round_up(min(Fraction(1), total))


def _normalised(name: str, masses: Mapping[Hashable, Number]) -> dict[Hashable, Fraction]:
    if not masses or len(masses) > LARGEST_SUPPORT:
        raise BadParameter(
            f"{name} has {len(masses)} outcomes, needs 1 to {LARGEST_SUPPORT}",
            why="a probability mass function lists its outcomes",
            fix="pass a mapping from outcome to probability",
        )
    for outcome, mass in masses.items():
        require_non_negative(**{f"{name}[{outcome!r}]": mass})
    numbers = {outcome: exact(mass) for outcome, mass in masses.items()}
    total = sum(numbers.values(), Fraction(0))
    if abs(total - 1) > Fraction(1, 2**40):
        raise BadParameter(
            f"the probabilities of {name} add up to {float(total):.12g}",
            why="a probability mass function adds up to 1",
            fix="pass all outcomes, or Fractions",
        )
    return {outcome: mass / total for outcome, mass in numbers.items()}


def _log(ratio: Fraction) -> float:
    """ln of a positive rational, also where it leaves the floats."""
    shift = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return math.log(ratio / Fraction(2) ** shift) + shift * math.log(2)
