"""Optimal composition of unequal releases: exact for a few of them, as the general problem is #P-hard."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from dpsql.accounting.basic import delta_too_small, survival
from dpsql.accounting.calibrate import smallest_within
from dpsql.accounting.limits import priced_lists
from dpsql.accounting.optimal import LARGEST_K, optimal_epsilon
from dpsql.accounting.spend import spends
from dpsql.errors import BadParameter
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number, require_count, require_delta, unmet

LARGEST_SUPPORT: Final = 2**16
"""How many different subset sums of the ε_i are enumerated: 16 different releases, or many more equal ones."""

_UNIT: Final = 2.0**-52


def heterogeneous_epsilon(*, epsilons: Sequence[Number], deltas: Sequence[Number], target_delta: Number) -> float:
    """The smallest ε for which releases of (ε_i, δ_i) are together (ε, target_delta)-DP.

    Theorem   Murtagh, Vadhan (2016), Thm. 1.5: δ = 1 − ∏(1 − δ_i)(1 − δ*), where δ* is the sum over the sets S of
              releases of max(e^{Σ_S ε} − e^{ε + Σ_{not S} ε}, 0), divided by ∏(1 + e^{ε_i}). It never rises with ε.
    Requires  at most 2**16 different subset sums, and a target that covers 1 − ∏(1 − δ_i); parameters fixed before
              the first release. Not a filter.
    Rounds    up.
    """
    pairs = priced_lists(epsilons=epsilons, deltas=deltas)
    require_delta(target_delta=target_delta)
    alive = survival(Counter(delta for _, delta in pairs).items())
    room = 1 - (1 - exact(target_delta)) / alive if alive else Fraction(-1)
    if room < 0:
        raise delta_too_small(target_delta)
    losses = _Losses([epsilon for epsilon, _ in pairs])
    return smallest_within(
        lambda x: losses.delta(exact(x)), limit=round_down(room), low=0.0, high=round_up(losses.largest)
    )


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a history by optimal composition of its (ε_i, δ_i).

    Theorem   Kairouz, Oh, Viswanath (2015) where all releases are equal, Murtagh, Vadhan (2016) otherwise.
              Not a filter: it prices batches whose parameters were fixed in advance.
    Requires  events with a finite ε; equal ones, or few enough to enumerate.
    Rounds    up.
    """
    require_delta(delta=delta)
    parts = spends(event)
    if not parts:
        return 0.0
    if len(set(parts)) == 1:
        require_count(number_of_releases=len(parts), at_most=LARGEST_K)
        return optimal_epsilon(k=len(parts), epsilon=parts[0].epsilon, delta=parts[0].delta, target_delta=delta)
    return heterogeneous_epsilon(
        epsilons=[part.epsilon for part in parts], deltas=[part.delta for part in parts], target_delta=delta
    )


class _Losses:
    """The privacy loss of a row of randomized responses, as sums of lies: the loss is Σε − 2 · (sum of ε over lies)."""

    __slots__ = ("_lies", "_log_truth", "largest")

    def __init__(self, epsilons: Sequence[Fraction]) -> None:
        counts = Counter(epsilons)
        self.largest = sum((count * epsilon for epsilon, count in counts.items()), Fraction(0))
        self._lies = _subset_sums(counts)
        # The logarithm of the probability that every response is true.
        self._log_truth = -math.fsum(count * math.log1p(math.exp(-float(size))) for size, count in counts.items())

    def delta(self, total: Fraction) -> float:
        """The hockey-stick divergence at `total`, rounded up: terms are positive, so nothing cancels."""
        terms = []
        for lies, ways in self._lies.items():
            excess = self.largest - 2 * lies - total  # exact, so the sign is right
            if excess > 0:
                logs = (self._log_truth, -float(lies), math.log(ways))  # the number of ways may leave the floats
                error = 16 + 8 * max(map(abs, logs))
                terms.append(math.exp(math.fsum(logs)) * -math.expm1(-float(excess)) * (1 + error * _UNIT))
        return min(1.0, math.fsum(terms) * (1 + 4 * _UNIT))


def _subset_sums(counts: Mapping[Fraction, int]) -> dict[Fraction, int]:
    """Every sum of ε over a set of releases, with the number of sets that give it."""
    sums: Counter[Fraction] = Counter({Fraction(0): 1})
    for epsilon, count in counts.items():
        if len(sums) * (count + 1) > 4 * LARGEST_SUPPORT:
            raise _too_many()
        longer: Counter[Fraction] = Counter()
        choices = 1
        for chosen in range(count + 1):
            for value, ways in sums.items():
                longer[value + chosen * epsilon] += ways * choices
            choices = choices * (count - chosen) // (chosen + 1)
        sums = longer
        if len(sums) > LARGEST_SUPPORT:
            raise _too_many()
    return dict(sums)


def _too_many() -> BadParameter:
    return unmet(f"the losses of these releases take more than {LARGEST_SUPPORT} values")
