"""Privacy filters: limits fixed in advance, under which the next question may depend on all answers so far.

Each is a frozen value with `admits(event)` and `charged(event)`: it is sound to ask, look at the answer, and ask
again until `admits` says no. `Account` joins the first two into one rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.basic import slack_after
from dpsql.accounting.limits import priced_epsilon, require_within, slack
from dpsql.accounting.rdp import LARGEST_ORDER, NOTHING, SMALLEST_ORDER, RdpPrice, rdp_at
from dpsql.accounting.spend import Spend, spends, total
from dpsql.accounting.triple import FREE, Triple
from dpsql.accounting.zcdp import approximate_zcdp
from dpsql.enclosure import log_bounds, sqrt_bounds
from dpsql.errors import BudgetExhausted
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import Number, require_delta, require_non_negative, require_open_unit


def _refusal(limit: str) -> BudgetExhausted:
    return BudgetExhausted(
        "the filter cannot admit this release",
        why=f"the total would pass {limit}",
        fix="ask for less, or stop here",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicFilter:
    """Σε <= ε and Σδ <= δ.

    Theorem   Rogers, Roth, Ullman, Vadhan (2016): basic composition is a filter. account_rule.md, first branch.
    Requires  events with a finite ε.
    Rounds    nothing.
    """

    epsilon: Fraction
    delta: Fraction
    spent: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))

    def __post_init__(self) -> None:
        require_delta(delta=self.delta)
        object.__setattr__(self, "epsilon", priced_epsilon(epsilon=self.epsilon))
        object.__setattr__(self, "delta", exact(self.delta))

    def _after(self, event: Event) -> tuple[Fraction, Fraction]:
        whole = total(spends(event))
        return self.spent[0] + whole.epsilon, self.spent[1] + whole.delta

    def admits(self, event: Event) -> bool:
        epsilon, delta = self._after(event)
        return epsilon <= self.epsilon and delta <= self.delta

    def charged(self, event: Event) -> BasicFilter:
        if not self.admits(event):
            raise _refusal("ε or δ")
        return replace(self, spent=self._after(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class ZcdpFilter:
    """Σρ <= ρ and Σδ <= δ: δ-approximate ρ-zCDP for the whole conversation.

    Theorem   Whitehouse, Ramdas, Rogers, Wu (2023), Thm. 1; account_rule.md, second branch.
    Requires  events with a finite ρ.
    Rounds    nothing.
    """

    rho: Fraction
    delta: Fraction
    spent: Triple = FREE

    def __post_init__(self) -> None:
        require_non_negative(rho=self.rho)
        require_delta(delta=self.delta)
        object.__setattr__(self, "rho", exact(self.rho))
        object.__setattr__(self, "delta", exact(self.delta))

    def admits(self, event: Event) -> bool:
        after = self.spent + approximate_zcdp(event)
        return after.rho is not None and after.rho <= self.rho and after.delta <= self.delta

    def charged(self, event: Event) -> ZcdpFilter:
        if not self.admits(event):
            raise _refusal("ρ or δ")
        return replace(self, spent=self.spent + approximate_zcdp(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class RdpFilter:
    """Σ r_i(α) <= rdp at one order α fixed in advance, and Σδ <= δ.

    Theorem   Feldman, Zrnic (2021), Thm. 3.1. One order only: choosing the order after the answers is not covered.
    Requires  events with a Rényi curve; 1 + 2**-10 <= α <= 4096.
    Rounds    r_i up.
    """

    order: float
    rdp: Fraction
    delta: Fraction
    spent: RdpPrice = NOTHING

    def __post_init__(self) -> None:
        require_within(lowest=SMALLEST_ORDER, highest=LARGEST_ORDER, order=self.order)
        require_non_negative(rdp=self.rdp)
        require_delta(delta=self.delta)
        object.__setattr__(self, "rdp", exact(self.rdp))
        object.__setattr__(self, "delta", exact(self.delta))

    def _after(self, event: Event) -> RdpPrice:
        return self.spent + rdp_at(event, order=self.order)

    def admits(self, event: Event) -> bool:
        after = self._after(event)
        return after.rdp is not None and after.rdp <= self.rdp and after.delta <= self.delta

    def charged(self, event: Event) -> RdpFilter:
        if not self.admits(event):
            raise _refusal("the Rényi limit or δ")
        return replace(self, spent=self._after(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedFilter:
    """sqrt(2 ln(1/δ') Σε²) + ½ Σε² <= ε and Σδ <= δ: the whole conversation is (ε, δ + δ')-DP.

    Theorem   Whitehouse, Ramdas, Rogers, Wu (2023), the advanced filter; proof in advanced_filter.md.
    Requires  events with a finite ε; δ' > 0.
    Rounds    against the spender: ln(1/δ') is replaced by a certified upper bound.
    """

    epsilon: Fraction
    delta: Fraction
    delta_prime: Fraction
    squares: Fraction = Fraction(0)
    deltas: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        require_delta(delta=self.delta)
        object.__setattr__(self, "epsilon", priced_epsilon(epsilon=self.epsilon))
        object.__setattr__(self, "delta", exact(self.delta))
        object.__setattr__(self, "delta_prime", slack(delta_prime=self.delta_prime))

    def _after(self, event: Event) -> tuple[Fraction, Fraction]:
        parts = spends(event)
        return self.squares + _squares(parts), self.deltas + total(parts).delta

    def admits(self, event: Event) -> bool:
        squares, deltas = self._after(event)
        room = self.epsilon - squares / 2  # the square root must fit in here; compared squared, so exactly
        log = log_bounds(1 / self.delta_prime, bits=128)[1]
        return deltas <= self.delta and room >= 0 and 2 * log * squares <= room**2

    def charged(self, event: Event) -> AdvancedFilter:
        if not self.admits(event):
            raise _refusal("ε or δ")
        squares, deltas = self._after(event)
        return replace(self, squares=squares, deltas=deltas)


def _squares(parts: Iterable[Spend]) -> Fraction:
    """Σε²."""
    return sum((part.epsilon**2 for part in parts), Fraction(0))


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The smallest ε of an `AdvancedFilter` that would have admitted this history, with δ' = δ − Σδ.

    Theorem   Whitehouse, Ramdas, Rogers, Wu (2023): sqrt(2 ln(1/δ') Σε²) + ½ Σε².
    Requires  events with a finite ε; Σδ < δ unless nothing was released.
    Rounds    up.
    """
    require_open_unit(delta=delta)
    parts = spends(event)
    if not parts:
        return 0.0
    left = slack_after(total(parts).delta, delta=delta)
    squares = _squares(parts)
    log = log_bounds(1 / left, bits=128)[1]
    return round_up(squares / 2 + sqrt_bounds(2 * log * squares, bits=128)[1])
