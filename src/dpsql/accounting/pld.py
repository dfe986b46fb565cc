"""Privacy loss distributions: the numerically optimal price of a planned batch, through the library dp-accounting.

The library rounds every loss up to a grid ("pessimistic"), so its ε is an upper bound up to the rounding of a
floating-point convolution. That rounding grows with the number of releases; `_slack` allows several times what was
measured against exact sums. It is imported on first use: that takes some seconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from importlib import import_module
from typing import Any, Final

from dpsql.accounting.limits import require_within
from dpsql.accounting.spend import releases, require_event, spends
from dpsql.errors import MissingExtra, UnsupportedEvent
from dpsql.privacy import events
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import round_down, round_up
from dpsql.require import Number, require_open_unit, require_that, shown, unmet

GRID: Final = 1e-4
"""Losses are rounded up to multiples of it: at most 1e-4 of ε too much per release."""

SLACK_PER_RELEASE: Final = 1e-16
"""The convolution loses up to 2e-17 of δ per release, measured against exact sums up to 100 000 releases."""

SMALLEST_DELTA: Final = 1e-12
"""Below this, or below ten times the slack, the rounding of the convolution could matter."""

LARGEST_COUNT: Final = 100_000
LARGEST_LOSS: Final = 2000.0
"""Grid points grow with the total ε; beyond, memory does."""

SMALLEST_NOISE: Final = 1e-3
_LARGEST_NOISE: Final[Mapping[str, float]] = {"laplace": 1e6, "gaussian": 1e6, "discrete_gaussian": 1e4}
"""Less noise than the first leaves no privacy to account for; more than the second makes the grids endless."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A dominating pair, as the name of a constructor and its numbers. Equal pairs are composed with themselves."""

    kind: str
    numbers: tuple[float, ...]
    count: int = 1


@singledispatch
def pairs(event: Event) -> list[_Pair]:
    """The dominating pairs whose composition bounds an event.

    Theorem   docs/theorems/pld.md, one line per event: an (ε, δ) release is dominated by randomized response with a
              chance δ of confessing; scalar Gaussian noise by itself.
    Requires  a known event. Vector Gaussian noise on integers has no known single pair: price it by zCDP.
    Rounds    ε, δ and sensitivities up, noise down.
    """
    require_event(event)
    raise UnsupportedEvent(
        f"no dominating pair is known for {type(event).__name__}",
        why="a loss distribution needs the worst pair of output laws",
        fix="use the zcdp or rdp accountant for this event",
    )


def _response(epsilon: Fraction, delta: Fraction, count: int = 1) -> list[_Pair]:
    return [_Pair("response", (round_up(epsilon), round_up(delta)), count)]


@pairs.register(events.Pure)
@pairs.register(events.BoundedRange)
def _(event: events.Pure | events.BoundedRange) -> list[_Pair]:
    return _response(event.epsilon, Fraction(0))


@pairs.register
def _(event: events.Approximate) -> list[_Pair]:
    return _response(event.epsilon, event.delta)


@pairs.register
def _(event: events.KeySelection) -> list[_Pair]:
    return _response(event.epsilon / event.keys, event.delta / event.keys, event.keys)


@pairs.register
def _(event: events.ContinuousLaplace) -> list[_Pair]:
    return [_Pair("laplace", (round_down(1 / event.epsilon), 1.0))]


@pairs.register
def _(event: events.ContinuousGaussian) -> list[_Pair]:
    return [_Pair("gaussian", (round_down(event.noise_multiplier), 1.0))]


@pairs.register
def _(event: events.DiscreteGaussian) -> list[_Pair]:
    if event.dimensions > 1:
        raise UnsupportedEvent(
            "a vector of discrete Gaussians has no single worst pair",
            why="how its squared distance is spread over the coordinates changes the loss",
            fix="use the zcdp accountant: its ρ holds for vectors",
        )
    return [_discrete_gaussian(event.sigma_squared, event.l2_squared)]


@pairs.register
def _(event: events.GaussianThreshold) -> list[_Pair]:
    if event.keys > 1:
        raise UnsupportedEvent(
            "a threshold on several Gaussian counts has no single worst pair",
            why="a person moves several counts at once",
            fix="use the zcdp accountant: its ρ holds for vectors",
        )
    return [_discrete_gaussian(event.sigma_squared, Fraction(1)), _Pair("confession", (round_up(event.delta),))]


def _discrete_gaussian(sigma_squared: Fraction, l2_squared: Fraction) -> _Pair:
    distance = max(1, math.isqrt(int(l2_squared)))  # integers at most this far apart
    require_within(lowest=1, highest=10_000, distance=distance)
    sigma = math.sqrt(round_down(sigma_squared)) * (1 - 2.0**-51)
    return _Pair("discrete_gaussian", (sigma, float(distance)))


@pairs.register
def _(event: events.PoissonSampled) -> list[_Pair]:
    rate = round_up(event.rate)
    match event.event:
        case events.ContinuousGaussian(noise_multiplier=multiplier):
            return [_Pair("gaussian", (round_down(multiplier), rate))]
        case events.ContinuousLaplace(epsilon=epsilon):
            return [_Pair("laplace", (round_down(1 / epsilon), rate))]
    return [_Pair("response", (round_up(part.epsilon), round_up(part.delta))) for part in spends(event)]


@pairs.register
def _(event: events.Composed) -> list[_Pair]:
    return [pair for part in releases(event) for pair in pairs(part)]


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a planned batch at δ, by composing privacy loss distributions.

    Theorem   Kairouz, Oh, Viswanath (2015); Zhu, Dong, Wang (2022): dominating pairs compose. Not a filter.
    Requires  δ >= 1e-12 and 1e-15 per release, at most 100 000 releases, and the extra [pld] installed.
    Rounds    up, to a grid of losses; the slack of the convolution is taken from δ.
    """
    return _library_epsilon(_grouped(event), delta)


def _slack(counts: Counter[_Pair]) -> float:
    """How much of δ the convolution of these pairs may lose to rounding."""
    return SLACK_PER_RELEASE * (sum(counts.values()) + len(counts))


def _library_epsilon(counts: Counter[_Pair], delta: Number) -> float:
    require_open_unit(delta=delta)
    require_within(lowest=max(SMALLEST_DELTA, 10 * _slack(counts)), highest=1, delta=delta)
    if not counts:
        return 0.0
    epsilon = float(_composed(counts).get_epsilon_for_delta(float(delta) * (1 - 1e-9) - _slack(counts)))
    if math.isinf(epsilon):
        raise unmet(f"delta={shown(delta)} does not cover the δ of the events")
    return epsilon


def _grouped(event: Event) -> Counter[_Pair]:
    counts: Counter[_Pair] = Counter()
    for pair in pairs(event):
        counts[_Pair(pair.kind, pair.numbers)] += pair.count
    total = sum(counts.values())
    require_that(total <= LARGEST_COUNT, f"at most {LARGEST_COUNT}", releases=total)
    return counts


def _composed(counts: Counter[_Pair]) -> Any:
    library = _library()
    for pair in counts:
        if pair.kind in _LARGEST_NOISE:
            require_within(lowest=SMALLEST_NOISE, highest=_LARGEST_NOISE[pair.kind], noise=pair.numbers[0])
    reach = math.fsum(count * _reach(pair) for pair, count in counts.items())
    require_within(lowest=0, highest=LARGEST_LOSS, largest_loss=reach)
    total = None
    for pair, count in sorted(counts.items(), key=lambda item: (item[0].kind, item[0].numbers)):
        one = _CONSTRUCTORS[pair.kind](library, *pair.numbers)
        many = one.self_compose(count) if count > 1 else one
        total = many if total is None else total.compose(many)
    return total


def _reach(pair: _Pair) -> float:
    """About the largest loss of a pair: what its grid has to hold."""
    match pair.kind:
        case "response":
            return pair.numbers[0]
        case "laplace":
            return 1 / pair.numbers[0]
        case "gaussian":
            return 0.5 / pair.numbers[0] ** 2 + 1 / pair.numbers[0]
        case "discrete_gaussian":
            return 0.5 * (pair.numbers[1] / pair.numbers[0]) ** 2 + pair.numbers[1] / pair.numbers[0]
    return 0.0


def _from_response(library: Any, epsilon: float, delta: float) -> Any:
    parameters = library.common.DifferentialPrivacyParameters(epsilon, delta)
    return library.distribution.from_privacy_parameters(parameters, value_discretization_interval=GRID)


_CONSTRUCTORS: Final[Mapping[str, Callable[..., Any]]] = {
    "response": _from_response,
    "laplace": lambda library, scale, rate: library.distribution.from_laplace_mechanism(
        scale, sensitivity=1, value_discretization_interval=GRID, sampling_prob=rate
    ),
    "gaussian": lambda library, sigma, rate: library.distribution.from_gaussian_mechanism(
        sigma, sensitivity=1, value_discretization_interval=GRID, sampling_prob=rate
    ),
    "discrete_gaussian": lambda library, sigma, distance: library.distribution.from_discrete_gaussian_mechanism(
        sigma, sensitivity=int(distance), value_discretization_interval=GRID
    ),
    "confession": lambda library, delta: _from_response(library, 0.0, delta),
}


@dataclass(frozen=True, slots=True)
class _Library:
    common: Any
    distribution: Any


def _library() -> _Library:
    try:
        return _Library(
            import_module("dp_accounting.pld.common"),
            import_module("dp_accounting.pld.privacy_loss_distribution"),
        )
    except ImportError:
        raise MissingExtra(
            "the pld accountant needs the package dp-accounting",
            why="loss distributions are composed by that library",
            fix="pip install dp-accounting",
        ) from None
