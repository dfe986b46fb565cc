"""Rényi differential privacy: a curve r(α) that adds up order by order, and its exchange for (ε, δ)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Final

from dpsql.accounting.basic import slack_after
from dpsql.accounting.limits import LARGEST_EPSILON, SMALLEST_EPSILON, counted, priced_epsilon, require_within, slack
from dpsql.accounting.spend import releases, require_event, spends, total
from dpsql.errors import UnsupportedEvent
from dpsql.privacy import events
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, pad_up, round_up
from dpsql.require import (
    Number,
    require_non_negative,
    require_open_unit,
    require_positive,
)

ORDERS: Final[tuple[float, ...]] = (
    *(1 + x / 10 for x in range(1, 20)),
    *map(float, range(3, 64)),
    *(float(2**x) for x in range(6, 13)),
)
"""The orders an accountant tries. Any choice is sound; more orders are tighter."""

LARGEST_ORDER: Final = 4096.0
SMALLEST_ORDER: Final = 1 + 2.0**-10


def _order(alpha: Number) -> float:
    require_within(lowest=SMALLEST_ORDER, highest=LARGEST_ORDER, alpha=alpha)
    return float(alpha)


def laplace_rdp(*, alpha: Number, epsilon: Number) -> float:
    """The Rényi divergence of order α of Laplace noise of scale l1/ε.

    Theorem   Mironov (2017), Prop. 6: ln(α/(2α−1) e^{(α−1)ε} + (α−1)/(2α−1) e^{−αε}) / (α − 1).
    Requires  1 + 2**-10 <= α <= 4096, ε > 0.
    Rounds    up.
    """
    order, size = _order(alpha), round_up(priced_epsilon(epsilon=epsilon))
    if (order - 1) * size > 30:  # the second term is below 2**-80 of the first
        log = (order - 1) * size + math.log(order / (2 * order - 1))
        log += (order - 1) / order * math.exp(-(2 * order - 1) * size)
        return min(size, pad_up(log / (order - 1), ulps=24))
    # The sum of the two terms is 1 + a non-negative rest, in which nothing cancels once the linear parts are gone.
    rest = order * _exp_rest((order - 1) * size) + (order - 1) * _exp_rest(-order * size)
    return min(size, pad_up(math.log1p(rest / (2 * order - 1)) / (order - 1), ulps=64))


def _exp_rest(x: float) -> float:
    """e^x − 1 − x, to a few units in the last place."""
    if abs(x) > 0.5:
        return math.expm1(x) - x
    term, total, n = x * x / 2, 0.0, 3
    while total + term != total:
        total, term, n = total + term, term * x / n, n + 1
    return total


def randomized_response_rdp(*, alpha: Number, epsilon: Number) -> float:
    """The Rényi divergence of order α of binary randomized response: the largest of any ε-DP release.

    Theorem   ln(cosh((α − ½)ε) / cosh(ε/2)) / (α − 1), the same as ln((e^{αε} + e^{(1−α)ε})/(1 + e^ε))/(α − 1).
    Requires  1 + 2**-10 <= α <= 4096, ε > 0.
    Rounds    up.
    """
    order, size = _order(alpha), round_up(priced_epsilon(epsilon=epsilon))
    if order * size > 60:
        log = (order - 1) * size + math.log1p(math.exp((1 - 2 * order) * size)) - math.log1p(math.exp(-size))
        return min(size, pad_up(max(0.0, log) / (order - 1), ulps=64))
    product = 2 * math.sinh(order * size / 2) * math.sinh((order - 1) * size / 2) / math.cosh(size / 2)
    return min(size, pad_up(math.log1p(product) / (order - 1), ulps=128))


def gaussian_rdp(*, alpha: Number, sigma: Number, l2: Number) -> float:
    """The Rényi divergence of order α of Gaussian noise: α l2²/2σ².

    Theorem   Mironov (2017), Prop. 7; Canonne, Kamath, Steinke (2020), Thm. 14 for the discrete Gaussian.
    Requires  1 + 2**-10 <= α <= 4096, σ > 0, l2 >= 0.
    Rounds    up.
    """
    _order(alpha)
    require_positive(sigma=sigma)
    require_non_negative(l2=l2)
    return round_up(exact(alpha) * exact(l2) ** 2 / (2 * exact(sigma) ** 2))


def subsampled_gaussian_rdp(*, alpha: int, sigma: Number, rate: Number) -> float:
    """The Rényi divergence of order α of Gaussian noise σ on a Poisson sample, sensitivity 1, add_remove.

    Theorem   Mironov, Talwar, Zhang (2019): ln(Σ_j C(α, j)(1 − q)^{α−j} q^j e^{j(j−1)/2σ²}) / (α − 1), the larger
              of the two directions.
    Requires  a whole order 2 <= α <= 4096, σ in [1/64, 2**30], 0 < rate <= 1.
    Rounds    up.
    """
    alpha = counted(alpha=alpha, at_least=2, at_most=int(LARGEST_ORDER))
    require_within(lowest=Fraction(1, 64), highest=2**30, sigma=sigma)
    require_within(lowest=Fraction(1, 2**60), highest=1, rate=rate)
    if exact(rate) > 1 - Fraction(1, 2**60):  # as good as everybody: no amplification
        return gaussian_rdp(alpha=alpha, sigma=sigma, l2=1)
    return _sampled_gaussian(alpha, float(sigma) ** 2, float(rate), float(1 - exact(rate)))


@lru_cache(maxsize=4096)
def _sampled_gaussian(alpha: int, variance: float, rate: float, rest_rate: float) -> float:
    enter, stay = math.log(rate), math.log(rest_rate)
    # The binomial weights add up to 1 and the first two exponents are 0, so the sum is 1 + a non-negative rest.
    logs, ways = [], alpha  # C(α, j) as an exact integer: logarithms of factorials would cancel
    for j in range(2, alpha + 1):
        ways = ways * (alpha - j + 1) // j
        exponent = j * (j - 1) / (2 * variance)
        growth = exponent + math.log(-math.expm1(-exponent)) if exponent > 1 else math.log(math.expm1(exponent))
        logs.append(math.log(ways) + (alpha - j) * stay + j * enter + growth)
    top = max(logs)
    rest = top + math.log(math.fsum(math.exp(log - top) for log in logs))
    total = rest + math.log1p(math.exp(-rest)) if rest > 0 else math.log1p(math.exp(rest))
    # The logarithms added are large, so their rounding is an absolute error of `rest`; it moves the total by at
    # most min(1, total) of itself.
    error = 16 * max(abs(top), alpha * abs(enter), alpha * abs(stay), alpha * alpha / variance) * 2.0**-52
    return pad_up((total + min(1.0, total) * error) / (alpha - 1), ulps=32)


def improved_epsilon(*, alpha: Number, rdp: Number, delta: Number) -> float:
    """The best ε that one Rényi divergence gives: rdp + ln((α − 1)/α) − (ln δ + ln α)/(α − 1), and at least 0.

    Theorem   Balle, Barthe, Gaboardi, Hsu, Sato (2020), Thm. 21; Canonne, Kamath, Steinke (2020), Prop. 12.
    Requires  1 + 2**-10 <= α <= 4096, rdp >= 0, 0 < δ < 1.
    Rounds    up.
    """
    order, log = _order(alpha), math.log(float(slack(delta=delta)))
    terms = (_rdp(rdp), math.log1p(-1 / order), -(log + math.log(order)) / (order - 1))
    slop = 16 * math.ulp(max(abs(terms[0]), abs(terms[1]), (abs(log) + math.log(order)) / (order - 1)))
    return max(0.0, math.fsum(terms) + slop)


def _rdp(rdp: Number) -> float:
    require_within(lowest=0, highest=2**80, rdp=rdp)
    return round_up(exact(rdp))


@dataclass(frozen=True, slots=True, kw_only=True)
class RdpPrice:
    """The Rényi divergence of a history at one order, off an event of probability δ. None: no bound at this order."""

    rdp: Fraction | None
    delta: Fraction

    def __add__(self, other: RdpPrice) -> RdpPrice:
        rdp = None if self.rdp is None or other.rdp is None else self.rdp + other.rdp
        return RdpPrice(rdp=rdp, delta=self.delta + other.delta)

    def times(self, count: int) -> RdpPrice:
        return RdpPrice(rdp=None if self.rdp is None else count * self.rdp, delta=count * self.delta)


NOTHING: Final = RdpPrice(rdp=Fraction(0), delta=Fraction(0))


@singledispatch
def rdp_at(event: Event, *, order: float) -> RdpPrice:
    """The Rényi divergence of an event at one order.

    Theorem   docs/theorems/rdp.md, one line per event.
    Requires  1 + 2**-10 <= order <= 4096.
    Rounds    up.
    """
    require_event(event)
    raise UnsupportedEvent(
        f"no Rényi curve is known for {type(event).__name__}",
        why="an event without a theorem has no known price",
        fix="add a theorem to accounting/rdp.py",
    )


def _pure_rdp(epsilon: Fraction, order: float) -> Fraction:
    """Randomized response, the worst ε-DP release; far out of its range the simple bounds ε and αε²/2."""
    if SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        return exact(randomized_response_rdp(alpha=order, epsilon=epsilon))
    return min(epsilon, exact(_order(order)) * epsilon**2 / 2)


def _gaussian_price(rho: Fraction, order: float, *, delta: Fraction = Fraction(0)) -> RdpPrice:
    """Gaussian noise of ρ: a straight line ρα."""
    return RdpPrice(rdp=rho * exact(_order(order)), delta=delta)


@rdp_at.register
def _(event: events.Pure, *, order: float) -> RdpPrice:
    return RdpPrice(rdp=_pure_rdp(event.epsilon, order), delta=Fraction(0))


@rdp_at.register
def _(event: events.Approximate, *, order: float) -> RdpPrice:
    return RdpPrice(rdp=_pure_rdp(event.epsilon, order), delta=event.delta)


@rdp_at.register
def _(event: events.KeySelection, *, order: float) -> RdpPrice:
    return RdpPrice(rdp=event.keys * _pure_rdp(event.epsilon / event.keys, order), delta=event.delta)


@rdp_at.register
def _(event: events.BoundedRange, *, order: float) -> RdpPrice:
    rdp = min(_pure_rdp(event.epsilon, order), exact(order) * event.epsilon**2 / 8)
    return RdpPrice(rdp=rdp, delta=Fraction(0))


@rdp_at.register
def _(event: events.ContinuousLaplace, *, order: float) -> RdpPrice:
    return RdpPrice(rdp=exact(laplace_rdp(alpha=order, epsilon=event.epsilon)), delta=Fraction(0))


@rdp_at.register
def _(event: events.ContinuousGaussian, *, order: float) -> RdpPrice:
    return _gaussian_price(1 / (2 * event.noise_multiplier**2), order)


@rdp_at.register
def _(event: events.DiscreteGaussian, *, order: float) -> RdpPrice:
    return _gaussian_price(event.l2_squared / (2 * event.sigma_squared), order)


@rdp_at.register
def _(event: events.GaussianThreshold, *, order: float) -> RdpPrice:
    return _gaussian_price(event.keys / (2 * event.sigma_squared), order, delta=event.delta)


@rdp_at.register
def _(event: events.Composed, *, order: float) -> RdpPrice:
    return _total(Counter(releases(event)), order)


def _total(counts: Mapping[Event, int], order: float) -> RdpPrice:
    return sum((rdp_at(event, order=order).times(count) for event, count in counts.items()), NOTHING)


@rdp_at.register
def _(event: events.PoissonSampled, *, order: float) -> RdpPrice:
    if isinstance(event.event, events.ContinuousGaussian):
        if order != int(order) or order < 2:
            return RdpPrice(rdp=None, delta=Fraction(0))
        rdp = subsampled_gaussian_rdp(alpha=int(order), sigma=event.event.noise_multiplier, rate=event.rate)
        return RdpPrice(rdp=exact(rdp), delta=Fraction(0))
    parts = spends(event)
    return RdpPrice(
        rdp=sum((_pure_rdp(part.epsilon, order) for part in parts), Fraction(0)),
        delta=total(parts).delta,
    )


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a history by RDP: the best of `ORDERS` and of the order infinity, which is basic composition.

    Theorem   r(α) adds up (Mironov 2017, Prop. 1); `improved_epsilon` at δ − Σδ. As a filter: fix one order and
              its limit in advance (`RdpFilter`); the minimum over orders is for histories fixed in advance.
    Requires  Σδ < δ unless nothing was released.
    Rounds    up.
    """
    require_open_unit(delta=delta)
    counts = Counter(releases(event))
    prices = {order: _total(counts, order) for order in ORDERS}
    price = prices[ORDERS[0]]
    if price == NOTHING:
        return 0.0
    left = slack_after(price.delta, delta=delta)
    candidates = [
        improved_epsilon(alpha=order, rdp=price.rdp, delta=left)
        for order, price in prices.items()
        if price.rdp is not None
    ]
    return min([*candidates, *_sure_epsilon(event)])


def _sure_epsilon(event: Event) -> list[float]:
    try:
        return [round_up(total(spends(event)).epsilon)]
    except UnsupportedEvent:
        return []
