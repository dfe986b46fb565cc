"""Readings of the topics about the promise itself: definition, divergence, group privacy, tails, worked examples."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpsql.accounting.basic import compose_basic
from dpsql.accounting.filters import BasicFilter
from dpsql.accounting.parallel import Partition, compose_parallel
from dpsql.mechanisms.laplace import Laplace, laplace_scale
from dpsql.mechanisms.scores import scores_are_monotone, selection_scale
from dpsql.privacy.database import l1_distance, size, to_histogram
from dpsql.privacy.divergence import (
    approx_max_divergence,
    audit_delta,
    audit_pure,
    hockey_stick,
    kl,
    kl_bound,
    max_divergence,
    subsample_release_params,
    total_variation,
)
from dpsql.privacy.events import Approximate
from dpsql.privacy.group import gaussian_group_delta, group_delta, group_delta_loose
from dpsql.privacy.pmf import post_process
from dpsql.privacy.shifts import GaussianShift, GeometricShift, LaplaceShift, gaussian_kl
from dpsql.privacy.tails import (
    azuma_bound,
    binomial_tail,
    chernoff_additive,
    chernoff_multiplicative_lower,
    chernoff_multiplicative_upper,
    log_factorial,
    stirling_log_factorial,
)
from dpsql.privacy.unit import Neighbours
from tests.vectors.verdicts import Outputs, reading


def as_written(number: float) -> Fraction:
    """The decimal a human wrote in the file: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(repr(number))


@reading("definition")
def deltas_of_two_laws(P: list[float], Q: list[float], epsilons: list[float]) -> Outputs:
    return {
        "delta": [audit_delta(P, Q, epsilon=epsilon) for epsilon in epsilons],
        "max_divergence": audit_pure(P, Q),
    }


@reading("definition")
def pure_epsilon_of_two_laws(P: list[float], Q: list[float]) -> Outputs:
    return {"epsilon": audit_pure(P, Q)}


@reading("definition")
def merged_outcomes(P: list[float], Q: list[float], merge: list[list[int]], epsilon: float) -> Outputs:
    kernel = [[int(outcome in group) for group in merge] for outcome in range(len(P))]
    after = [post_process(law, kernel=kernel) for law in (P, Q)]
    return {
        "delta_before": hockey_stick(P, Q, epsilon=epsilon),
        "delta_after": hockey_stick(*after, epsilon=epsilon),
    }


@reading("definition")
def both_directions(P: list[float], Q: list[float], epsilon: float) -> Outputs:
    return {
        "delta_PQ": hockey_stick(P, Q, epsilon=epsilon),
        "delta_QP": hockey_stick(Q, P, epsilon=epsilon),
        "delta": audit_delta(P, Q, epsilon=epsilon),
    }


@reading("definition")
def name_and_shame(n: int, p: float) -> Outputs:
    params = subsample_release_params(rate=p)  # whatever n: every row is printed with probability p
    return {"epsilon": params.epsilon, "delta": params.delta, "pure_dp": params.pure}


@reading("divergence")
def two_laws(P: list[float], Q: list[float], epsilon: float = 0.0, delta: float = 0.0) -> Outputs:
    return {
        "kl": kl(P, Q),
        "max_divergence": max_divergence(P, Q),
        "max_divergence_reverse": max_divergence(Q, P),
        "tv": total_variation(P, Q),
        "hockey_stick": hockey_stick(P, Q, epsilon=epsilon),
        "delta_approx_max_divergence": approx_max_divergence(P, Q, delta=delta),
    }


@reading("divergence")
def approximate_max_by_events(P: list[float], Q: list[float], delta: float) -> Outputs:
    return {"correct_by_sets": approx_max_divergence(P, Q, delta=delta)}


@reading("divergence")
def laplace_noise(shift: float, scale: float, epsilon: float, delta: float) -> Outputs:
    noise = LaplaceShift(shift=shift, scale=scale)
    pure = noise.max_divergence()
    return {
        "kl": noise.kl(),
        "max_divergence": pure,
        "tv": noise.total_variation(),
        "hockey_stick": noise.hockey_stick(epsilon=epsilon),
        "delta_approx_max_divergence": noise.approx_max_divergence(delta=delta),
        "kl_bound_eps_eeps_minus_1": kl_bound(epsilon=pure, tight=False),
        "kl_bound_tight_eps_tanh": kl_bound(epsilon=pure, tight=True),
    }


@reading("divergence")
def gaussian_noise(shift: float, sigma: float, epsilon: float, delta: float) -> Outputs:
    noise = GaussianShift(shift=shift, sigma=sigma)
    return {
        "kl": noise.kl(),
        "max_divergence": noise.max_divergence(),
        "tv": noise.total_variation(),
        "hockey_stick": noise.hockey_stick(epsilon=epsilon),
        "delta_approx_max_divergence": noise.approx_max_divergence(delta=delta),
        "renyi_alpha_2": noise.renyi(alpha=2),
    }


@reading("divergence")
def two_normal_laws(mu1: float, sigma1: float, mu2: float, sigma2: float) -> Outputs:
    return {"kl": gaussian_kl(mean_p=mu1, sigma_p=sigma1, mean_q=mu2, sigma_q=sigma2)}


@reading("divergence")
def geometric_noise(epsilon: float, shift: int, hs_epsilon: float) -> Outputs:
    noise = GeometricShift(epsilon=epsilon, shift=shift)
    return {
        "kl": noise.kl(),
        "max_divergence": noise.max_divergence(),
        "tv": noise.total_variation(),
        "hockey_stick": noise.hockey_stick(epsilon=hs_epsilon),
    }


@reading("divergence")
def expected_loss_bounds(epsilon: float) -> Outputs:
    return {
        "seed_bound": kl_bound(epsilon=epsilon, tight=False),
        "tight_bound_attained_by_rr": kl_bound(epsilon=epsilon, tight=True),
    }


@reading("divergence")
def loss_tail_against_delta(mu: float, epsilon: float) -> Outputs:
    noise = GaussianShift(shift=mu, sigma=1)
    return {
        "prob_loss_exceeds_eps": noise.loss_tail(epsilon=epsilon),
        "delta": noise.hockey_stick(epsilon=epsilon),
    }


@reading("group_privacy")
def group_of_k(epsilon: float, delta: float, k: int) -> Outputs:
    return {
        "epsilon": float(k * as_written(epsilon)),
        "delta": group_delta(epsilon=epsilon, delta=delta, size=k),
        "delta_loose": group_delta_loose(epsilon=epsilon, delta=delta, size=k),
    }


@reading("group_privacy")
def gaussian_group(sigma: float, k: int, epsilon: float, l2: float = 1.0) -> Outputs:
    share = as_written(epsilon) / k
    alone = gaussian_group_delta(sigma=sigma, l2=l2, size=1, epsilon=share)
    generic = group_delta(epsilon=share, delta=alone, size=k)
    spellings = {f"{float(share):g}", repr(float(share)), *(f"{float(share):.{places}f}" for places in range(1, 5))}
    return {
        "exact_delta": gaussian_group_delta(sigma=sigma, l2=l2, size=k, epsilon=epsilon),
        **{f"generic_from_eps_{spelling.replace('.', 'p')}": generic for spelling in spellings},
    }


@reading("prob_tools")
def additive_chernoff(n: int, p: float, t: float) -> Outputs:
    bound = chernoff_additive(n=n, t=t)
    return {
        "bound_one_sided": bound,
        "bound_two_sided": 2 * bound,
        "exact_binomial_tail_strict": binomial_tail(n=n, p=as_written(p), above=n * (as_written(p) + as_written(t))),
    }


@reading("prob_tools")
def multiplicative_chernoff(n: int, p: float, relative: float) -> Outputs:
    mean, share = as_written(p), as_written(relative)
    return {
        "upper_tail_bound": chernoff_multiplicative_upper(n=n, mean=mean, t=share),
        "lower_tail_bound": chernoff_multiplicative_lower(n=n, mean=mean, t=share),
        "exact_upper_tail_strict": binomial_tail(n=n, p=mean, above=n * mean * (1 + share)),
    }


@reading("prob_tools")
def azuma(k: int, alpha: float, beta: float, z: float) -> Outputs:
    bound = azuma_bound(k=k, alpha=alpha, beta=beta, z=z)
    return {"threshold": bound.threshold, "prob_bound": bound.probability}


@reading("prob_tools")
def stirling(n: int) -> Outputs:
    bounds = stirling_log_factorial(n=n)
    return {
        "ln_factorial": log_factorial(n=n),
        "ln_stirling": bounds.approximation,
        "ln_lower": bounds.lower,
        "ln_upper": bounds.upper,
    }


@reading("seed_example")
def difference_attack(D: Mapping[str, int], removed: str) -> Outputs:
    without = {name: flu for name, flu in D.items() if name != removed}
    before, after = sum(D.values()), sum(without.values())
    universe = (0, 1)
    return {
        "count_D": before,
        "count_Dprime": after,
        "difference": before - after,
        "histogram_D": dict(zip(universe, to_histogram(D.values(), universe=universe), strict=True)),
    }


@reading("seed_example")
def laplace_count(epsilon: float, true_count: int) -> Outputs:
    scale = laplace_scale(l1=1, epsilon=as_written(epsilon))  # one person moves a count by one, whatever it is
    return {"noise_scale": scale, "variance": Laplace(scale=scale).variance}


@reading("seed_example")
def histogram_norms(universe: list[Any], D: list[Any], Dprime: list[Any]) -> Outputs:
    first, second = to_histogram(D, universe=universe), to_histogram(Dprime, universe=universe)
    return {
        "hist_D": first,
        "hist_Dprime": second,
        "size_D": size(first),
        "l1_distance": l1_distance(first, second),
    }


@reading("seed_example")
def food_counts(table: list[list[int]], columns: list[str], epsilon: float) -> Outputs:
    price = as_written(epsilon)
    l1 = len(columns)  # one person's row may be counted in every column

    def choosing(neighbours: Neighbours) -> float:
        monotonic = scores_are_monotone(kind="counts", neighbours=neighbours)
        return float(selection_scale(sensitivity=1, epsilon=price, monotonic=monotonic))

    return {
        "counts": [sum(column) for column in zip(*table, strict=True)],
        "l1_sensitivity": l1,
        "noise_scale_release_all": laplace_scale(l1=l1, epsilon=price),
        "rnm_noise_scale_add_remove": choosing(Neighbours.ADD_REMOVE),
        "rnm_noise_scale_change_one": choosing(Neighbours.CHANGE_ONE),
    }


@reading("seed_example")
def parallel_against_sequential(epsilons: list[float]) -> Outputs:
    prices, nothing = [as_written(epsilon) for epsilon in epsilons], [0] * len(epsilons)

    def parallel(neighbours: Neighbours) -> float:
        cost = compose_parallel(epsilons=prices, deltas=nothing, neighbours=neighbours, partition=Partition.BY_VALUE)
        return float(cost.epsilon)

    return {
        "sequential": float(compose_basic(epsilons=prices, deltas=nothing).epsilon),
        "parallel_add_remove": parallel(Neighbours.ADD_REMOVE),
        "parallel_change_one": parallel(Neighbours.CHANGE_ONE),
    }


@reading("seed_example")
def running_budget(total_epsilon: float, total_delta: float, charges: list[list[float]]) -> Outputs:
    budget = BasicFilter(epsilon=as_written(total_epsilon), delta=as_written(total_delta))
    accepted = []
    for epsilon, delta in charges:
        event = Approximate(epsilon=as_written(epsilon), delta=as_written(delta))
        accepted.append(budget.admits(event))
        budget = budget.charged(event) if accepted[-1] else budget
    return {
        "accepted": accepted,
        "remaining_epsilon": float(budget.epsilon - budget.spent[0]),
        "remaining_delta": float(budget.delta - budget.spent[1]),
    }
