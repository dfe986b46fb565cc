"""Laws and bounds of mechanisms that no path to an answer needs: what their samplers and bounds are measured by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dpsql.enclosure import exp_negative_fixed, log_bounds
from dpsql.errors import InternalError
from dpsql.mechanisms.heavy_tail import require_gamma
from dpsql.mechanisms.laplace import _mean_error, _scale
from dpsql.mechanisms.partition_threshold import _laplace_quantile, laplace_threshold_scale
from dpsql.mechanisms.quantile import _exact_exponents
from dpsql.mechanisms.randomized_response import HALF, _exact_gamma, _keep_and_other, kary_keep_probability, rr_variance
from dpsql.mechanisms.scores import selection_scale
from dpsql.privacy.digits import DIGITS, decimal, digits_of, float_above, require_in_reach, working
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.require import (
    Number,
    require_bounds,
    require_count,
    require_epsilon,
    require_non_negative,
    require_numbers,
    require_open_unit,
    require_positive,
    require_probability,
)

LARGEST_TAIL: Final = 2000


def tail_excess(start: int, *, offset: Fraction, shift: int, sigma_squared: Fraction) -> Decimal:
    """Σ_{j>=0} exp(-(j² + 2·start·j)/2σ²) (1 - exp(-shift (j + offset)/σ²)), every term positive or 0.

    Theorem   from each j to the next the first factor shrinks by exp(-(2(start + j) + 1)/2σ²); the rest of the sum
              is less than a geometric series.
    Requires  start >= 0, offset >= 0, a tail that `is_short`, digits enough for 1 - exp(-shift·offset/σ²).
    Rounds    to nearest, to the digits of the current block less six and less those.
    """
    ratio = decimal(-(2 * start + 1) / (2 * sigma_squared)).exp()
    shrink = decimal(-1 / sigma_squared).exp()
    moved = decimal(-shift * offset / sigma_squared).exp()
    step = decimal(-shift / sigma_squared).exp()
    limit = Decimal(10) ** -getcontext().prec
    term, total = Decimal(1), 1 - moved
    while term > limit * (1 - ratio) * total:
        term *= ratio
        ratio *= shrink
        moved *= step
        total += term * (1 - moved)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileLaw:
    """The law of a private quantile on the real line: the probability of each gap between the sorted values."""

    intervals: tuple[float, ...]
    mean: float


def wrong_outcome_bound(*, gap: Number, candidates: int, sensitivity: Number, epsilon: Number) -> tuple[float, float]:
    """(t, bound): a candidate `gap` or more below the best is chosen with probability at most bound = exp(−t).

    Theorem   Dwork, Roth (2014), Cor 3.12, solved for t:  t = ε·gap / 2Δ − ln |R|,  bound = |R|·exp(−ε·gap / 2Δ).
    Requires  gap >= 0; a bound above 1 (t < 0) says nothing.
    Rounds    t down, the bound up.
    """
    require_non_negative(gap=gap)
    require_count(candidates=candidates)
    exponent = exact(gap) / selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=False)
    t = exponent - log_bounds(Fraction(candidates))[1]
    bound = candidates * Fraction(exp_negative_fixed(min(exponent, Fraction(800)), bits=1400)[1], 1 << 1400)
    return round_down(t), round_up(bound)


def heavy_tail_normaliser(*, gamma: Number) -> float:
    """The integral of 1 / (1 + |z|^γ) over the line: (2π/γ) / sin(π/γ).

    Theorem   Euler's reflection formula for the Beta function B(1/γ, 1 - 1/γ).
    Requires  γ > 1.
    Rounds    to nearest, within a few units in the last place; for display, no release uses it.
    """
    require_gamma(gamma=gamma)
    angle = math.pi / float(gamma)
    return 2 * angle / math.sin(angle)


def heavy_tail_variance_is_finite(*, gamma: Number) -> bool:
    """Whether the law with density ∝ 1 / (1 + |z|^γ) has a variance: z² / z^γ must be integrable, γ > 3."""
    require_gamma(gamma=gamma)
    return exact(gamma) > 3


def laplace_failure(*, l1: Number, epsilon: Number, alpha: Number, outputs: int) -> float:
    """How often the largest of `outputs` Laplace errors exceeds `alpha`.

    Theorem   1 - (1 - exp(-α ε / l1))^outputs, by independence.
    Requires  l1 > 0, ε > 0, α > 0, outputs >= 1.
    Rounds    up.
    """
    require_positive(alpha=alpha)
    require_in_reach(alpha=alpha)
    require_count(outputs=outputs)
    sizes = exact(alpha) / _scale(l1=l1, epsilon=epsilon)
    if sizes > 2000:  # at most outputs · exp(-2000), which is no float
        return math.ulp(0.0)
    with working(DIGITS + digits_of(1 / sizes) + digits_of(sizes) + int(sizes)):
        return min(1.0, float_above(1 - (outputs * (1 - (-decimal(sizes)).exp()).ln()).exp()))


def laplace_sample_size_rule(*, epsilon: Number, alpha: Number, neighbours: Neighbours) -> int:
    """The rule of thumb n = 2 / (ε α): noise on the mean of [0, 1] values exceeds `alpha` at most once in four.

    Theorem   with this n the error exceeds α with probability exp(-2) = 0.135 <= 1/4; exactly 1/4 needs only
              n = ln 4 / (ε α), see `laplace_sample_size`.
    Requires  change_one, where n is public; ε > 0, α > 0.
    Rounds    up.
    """
    return math.ceil(2 / _mean_error(epsilon=epsilon, alpha=alpha, neighbours=neighbours))


def laplace_threshold_union(*, epsilon: Number, delta: Number, keys: int, linf: Number) -> float:
    """The same τ by the union bound, p = δ/keys: a little higher, and valid however the noises depend on each other.

    Theorem   Pr[some key passes] <= Σ Pr[each passes].
    Requires  as `laplace_threshold`.
    Rounds    up.
    """
    scale = laplace_threshold_scale(epsilon=epsilon, keys=keys, linf=linf)
    require_open_unit(delta=delta)
    share = exact(delta) / keys
    with working(DIGITS + digits_of(1 / (1 - share))):  # as close to 1 as δ is, for one key
        return _laplace_quantile(decimal(share), scale=scale, linf=exact(linf))


def quantile_probabilities(
    *, data: Sequence[Number], lower: Number, upper: Number, q: Number, epsilon: Number, sensitivity: Number
) -> QuantileLaw:
    """The probability of each of the n + 1 gaps between lower, the sorted clamped values, and upper; and the mean.

    Theorem   Smith (2011), Algorithm 2: a point in the gap after i values has density proportional to
              exp(−ε·|i − q·n| / 2Δ), so a gap has its length times that. Empty gaps have probability 0.
    Requires  lower < upper; 0 <= q <= 1; epsilon > 0; sensitivity > 0; finite data, which may be empty.
    Rounds    to nearest; for the auditor's eye. No release is decided by these floats.
    """
    require_bounds(lower=lower, upper=upper)
    require_in_reach(lower=lower, upper=upper)
    require_epsilon(epsilon=epsilon)
    require_positive(sensitivity=sensitivity)
    require_probability(q=q)
    if data != []:
        require_numbers(data=data)
    low, high = exact(lower), exact(upper)
    edges = [low, *sorted(min(max(exact(x), low), high) for x in data), high]
    lengths = [right - left for left, right in pairwise(edges)]
    exponents = _exact_exponents(lengths, q=exact(q), scale=2 * exact(sensitivity) / exact(epsilon))
    span = high - low
    logs = [_log_weight(length, gamma) for length, gamma in zip(lengths, exponents, strict=True)]
    weights = [math.exp(log - max(logs)) for log in logs]
    total = math.fsum(weights)
    middles = [float(((left + right) / 2 - low) / span) for left, right in pairwise(edges)]
    inside = math.fsum(w * m for w, m in zip(weights, middles, strict=True)) / total
    return QuantileLaw(intervals=tuple(w / total for w in weights), mean=float(low + span * Fraction(inside)))


def _log_weight(length: Fraction, exponent: Fraction) -> float:
    """ln(length · exp(−exponent)), −inf for an empty gap; logarithms of big integers do not overflow."""
    if length == 0:
        return -math.inf
    return math.log(length.numerator) - math.log(length.denominator) - round_down(exponent)


def rr_tail(*, gamma: Number, size: int, ones: int, radius_squared: Number) -> float:
    """Pr[(estimate − truth)² >= radius²] when `ones` of `size` true answers are yes.

    Theorem   the number of reported yes is Bin(ones, 1/2 + γ) + Bin(size − ones, 1/2 − γ), added exactly.
    Requires  1 <= size <= 2000; 0 <= ones <= size; radius_squared >= 0.
    Rounds    up.
    """
    g = _exact_gamma(gamma)
    require_count(size=size, at_most=LARGEST_TAIL)
    require_count(ones=ones, at_least=0, at_most=size)
    truth, lie, whole = (HALF + g).numerator, (HALF - g).numerator, (HALF + g).denominator
    if (HALF - g).denominator != whole:
        raise InternalError("1/2 ± γ have different denominators")
    yes = [math.comb(ones, k) * truth**k * lie ** (ones - k) for k in range(ones + 1)]
    no = [math.comb(size - ones, k) * lie**k * truth ** (size - ones - k) for k in range(size - ones + 1)]
    limit = exact(radius_squared) * (2 * g * size) ** 2
    mean = size * (HALF - g) + 2 * g * ones
    outside = [total for total in range(size + 1) if (total - mean) ** 2 >= limit]
    inside = [total for total in range(size + 1) if (total - mean) ** 2 < limit]
    weight = sum(  # whichever has fewer terms
        yes[k] * no[total - k]
        for total in min(outside, inside, key=len)
        for k in range(max(0, total - (size - ones)), min(ones, total) + 1)
    )
    return round_up(Fraction(weight if len(outside) <= len(inside) else whole**size - weight, whole**size))


def rr_sample_size(*, epsilon: Number, alpha: Number, beta: Number) -> int:
    """How many reports give an error of at most α except with probability β, by Chebyshev.

    Theorem   (1/4 − γ²) / (4γ²) = e^ε / (e^ε − 1)² at γ = tanh(ε/2)/2; n >= that / (α²·β).
    Requires  epsilon > 0; 0 < alpha < 1; 0 < beta < 1.
    Rounds    up.
    """
    require_open_unit(alpha=alpha, beta=beta)
    gamma = kary_keep_probability(epsilon=epsilon, categories=2) - HALF
    return math.ceil(rr_variance(gamma=gamma, size=1) / (exact(alpha) ** 2 * exact(beta)))


def above_threshold_accuracy(*, epsilon: Number, queries: int, beta: Number) -> float:
    """α of AboveThreshold: except with probability β, positives are above T − α and negatives below T + α.

    Theorem   Dwork, Roth (2014), Thm 3.24:  α = 8·(ln k + ln(2/β)) / ε, for Δ = 1, one positive, the half split,
              continuous noise, and only the last query close to the threshold from below.
    Requires  epsilon > 0; queries >= 1; 0 < beta < 1.
    Rounds    up.
    """
    require_epsilon(epsilon=epsilon)
    require_count(queries=queries)
    require_open_unit(beta=beta)
    return round_up(8 * log_bounds(2 * queries / exact(beta))[1] / exact(epsilon))


def kary_observed(*, share: Number, epsilon: Number, categories: int) -> float:
    """The expected share of a category among the reports, from its share among the truths.

    Theorem   Wang et al. (2017):  q + share·(p − q), with p and q the probabilities of `KaryResponse`.
    Requires  0 <= share <= 1; epsilon > 0; categories >= 2.
    Rounds    to nearest.
    """
    require_probability(share=share)
    keep, other = _keep_and_other(epsilon=epsilon, categories=categories)
    return float(other + exact(share) * (keep - other))


def kary_variance(*, share: Number, size: int, epsilon: Number, categories: int) -> Fraction:
    """The variance of the de-biased share of a category over `size` reports, of which a true `share` hold it.

    Theorem   Wang et al. (2017):  (share·p(1 − p) + (1 − share)·q(1 − q)) / (size·(p − q)²).
    Requires  0 <= share <= 1; size >= 1.
    Rounds    nothing.
    """
    require_probability(share=share)
    require_count(size=size)
    keep, other = _keep_and_other(epsilon=epsilon, categories=categories)
    spread = exact(share) * keep * (1 - keep) + (1 - exact(share)) * other * (1 - other)
    return spread / (size * (keep - other) ** 2)
