"""The minimum of three: basic composition and two closed forms that come close to the optimum, in one call.

"Self-adaptive" refers to the choice among the three bounds. The parameters of the releases are fixed in advance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.accounting.advanced import total_drift
from dpsql.accounting.basic import delta_too_small, survival
from dpsql.accounting.limits import counted, priced_epsilon, priced_lists, slack
from dpsql.accounting.spend import spends, total
from dpsql.enclosure import exp_bounds, log_bounds, sqrt_bounds
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import Number, require_delta

_BITS: Final = 96
BRANCHES: Final = ("sum", "ln_1_over_delta", "ln_e_plus")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveTotal:
    """Three bounds on ε, which of them is smallest, and the δ that goes with it."""

    terms: tuple[float, float, float]
    delta_without_slack: float
    """1 − ∏(1 − δ_i): enough for the first bound."""
    delta_with_slack: float
    """1 − (1 − δ')∏(1 − δ_i): needed by the other two."""

    @property
    def epsilon(self) -> float:
        return min(self.terms)

    @property
    def which(self) -> str:
        return BRANCHES[self.terms.index(self.epsilon)]

    @property
    def delta(self) -> float:
        """The δ to quote with `epsilon`: the sum spends no slack."""
        return self.delta_without_slack if self.which == "sum" else self.delta_with_slack


def compose_adaptive(*, k: int, epsilon: Number, delta: Number, slack_delta: Number) -> AdaptiveTotal:
    """The best of three bounds for k releases, each (ε, δ)-DP, with slack δ'.

    Theorem   Kairouz, Oh, Viswanath (2015), Thm. 3.4.
    Requires  k >= 1, ε > 0, 0 <= δ < 1, 0 < δ' < 1; parameters fixed before the first release.
    Rounds    up.
    """
    k = counted(k=k)
    require_delta(delta=delta)
    size = priced_epsilon(epsilon=epsilon)
    return _minimum({size: k}, {exact(delta): k}, slack(slack_delta=slack_delta))


def compose_adaptive_het(*, epsilons: Sequence[Number], deltas: Sequence[Number], slack_delta: Number) -> AdaptiveTotal:
    """The best of three bounds for releases of (ε_i, δ_i), with slack δ'.

    Theorem   Kairouz, Oh, Viswanath (2015), Thm. 3.5: with d = Σ ε_i tanh(ε_i/2) and V = Σ ε_i², the least of
              Σ ε_i,  d + sqrt(2 V ln(1/δ')),  d + sqrt(2 V ln(e + sqrt(V)/δ')).
    Requires  lists of equal length, ε_i > 0, 0 <= δ_i < 1, 0 < δ' < 1; parameters fixed in advance.
    Rounds    up.
    """
    pairs = priced_lists(epsilons=epsilons, deltas=deltas)
    return _minimum(
        Counter(epsilon for epsilon, _ in pairs),
        Counter(delta for _, delta in pairs),
        slack(slack_delta=slack_delta),
    )


def _minimum(epsilons: Mapping[Fraction, int], deltas: Mapping[Fraction, int], spare: Fraction) -> AdaptiveTotal:
    squares = sum((count * epsilon**2 for epsilon, count in epsilons.items()), Fraction(0))
    mean = total_drift(epsilons.items())
    root = sqrt_bounds(squares, bits=_BITS)[1]
    plain = log_bounds(1 / spare, bits=_BITS)[1]
    shifted = log_bounds(exp_bounds(Fraction(1), bits=_BITS)[1] + root / spare, bits=_BITS)[1]
    alive = survival(deltas.items())
    return AdaptiveTotal(
        terms=(
            round_up(sum((count * epsilon for epsilon, count in epsilons.items()), Fraction(0))),
            round_up(mean + sqrt_bounds(2 * squares * plain, bits=_BITS)[1]),
            round_up(mean + sqrt_bounds(2 * squares * shifted, bits=_BITS)[1]),
        ),
        delta_without_slack=round_up(1 - alive),
        delta_with_slack=round_up(1 - alive * (1 - spare)),
    )


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a history by the minimum of three, with the slack that `delta` leaves.

    Theorem   `compose_adaptive_het`. Not a filter.
    Requires  events with a finite ε; Σδ <= δ.
    Rounds    up.
    """
    require_delta(delta=delta)
    parts = spends(event)
    if not parts:
        return 0.0
    whole = total(parts)
    spare = exact(delta) - whole.delta
    if spare < 0:
        raise delta_too_small(delta)
    if not spare:
        return round_up(whole.epsilon)
    epsilons = Counter(part.epsilon for part in parts)
    return _minimum(epsilons, Counter(part.delta for part in parts), slack(slack_delta=spare)).epsilon
