"""Randomized response: each person perturbs their own answer, and the survey's bias is taken out afterwards."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

from dpsql.enclosure import exp_negative_fixed, log_bounds, sqrt_bounds
from dpsql.errors import InternalError
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.whole import listed_once
from dpsql.privacy.digits import require_in_reach
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.randomness import Source, bernoulli, uniform_below
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_numbers,
    require_open_unit,
    require_that,
    unmet,
)
from dpsql.sensitivity.grain import column_grain

Category = TypeVar("Category", bound=Hashable)

HALF: Final = Fraction(1, 2)
_BIT: Final = column_grain(lower=0, upper=1, whole=True)


def require_advantage(*, gamma: Number) -> None:
    """γ is the advantage of the truth over a fair coin: 0 < γ < 1/2."""
    require_open_unit(gamma=gamma)
    require_that(gamma < HALF, "below 1/2", gamma=gamma)


def rr_epsilon(*, gamma: Number) -> float:
    """ε of answering truthfully with probability 1/2 + γ.

    Theorem   Warner (1965); Dwork, Roth (2014), Claim 3.5:  ε = ln((1/2 + γ) / (1/2 − γ)) = 2·artanh(2γ).
    Requires  0 < gamma < 1/2.
    Rounds    up.
    """
    require_advantage(gamma=gamma)
    return round_up(log_bounds((HALF + exact(gamma)) / (HALF - exact(gamma)), bits=_bits(gamma))[1])


def rr_gamma(*, epsilon: Number) -> float:
    """The largest advantage γ that ε allows.

    Theorem   the inverse of `rr_epsilon`:  γ = tanh(ε/2) / 2.
    Requires  epsilon > 0.
    Rounds    down, toward more noise; never to 1/2 itself.
    """
    gamma = kary_keep_probability(epsilon=epsilon, categories=2) - HALF
    return min(round_down(gamma), math.nextafter(0.5, 0))


def _bits(size: Number) -> int:
    """Enough bits to see a number as small as `size`, and 128 more."""
    smallness = exact(size)
    return 128 + max(0, smallness.denominator.bit_length() - smallness.numerator.bit_length())


def kary_keep_probability(*, epsilon: Number, categories: int) -> Fraction:
    """The largest probability of reporting the truth that ε allows among `categories` values, as a rational.

    Theorem   Kairouz, Bonawitz, Ramage (2016):  p = e^ε / (e^ε + k − 1) = 1 / (1 + (k − 1)·e^−ε).
    Requires  epsilon > 0; categories >= 2.
    Rounds    down, so that the ε of the coin actually tossed is at most the one stated.
    """
    require_epsilon(epsilon=epsilon)
    require_count(categories=categories, at_least=2)
    bits = _bits(epsilon) + categories.bit_length()
    others = exp_negative_fixed(exact(epsilon), bits=bits)[1] * (categories - 1)
    # One unit less than the floor: a visible distance, so that the ε recomputed from the coins is below the stated one.
    return Fraction((1 << 2 * bits) // ((1 << bits) + others) - 1, 1 << bits)


def _keep_and_other(*, epsilon: Number, categories: int) -> tuple[Fraction, Fraction]:
    """(p, q): the probabilities of reporting the truth, and one particular other category."""
    keep = kary_keep_probability(epsilon=epsilon, categories=categories)
    return keep, (1 - keep) / (categories - 1)


def _require_within(*, epsilon: Number, odds: Fraction) -> None:
    """Derive, then verify: the odds of the coins about to be tossed are at most e^ε."""
    bits = 2 * (odds.numerator.bit_length() + odds.denominator.bit_length()) + 64
    least_odds_of_lie = Fraction(exp_negative_fixed(exact(epsilon), bits=bits)[1], 1 << bits)
    if least_odds_of_lie * odds > 1:
        raise InternalError("the coins of randomized response are more revealing than their ε")


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse:
    """A bit is reported as yes with probability `yes_given_yes` or `yes_given_no`, both exact rationals.

    Made by `with_gamma`, `with_epsilon` or `two_coin`. Neighbours are two answers of the same person.
    """

    yes_given_yes: Fraction
    yes_given_no: Fraction

    def __post_init__(self) -> None:
        require_open_unit(yes_given_yes=self.yes_given_yes, yes_given_no=self.yes_given_no)
        if not self.yes_given_yes > self.yes_given_no:
            raise unmet("a true yes must be reported as yes more often than a true no")
        object.__setattr__(self, "yes_given_yes", exact(self.yes_given_yes))
        object.__setattr__(self, "yes_given_no", exact(self.yes_given_no))

    @classmethod
    def with_gamma(cls, *, gamma: Number) -> RandomizedResponse:
        """The truth with probability exactly 1/2 + γ."""
        require_advantage(gamma=gamma)
        return cls(yes_given_yes=HALF + exact(gamma), yes_given_no=HALF - exact(gamma))

    @classmethod
    def with_epsilon(cls, *, epsilon: Number) -> RandomizedResponse:
        """The truth as often as ε allows, rounded down to a rational probability."""
        truth = kary_keep_probability(epsilon=epsilon, categories=2)
        _require_within(epsilon=epsilon, odds=truth / (1 - truth))
        return cls(yes_given_yes=truth, yes_given_no=1 - truth)

    @classmethod
    def two_coin(cls, *, truth: Number = HALF, heads: Number = HALF) -> RandomizedResponse:
        """A first coin decides whether to tell the truth, else a second one gives the answer; fair coins: ε = ln 3."""
        yes_given_yes, yes_given_no = two_coin_probabilities(truth=truth, heads=heads)
        return cls(yes_given_yes=yes_given_yes, yes_given_no=yes_given_no)

    @property
    def epsilon(self) -> float:
        """max over both reports of the logarithm of the odds, rounded up to a float."""
        return round_up(self.event.epsilon)

    @property
    def event(self) -> Pure:
        """One report of one person: the larger log odds of both reports, rounded up by less than 2**-128."""
        yes = self.yes_given_yes / self.yes_given_no
        no = (1 - self.yes_given_no) / (1 - self.yes_given_yes)
        bits = 128 + self.yes_given_yes.denominator.bit_length() + self.yes_given_no.denominator.bit_length()
        return Pure(epsilon=log_bounds(max(yes, no), bits=bits)[1])

    def release(self, value: Exact[Any], /, *, source: Source) -> int:
        """The reported bit, 0 or 1. Other numbers count as the nearer bit, no number as a no: no answer is an error."""
        yes = _BIT.to_grains(opened(value))
        return int(bernoulli(self.yes_given_yes if yes else self.yes_given_no, source=source))


def two_coin_probabilities(*, truth: Number, heads: Number) -> tuple[Fraction, Fraction]:
    """(Pr[yes | yes], Pr[yes | no]) of the two-coin survey.

    Theorem   Dwork, Roth (2014), Sec 3.2:  truth + (1 − truth)·heads  and  (1 − truth)·heads.
    Requires  0 < truth < 1, 0 < heads < 1.
    Rounds    nothing.
    """
    require_open_unit(truth=truth, heads=heads)
    lie = (1 - exact(truth)) * exact(heads)
    return exact(truth) + lie, lie


@dataclass(frozen=True, slots=True, kw_only=True)
class KaryResponse(Generic[Category]):
    """A category is kept with probability `keep`, else replaced by another one, uniformly.

    Whoever holds no listed category reports a uniform one, which adds the same to every share: map such values to a
    category of their own, such as 'other', before, if they are to be counted.
    """

    categories: Sequence[Category]
    epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", listed_once(self.categories, name="categories"))
        _require_within(epsilon=self.epsilon, odds=self.keep / self.other)

    @property
    def keep(self) -> Fraction:
        """The probability of reporting the truth, rounded down to a rational."""
        return kary_keep_probability(epsilon=self.epsilon, categories=len(self.categories))

    @property
    def other(self) -> Fraction:
        """The probability of reporting one particular other category."""
        return _keep_and_other(epsilon=self.epsilon, categories=len(self.categories))[1]

    @property
    def event(self) -> Pure:
        """One report of one person."""
        return Pure(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Category], /, *, source: Source) -> Category:
        """The reported category. A value that is not listed is no error, which would be an answer about it."""
        index = self._place(opened(value))
        if index is None:
            return self.categories[uniform_below(len(self.categories), source=source)]
        if bernoulli(self.keep, source=source):
            return self.categories[index]  # the listed object: an equal one, 1.0 for 1, would show that it is the truth
        drawn = uniform_below(len(self.categories) - 1, source=source)
        return self.categories[drawn + (drawn >= index)]

    def _place(self, category: Category) -> int | None:
        try:
            return self.categories.index(category)
        except (ValueError, TypeError, ArithmeticError):  # the last two from values that refuse to be compared
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyMean:
    """An unbiased share of yes, its variance given the true answers, and the radius 1/(γ√n) with its failure bound."""

    estimate: float
    variance: float
    radius: float
    failure: float


def rr_mean(*, answers: Sequence[int], gamma: Number) -> SurveyMean:
    """The de-biased mean of the reports, with its error.

    Theorem   Warner (1965):  f = (mean − 1/2 + γ) / 2γ is unbiased with variance (1/4 − γ²) / (4γ²n), whatever the
              truth; by Chebyshev |error| >= 1/(γ√n) has probability at most (1/4 − γ²) / 4 <= 1/16.
    Requires  reports 0 or 1, at least one; 0 < gamma < 1/2.
    Rounds    the estimate to nearest; variance, radius and failure up.
    """
    require_numbers(answers=answers)
    require_that(all(answer in (0, 1) for answer in answers), "a report is not a bit")
    g, n = _exact_gamma(gamma), len(answers)
    require_in_reach(gamma=gamma)
    return SurveyMean(
        estimate=float((Fraction(sum(map(int, answers)), n) - HALF + g) / (2 * g)),
        variance=round_up(rr_variance(gamma=gamma, size=n)),
        radius=round_up(sqrt_bounds(1 / (g * g * n))[1]),
        failure=round_up((HALF * HALF - g * g) / 4),
    )


def _exact_gamma(gamma: Number) -> Fraction:
    require_advantage(gamma=gamma)
    return exact(gamma)


def rr_variance(*, gamma: Number, size: int) -> Fraction:
    """The variance of the de-biased mean of `size` reports, given the true answers.

    Theorem   each report has variance 1/4 − γ², whichever the truth; de-biasing divides by (2γ)².
    Requires  0 < gamma < 1/2; size >= 1.
    Rounds    nothing.
    """
    g = _exact_gamma(gamma)
    require_count(size=size)
    return (HALF * HALF - g * g) / (4 * g * g * size)
