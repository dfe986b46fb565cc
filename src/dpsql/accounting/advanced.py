"""Advanced composition: k releases cost about sqrt(k) times one, for a small extra chance δ' of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.accounting.basic import slack_after
from dpsql.accounting.calibrate import largest_within
from dpsql.accounting.limits import SMALLEST_EPSILON, counted, priced_epsilon, require_within, slack
from dpsql.accounting.spend import spends, total
from dpsql.enclosure import exp_bounds, log_bounds, sqrt_bounds
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number, require_delta, require_numbers, require_open_unit, shown, unmet

_BITS: Final = 96
LARGEST_DR_EPSILON: Final = 700
"""Above, e^ε − 1 leaves the floats. Basic composition is far better there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedTotal:
    """k releases of (ε, δ) together, at (ε_total, kδ + δ'), by three theorems. The smallest ε may be quoted."""

    dwork_roth: float
    tight: float
    basic: Fraction
    delta: Fraction

    @property
    def best(self) -> float:
        return min(self.tight, round_up(self.basic))


def compose_advanced(*, k: int, epsilon: Number, delta: Number, delta_prime: Number) -> AdvancedTotal:
    """The total of k adaptive releases, each (ε, δ)-DP, with slack δ'.

    Theorem   Dwork, Roth (2014), Thm. 3.20: ε sqrt(2k ln(1/δ')) + k ε (e^ε − 1), at kδ + δ'. The tight variant
              has the exact worst mean loss ε tanh(ε/2) in place of ε (e^ε − 1) (Kairouz, Oh, Viswanath 2015).
    Requires  k >= 1, 0 < ε <= 700, 0 <= δ < 1, 0 < δ' < 1; ε and δ fixed before the first release.
    Rounds    up.
    """
    k = counted(k=k)
    size, failure = _dr_epsilon(epsilon=epsilon), slack(delta_prime=delta_prime)
    require_delta(delta=delta)
    return AdvancedTotal(
        dwork_roth=round_up(_dwork_roth(k, size, failure)),
        tight=round_up(_tight({size: k}, failure)),
        basic=k * size,
        delta=k * exact(delta) + failure,
    )


def _dr_epsilon(**named: Number) -> Fraction:
    size = priced_epsilon(**named)
    require_within(lowest=0, highest=LARGEST_DR_EPSILON, **named)
    return size


def _dwork_roth(k: int, epsilon: Fraction, delta_prime: Fraction) -> Fraction:
    mean = k * epsilon * (exp_bounds(epsilon, bits=_BITS)[1] - 1)
    return _deviation(k * epsilon**2, delta_prime) + mean


def _tight(counts: dict[Fraction, int], delta_prime: Fraction) -> Fraction:
    squares = sum((count * epsilon**2 for epsilon, count in counts.items()), Fraction(0))
    return _deviation(squares, delta_prime) + total_drift(counts.items())


def _deviation(squares: Fraction, delta_prime: Fraction) -> Fraction:
    """An upper bound of sqrt(2 Σε² ln(1/δ')), the Azuma term."""
    return sqrt_bounds(2 * squares * log_bounds(1 / delta_prime, bits=_BITS)[1], bits=_BITS)[1]


def drift(epsilon: Fraction) -> Fraction:
    """The largest mean privacy loss of an ε-DP release: ε tanh(ε/2).

    Theorem   Kairouz, Oh, Viswanath (2015): randomized response attains the largest KL divergence under ε-DP.
    Requires  ε > 0.
    Rounds    up.
    """
    if epsilon >= 128:  # tanh(64) differs from 1 by less than 2**-184
        return epsilon
    high = exp_bounds(epsilon, bits=_BITS)[1]
    return epsilon * (high - 1) / (high + 1)


def total_drift(counts: Iterable[tuple[Fraction, int]]) -> Fraction:
    """The sum of `drift` over releases given as (ε, how many)."""
    return sum((count * drift(epsilon) for epsilon, count in counts), Fraction(0))


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a history by advanced composition of unequal parts, with slack δ' = δ − Σδ.

    Theorem   Σ ε tanh(ε/2) + sqrt(2 Σε² ln(1/δ')). Not a filter: the ε_i must be fixed before the first answer.
    Requires  events with a finite ε; Σδ < δ unless nothing was released.
    Rounds    up.
    """
    require_open_unit(delta=delta)
    parts = spends(event)
    if not parts:
        return 0.0
    left = slack_after(total(parts).delta, delta=delta)
    return round_up(_tight(Counter(part.epsilon for part in parts), slack(delta=left)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PerQuery:
    """The ε each of k questions may have under a total ε at slack δ', by each theorem."""

    corollary: float
    dwork_roth: float
    tight: float
    basic: float

    @property
    def best(self) -> float:
        """The largest that a theorem certifies."""
        return max(self.dwork_roth, self.tight, self.basic)


def per_query_epsilon(*, k: int, total_epsilon: Number, delta_prime: Number) -> PerQuery:
    """The ε each of k adaptive ε-DP questions may have so that all together are (total_epsilon, δ')-DP.

    Theorem   Dwork, Roth (2014), Cor. 3.21: ε'/(2 sqrt(2k ln(1/δ'))); Thm. 3.20 and its tight variant solved
              numerically for ε; basic composition: ε'/k.
    Requires  k >= 1, total_epsilon > 0, 0 < δ' < 1.
    Rounds    down.
    """
    k = counted(k=k)
    total, failure = _dr_epsilon(total_epsilon=total_epsilon), slack(delta_prime=delta_prime)
    limit = round_down(total)
    low, high = round_down(SMALLEST_EPSILON), float(LARGEST_DR_EPSILON)
    return PerQuery(
        corollary=corollary_epsilon(k=k, total_epsilon=total, delta_prime=failure),
        dwork_roth=largest_within(
            lambda x: round_up(_dwork_roth(k, exact(x), failure)), limit=limit, low=low, high=high
        ),
        tight=largest_within(lambda x: round_up(_tight({exact(x): k}, failure)), limit=limit, low=low, high=high),
        basic=round_down(total / k),
    )


def corollary_epsilon(*, k: int, total_epsilon: Number, delta_prime: Number) -> float:
    """The closed form ε'/(2 sqrt(2k ln(1/δ'))), where it is enough.

    Theorem   Dwork, Roth (2014), Cor. 3.21.
    Requires  a δ' for which the value, put into Thm. 3.20, gives at most ε': checked, not assumed.
    Rounds    down.
    """
    k = counted(k=k)
    total, failure = _dr_epsilon(total_epsilon=total_epsilon), slack(delta_prime=delta_prime)
    root = sqrt_bounds(2 * k * log_bounds(1 / failure, bits=_BITS)[1], bits=_BITS)[1]
    each = round_down(total / (2 * root))
    if exact(each) > LARGEST_DR_EPSILON or _dwork_roth(k, exact(each), failure) > total:
        raise unmet(f"the closed form is not enough at total_epsilon={shown(total)}, delta_prime={shown(failure)}")
    return each


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """One line of the table that helps to choose δ'."""

    delta_prime: float
    epsilon: float
    theorem: str
    delta_total: float


def tradeoff_table(*, k: int, epsilon: Number, delta: Number, delta_primes: Sequence[Number]) -> list[TradeOff]:
    """For every δ' offered, the best total ε of k releases of (ε, δ), and the total δ it is bought with.

    Theorem   `compose_advanced`. Where basic composition wins no slack is spent: the total δ is kδ.
    Requires  as `compose_advanced`, for every δ' of the list.
    Rounds    up.
    """
    require_numbers(delta_primes=delta_primes)
    rows = []
    for delta_prime in delta_primes:
        total = compose_advanced(k=k, epsilon=epsilon, delta=delta, delta_prime=delta_prime)
        basic = round_up(total.basic)
        wins = basic <= total.tight
        rows.append(
            TradeOff(
                delta_prime=round_up(exact(delta_prime)),
                epsilon=total.best,
                theorem="basic" if wins else "advanced",
                delta_total=round_up(k * exact(delta) if wins else total.delta),
            )
        )
    return rows
