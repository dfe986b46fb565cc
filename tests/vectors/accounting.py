"""Readings of the golden vectors about composition, zCDP, RDP, loss distributions and subsampling."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpsql.accounting.adaptive import compose_adaptive_het
from dpsql.accounting.advanced import compose_advanced, per_query_epsilon
from dpsql.accounting.basic import compose_basic
from dpsql.accounting.curves import (
    composed_laplace_delta,
    gaussian_delta,
    gaussian_exact_epsilon,
    laplace_and_gaussian_delta,
    laplace_delta,
    randomized_response_delta,
    sampled_gaussian_delta,
)
from dpsql.accounting.heterogeneous import heterogeneous_delta
from dpsql.accounting.optimal import compose_optimal, optimal_epsilon, optimal_grid_point
from dpsql.accounting.parallel import Partition, compose_parallel, parts_touched
from dpsql.accounting.rdp import (
    gaussian_epsilon,
    gaussian_rdp,
    improved_epsilon,
    laplace_rdp,
    mironov_epsilon,
    randomized_response_rdp,
    subsampled_gaussian_rdp,
)
from dpsql.accounting.subsampling import (
    RELATION,
    Scheme,
    amplified_response,
    amplify,
    base_epsilon,
)
from dpsql.accounting.workload import repeat_cost
from dpsql.accounting.zcdp import (
    bounded_range_rho,
    compose_rho,
    gaussian_rho,
    gaussian_sigma,
    pure_rho,
    standard_epsilon,
    standard_rho,
)
from dpsql.accounting.zcdp import (
    optimal_epsilon as zcdp_optimal_epsilon,
)
from dpsql.errors import BadParameter
from dpsql.privacy.divergence import subsample_release_params
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from tests.vectors.errata_accounting import parallel_by_position, per_query_without_two
from tests.vectors.verdicts import Outputs, reading
from tests.vectors.words import relation


@reading("composition_basic")
def sequential(epsilons: Sequence[float], deltas: Sequence[float] | None = None) -> Outputs:
    total = compose_basic(epsilons=epsilons, deltas=deltas or [0] * len(epsilons))
    return {
        "epsilon": float(total.epsilon),
        "delta_sum": float(total.delta_sum),
        "delta_exact_product": float(total.delta_product),
    }


@reading("composition_basic")
def repeats(m: int, epsilon: float, sensitivity: float) -> Outputs:
    cost = repeat_cost(m=m, epsilon=epsilon, l1=sensitivity)
    return {
        "total_epsilon": float(cost.total_epsilon),
        "variance_of_average": float(cost.variance_of_average),
        "variance_single_shot_total_eps": float(cost.variance_of_single),
    }


def _parallel(epsilons: Sequence[float], neighbours: Neighbours, partition: Partition) -> float:
    deltas = [0] * len(epsilons)
    return float(compose_parallel(epsilons=epsilons, deltas=deltas, neighbours=neighbours, partition=partition).epsilon)


@reading("composition_basic")
def parallel(epsilons: Sequence[float]) -> Outputs:
    return {
        "add_remove": _parallel(epsilons, Neighbours.ADD_REMOVE, Partition.BY_VALUE),
        "change_one": _parallel(epsilons, Neighbours.CHANGE_ONE, Partition.BY_VALUE),
        "change_one_if_row_cannot_change_partition": _parallel(
            epsilons, Neighbours.CHANGE_ONE, Partition.BY_FIXED_VALUE
        ),
    }


@reading("composition_basic")
def parallel_by_place(
    query: str, neighbours: str, epsilons: Sequence[float], lower: float = 0, upper: float = 1
) -> Outputs:
    among = relation(neighbours)
    return {
        "parts_changed_by_inserting_first_row": parts_touched(
            parts=len(epsilons), neighbours=among, partition=Partition.BY_POSITION
        ),
        "epsilon_guarantee_is": _parallel(epsilons, among, Partition.BY_POSITION),
        "not_max": parallel_by_position(epsilons=epsilons),
    }


@reading("composition_advanced")
def dwork_roth(k: int, epsilon: float, delta_prime: float, delta: float = 0.0) -> Outputs:
    total = compose_advanced(k=k, epsilon=epsilon, delta=delta, delta_prime=delta_prime)
    return {
        "epsilon": total.dwork_roth,
        "delta_total": float(total.delta),
        "tight_tanh_variant": total.tight,
        "basic": float(total.basic),
    }


@reading("composition_advanced")
def per_query(k: int, total_epsilon: float, delta_prime: float) -> Outputs:
    found = per_query_epsilon(k=k, total_epsilon=total_epsilon, delta_prime=delta_prime)
    misprint = per_query_without_two(k=k, total_epsilon=total_epsilon, delta_prime=delta_prime)
    truth = compose_advanced(k=k, epsilon=misprint, delta=0, delta_prime=delta_prime).dwork_roth
    return {
        "dr_cor3_21": found.corollary,
        "seed000_formula": misprint,
        "seed000_total_by_thm3_20": truth,
        "seed000_is_sufficient": truth <= total_epsilon,
        "exact_inverse_thm3_20": found.dwork_roth,
        "exact_inverse_tight": found.tight,
        "basic": found.basic,
        "best": found.best,
    }


@reading("composition_kov")
def optimal_point(k: int, epsilon: float, i: int, delta: float = 0.0) -> Outputs:
    point = compose_optimal(k=k, epsilon=epsilon, delta=delta, i=i)
    return {"epsilon_total": point.epsilon, "delta_i": point.delta_i, "delta_total": point.delta}


@reading("composition_kov")
def optimal_for_target(k: int, epsilon: float, target_delta: float, delta: float = 0.0) -> Outputs:
    point = optimal_grid_point(k=k, epsilon=epsilon, delta=delta, target_delta=target_delta)
    return {
        "epsilon_grid_thm3_3": point.epsilon,
        "i": point.i,
        "epsilon_exact_curve": optimal_epsilon(k=k, epsilon=epsilon, delta=delta, target_delta=target_delta),
    }


@reading("composition_kov")
def minimum_of_three(epsilons: Sequence[float], deltas: Sequence[float], delta_slack: float) -> Outputs:
    total = compose_adaptive_het(epsilons=epsilons, deltas=deltas, slack_delta=delta_slack)
    return {
        "terms": list(total.terms),
        "epsilon": total.epsilon,
        "which": total.which,
        "delta_total": total.delta_with_slack,
        "delta_total_if_sum_branch": total.delta_without_slack,
    }


@reading("composition_kov")
def unequal(epsilons: Sequence[float], deltas: Sequence[float], epsilon_total: float) -> Outputs:
    delta = heterogeneous_delta(epsilons=epsilons, deltas=deltas, epsilon_total=epsilon_total)
    return {"delta_total": delta}


@reading("zcdp")
def rho_to_epsilon(rho: float, delta: float) -> Outputs:
    # Gaussian noise of this ρ at sensitivity 1, to double precision.
    sigma = gaussian_sigma(rho=rho, l2=1)
    return {
        "epsilon_standard": standard_epsilon(rho=rho, delta=delta),
        "epsilon_cks_optimal": zcdp_optimal_epsilon(rho=rho, delta=delta),
        "epsilon_exact_if_gaussian": gaussian_exact_epsilon(sigma=sigma, l2=1, k=1, delta=delta),
    }


@reading("zcdp")
def epsilon_to_rho(epsilon: float, delta: float) -> Outputs:
    rho = standard_rho(epsilon=epsilon, delta=delta)
    return {"rho": float(rho), "sigma_for_l2_1": gaussian_sigma(rho=rho, l2=1)}


@reading("zcdp")
def rho_of_gaussian(sigma: float, sensitivity_l2: float) -> Outputs:
    return {"rho": float(gaussian_rho(sigma=sigma, l2=sensitivity_l2))}


@reading("zcdp")
def rho_of_pure(epsilon: float) -> Outputs:
    return {
        "rho_generic": float(pure_rho(epsilon=epsilon)),
        "rho_exponential_mechanism_bounded_range": float(bounded_range_rho(epsilon=epsilon)),
    }


@reading("zcdp")
def rho_adds_up(rhos: Sequence[float]) -> Outputs:
    return {"rho": float(compose_rho(rhos=rhos))}


@reading("rdp")
def rdp_of_laplace(alpha: float, epsilon0: float) -> Outputs:
    return {"rdp": laplace_rdp(alpha=alpha, epsilon=epsilon0)}


@reading("rdp")
def rdp_of_randomized_response(alpha: float, epsilon0: float) -> Outputs:
    return {"rdp": randomized_response_rdp(alpha=alpha, epsilon=epsilon0)}


@reading("rdp")
def rdp_of_gaussian(alpha: float, sigma: float, sensitivity_l2: float) -> Outputs:
    return {"rdp": gaussian_rdp(alpha=alpha, sigma=sigma, l2=sensitivity_l2)}


@reading("rdp")
def rdp_of_sampled_gaussian(q: float, sigma: float, alpha: float) -> Outputs:
    return {"rdp": subsampled_gaussian_rdp(alpha=_whole(alpha), sigma=sigma, rate=q)}


@reading("rdp")
def rdp_to_epsilon(alpha: float, rdp: float, delta: float) -> Outputs:
    return {
        "epsilon_mironov": mironov_epsilon(alpha=alpha, rdp=rdp, delta=delta),
        "epsilon_improved": improved_epsilon(alpha=alpha, rdp=rdp, delta=delta),
    }


@reading("rdp")
def rdp_of_gaussians(
    k: int, sigma: float, delta: float, orders: Sequence[float], sensitivity_l2: float = 1.0
) -> Outputs:
    best = gaussian_epsilon(k=k, sigma=sigma, l2=sensitivity_l2, delta=delta, orders=orders)
    return {
        "epsilon": best.epsilon,
        "optimal_order": best.order,
        "epsilon_exact": gaussian_exact_epsilon(sigma=sigma, l2=sensitivity_l2, k=k, delta=delta),
    }


@reading("pld")
def loss_of_laplace(epsilon0: float, epsilon: float) -> Outputs:
    return {"delta": laplace_delta(epsilon0=epsilon0, epsilon=epsilon)}


@reading("pld")
def loss_of_laplaces(epsilon0: float, k: int, epsilon: float) -> Outputs:
    return {"delta": composed_laplace_delta(epsilon0=epsilon0, k=k, epsilon=epsilon)}


@reading("pld")
def loss_of_randomized_responses(epsilon0: float, k: int, epsilon: float) -> Outputs:
    return {"delta": randomized_response_delta(epsilon0=epsilon0, k=k, epsilon=epsilon)}


@reading("pld")
def loss_of_gaussians(sigma: float, k: int, epsilon: float, sensitivity_l2: float = 1.0) -> Outputs:
    return {"delta": gaussian_delta(sigma=sigma, l2=sensitivity_l2, k=k, epsilon=epsilon)}


@reading("pld")
def loss_of_laplace_and_gaussian(
    laplace_epsilon0: float, sigma: float, epsilon: float, sensitivity_l2: float = 1.0
) -> Outputs:
    delta = laplace_and_gaussian_delta(
        laplace_epsilon0=laplace_epsilon0, sigma=sigma, l2=sensitivity_l2, epsilon=epsilon
    )
    return {"delta": delta}


@reading("pld")
def loss_of_sampled_gaussian(
    q: float, sigma: float, epsilon: float, neighbours: str = "add_remove", sensitivity_l2: float = 1.0
) -> Outputs:
    found = sampled_gaussian_delta(
        rate=q, sigma=sigma, l2=sensitivity_l2, epsilon=epsilon, neighbours=relation(neighbours)
    )
    return {"delta_remove": found.remove, "delta_add": found.add, "delta": found.delta}


@reading("subsampling")
def amplification(epsilon: float, q: float, delta: float = 0.0, scheme: str = "poisson/add_remove") -> Outputs:
    found = amplify(epsilon=epsilon, delta=delta, rate=q, scheme=_scheme(scheme))
    return {"epsilon": found.epsilon, "delta": found.delta}


@reading("subsampling")
def amplification_inverted(target_epsilon: float, q: float, scheme: str = "poisson/add_remove") -> Outputs:
    return {"base_epsilon": base_epsilon(target_epsilon=target_epsilon, rate=q, scheme=_scheme(scheme))}


@reading("subsampling")
def tight_example(q: float, epsilon0: float) -> Outputs:
    return {"exact_max_log_ratio": amplified_response(epsilon=epsilon0, rate=q)}


@reading("subsampling")
def released_subsample(n: int, m: int, epsilon: float, neighbours: str = "change_one") -> Outputs:
    relation(neighbours)  # the same δ under both relations and at every ε
    delta = subsample_release_params(rate=Fraction(m, n)).delta
    return {"delta": delta, "pure_dp": delta == 0}


def _scheme(text: str) -> Scheme:
    """The first scheme a description such as "poisson/add_remove or without_replacement/change_one" names."""
    for scheme in Scheme:
        if f"{scheme.value}/{RELATION[scheme].value}" in text or text == scheme.value:
            return scheme
    raise BadParameter(
        f"scheme={text!r} names no sampling scheme with an amplification theorem",
        why="amplification depends on how the sample is drawn and on the relation",
        fix="use poisson/add_remove or without_replacement/change_one",
    )


def _whole(order: float) -> int:
    if exact(order).denominator != 1:
        raise BadParameter(
            f"alpha={order!r} must be a whole number",
            why="the closed form of the sampled Gaussian is a sum over whole numbers",
            fix="use a whole order",
        )
    return int(order)
