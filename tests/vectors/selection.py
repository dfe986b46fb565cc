"""Golden values of selections, surveys, sparse vectors, quantiles and private keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpsql.mechanisms.exponential import (
    exponential_log_probabilities,
    exponential_probabilities,
    exponential_utility_bound,
    wrong_outcome_bound,
)
from dpsql.mechanisms.gaussian import gaussian_sigma
from dpsql.mechanisms.laplace import Laplace, laplace_sample_size
from dpsql.mechanisms.noisy_max import noisy_max_probabilities
from dpsql.mechanisms.partition_threshold import (
    gaussian_threshold,
    laplace_threshold,
    laplace_threshold_scale,
    laplace_threshold_union,
)
from dpsql.mechanisms.partitions import keep_probability, split_delta
from dpsql.mechanisms.permute_and_flip import permute_and_flip_probabilities
from dpsql.mechanisms.quantile import quantile_probabilities
from dpsql.mechanisms.randomized_response import (
    RandomizedResponse,
    kary_keep_probability,
    kary_observed,
    kary_variance,
    rr_epsilon,
    rr_sample_size,
    rr_tail,
    rr_variance,
    two_coin_probabilities,
)
from dpsql.mechanisms.scores import selection_scale
from dpsql.mechanisms.sparse_vector import (
    FirstAbove,
    above_threshold_accuracy,
    first_above_probabilities,
    sparse_vector_scales,
)
from dpsql.privacy.unit import Neighbours
from tests.vectors.errata_selection import notes_noisy_max_scale, notes_survey_mean_expected
from tests.vectors.verdicts import reading

Outputs = dict[str, Any]


def _written(value: float) -> Fraction:
    """The number as it is written in the file: 0.1 is one tenth."""
    return Fraction(Decimal(str(value)))


def _largest_log_ratio(first: Iterable[float], second: Iterable[float]) -> float:
    return max(abs(math.log(p / q)) for p, q in zip(first, second, strict=True))


@reading("exponential_mechanism")
def probabilities(
    utilities: Mapping[str, float] | Sequence[float], epsilon: float, sensitivity: float, monotonic: bool = False
) -> Outputs:
    named = isinstance(utilities, Mapping)
    scores = list(utilities.values()) if isinstance(utilities, Mapping) else list(utilities)
    chosen = exponential_probabilities(scores=scores, sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    return dict(zip(utilities, chosen, strict=True)) if named else {"probs": chosen}  # type: ignore[arg-type]


@reading("exponential_mechanism")
def privacy_ratio(
    utilities_D: Sequence[float],
    utilities_Dprime: Sequence[float],
    epsilon: float,
    sensitivity: float,
    monotonic: bool = False,
) -> Outputs:
    scale = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    first, second = (exponential_log_probabilities(scores=u, scale=scale) for u in (utilities_D, utilities_Dprime))
    return {"max_abs_log_ratio": max(abs(p - q) for p, q in zip(first, second, strict=True))}


@reading("exponential_mechanism")
def wrong_outcome(count_A: float, count_B: float, epsilon: float) -> Outputs:
    """The wrong outcome is the one with fewer votes."""
    fewer, more = sorted((count_A, count_B))
    t, bound = wrong_outcome_bound(gap=more - fewer, candidates=2, sensitivity=1, epsilon=epsilon)
    chosen = exponential_probabilities(scores=[fewer, more], sensitivity=1, epsilon=epsilon, monotonic=False)
    return {"prob_wrong_exact": chosen[0], "bound": bound, "t": t}


@reading("exponential_mechanism")
def utility_bound(
    utilities: Sequence[float], epsilon: float, sensitivity: float, t: float, monotonic: bool = False
) -> Outputs:
    bound = exponential_utility_bound(
        scores=utilities, sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic, t=t
    )
    chosen = exponential_probabilities(scores=utilities, sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    below = math.fsum(p for u, p in zip(utilities, chosen, strict=True) if u <= bound.threshold)
    return {
        "threshold_thm3_11": bound.threshold,
        "threshold_cor3_12": bound.corollary,
        "bound": bound.failure,
        "exact_prob_at_or_below_thm3_11": below,
    }


@reading("report_noisy_max")
def noisy_max(
    scores: Sequence[float],
    epsilon: float,
    sensitivity: float,
    monotonic: bool = False,
    noise: str = "laplace",
    noise_scale: float | None = None,
) -> Outputs:
    calibrated = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    scale = calibrated if noise_scale is None else noise_scale
    return {"probs": noisy_max_probabilities(scores=scores, scale=scale, noise=noise)}


@reading("report_noisy_max")
def change_one_ratio(
    scores_D: Sequence[float], scores_Dprime: Sequence[float], epsilon: float, sensitivity: float = 1
) -> Outputs:
    right = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=False)
    wrong = sensitivity * notes_noisy_max_scale(epsilon=epsilon)
    ratios = [
        _largest_log_ratio(
            noisy_max_probabilities(scores=scores_D, scale=scale, noise="laplace"),
            noisy_max_probabilities(scores=scores_Dprime, scale=scale, noise="laplace"),
        )
        for scale in (wrong, right)
    ]
    return {
        "max_log_ratio_scale_1_over_eps": ratios[0],
        "max_log_ratio_scale_2_over_eps": ratios[1],
        "scale_1_over_eps_ok_under_change_one": ratios[0] <= epsilon,
    }


@reading("permute_and_flip")
def permute_and_flip(scores: Sequence[float], epsilon: float, sensitivity: float, monotonic: bool = False) -> Outputs:
    scale = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    return {"probs": permute_and_flip_probabilities(scores=scores, scale=scale)}


@reading("randomized_response")
def binary(gamma: float, n: int) -> Outputs:
    exactly = _written(gamma)
    variance = rr_variance(gamma=exactly, size=n)
    return {
        "epsilon": rr_epsilon(gamma=exactly),
        "prob_truth": float(RandomizedResponse.with_gamma(gamma=exactly).yes_given_yes),
        "variance_debiased_mean": float(variance),
        "chebyshev_bound_at_1_over_gamma_sqrt_n": float(variance * exactly**2 * n),
        "error_radius": 1 / (gamma * math.sqrt(n)),
    }


@reading("randomized_response")
def two_coin(p_truth_coin: float, p_heads_second: float) -> Outputs:
    truth, heads = _written(p_truth_coin), _written(p_heads_second)
    yes_given_yes, yes_given_no = two_coin_probabilities(truth=truth, heads=heads)
    return {
        "prob_yes_given_yes": float(yes_given_yes),
        "prob_yes_given_no": float(yes_given_no),
        "epsilon": RandomizedResponse.two_coin(truth=truth, heads=heads).epsilon,
    }


@reading("randomized_response")
def k_ary(epsilon: float, k: int, n: int, true_freq: float) -> Outputs:
    keep, share = kary_keep_probability(epsilon=epsilon, categories=k), _written(true_freq)
    return {
        "p_keep": float(keep),
        "q_other": float((1 - keep) / (k - 1)),
        "expected_observed_freq": kary_observed(share=share, epsilon=epsilon, categories=k),
        "variance_estimator": float(kary_variance(share=share, size=n, epsilon=epsilon, categories=k)),
    }


@reading("randomized_response")
def exact_tail(gamma: float, n: int, ones: int) -> Outputs:
    exactly, share = _written(gamma), Fraction(ones, n)
    variance, radius_squared = rr_variance(gamma=exactly, size=n), 1 / (exactly**2 * n)
    return {
        "mean_debiased": float(share),
        "mean_of_raw_y_is_biased": notes_survey_mean_expected(share=share, gamma=exactly),
        "variance": float(variance),
        "radius": 1 / (gamma * math.sqrt(n)),
        "exact_tail_prob": rr_tail(gamma=exactly, size=n, ones=ones, radius_squared=radius_squared),
        "chebyshev": float(variance / radius_squared),
    }


@reading("randomized_response")
def sample_size(epsilon: float, alpha: float, beta: float) -> Outputs:
    numbers = {"epsilon": _written(epsilon), "alpha": _written(alpha), "beta": _written(beta)}
    return {
        "n_rr_chebyshev": rr_sample_size(**numbers),
        "n_laplace": laplace_sample_size(**numbers, neighbours=Neighbours.CHANGE_ONE),
    }


def _allocation(epsilon: float, c: int, sensitivity: float, monotonic: bool, split: str) -> Outputs:
    scales = sparse_vector_scales(
        epsilon=epsilon, positives=c, sensitivity=sensitivity, monotonic=monotonic, split=split
    )
    return {
        "eps1": float(scales.threshold_epsilon),
        "eps2": float(scales.query_epsilon),
        "threshold_scale": float(scales.threshold_scale),
        "query_scale": float(scales.query_scale),
    }


@reading("svt")
def optimal_allocation(epsilon: float, c: int, sensitivity: float, monotonic: bool = False) -> Outputs:
    return _allocation(epsilon, c, sensitivity, monotonic, "optimal")


@reading("svt")
def half_split(epsilon: float, c: int, sensitivity: float, monotonic: bool = False) -> Outputs:
    return _allocation(epsilon, c, sensitivity, monotonic, "half")


@reading("svt")
def above_threshold(epsilon: float, k: int, beta: float) -> Outputs:
    return {"alpha": above_threshold_accuracy(epsilon=epsilon, queries=k, beta=beta)}


@reading("svt")
def output_probabilities(
    queries: Sequence[float],
    threshold: float,
    eps1: float,
    eps2: float,
    sensitivity: float,
    epsilon: float = 0.0,
    c: int = 1,
    monotonic: bool = False,
) -> Outputs:
    def law(shift: int) -> FirstAbove:
        return first_above_probabilities(
            queries=[query + shift for query in queries],
            threshold=threshold,
            threshold_scale=sensitivity / eps1,
            query_scale=(1 if monotonic else 2) * c * sensitivity / eps2,
        )

    here, above = law(0), law(1)
    return {
        "prob_first_above_index": list(here.at),
        "prob_none": here.none,
        "max_log_ratio_all_queries_plus_1": _largest_log_ratio((*here.at, here.none), (*above.at, above.none)),
    }


@reading("quantile")
def quantile(
    data: Sequence[float], lower: float, upper: float, q: float, epsilon: float, utility_sensitivity: float
) -> Outputs:
    law = quantile_probabilities(
        data=data, lower=lower, upper=upper, q=q, epsilon=epsilon, sensitivity=utility_sensitivity
    )
    return {"interval_probs": list(law.intervals), "expected_output": law.mean}


def _keep(people: Iterable[int], epsilon: Fraction, delta: Fraction | float) -> list[float]:
    return [float(keep_probability(people=n, epsilon=epsilon, delta=delta)) for n in people]


@reading("partition_selection")
def truncated_geometric(
    epsilon: float, delta: float, n_users: Sequence[int], max_partitions_contributed: int = 1
) -> Outputs:
    shares = Fraction(epsilon) / max_partitions_contributed, Fraction(delta) / max_partitions_contributed
    return {"keep_prob": _keep(n_users, *shares)}


@reading("partition_selection")
def truncated_geometric_split(
    epsilon: float, delta: float, n_users: Sequence[int], max_partitions_contributed: int
) -> Outputs:
    each, even = Fraction(epsilon) / max_partitions_contributed, Fraction(delta) / max_partitions_contributed
    split = split_delta(delta=delta, keys=max_partitions_contributed)
    return {
        "keep_prob_delta_over_k": _keep(n_users, each, even),
        "keep_prob_delta_exact_split": _keep(n_users, each, split),
        "per_partition_epsilon": float(each),
        "per_partition_delta_over_k": float(even),
        "per_partition_delta_exact": split,
    }


@reading("partition_selection")
def optimum(epsilon: float, delta: float, N: int) -> Outputs:
    return {"sum_keep_prob": math.fsum(_keep(range(1, N + 1), Fraction(epsilon), Fraction(delta)))}


@reading("partition_threshold")
def laplace_tau(epsilon: float, delta: float, max_partitions_contributed: int = 1, linf: float = 1) -> Outputs:
    keys = max_partitions_contributed
    scale = laplace_threshold_scale(epsilon=epsilon, keys=keys, linf=linf)
    tau = laplace_threshold(epsilon=epsilon, delta=delta, keys=keys, linf=linf)
    return {
        "noise_scale": float(scale),
        "tau": tau,
        "tau_union_bound": laplace_threshold_union(epsilon=epsilon, delta=delta, keys=keys, linf=linf),
        "keep_prob_single_user": Laplace(scale=float(scale)).tail(tau - linf),
    }


@reading("partition_threshold")
def gaussian_tau(sigma: float, delta_threshold: float, max_partitions_contributed: int = 1, linf: float = 1) -> Outputs:
    return {"tau": gaussian_threshold(sigma=sigma, delta=delta_threshold, keys=max_partitions_contributed, linf=linf)}


@reading("partition_threshold")
def gaussian_strategy(
    epsilon: float, delta: float, noise_delta: float, threshold_delta: float, max_partitions_contributed: int = 1
) -> Outputs:
    l2 = math.sqrt(max_partitions_contributed)
    sigma = gaussian_sigma(l2=l2, epsilon=epsilon, delta=noise_delta)
    tau = gaussian_threshold(sigma=sigma, delta=threshold_delta, keys=max_partitions_contributed, linf=1)
    return {"sigma": sigma, "tau": tau}
