"""At the source, a column is perturbed value by value before anybody collects it. At the curator: reports in, unbiased
shares with their margins out. Free: it reads only what is already private.

In the local model there is no curator to trust: what leaves a person's device is already private. Neighbours are
two values of the same person, so one report costs the ε of its response, and a person who reports several values
pays for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpsql.enclosure import log_bounds, sqrt_bounds
from dpsql.mechanisms.randomized_response import KaryResponse, RandomizedResponse
from dpsql.privacy.digits import require_in_reach
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_up
from dpsql.randomness import Source
from dpsql.require import Number, require_count, require_numbers, require_open_unit, require_that

Category = TypeVar("Category", bound=Hashable)


def randomize_bits(bits: Iterable[int], *, response: RandomizedResponse, source: Source) -> list[int]:
    """Each bit perturbed on its own; one report per person, in the order given.

    Theorem   Warner (1965): each report is ε-DP in its own bit, with the ε of `response`.
    Requires  one value per person. A value that is no bit counts as the nearer one, no number as 0.
    Rounds    nothing: the coins are exact.
    """
    return [response.release(Exact(bit), source=source) for bit in bits]


def randomize_categories(
    values: Iterable[Category], *, response: KaryResponse[Category], source: Source
) -> list[Category]:
    """Each category perturbed on its own; one report per person, in the order given.

    Theorem   Kairouz, Bonawitz, Ramage (2016): each report is ε-DP in its own value.
    Requires  one value per person. Whoever holds no listed category reports a uniform one.
    Rounds    nothing: the coins are exact.
    """
    return [response.release(Exact(value), source=source) for value in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A share, de-biased: `value` may lie outside [0, 1]; its error exceeds `margin` with probability at most β."""

    value: float
    variance: float
    margin: float


def estimate_share(reports: Sequence[int], *, response: RandomizedResponse, beta: Number) -> Estimate:
    """The share of people whose true answer is yes.

    Theorem   a report is yes with probability p or q, so (mean − q) / (p − q) is unbiased. `debias_margin` bounds
              its error given the true answers.
    Requires  reports 0 or 1, at least one; 0 < beta < 1.
    Rounds    the value to nearest; variance and margin up.
    """
    require_numbers(reports=reports)
    require_that(all(report in (0, 1) for report in reports), "a report is not a bit")
    yes = sum(map(int, reports))
    return _estimate(yes, size=len(reports), p=response.yes_given_yes, q=response.yes_given_no, beta=beta)


def estimate_shares(
    reports: Sequence[Category], *, response: KaryResponse[Category], beta: Number
) -> dict[Category, Estimate]:
    """The share of people who hold each category. Each margin holds for its own category.

    Theorem   Wang et al. (2017):  (observed − q) / (p − q) is unbiased for each category.
    Requires  listed categories, at least one report; 0 < beta < 1.
    Rounds    the values to nearest; variances and margins up.
    """
    counts = Counter(reports)
    require_that(counts.keys() <= set(response.categories), "a report is not one of the categories")
    keep, other = response.keep, response.other
    return {
        category: _estimate(counts[category], size=len(reports), p=keep, q=other, beta=beta)
        for category in response.categories
    }


def debias_variance(*, size: int, p: Number, q: Number) -> Fraction:
    """The largest variance of (mean − q) / (p − q) over all true answers.

    Theorem   a report has variance p(1 − p) or q(1 − q); the mean of `size` independent ones has at most the
              larger over size. For the symmetric survey both are 1/4 − γ², and this is the variance.
    Requires  size >= 1; 0 < q < p < 1.
    Rounds    nothing.
    """
    require_count(size=size)
    require_open_unit(p=p, q=q)
    require_that(p > q, "in descending order", p=p, q=q)
    true, false = exact(p), exact(q)
    require_in_reach(advantage=true - false)
    return max(true * (1 - true), false * (1 - false)) / (size * (true - false) ** 2)


def debias_margin(*, size: int, p: Number, q: Number, beta: Number) -> float:
    """A margin that the de-biased share exceeds with probability at most β, whatever the true answers.

    Theorem   the smaller of two bounds that both hold: Chebyshev, sqrt(variance / β); and Hoeffding on `size`
              independent bits, sqrt(ln(2/β) / 2·size) / (p − q). Which is smaller depends on no report.
    Requires  size >= 1; 0 < q < p < 1; 0 < beta < 1.
    Rounds    up.
    """
    require_open_unit(beta=beta)
    failure = exact(beta)
    chebyshev = debias_variance(size=size, p=p, q=q) / failure
    hoeffding = log_bounds(2 / failure)[1] / (2 * size * (exact(p) - exact(q)) ** 2)
    return round_up(sqrt_bounds(min(chebyshev, hoeffding))[1])


def _estimate(hits: int, *, size: int, p: Fraction, q: Fraction, beta: Number) -> Estimate:
    require_that(size != 0, "there are no reports")
    variance = debias_variance(size=size, p=p, q=q)
    return Estimate(
        value=float((Fraction(hits, size) - q) / (p - q)),
        variance=round_up(variance),
        margin=debias_margin(size=size, p=p, q=q, beta=beta),
    )
