"""Two questions about workloads: what repeating a question buys, and how many questions a database can answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.advanced import LARGEST_DR_EPSILON, compose_advanced
from dpsql.accounting.limits import SMALLEST_EPSILON, counted, priced_epsilon, slack
from dpsql.enclosure import log_bounds
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number, require_open_unit, require_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatCost:
    """Asking the same question m times and averaging, against asking once with the same total ε."""

    total_epsilon: Fraction
    variance_of_average: Fraction
    variance_of_single: Fraction


def repeat_cost(*, m: int, epsilon: Number, l1: Number) -> RepeatCost:
    """The cost and variance of the mean of m Laplace answers of ε each, and of one answer of mε.

    Theorem   basic composition: mε. The mean of m independent Laplace noises of scale b = l1/ε has variance
              2b²/m; one noise of scale b/m has 2b²/m². Averaging loses a factor m.
    Requires  m >= 1, ε > 0, l1 > 0.
    Rounds    nothing.
    """
    m = counted(m=m)
    require_positive(l1=l1)
    size = priced_epsilon(epsilon=epsilon)
    scale = exact(l1) / size
    return RepeatCost(
        total_epsilon=m * size, variance_of_average=2 * scale**2 / m, variance_of_single=2 * (scale / m) ** 2
    )


def max_queries(*, n: int, epsilon: Number, delta: Number, alpha: Number, beta: Number) -> int:
    """How many counting queries over n rows can be answered, all within αn at once with probability 1 − β.

    Theorem   k Laplace answers of ε₀ have sup-error at most ln(k/β)/ε₀ (union bound); k of them are (ε, δ)-DP by the
              better of basic and tight advanced composition at δ' = δ. Solved for k: nearly n², as
              ε₀ ~ ε/sqrt(k ln(1/δ)) makes the error ~ sqrt(k)/ε.
    Requires  1 <= n <= 10**9; 0 < α, β, δ < 1. A counting query changes by at most 1 under either relation.
    Rounds    down; 0 where not even one query fits.
    """
    n = counted(n=n, at_most=10**9)
    require_open_unit(alpha=alpha, beta=beta)
    total, failure = priced_epsilon(epsilon=epsilon), slack(delta=delta)
    error, risk = exact(alpha) * n, slack(beta=beta)

    def fits(k: int) -> bool:
        each = exact(round_up(max(SMALLEST_EPSILON, log_bounds(k / risk)[1] / error)))
        if each * k <= total:
            return True
        return each <= LARGEST_DR_EPSILON and (
            compose_advanced(k=k, epsilon=each, delta=0, delta_prime=failure).tight <= round_down(total)
        )

    low, high = 0, 1
    while high < 2**53 and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
