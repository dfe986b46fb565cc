"""Golden values of selections, surveys, sparse vectors, quantiles and private keys."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any, Final

from dpsql.mechanisms import exponential, partition_threshold, sparse_vector
from dpsql.mechanisms import randomized_response as survey
from dpsql.mechanisms.gaussian import gaussian_sigma
from dpsql.mechanisms.laplace import Laplace, laplace_sample_size
from dpsql.mechanisms.partitions import keep_probability, split_delta
from dpsql.mechanisms.quantile import _exact_exponents
from dpsql.mechanisms.scores import selection_scale
from tests.oracles.laws import first_above_probabilities, noisy_max_probabilities, permute_and_flip_probabilities
from tests.vectors.errata import notes_noisy_max_scale, notes_survey_mean_expected
from tests.vectors.words import CHANGE_ONE, Outputs, Readings, taken, written


def _largest_log_ratio(first: Iterable[float], second: Iterable[float]) -> float:
    return max(abs(math.log(p / q)) for p, q in zip(first, second, strict=True))


def _exponential(
    utilities: Mapping[str, float] | Sequence[float], epsilon: float, sensitivity: float, monotonic: bool = False
) -> Outputs:
    scores = list(utilities.values() if isinstance(utilities, Mapping) else utilities)
    chosen = exponential.exponential_probabilities(
        scores=scores, sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic
    )
    return dict(zip(utilities, chosen, strict=True)) if isinstance(utilities, Mapping) else {"probs": chosen}


def _exponential_ratio(
    utilities_D: Sequence[float],
    utilities_Dprime: Sequence[float],
    epsilon: float,
    sensitivity: float,
    monotonic: bool = False,
) -> Outputs:
    scale = selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
    both = (exponential.exponential_log_probabilities(scores=u, scale=scale) for u in (utilities_D, utilities_Dprime))
    return {"max_abs_log_ratio": max(abs(p - q) for p, q in zip(*both, strict=True))}


def _wrong_outcome(count_A: float, count_B: float, epsilon: float) -> Outputs:
    """The wrong outcome is the one with fewer votes."""
    fewer, more = sorted((count_A, count_B))
    t = (more - fewer) * epsilon / 2 - math.log(2)
    return {"prob_wrong_exact": _exponential([fewer, more], epsilon, 1)["probs"][0], "bound": math.exp(-t), "t": t}


def _utility_bound(
    utilities: Sequence[float], epsilon: float, sensitivity: float, t: float, monotonic: bool = False
) -> Outputs:
    bound = exponential.exponential_utility_bound(
        scores=utilities, sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic, t=t
    )
    chosen = _exponential(utilities, epsilon, sensitivity, monotonic)["probs"]
    below = math.fsum(p for u, p in zip(utilities, chosen, strict=True) if u <= bound.threshold)
    return {
        **taken(bound, threshold_thm3_11="threshold", threshold_cor3_12="corollary", bound="failure"),
        "exact_prob_at_or_below_thm3_11": below,
    }


def _noisy_max(
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


def _noisy_max_ratio(
    scores_D: Sequence[float], scores_Dprime: Sequence[float], epsilon: float, sensitivity: float = 1
) -> Outputs:
    scales = (
        sensitivity * notes_noisy_max_scale(epsilon=epsilon),
        selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=False),
    )
    wrong, right = (
        _largest_log_ratio(
            *(noisy_max_probabilities(scores=each, scale=scale, noise="laplace") for each in (scores_D, scores_Dprime))
        )
        for scale in scales
    )
    return {
        "max_log_ratio_scale_1_over_eps": wrong,
        "max_log_ratio_scale_2_over_eps": right,
        "scale_1_over_eps_ok_under_change_one": wrong <= epsilon,
    }


def _binary(gamma: float, n: int) -> Outputs:
    exactly = written(gamma)
    variance = survey.rr_variance(gamma=exactly, size=n)
    return {
        "epsilon": survey.rr_epsilon(gamma=exactly),
        "prob_truth": survey.RandomizedResponse.with_gamma(gamma=exactly).yes_given_yes,
        "variance_debiased_mean": variance,
        "chebyshev_bound_at_1_over_gamma_sqrt_n": variance * exactly**2 * n,
        "error_radius": 1 / (gamma * math.sqrt(n)),
    }


def _two_coin(p_truth_coin: float, p_heads_second: float) -> Outputs:
    truth, heads = written(p_truth_coin), written(p_heads_second)
    yes_given_yes, yes_given_no = survey.two_coin_probabilities(truth=truth, heads=heads)
    return {
        "prob_yes_given_yes": yes_given_yes,
        "prob_yes_given_no": yes_given_no,
        "epsilon": survey.RandomizedResponse.two_coin(truth=truth, heads=heads).epsilon,
    }


def _k_ary(epsilon: float, k: int, n: int, true_freq: float) -> Outputs:
    p, share = survey.kary_keep_probability(epsilon=epsilon, categories=k), written(true_freq)
    q = (1 - p) / (k - 1)
    return {
        "p_keep": p,
        "q_other": q,
        "expected_observed_freq": q + share * (p - q),
        "variance_estimator": (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (n * (p - q) ** 2),
    }


def _exact_tail(gamma: float, n: int, ones: int) -> Outputs:
    exactly, share = written(gamma), Fraction(ones, n)
    variance, radius_squared = survey.rr_variance(gamma=exactly, size=n), 1 / (exactly**2 * n)
    truth, lie = survey.HALF + exactly, survey.HALF - exactly
    tail = sum(  # over how many of either side report yes
        comb(ones, yes) * truth**yes * lie ** (ones - yes) * comb(n - ones, no) * lie**no * truth ** (n - ones - no)
        for yes in range(ones + 1)
        for no in range(n - ones + 1)
        if ((Fraction(yes + no, n) - lie) / (2 * exactly) - share) ** 2 >= radius_squared
    )
    return {
        "mean_debiased": share,
        "mean_of_raw_y_is_biased": notes_survey_mean_expected(share=share, gamma=exactly),
        "variance": variance,
        "radius": 1 / (gamma * math.sqrt(n)),
        "exact_tail_prob": tail,
        "chebyshev": variance / radius_squared,
    }


def _sample_size(epsilon: float, alpha: float, beta: float) -> Outputs:
    numbers = {"epsilon": written(epsilon), "alpha": written(alpha), "beta": written(beta)}
    gamma = survey.kary_keep_probability(epsilon=numbers["epsilon"], categories=2) - survey.HALF
    one = survey.rr_variance(gamma=gamma, size=1)
    return {
        "n_rr_chebyshev": math.ceil(one / (numbers["alpha"] ** 2 * numbers["beta"])),
        "n_laplace": laplace_sample_size(**numbers, neighbours=CHANGE_ONE),
    }


def _allocation(epsilon: float, c: int, sensitivity: float, monotonic: bool, split: str) -> Outputs:
    scales = sparse_vector.sparse_vector_scales(
        epsilon=epsilon, positives=c, sensitivity=sensitivity, monotonic=monotonic, split=split
    )
    return {
        **taken(scales, eps1="threshold_epsilon", eps2="query_epsilon"),
        **taken(scales, threshold_scale="threshold_scale", query_scale="query_scale"),
    }


def _first_above(
    queries: Sequence[float],
    threshold: float,
    eps1: float,
    eps2: float,
    sensitivity: float,
    epsilon: float = 0.0,
    c: int = 1,
    monotonic: bool = False,
) -> Outputs:
    here, above = (
        first_above_probabilities(
            queries=[query + shift for query in queries],
            threshold=threshold,
            threshold_scale=sensitivity / eps1,
            query_scale=(1 if monotonic else 2) * c * sensitivity / eps2,
        )
        for shift in (0, 1)
    )
    return {
        "prob_first_above_index": here.at,
        "prob_none": here.none,
        "max_log_ratio_all_queries_plus_1": _largest_log_ratio((*here.at, here.none), (*above.at, above.none)),
    }


def _keep(people: Iterable[int], epsilon: Fraction, delta: Fraction | float) -> list[Any]:
    return [keep_probability(people=n, epsilon=epsilon, delta=delta) for n in people]


def _kept(epsilon: float, delta: float, n_users: Sequence[int], max_partitions_contributed: int = 1) -> Outputs:
    each, even = (Fraction(total) / max_partitions_contributed for total in (epsilon, delta))
    split = split_delta(delta=delta, keys=max_partitions_contributed)
    return {
        "keep_prob_delta_over_k": _keep(n_users, each, even),
        "keep_prob_delta_exact_split": _keep(n_users, each, split),
        "per_partition_epsilon": each,
        "per_partition_delta_over_k": even,
        "per_partition_delta_exact": split,
    }


def _laplace_tau(epsilon: float, delta: float, max_partitions_contributed: int = 1, linf: float = 1) -> Outputs:
    keys: dict[str, Any] = {"keys": max_partitions_contributed, "linf": linf}
    scale = partition_threshold.laplace_threshold_scale(epsilon=epsilon, **keys)
    tau = partition_threshold.laplace_threshold(epsilon=epsilon, delta=delta, **keys)
    return {
        "noise_scale": scale,
        "tau": tau,
        "tau_union_bound": linf + Laplace(scale=float(scale)).ppf(1 - Fraction(delta) / max_partitions_contributed),
        "keep_prob_single_user": Laplace(scale=float(scale)).tail(tau - linf),
    }


def _gaussian_tau(
    sigma: float, delta_threshold: float, max_partitions_contributed: int = 1, linf: float = 1
) -> dict[str, Any]:
    tau = partition_threshold.gaussian_threshold(
        sigma=sigma, delta=delta_threshold, keys=max_partitions_contributed, linf=linf
    )
    return {"tau": tau}


def _gaussian_strategy(
    epsilon: float, delta: float, noise_delta: float, threshold_delta: float, max_partitions_contributed: int = 1
) -> Outputs:
    sigma = gaussian_sigma(l2=math.sqrt(max_partitions_contributed), epsilon=epsilon, delta=noise_delta)
    return {"sigma": sigma, **_gaussian_tau(sigma, threshold_delta, max_partitions_contributed)}


def _quantile(
    data: Sequence[float], lower: float, upper: float, q: float, epsilon: float, utility_sensitivity: float
) -> Outputs:
    """A point in the gap after i of n values has density proportional to exp(−ε·|i − q·n| / 2Δ) (Smith 2011)."""
    edges = list(map(Fraction, [lower, *sorted(min(max(x, lower), upper) for x in data), upper]))
    lengths = [right - left for left, right in pairwise(edges)]
    exponents = _exact_exponents(lengths, q=Fraction(q), scale=2 * Fraction(utility_sensitivity) / Fraction(epsilon))
    weights = [length * math.exp(-exponent) for length, exponent in zip(lengths, exponents, strict=True)]
    shares = [weight / math.fsum(weights) for weight in weights]
    middles = [(left + right) / 2 for left, right in pairwise(edges)]
    mean = math.fsum(share * middle for share, middle in zip(shares, middles, strict=True))
    return {"interval_probs": shares, "expected_output": mean}


READINGS: Final[Readings] = {
    "exponential_mechanism": (_exponential, _exponential_ratio, _wrong_outcome, _utility_bound),
    "report_noisy_max": (_noisy_max, _noisy_max_ratio),
    "permute_and_flip": (
        lambda scores, epsilon, sensitivity, monotonic=False: {
            "probs": permute_and_flip_probabilities(
                scores=scores, scale=selection_scale(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)
            )
        },
    ),
    "randomized_response": (_binary, _two_coin, _k_ary, _exact_tail, _sample_size),
    "svt": (
        lambda epsilon, c, sensitivity, monotonic=False: _allocation(epsilon, c, sensitivity, monotonic, "optimal"),
        lambda epsilon, c, sensitivity, monotonic=False: _allocation(epsilon, c, sensitivity, monotonic, "half"),
        lambda epsilon, k, beta: {"alpha": 8 * (math.log(k) + math.log(2 / beta)) / epsilon},
        _first_above,
    ),
    "quantile": (_quantile,),
    "partition_selection": (
        lambda epsilon, delta, n_users, max_partitions_contributed=1: {
            "keep_prob": _kept(epsilon, delta, n_users, max_partitions_contributed)["keep_prob_delta_over_k"]
        },
        _kept,
        lambda epsilon, delta, N: {
            "sum_keep_prob": math.fsum(_keep(range(1, N + 1), Fraction(epsilon), Fraction(delta)))
        },
    ),
    "partition_threshold": (_laplace_tau, _gaussian_tau, _gaussian_strategy),
}
