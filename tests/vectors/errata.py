"""Formulas of the notes and of published code that break privacy or accuracy, kept to show that they do.

Each is quoted by a golden vector or by a test that shows the breach; the sound rule stands in the module named.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.privacy.digits import decimal, working
from dpsql.privacy.rounding import exact
from dpsql.require import Number
from dpsql.sensitivity.aggregates import Column


def advanced_without_epsilon(*, k: int, epsilon: float, delta_prime: float) -> float:
    """Advanced composition as misprinted: the square root lacks its factor ε.

    Too much for ε < 1, too little for ε > 1: the true bound is ε sqrt(2k ln(1/δ')) + k ε (e^ε − 1).
    """
    return math.sqrt(2 * k * math.log(1 / delta_prime)) + k * epsilon * math.expm1(epsilon)


def per_query_without_two(*, k: int, total_epsilon: float, delta_prime: float) -> float:
    """The inverse as misprinted: ε'/(2 sqrt(k ln(1/δ'))), sqrt(2) more than Dwork, Roth (2014), Cor. 3.21.

    Not enough from δ' = 0.35 on.
    """
    return total_epsilon / (2 * math.sqrt(k * math.log(1 / delta_prime)))


def parallel_by_position(*, epsilons: Sequence[float]) -> float:
    """Parallel composition as claimed for "the first 20 rows, the next 20, the rest": the maximum.

    Wrong: one inserted row moves a row across every boundary, so all parts change and the sum is due.
    """
    return max(epsilons)


def adaptive_delta_without_slack(*, k: int, delta: float, delta_i: float) -> float:
    """The total δ of the self-adaptive bound as misprinted: with δ_i of another theorem in place of the slack δ'."""
    return 1 - (1 - delta) ** k * (1 - delta_i)


def pointwise_approx_max_divergence(p: Sequence[float], q: Sequence[float], *, delta: float) -> float:
    """The δ-approximate max divergence taken over outcomes instead of events.

    Each outcome may use up the whole of δ by itself, so a leak spread over many outcomes goes unseen.
    """
    losses = [math.log((a - delta) / b) if b else math.inf for a, b in zip(p, q, strict=True) if a > delta]
    return max(losses, default=-math.inf)


def classic_sigma_without_its_precondition(*, l2: Number, epsilon: Number, delta: Number) -> float:
    """The textbook Gaussian σ for any ε. Proved for ε < 1 only; for large ε its true δ is above the one claimed."""
    with working():
        return float(decimal(exact(l2) / exact(epsilon)) * (2 * decimal(Fraction(5, 4) / exact(delta)).ln()).sqrt())


def notes_noisy_max_scale(*, epsilon: Number) -> Fraction:
    """1/ε for every score: the notes' report noisy max. Where scores move in opposite directions it gives up to 2ε."""
    return 1 / exact(epsilon)


def notes_survey_mean_expected(*, share: Number, gamma: Number) -> float:
    """What the plain mean is on average when a true `share` says yes: 1/2 − γ + 2γ·share, not the share."""
    return float(Fraction(1, 2) - exact(gamma) + 2 * exact(gamma) * exact(share))


def rows_with_one_zero_less(data: Sequence[Fraction], *, column: Column) -> list[Fraction]:
    """The rows a slide on local sensitivity computed with: those above the declared range have one zero too many."""
    return [value / 10 if value > column.upper else value for value in data]


def median_windows_up_to_k(values: Sequence[Number], *, lower: Number, upper: Number) -> tuple[Fraction, ...]:
    """max over t = 0 … k of max(x_{m+t} - x_{m+t-k-1}, x_{m+t+1} - x_{m+t}), for k = 0 … n.

    Misses x_{m+k+1} - x_m, the gap after k changes that all lie above the median: too small, and not smooth.
    Right: `dpsql.sensitivity.smooth_quantile`.
    """
    return _two_argument(values, lower, upper, beyond=0)


def median_windows_two_arguments(values: Sequence[Number], *, lower: Number, upper: Number) -> tuple[Fraction, ...]:
    """max over t = 0 … k+1 of max(x_{m+t} - x_{m+t-k-1}, x_{m+t+1} - x_{m+t}), for k = 0 … n.

    Has the missing gap and one too many, x_{m+k+2} - x_{m+k+1}, which k changes do not reach: S is not smooth.
    """
    return _two_argument(values, lower, upper, beyond=1)


def _two_argument(values: Sequence[Number], lower: Number, upper: Number, *, beyond: int) -> tuple[Fraction, ...]:
    x = [exact(lower), *sorted(map(exact, values)), exact(upper)]
    n, m = len(values), (len(values) + 1) // 2

    def at(index: int) -> Fraction:
        return x[min(max(index, 0), n + 1)]

    return tuple(
        max(max(at(m + t) - at(m + t - k - 1), at(m + t + 1) - at(m + t)) for t in range(k + 1 + beyond))
        for k in range(n + 1)
    )


def is_near_local_sensitivity(*, bound: Number, local_sensitivity: Number, factor: Number) -> bool:
    """S(D) <= e^β · LS(D), the condition printed for S(D) <= e^β · S(D'). False wherever LS is 0 and S is not."""
    return exact(bound) <= exact(factor) * exact(local_sensitivity)


def smoothing_capped_at_rows(sensitivity_at: Callable[[int], int], *, beta: float, rows: int) -> tuple[float, int]:
    """(max, argmax) of exp(-βk)·Ŝ^(k) over k <= rows, with frequencies that still rise without a cap.

    Not β-smooth: where the maximum sits at the cap, two neighbours differ by Ŝ^(n)(x) / Ŝ^(n)(y), which can be far
    above exp(β). Right: a public row count caps the frequencies (`Table.rows`), and the maximum then needs no cap.
    """
    return max(
        ((math.exp(-beta * k) * sensitivity_at(k), k) for k in range(rows + 1)), key=lambda found: (found[0], -found[1])
    )


def beta_without_delta(*, epsilon: float) -> float:
    """ε in place of β. Right: `dpsql.mechanisms.smooth_noise.smooth_beta`."""
    return epsilon


def scale_factor_without_two(*, epsilon: float) -> float:
    """1/ε in place of 2/ε. Right: `dpsql.mechanisms.smooth_noise.smooth_laplace_scale`."""
    return 1 / epsilon


def stability_of_a_unique_key_join() -> int:
    """1, for any join on a key declared unique. One row of the key table can carry every row that points to it.

    Right: `dpsql.sensitivity.elastic.stability.stability`, where an enforced key is a frequency of 1 and nothing more.
    """
    return 1
