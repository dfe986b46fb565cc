"""How a stored answer is made finer: by what, for what, and what it is then as good as."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.recall import Stored


class Way(Enum):
    """Theorem: docs/theorems/top_up.md, a paragraph for each."""

    MEASURED = "measured"
    """Gaussian: a second measurement for the difference of the prices, averaged with what is stored."""
    AVERAGED = "averaged"
    """A whole answer at its own price, averaged with what is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finer:
    """The stored answer that the steps of a plan make finer."""

    upon: Stored
    way: Way
    cost: Fraction
    """In ε of the account: what is still to be paid."""
    answers: tuple[NoisySlotLaw, ...]
    """The noise of the answer that was asked for: what is told is as precise."""
    rho: Fraction | None
    """What all of it is bought for in ρ; None where it is not all bought in ρ."""
    people: int | None
    """Where keys are private: from about how many people on such an answer would have shown a key."""
