"""The price of every event in three currencies at once: (ε, δ, ρ), exact.

An event with price (ε, δ, ρ) is (ε, δ)-DP *and* δ-approximately ρ-zCDP, with the same exceptional δ. The account
adds the three up and lets one of ε and ρ decide. Proof of every line: docs/theorems/event_triples.md.

Constants are stated for the relation the mechanism was calibrated under. Under change_one a person may leave G
keys and enter G others: whoever builds `KeySelection` or `GaussianThreshold` there states keys = 2·G.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from dpsql.accounting.spend import releases, require_event
from dpsql.errors import UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    Pure,
)
from dpsql.require import require_non_negative


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A price. `None` stands for infinity: no finite ε (Gaussian noise), or no finite ρ."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def __post_init__(self) -> None:
        for part in (self.epsilon, self.delta, self.rho):
            if part is not None and not (type(part) is Fraction and part.numerator >= 0):  # the usual case, at once
                require_non_negative(price=part)  # a negative price would be a refund, and a budget without end

    @property
    def is_free(self) -> bool:
        """Nothing of anything."""
        bounded = self.epsilon is not None and self.rho is not None
        return bounded and not (self.epsilon or self.delta or self.rho)

    def __add__(self, other: Triple) -> Triple:
        """Componentwise; infinity absorbs."""
        return Triple(
            epsilon=_added(self.epsilon, other.epsilon),
            delta=self.delta + other.delta if other.delta else self.delta,
            rho=_added(self.rho, other.rho),
        )

    def since(self, before: Triple) -> Triple:
        """What was added after `before`, part by part and never below nothing; what has no end stays infinite."""
        return Triple(
            epsilon=_less(self.epsilon, before.epsilon),
            delta=max(Fraction(0), self.delta - before.delta),
            rho=_less(self.rho, before.rho),
        )


def _added(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return None if first is None or second is None else first + second


def _less(after: Fraction | None, before: Fraction | None) -> Fraction | None:
    return None if after is None or before is None else max(Fraction(0), after - before)


FREE = Triple(epsilon=Fraction(0), delta=Fraction(0), rho=Fraction(0))


@singledispatch
def triple(event: Event) -> Triple:
    """The (ε, δ, ρ) of an event.

    Theorem   docs/theorems/event_triples.md, one line per event.
    Requires  an event of the table. Continuous noise is not in it: a computer cannot draw it, so it never
              prices a release. Sampled events are not in it: nothing in dpsql releases from a sample.
    Rounds    nothing: Fractions.
    """
    require_event(event)
    raise UnsupportedEvent(
        f"no price in (ε, δ, ρ) is known for {type(event).__name__}",
        why="an event without a theorem has no known price, so it cannot be charged",
        fix="describe the release by a priced event, or add a theorem to accounting/triple.py",
    )


@triple.register
def _(event: Pure) -> Triple:
    """Bun, Steinke (2016), Prop. 1.4: ε-DP is ε²/2-zCDP."""
    return Triple(epsilon=event.epsilon, delta=Fraction(0), rho=event.epsilon**2 / 2)


@triple.register
def _(event: BoundedRange) -> Triple:
    """Cesar, Rogers (2021), Lemma 3.4: a log-ratio that stays in an interval of length ε is ε²/8-zCDP."""
    return Triple(epsilon=event.epsilon, delta=Fraction(0), rho=event.epsilon**2 / 8)


@triple.register
def _(event: DiscreteGaussian) -> Triple:
    """Canonne, Kamath, Steinke (2020), Thm. 14: l2²/2σ² on integer vectors, in any number of dimensions."""
    return Triple(epsilon=None, delta=Fraction(0), rho=event.l2_squared / (2 * event.sigma_squared))


@triple.register
def _(event: Approximate) -> Triple:
    """Kairouz, Oh, Viswanath (2015): off an event of probability δ the pair is ε-close, hence ε²/2-zCDP."""
    return Triple(epsilon=event.epsilon, delta=event.delta, rho=event.epsilon**2 / 2)


@triple.register
def _(event: KeySelection) -> Triple:
    """`keys` independent (ε/keys, δ/keys) decisions: their ρ add up to keys · (ε/keys)²/2."""
    return Triple(epsilon=event.epsilon, delta=event.delta, rho=event.epsilon**2 / (2 * event.keys))


@triple.register
def _(event: GaussianThreshold) -> Triple:
    """`keys` counts move by 1 under discrete Gaussian noise; a person's own keys show with probability at most δ."""
    return Triple(epsilon=None, delta=event.delta, rho=event.keys / (2 * event.sigma_squared))


@triple.register
def _(event: Composed) -> Triple:
    """Componentwise sums, also when each release was chosen after seeing the ones before."""
    total = FREE
    for part in releases(event):
        total += triple(part)
    return total
