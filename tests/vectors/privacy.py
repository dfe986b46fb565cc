"""Golden values of the promise itself: definition, divergence, group privacy, tails, worked examples."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import mpmath
from scipy import stats

from dpsql.accounting.basic import compose_basic
from dpsql.accounting.filters import BasicFilter
from dpsql.accounting.parallel import Partition, compose_parallel
from dpsql.mechanisms.gaussian import gaussian_epsilon
from dpsql.mechanisms.laplace import Laplace, laplace_scale
from dpsql.mechanisms.scores import scores_are_monotone, selection_scale
from dpsql.privacy import divergence, tails
from dpsql.privacy.database import l1_distance, size, to_histogram
from dpsql.privacy.divergence import hockey_stick, kl_bound, post_process
from dpsql.privacy.events import Approximate
from dpsql.privacy.group import group_delta
from dpsql.privacy.shifts import GaussianShift, GeometricShift, LaplaceShift
from dpsql.privacy.unit import Neighbours
from tests.vectors.words import ADD_REMOVE, CHANGE_ONE, Outputs, Readings, taken, written


def _merged_outcomes(P: list[float], Q: list[float], merge: list[list[int]], epsilon: float) -> Outputs:
    kernel = [[int(outcome in group) for group in merge] for outcome in range(len(P))]
    after = [post_process(law, kernel=kernel) for law in (P, Q)]
    return {"delta_before": hockey_stick(P, Q, epsilon=epsilon), "delta_after": hockey_stick(*after, epsilon=epsilon)}


def _laplace_noise(shift: float, scale: float, epsilon: float, delta: float) -> Outputs:
    mu, largest = shift / scale, LaplaceShift(shift=shift, scale=scale).max_divergence()
    return {
        "kl": mu + math.expm1(-mu),
        "max_divergence": largest,
        "tv": -math.expm1(-mu / 2),
        "hockey_stick": max(0.0, -math.expm1((epsilon - mu) / 2)),
        "delta_approx_max_divergence": max(0.0, mu + 2 * math.log1p(-delta)),
        "kl_bound_eps_eeps_minus_1": kl_bound(epsilon=largest, tight=False),
        "kl_bound_tight_eps_tanh": kl_bound(epsilon=largest, tight=True),
    }


def _gaussian_noise(shift: float, sigma: float, epsilon: float, delta: float) -> Outputs:
    noise = GaussianShift(shift=shift, sigma=sigma)
    return {
        "kl": (shift / sigma) ** 2 / 2,
        "max_divergence": math.inf,
        "tv": noise.hockey_stick(epsilon=0),
        "hockey_stick": noise.hockey_stick(epsilon=epsilon),
        "delta_approx_max_divergence": gaussian_epsilon(l2=shift, sigma=sigma, delta=delta),
        "renyi_alpha_2": (shift / sigma) ** 2,
    }


def _geometric_noise(epsilon: float, shift: int, hs_epsilon: float) -> Outputs:
    noise, p = GeometricShift(epsilon=epsilon, shift=shift), math.exp(-epsilon)
    return {
        "kl": epsilon * (shift - 2 * math.fsum(p**j for j in range(1, shift + 1)) / (1 + p)),
        "max_divergence": epsilon * shift,
        "tv": noise.hockey_stick(epsilon=0),
        "hockey_stick": noise.hockey_stick(epsilon=hs_epsilon),
    }


def _gaussian_group(sigma: float, k: int, epsilon: float, l2: float = 1.0) -> Outputs:
    share = written(epsilon) / k
    alone = GaussianShift(shift=l2, sigma=sigma).hockey_stick(epsilon=share)
    generic = group_delta(epsilon=share, delta=alone, size=k)
    spellings = {f"{float(share):g}", repr(float(share)), *(f"{float(share):.{places}f}" for places in range(1, 5))}
    return {
        "exact_delta": GaussianShift(shift=k * l2, sigma=sigma).hockey_stick(epsilon=epsilon),
        **{f"generic_from_eps_{spelling.replace('.', 'p')}": generic for spelling in spellings},
    }


def _binomial_tail(n: int, p: Fraction, above: Fraction) -> float:
    """Pr[X > above] of X binomial(n, p)."""
    return float(stats.binom.sf(math.floor(above), n, float(p)))


def _additive_chernoff(n: int, p: float, t: float) -> Outputs:
    bound, above = tails.chernoff_additive(n=n, t=t), n * (written(p) + written(t))
    return {
        "bound_one_sided": bound,
        "bound_two_sided": 2 * bound,
        "exact_binomial_tail_strict": _binomial_tail(n, written(p), above),
    }


def _multiplicative_chernoff(n: int, p: float, relative: float) -> Outputs:
    mean, share = written(p), written(relative)
    return {
        "upper_tail_bound": tails.chernoff_multiplicative_upper(n=n, mean=mean, t=share),
        "lower_tail_bound": math.exp(-n * p * relative**2 / 2),
        "exact_upper_tail_strict": _binomial_tail(n, mean, n * mean * (1 + share)),
    }


def _difference_attack(D: Mapping[str, int], removed: str) -> Outputs:
    before, after = sum(D.values()), sum(flu for name, flu in D.items() if name != removed)
    universe = (0, 1)
    return {
        "count_D": before,
        "count_Dprime": after,
        "difference": before - after,
        "histogram_D": dict(zip(universe, to_histogram(D.values(), universe=universe), strict=True)),
    }


def _laplace_count(epsilon: float, true_count: int) -> Outputs:
    scale = laplace_scale(l1=1, epsilon=written(epsilon))  # one person moves a count by one, whatever it is
    return {"noise_scale": scale, "variance": Laplace(scale=scale).variance}


def _histogram_norms(universe: list[Any], D: list[Any], Dprime: list[Any]) -> Outputs:
    first, second = to_histogram(D, universe=universe), to_histogram(Dprime, universe=universe)
    distance = l1_distance(first, second)
    return {"hist_D": first, "hist_Dprime": second, "size_D": size(first), "l1_distance": distance}


def _food_counts(table: list[list[int]], columns: list[str], epsilon: float) -> Outputs:
    price = written(epsilon)
    l1 = len(columns)  # one person's row may be counted in every column
    choosing = {
        f"rnm_noise_scale_{neighbours.value}": selection_scale(
            sensitivity=1, epsilon=price, monotonic=scores_are_monotone(kind="counts", neighbours=neighbours)
        )
        for neighbours in Neighbours
    }
    counts = [sum(column) for column in zip(*table, strict=True)]
    release = laplace_scale(l1=l1, epsilon=price)
    return {"counts": counts, "l1_sensitivity": l1, "noise_scale_release_all": release, **choosing}


def _parallel_against_sequential(epsilons: list[float]) -> Outputs:
    prices, nothing, value = [written(epsilon) for epsilon in epsilons], [0] * len(epsilons), Partition.BY_VALUE
    together = {
        f"parallel_{among.value}": compose_parallel(
            epsilons=prices, deltas=nothing, neighbours=among, partition=value
        ).epsilon
        for among in (ADD_REMOVE, CHANGE_ONE)
    }
    return {"sequential": compose_basic(epsilons=prices, deltas=nothing).epsilon, **together}


def _running_budget(total_epsilon: float, total_delta: float, charges: list[list[float]]) -> Outputs:
    budget = BasicFilter(epsilon=written(total_epsilon), delta=written(total_delta))
    accepted = []
    for epsilon, delta in charges:
        event = Approximate(epsilon=written(epsilon), delta=written(delta))
        accepted.append(budget.admits(event))
        budget = budget.charged(event) if accepted[-1] else budget
    return {
        "accepted": accepted,
        "remaining_epsilon": budget.epsilon - budget.spent[0],
        "remaining_delta": budget.delta - budget.spent[1],
    }


READINGS: Final[Readings] = {
    "definition": (
        lambda P, Q, epsilons: {
            "delta": [divergence.audit_delta(P, Q, epsilon=epsilon) for epsilon in epsilons],
            "max_divergence": divergence.audit_pure(P, Q),
        },
        lambda P, Q: {"epsilon": divergence.audit_pure(P, Q)},
        _merged_outcomes,
        lambda P, Q, epsilon: {
            "delta_PQ": hockey_stick(P, Q, epsilon=epsilon),
            "delta_QP": hockey_stick(Q, P, epsilon=epsilon),
            "delta": divergence.audit_delta(P, Q, epsilon=epsilon),
        },
        # Whatever n: every row is printed with probability p.
        lambda n, p: taken(
            divergence.subsample_release_params(rate=p), epsilon="epsilon", delta="delta", pure_dp="pure"
        ),
    ),
    "divergence": (
        lambda P, Q, epsilon=0.0, delta=0.0: {
            "kl": divergence.kl(P, Q),
            "max_divergence": divergence.max_divergence(P, Q),
            "max_divergence_reverse": divergence.max_divergence(Q, P),
            "tv": divergence.total_variation(P, Q),
            "hockey_stick": hockey_stick(P, Q, epsilon=epsilon),
            "delta_approx_max_divergence": divergence.approx_max_divergence(P, Q, delta=delta),
        },
        lambda P, Q, delta: {"correct_by_sets": divergence.approx_max_divergence(P, Q, delta=delta)},
        _laplace_noise,
        _gaussian_noise,
        lambda mu1, sigma1, mu2, sigma2: {
            "kl": math.log(sigma2 / sigma1) + (sigma1**2 + (mu1 - mu2) ** 2) / (2 * sigma2**2) - 0.5
        },
        _geometric_noise,
        lambda epsilon: {
            "seed_bound": kl_bound(epsilon=epsilon, tight=False),
            "tight_bound_attained_by_rr": kl_bound(epsilon=epsilon, tight=True),
        },
        lambda mu, epsilon: {
            "prob_loss_exceeds_eps": mpmath.ncdf(mu / 2 - epsilon / mu),
            "delta": GaussianShift(shift=mu, sigma=1).hockey_stick(epsilon=epsilon),
        },
    ),
    "group_privacy": (
        lambda epsilon, delta, k: {
            "epsilon": k * written(epsilon),
            "delta": group_delta(epsilon=epsilon, delta=delta, size=k),
            "delta_loose": k * math.exp((k - 1) * epsilon) * delta,
        },
        _gaussian_group,
    ),
    "prob_tools": (
        _additive_chernoff,
        _multiplicative_chernoff,
        lambda k, alpha, beta, z: taken(
            tails.azuma_bound(k=k, alpha=alpha, beta=beta, z=z), threshold="threshold", prob_bound="probability"
        ),
        lambda n: {
            "ln_factorial": math.lgamma(n + 1),
            **taken(tails.stirling_log_factorial(n=n), ln_stirling="approximation", ln_lower="lower", ln_upper="upper"),
        },
    ),
    "seed_example": (
        _difference_attack,
        _laplace_count,
        _histogram_norms,
        _food_counts,
        _parallel_against_sequential,
        _running_budget,
    ),
}
