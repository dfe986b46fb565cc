"""What an answer was charged."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.session.digits import shown_amount


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Cost:
    """What an answer was charged, in ε of the account and in δ. Both are exact, and 0 where it was paid for before."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"Cost(epsilon={shown_amount(self.epsilon)}, delta={shown_amount(self.delta)})"

    def __str__(self) -> str:
        """At least two places, as prices have."""
        whole, _, places = shown_amount(self.epsilon).partition(".")
        return f"{whole}.{places:0<2}"
