"""Zero-concentrated differential privacy: one number ρ that adds up, and its exchange for (ε, δ).

Everything here can price a release, so everything is a rational number or a certified bound of one. The best
Rényi order α of a conversion is searched in integer arithmetic; whatever order the search finds, the bound at that
order is a theorem, so a poor search could only be wasteful.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Final

from dpsql.accounting.basic import slack_after
from dpsql.accounting.limits import priced_epsilon, require_within, slack
from dpsql.accounting.spend import releases
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.enclosure import log_bounds, sqrt_bounds
from dpsql.errors import UnsupportedEvent
from dpsql.privacy.events import Composed, ContinuousGaussian, ContinuousLaplace, Event
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import (
    Number,
    require_non_negative,
    require_open_unit,
    require_positive,
)

_BITS: Final = 128
_ORDER_BITS: Final = 48  # the optimum is flat: an order off by 2**-48 costs about 2**-96 in ρ
_KEPT_BITS: Final = 64
LARGEST_RHO: Final = Fraction(2**40)
SMALLEST_RHO: Final = Fraction(1, 2**200)


def gaussian_rho(*, sigma: Number, l2: Number) -> Fraction:
    """The ρ of Gaussian noise σ on a query of L2 sensitivity l2: l2²/2σ².

    Theorem   Bun, Steinke (2016), Prop. 1.6; Canonne, Kamath, Steinke (2020), Thm. 14 for the discrete Gaussian.
    Requires  σ > 0, l2 >= 0.
    Rounds    nothing.
    """
    require_positive(sigma=sigma)
    require_non_negative(l2=l2)
    return exact(l2) ** 2 / (2 * exact(sigma) ** 2)


def optimal_epsilon(*, rho: Number, delta: Number) -> float:
    """The smallest ε that a bound on all Rényi orders gives for a ρ-zCDP release at δ.

    Theorem   Canonne, Kamath, Steinke (2020), Prop. 12: the minimum over α > 1 of
              ρα + (ln(1/δ) − ln α)/(α − 1) + ln(1 − 1/α), attained where ρ(α − 1)² + ln α = ln(1/δ).
    Requires  ρ >= 0, 0 < δ < 1.
    Rounds    up.
    """
    rate, failure = _rho(rho), slack(delta=delta)
    return round_up(_optimal_epsilon(rate, failure)) if rate else 0.0


@lru_cache(maxsize=1024)
def _optimal_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    target = _log_inverse(delta)[1]
    order = _order_where(lambda above: rho * above**2 + log_bounds(1 + above)[0] >= target)
    above = order - 1
    bound = rho * order + (target - log_bounds(order, bits=_BITS)[0]) / above + log_bounds(above / order, bits=_BITS)[1]
    return max(Fraction(0), bound)


def largest_rho(*, epsilon: Number, delta: Number) -> Fraction:
    """The largest ρ whose `optimal_epsilon` at δ is at most ε.

    Theorem   for every α > 1, ρ = (ε + (ln δ + ln α)/(α − 1) − ln(1 − 1/α)) / α is enough. The maximum over α is
              where (α − 1)²/(2α − 1) · (ε + ln(α/(α − 1))) + ln α = ln(1/δ). docs/theorems/zcdp.md.
    Requires  ε > 0, 0 < δ < 1.
    Rounds    down, by less than one part in 2**60.
    """
    return _largest_rho(priced_epsilon(epsilon=epsilon), slack(delta=delta))


@lru_cache(maxsize=1024)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    target = _log_inverse(delta)[1]

    def passed(above: Fraction) -> bool:
        log_order = log_bounds(1 + above)[0]
        odds = log_bounds((1 + above) / above)[0]
        return above**2 * (epsilon + odds) >= (target - log_order) * (2 * above + 1)

    order = _order_where(passed)
    above = order - 1
    gained = log_bounds(order, bits=_BITS)[0] - target
    rho = (epsilon + gained / above - log_bounds(above / order, bits=_BITS)[1]) / order
    return _short(max(Fraction(0), rho))


def gaussian_sigma(*, rho: Number, l2: Number) -> float:
    """The σ with which Gaussian noise on a query of L2 sensitivity l2 is ρ-zCDP: l2 / sqrt(2ρ).

    Theorem   `gaussian_rho` solved for σ.
    Requires  ρ > 0, l2 >= 0.
    Rounds    up.
    """
    require_within(lowest=SMALLEST_RHO, highest=LARGEST_RHO, rho=rho)
    require_non_negative(l2=l2)
    return round_up(exact(l2) / sqrt_bounds(2 * exact(rho), bits=_BITS)[0])


@singledispatch
def approximate_zcdp(event: Event) -> Triple:
    """The price of an event for this accountant: the triple, and continuous noise, which the library may plan with.

    Theorem   docs/theorems/event_triples.md.
    Requires  a priced event or continuous noise.
    Rounds    nothing.
    """
    return triple(event)


@approximate_zcdp.register
def _(event: ContinuousGaussian) -> Triple:
    return Triple(epsilon=None, delta=Fraction(0), rho=1 / (2 * event.noise_multiplier**2))


@approximate_zcdp.register
def _(event: ContinuousLaplace) -> Triple:
    return Triple(epsilon=event.epsilon, delta=Fraction(0), rho=event.epsilon**2 / 2)


@approximate_zcdp.register
def _(event: Composed) -> Triple:
    return sum(map(approximate_zcdp, releases(event)), FREE)


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a history by zCDP at `delta`, of which the δ of its events are paid first.

    Theorem   `optimal_epsilon` of Σρ at δ − Σδ. As a filter: fix ρ* = `largest_rho` in advance and stop there.
    Requires  events with a finite ρ; Σδ < δ unless nothing was released.
    Rounds    up.
    """
    require_open_unit(delta=delta)
    price = approximate_zcdp(event)
    if price.is_free:
        return 0.0
    if price.rho is None:
        raise UnsupportedEvent(
            "the history holds a release without a finite ρ",
            why="an infinite ρ has no exchange into (ε, δ)",
            fix="use the basic accountant",
        )
    return optimal_epsilon(rho=price.rho, delta=slack_after(price.delta, delta=delta))


def _rho(rho: Number) -> Fraction:
    require_non_negative(rho=rho)
    if rho:
        require_within(lowest=SMALLEST_RHO, highest=LARGEST_RHO, rho=rho)
    return exact(rho)


@lru_cache(maxsize=1024)
def _log_inverse(delta: Fraction) -> tuple[Fraction, Fraction]:
    """(low, high) around ln(1/δ)."""
    return log_bounds(1 / delta, bits=_BITS)


def _order_where(passed: Callable[[Fraction], bool]) -> Fraction:
    """1 + the smallest dyadic u > 0, to 48 bits, with `passed(u)`; passed must go from False to True once."""
    exponent = 0
    while passed(Fraction(2) ** exponent):
        exponent -= 1
    while not passed(Fraction(2) ** (exponent + 1)):
        exponent += 1
    low, high = 1 << _ORDER_BITS, 2 << _ORDER_BITS
    unit = Fraction(2) ** (exponent - _ORDER_BITS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passed(middle * unit) else (middle, high)
    return 1 + high * unit


def _short(value: Fraction) -> Fraction:
    """`value` >= 0 rounded down to 64 significant bits, so that totals of it stay small."""
    shift = _KEPT_BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    unit = Fraction(2) ** shift
    return (value * unit).__floor__() / unit
