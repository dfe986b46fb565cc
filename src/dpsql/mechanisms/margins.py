"""Margins: how far a released number may be from the bounded quantity behind it, from the law of the noise alone.

Nothing here sees data or private randomness. A margin is a function of the plan for linear expressions, and of the
plan and the released numbers for the others; docs/guide/margins.md explains both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.noise_sum import Law, Noises, gaussian_tails, sum_margin
from dpsql.mechanisms.normal import standard_tail_quantile
from dpsql.mechanisms.shown_counts import largest_distance, shown_intervals
from dpsql.privacy.digits import share_of_failure
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_count, require_flag, require_open_unit, require_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """The noise Σ share · Z of independent noises Z, in whole steps of which `steps` are one grain of each of them.

    Theorem   docs/theorems/top_up.md.
    Requires  whole shares above 0.
    """

    parts: tuple[tuple[int, Law], ...]

    def __post_init__(self) -> None:
        if not self.parts or any(type(share) is not int or share < 1 for share, _ in self.parts):
            raise InternalError("an average of nothing, or with a weight that is not a whole number above 0")

    @property
    def steps(self) -> int:
        """How many steps of the average are one grain of a measurement: the shares add up to 1."""
        return sum(share for share, _ in self.parts)

    def of(self, measured: Sequence[int]) -> int:
        """The average of measured numbers of grains, in steps."""
        pairs = zip(self.parts, measured, strict=True)
        return sum(share * number for (share, _), number in pairs)


def averaged(laws: Sequence[Law]) -> Average:
    """The unbiased weighted mean of independent measurements whose noise has the smallest variance.

    Theorem   docs/theorems/top_up.md: weights proportional to 1/variance; σ² stands for the variance of Gaussian
              noise, twice the squared scale for that of Laplace noise. With weights ρ_i/Σρ the average of Gaussian
              measurements has the parameter σ² that Σρ buys.
    Requires  at least one law.
    Rounds    nothing: the weights are quotients of whole numbers.
    """
    precisions = [1 / _variance(law) for law in laws]
    common = math.lcm(*(precision.denominator for precision in precisions))
    whole = [int(precision * common) for precision in precisions]
    divisor = math.gcd(*whole)
    return Average(parts=tuple((share // divisor, law) for share, law in zip(whole, laws, strict=True)))


def _variance(law: Law) -> Fraction:
    return 2 * law.scale**2 if isinstance(law, DiscreteLaplaceLaw) else law.sigma_squared


DRAWS: Final = 997
"""How many plausible values an interval of a non-linear expression rests on: a prime, so that d ↦ a·d + b shuffles."""

_FEWEST_OUTSIDE: Final = 4  # per side: with fewer, the end of an interval would be the whim of one draw
_FINER: Final = 65  # parts of an average into which each of its equally likely parts is divided again: an odd number
_WIDE: Final = 1000.0  # from this σ on the rounded normal law is the discrete one, for all a margin can show

_NORMAL: Final = NormalDist()

_Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySlotLaw:
    """The noise on one released slot: whole grains of the law, times the grain."""

    law: Law
    grain: Fraction
    rounded: bool = False
    """The noisy number was afterwards rounded to a whole one: half a unit more."""
    above: int | None = None
    """The number is released only where it is above this threshold; None: always."""

    def __post_init__(self) -> None:
        require_positive(grain=self.grain)
        require_flag(rounded=self.rounded)
        if self.above is not None:
            require_count(above=self.above)
        object.__setattr__(self, "grain", exact(self.grain))

    @property
    def counts_whole(self) -> bool:
        """A whole number is shown for a whole number."""
        return self.grain.denominator == 1

    @property
    def parts(self) -> tuple[tuple[int, Law], ...]:
        """The one noise it is, in its own grains."""
        return ((1, self.law),)


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragedSlotLaw:
    """The noise on the average of several releases of one slot: whole steps of the average, times the grain."""

    law: Average
    grain: Fraction
    """What one step stands for."""
    rounded: bool

    @property
    def counts_whole(self) -> bool:
        """A whole number is shown for a whole number."""
        return self.rounded and (self.grain * self.law.steps).denominator == 1

    @property
    def parts(self) -> tuple[tuple[int, Law], ...]:
        """The independent noises it is the sum of, each so many steps for one grain of its own."""
        return self.law.parts


SlotLaw: TypeAlias = NoisySlotLaw | AveragedSlotLaw
"""The noise of a number that is told."""


def averaged_slot(measured: Sequence[NoisySlotLaw]) -> AveragedSlotLaw:
    """The noise on the average of several measurements of one slot; of whole numbers it is shown as a whole number.

    Theorem   docs/theorems/top_up.md.
    Requires  noises of one grain.
    Rounds    nothing.
    """
    average = averaged([slot.law for slot in measured])
    whole = any(slot.rounded or slot.grain == 1 for slot in measured)
    return AveragedSlotLaw(law=average, grain=measured[0].grain / average.steps, rounded=whole)


def linear_margin(terms: Sequence[tuple[Fraction, SlotLaw]], *, confidence: Number, groups: int = 1) -> Fraction:
    """An m with |Σ weight · noise| <= m with at least this probability, for independent noises; in `groups` rows of
    independent noises at once.

    Theorem   docs/theorems/margins_after_selection.md. One noise: |weight|·grain times the exact margin of its law, the
              smallest possible. Several: the law of their sum, at most 0.5 % above the smallest
              (`noise_sum.sum_margin`). Rounding moves a slot by 1/2; where the truth is a whole number too, so is
              the distance of the two.
    Requires  0 < confidence < 1, groups >= 1; the terms are different slots.
    Rounds    up: the coverage is never below the confidence.
    """
    require_open_unit(confidence=confidence)
    require_count(groups=groups)
    noisy = [(abs(exact(weight)), slot) for weight, slot in terms if weight]
    half = sum((weight / 2 for weight, slot in noisy if slot.rounded), Fraction(0))
    alike = Counter((weight * slot.grain * share, law) for weight, slot in noisy for share, law in slot.parts)
    margin = half + _margin_of(frozenset(alike.items()), exact(confidence), groups)
    ((weight, slot),) = noisy if len(noisy) == 1 else ((Fraction(1), None),)
    return weight * math.floor(margin / weight) if slot is not None and slot.counts_whole else margin


@lru_cache(maxsize=4096)
def _margin_of(alike: frozenset[tuple[tuple[Fraction, Law], int]], confidence: Fraction, groups: int) -> Fraction:
    terms = [Noises(step=step, law=law, copies=copies) for (step, law), copies in alike]
    if not terms:
        return Fraction(0)
    if len(terms) == 1 and terms[0].copies == 1:
        return terms[0].step * terms[0].law.margin(confidence=confidence, outputs=groups)
    ordered = sorted(terms, key=lambda term: (term.step, repr(term.law)))  # the same sum whatever the order
    return sum_margin(ordered, confidence=confidence_of_each(confidence, groups))


def largest_margin(slot: SlotLaw, *, confidence: Fraction, groups: int) -> Fraction:
    """± of one number of a slot at most, in `groups` rows at once: it is the same in every row, but for numbers that
    are shown only above a threshold.

    Theorem   docs/theorems/margins_after_selection.md.
    Requires  0 < confidence < 1, groups >= 1.
    Rounds    up.
    """
    if isinstance(slot, NoisySlotLaw) and slot.above is not None and isinstance(slot.law, DiscreteGaussianLaw):
        return slot.grain * largest_distance(law=slot.law, threshold=slot.above, confidence=confidence, outputs=groups)
    return linear_margin([(Fraction(1), slot)], confidence=confidence, groups=groups)


def confidence_of_each(confidence: Fraction, outputs: int) -> Fraction:
    """The confidence that each of several independent intervals needs for all of them to hold at `confidence`.

    Theorem   they hold together with probability c^outputs, which is the confidence for c = confidence^(1/outputs).
    Requires  0 < confidence < 1, outputs >= 1.
    Rounds    up.
    """
    if outputs == 1:
        return confidence
    return 1 - exact(share_of_failure(beta=1 - confidence, outputs=outputs)) * (1 - Fraction(1, 10**30))


def slot_intervals(
    slot: SlotLaw, released: Sequence[int], *, confidence: Fraction, outputs: int
) -> list[tuple[Fraction, Fraction]]:
    """For each released number of grains where the truth lies: `outputs` such intervals hold at once.

    Theorem   docs/theorems/margins_after_selection.md.
    Requires  0 < confidence < 1, outputs >= 1; the numbers carry independent noises of the slot.
    Rounds    outwards.
    """
    if isinstance(slot, NoisySlotLaw) and slot.above is not None and isinstance(slot.law, DiscreteGaussianLaw):
        ends = shown_intervals(released, law=slot.law, threshold=slot.above, confidence=confidence, outputs=outputs)
        return [(low * slot.grain, high * slot.grain) for low, high in ends]
    whole = Counter((slot.grain * share, law) for share, law in slot.parts)
    margin = _margin_of(frozenset(whole.items()), confidence, outputs)
    return [(number * slot.grain - margin, number * slot.grain + margin) for number in released]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """How an interval is read off a number of plausible values."""

    count: int
    confidence: Fraction
    shown: Fraction
    """What so few values can show; below `confidence` the noise is stretched to make up for it."""
    outside: int
    """How many values are left out at each end."""


def band(*, count: int, confidence: Number) -> Band:
    """The rule for `count` plausible values.

    Theorem   between the (o+1)-th smallest and largest of n draws a further draw falls with probability
              (n - 2o - 1)/(n + 1). Here o is smaller than that asks for, by a quarter of the standard deviation of
              the number of draws outside.
    Requires  count >= 20, 0 < confidence < 1.
    Rounds    towards more coverage.
    """
    require_count(at_least=20, count=count)
    require_open_unit(confidence=confidence)
    wanted = exact(confidence)
    shown = min(wanted, 1 - Fraction(2 * _FEWEST_OUTSIDE, count + 1))
    usual = float((count + 1) * (1 - shown) / 2)
    outside = max(0, math.floor(usual - 1 - math.sqrt(usual) / 4))
    return Band(count=count, confidence=wanted, shown=shown, outside=outside)


def stretch(*, drawn: Fraction, wanted: Fraction) -> float:
    """How much farther plausible values must lie from their number, that were drawn for a lower confidence.

    Theorem   the ratio of the margins of Laplace noise at both confidences; that of lighter tails is smaller.
    Requires  both in (0, 1); what `DRAWS` values show by themselves needs no stretching.
    Rounds    to nearest.
    """
    shown = max(drawn, 1 - Fraction(2 * _FEWEST_OUTSIDE, DRAWS + 1))
    return 1.0 if wanted <= shown else math.log(1 - wanted) / math.log(1 - shown)


def draws(slot: SlotLaw, count: int, *, seed: bytes, rule: Band | None = None) -> list[float]:
    """`count` plausible noises of a slot: the quantiles of its law in an order that `seed` decides.

    They are computed from the published law and a public seed, so everybody can compute them: they are no private
    randomness and tell nothing about the noise that was added. Only margins are made of them.

    Theorem   one value from each of `count` parts of equal probability (a Latin hypercube over several slots). With
              a `rule` that shows less than its confidence the law is stretched, by the factor that makes the margin
              at the shown confidence the margin at the wanted one.
    Requires  count >= 1.
    Rounds    to nearest.
    """
    require_count(count=count)
    order = np.argsort(np.random.PCG64(int.from_bytes(seed, "big")).random_raw(count), kind="stable")
    listed: list[float] = (_sizes(slot, count, rule) * float(slot.grain))[order].tolist()
    return listed


def _sizes(slot: SlotLaw, count: int, rule: Band | None) -> _Floats:
    """The middles of `count` equally likely parts of the law, in order."""
    if isinstance(slot, NoisySlotLaw):
        return _middles(slot.law, count, rule)
    fine = count * _FINER
    sums = np.zeros(fine)
    for place, (share, law) in enumerate(slot.parts):
        order = np.argsort(np.random.PCG64(place).random_raw(fine), kind="stable")  # parts vary independently
        sums = sums + float(share) * _middles(law, fine, rule)[order]
    middles: _Floats = np.sort(sums)[_FINER // 2 :: _FINER]
    return (middles - middles[::-1]) / 2  # as symmetric as the law


def _middles(law: Law, count: int, rule: Band | None) -> _Floats:
    level = (np.arange(count) + 0.5) / count
    tail = np.minimum(level, 1 - level)
    stretched = _stretched(law, tail, rule) if rule is not None and rule.shown < rule.confidence else tail
    sizes = _quantiles(law, stretched)
    middles: _Floats = np.where(level < 0.5, -sizes, sizes) + 0.0
    return middles


def _stretched(law: Law, tail: _Floats, rule: Band) -> _Floats:
    """The tail probabilities of the continuous law at x times the ratio of its two margins."""
    if isinstance(law, DiscreteLaplaceLaw):  # Pr[X > x] = e^-x / 2
        power = math.log(1 - rule.confidence) / math.log(1 - rule.shown)
        return np.power(2 * tail, power) / 2
    wanted, shown = (standard_tail_quantile(float(1 - level) / 2) for level in (rule.confidence, rule.shown))
    return np.array([math.erfc(wanted / shown * size * math.sqrt(0.5)) / 2 for size in _normal_quantiles(tail)])


def _normal_quantiles(tail: _Floats) -> _Floats:
    """The z with Pr[N > z] = each of these; of draws a few digits are enough."""
    return np.array([-_NORMAL.inv_cdf(part) for part in tail.tolist()])


def _quantiles(law: Law, tail: _Floats) -> _Floats:
    """For each tail probability up to 1/2 the smallest z >= 0 with Pr[Z > z] <= it."""
    if isinstance(law, DiscreteLaplaceLaw):
        scale = float(law.scale)
        least: _Floats = np.ceil(-scale * np.log(tail * (1 + math.exp(-1 / scale)))) - 1
        return np.maximum(0.0, least)
    sigma = math.sqrt(law.sigma_squared)
    if sigma > _WIDE:
        return np.maximum(0.0, np.ceil(sigma * _normal_quantiles(tail) - 0.5))
    return np.searchsorted(-gaussian_tails(sigma), -tail).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """`low` to `high`, and the larger distance of the two ends of the plausible values from the released one."""

    margin: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Plausible values in short: the smallest and largest, and the two between which most of them lie."""

    smallest: float
    low: float
    high: float
    largest: float
    doubtful: bool = False
    """So many plausible values belong to no possible rows that nearly anything may be behind the number."""

    def around(self, value: float) -> Interval:
        """The interval for a released `value`.

        The margin reaches from the value to the farther quantile, and the interval as far on both sides, though not
        far beyond every plausible value. Quantiles alone would miss the truth where an expression turns around, as |x|
        and x² do at 0: all plausible values then lie on one side of it, and the smallest of so few still lies above 0.
        As far as the quantile is from the smallest, the smallest may be from the end.
        """
        margin = max(self.high - value, value - self.low, 0.0)
        return Interval(
            margin=margin,
            low=min(value, max(value - margin, 2 * self.smallest - self.low)),
            high=max(value, min(value + margin, 2 * self.largest - self.high)),
        )


class PossibleSpread(NamedTuple):
    """The plausible values of one number, and those of them that rows can be behind."""

    known: int
    smallest: float
    low: float
    high: float
    largest: float
    possible: int
    possible_low: float
    possible_high: float


def spread_of(values: Sequence[float | None], *, rule: Band) -> Spread | None:
    """The spread of plausible values; None where too many of them are missing: a missing one is outside everything."""
    known = sorted(value for value in values if value is not None and math.isfinite(value))
    outside = outside_of(known=len(known), rule=rule)
    if outside is None:
        return None
    return Spread(smallest=known[0], low=known[outside], high=known[-1 - outside], largest=known[-1])


def outside_of(*, known: int, rule: Band) -> int | None:
    """How many of the `known` values are left out at each end when the rest of the draws is missing."""
    left = rule.outside - math.ceil((rule.count - known) / 2)
    return left if left >= 0 and known > 2 * left else None
