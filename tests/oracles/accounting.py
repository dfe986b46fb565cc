"""Prices that no path to an answer needs: other conversions and inverses, which the accountants are measured by."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from dpsql.accounting.basic import BasicTotal, survival
from dpsql.accounting.heterogeneous import _Losses
from dpsql.accounting.limits import (
    LARGEST_EPSILON,
    LONGEST_LIST,
    counted,
    priced_epsilon,
    priced_lists,
    require_within,
    slack,
)
from dpsql.accounting.optimal import (
    LARGEST_K,
    OptimalPoint,
    _Response,
    _room,
    _theta,
    _whole,
    compose_optimal,
)
from dpsql.accounting.pld import LARGEST_LOSS, _composed, _grouped, _slack
from dpsql.accounting.rdp import _order, _rdp
from dpsql.accounting.subsampling import Scheme, _require_rate
from dpsql.accounting.zcdp import _BITS, _log_inverse, _rho, _short
from dpsql.enclosure import sqrt_bounds
from dpsql.errors import Refused
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, pad_up, round_up
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import (
    Number,
    require_count,
    require_delta,
    require_non_negative,
    require_numbers,
    require_that,
    require_type,
)

RELATION: Final[Mapping[Scheme, Neighbours]] = {
    Scheme.POISSON: Neighbours.ADD_REMOVE,
    Scheme.WITHOUT_REPLACEMENT: Neighbours.CHANGE_ONE,
}
"""The one relation under which the amplification of a scheme is a theorem here, for the release and for the result."""


def asked_epsilon(**named: Number) -> Fraction:
    """The one ε given at which a curve is read, checked and exact. Unlike a price it may be 0."""
    ((name, value),) = named.items()
    require_within(lowest=0, highest=LARGEST_EPSILON, **{name: value})
    return exact(value)


def compose_basic_equal(*, k: int, epsilon: Number, delta: Number) -> BasicTotal:
    """The total of k releases, each (ε, δ)-DP.

    Theorem   as `compose_basic`, with equal parts.
    Requires  k >= 1, ε > 0, 0 <= δ < 1.
    Rounds    nothing in ε and δ_sum; δ_product up, by less than 2**-200.
    """
    k = counted(k=k)
    require_delta(delta=delta)
    each = exact(delta)
    return BasicTotal(
        epsilon=k * priced_epsilon(epsilon=epsilon), delta_sum=k * each, delta_product=1 - survival([(each, k)])
    )


def heterogeneous_delta(*, epsilons: Sequence[Number], deltas: Sequence[Number], epsilon_total: Number) -> float:
    """The smallest δ for which releases of (ε_i, δ_i) are together (epsilon_total, δ)-DP.

    Theorem   Murtagh, Vadhan (2016), Thm. 1.5: 1 − ∏(1 − δ_i)(1 − δ*), where δ* is the sum over the sets S of
              releases of max(e^{Σ_S ε} − e^{epsilon_total + Σ_{not S} ε}, 0), divided by ∏(1 + e^{ε_i}).
    Requires  at most 2**16 different subset sums; parameters fixed before the first release. Not a filter.
    Rounds    up.
    """
    pairs = priced_lists(epsilons=epsilons, deltas=deltas)
    total = asked_epsilon(epsilon_total=epsilon_total)
    pure = _Losses([epsilon for epsilon, _ in pairs]).delta(total)
    alive = survival(Counter(delta for _, delta in pairs).items())
    return round_up(1 - alive * (1 - min(Fraction(1), exact(pure))))


def optimal_delta(*, k: int, epsilon: Number, delta: Number, epsilon_total: Number) -> float:
    """The smallest δ for which k releases of (ε, δ) are together (epsilon_total, δ)-DP.

    Theorem   Kairouz, Oh, Viswanath (2015); Murtagh, Vadhan (2016), Thm. 1.5: the curve between the points of
              `compose_optimal`.
    Requires  as `compose_optimal`; epsilon_total >= 0.
    Rounds    up.
    """
    k = counted(k=k, at_most=LARGEST_K)
    size, total = priced_epsilon(epsilon=epsilon), asked_epsilon(epsilon_total=epsilon_total)
    require_delta(delta=delta)
    return _whole(k, exact(delta), _Response(k, size).delta(_theta(k, size, total)))


def optimal_grid_point(*, k: int, epsilon: Number, delta: Number, target_delta: Number) -> OptimalPoint:
    """The point of Theorem 3.3 with the smallest ε whose δ is at most `target_delta`.

    Theorem   Kairouz, Oh, Viswanath (2015), Thm. 3.3; δ_i grows with i.
    Requires  as `compose_optimal`, and a target that covers 1 − (1 − δ)^k.
    Rounds    up.
    """
    k = counted(k=k, at_most=LARGEST_K)
    size, room = priced_epsilon(epsilon=epsilon), _room(k, delta, target_delta)
    response = _Response(k, size)
    low, high = 0, k // 2 + 1  # δ_0 = 0 always fits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if response.delta(Fraction(middle)) <= room else (low, middle)
    return compose_optimal(k=k, epsilon=epsilon, delta=delta, i=low)


def delta_of(event: Event, *, epsilon: Number) -> float:
    """The δ of a planned batch at ε, by composing privacy loss distributions.

    Theorem   as `epsilon_of`.
    Requires  ε >= 0, at most 100 000 releases, and the extra [pld] installed.
    Rounds    up; the slack of the convolution is added.
    """
    require_within(lowest=0, highest=LARGEST_LOSS, epsilon=epsilon)
    counts = _grouped(event)
    if not counts:
        return 0.0
    least = max(0.0, float(_composed(counts).get_delta_for_epsilon(float(epsilon))))
    return min(1.0, least + 2 * _slack(counts))


def mironov_epsilon(*, alpha: Number, rdp: Number, delta: Number) -> float:
    """An ε with (ε, δ)-DP from Rényi divergence `rdp` at order α: rdp + ln(1/δ)/(α − 1).

    Theorem   Mironov (2017), Prop. 3.
    Requires  1 + 2**-10 <= α <= 4096, rdp >= 0, 0 < δ < 1.
    Rounds    up.
    """
    order, log = _order(alpha), -math.log(float(slack(delta=delta)))
    return pad_up(_rdp(rdp) + log / (order - 1), ulps=8)


def pure_rho(*, epsilon: Number) -> Fraction:
    """The ρ of any ε-DP release: ε²/2.

    Theorem   Bun, Steinke (2016), Prop. 1.4.
    Requires  ε > 0.
    Rounds    nothing.
    """
    return priced_epsilon(epsilon=epsilon) ** 2 / 2


def bounded_range_rho(*, epsilon: Number) -> Fraction:
    """The ρ of an ε-bounded-range selection, such as the exponential mechanism: ε²/8.

    Theorem   Cesar, Rogers (2021), Lemma 3.4.
    Requires  ε > 0.
    Rounds    nothing.
    """
    return priced_epsilon(epsilon=epsilon) ** 2 / 8


def compose_rho(*, rhos: Sequence[Number]) -> Fraction:
    """The ρ of several releases together: their sum.

    Theorem   Bun, Steinke (2016), Lemma 1.7; adaptively, with a limit fixed in advance: account_rule.md.
    Requires  ρ_i >= 0.
    Rounds    nothing.
    """
    require_numbers(rhos=rhos)
    require_count(number_of_releases=len(rhos), at_most=LONGEST_LIST)
    for index, rho in enumerate(rhos):
        require_non_negative(**{f"rhos[{index}]": rho})
    return sum(map(exact, rhos), Fraction(0))


def standard_epsilon(*, rho: Number, delta: Number) -> float:
    """An ε with (ε, δ)-DP for any ρ-zCDP release: ρ + 2 sqrt(ρ ln(1/δ)).

    Theorem   Bun, Steinke (2016), Prop. 1.3.
    Requires  ρ >= 0, 0 < δ < 1.
    Rounds    up.
    """
    rate, failure = _rho(rho), slack(delta=delta)
    return round_up(rate + 2 * sqrt_bounds(rate * _log_inverse(failure)[1], bits=_BITS)[1])


def standard_rho(*, epsilon: Number, delta: Number) -> Fraction:
    """The ρ whose standard conversion at δ is ε: (sqrt(ln(1/δ) + ε) − sqrt(ln(1/δ)))².

    Theorem   `standard_epsilon` solved for ρ.
    Requires  ε > 0, 0 < δ < 1.
    Rounds    down.
    """
    size, failure = priced_epsilon(epsilon=epsilon), slack(delta=delta)
    high = _log_inverse(failure)[1]
    roots = sqrt_bounds(high + size, bits=_BITS)[1] + sqrt_bounds(high, bits=_BITS)[1]
    return _short((size / roots) ** 2)


def require_scheme(*, scheme: Scheme, neighbours: Neighbours) -> None:
    """The scheme and the relation belong together."""
    require_type(Scheme, scheme=scheme)
    require_neighbours(neighbours)
    if RELATION[scheme] is not neighbours:
        raise Refused(
            f"no amplification theorem here for {scheme.value} sampling under {neighbours.value}",
            why="with the other relation the two samples differ in more than one person's coin",
            fix=f"use {scheme.value} under {RELATION[scheme].value}",
        )


def amplified_response(*, epsilon: Number, rate: Number) -> float:
    """The exact loss of randomized response on a Poisson sample of one person: the example that attains `amplify`.

    Theorem   with the person: (1 − q) R(0) + q R(1); without: R(0). The largest log-ratio is ln(1 + q (e^ε − 1)).
    Requires  ε > 0, 0 < rate <= 1.
    Rounds    to nearest.
    """
    size = float(priced_epsilon(epsilon=epsilon))
    _require_rate(rate=rate)
    q, lie = float(rate), math.exp(-size) / (1 + math.exp(-size))
    without = {1: lie, 0: 1 - lie}
    sampled = {1: (1 - q) * lie + q * (1 - lie), 0: (1 - q) * (1 - lie) + q * lie}
    require_that(lie, "below 700, for a coin of finite precision", epsilon=size)
    return max(abs(math.log(sampled[bit] / without[bit])) for bit in (0, 1))
