"""Golden values of composition, zCDP, RDP, loss distributions and subsampling."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpsql.accounting import advanced, optimal, subsampling, zcdp
from dpsql.accounting import rdp as renyi
from dpsql.accounting.adaptive import compose_adaptive_het
from dpsql.accounting.basic import compose_basic
from dpsql.accounting.parallel import Partition, compose_parallel, parts_touched
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.accounting.workload import repeat_cost
from dpsql.mechanisms.gaussian import gaussian_delta, gaussian_epsilon
from dpsql.privacy.divergence import subsample_release_params
from dpsql.privacy.events import BoundedRange, Pure
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from tests.oracles import curves
from tests.oracles.accounting import amplified_response, heterogeneous_delta, standard_epsilon, standard_rho
from tests.vectors.errata import parallel_by_position, per_query_without_two
from tests.vectors.words import ADD_REMOVE, CHANGE_ONE, Outputs, Readings, relation, taken, whole


def _parallel(epsilons: Sequence[float], neighbours: Neighbours, partition: Partition) -> Fraction:
    deltas = [0] * len(epsilons)
    return compose_parallel(epsilons=epsilons, deltas=deltas, neighbours=neighbours, partition=partition).epsilon


def _parallel_by_place(
    query: str, neighbours: str, epsilons: Sequence[float], lower: float = 0, upper: float = 1
) -> Outputs:
    among, place = relation(neighbours), Partition.BY_POSITION
    return {
        "parts_changed_by_inserting_first_row": parts_touched(parts=len(epsilons), neighbours=among, partition=place),
        "epsilon_guarantee_is": _parallel(epsilons, among, place),
        "not_max": parallel_by_position(epsilons=epsilons),
    }


def _per_query(k: int, total_epsilon: float, delta_prime: float) -> Outputs:
    found = advanced.per_query_epsilon(k=k, total_epsilon=total_epsilon, delta_prime=delta_prime)
    misprint = per_query_without_two(k=k, total_epsilon=total_epsilon, delta_prime=delta_prime)
    truth = advanced.compose_advanced(k=k, epsilon=misprint, delta=0, delta_prime=delta_prime).dwork_roth
    return {
        **taken(found, dr_cor3_21="corollary", exact_inverse_thm3_20="dwork_roth", exact_inverse_tight="tight"),
        **taken(found, basic="basic", best="best"),
        "seed000_formula": misprint,
        "seed000_total_by_thm3_20": truth,
        "seed000_is_sufficient": truth <= total_epsilon,
    }


def _rdp_of_gaussians(
    k: int, sigma: float, delta: float, orders: Sequence[float], sensitivity_l2: float = 1.0
) -> Outputs:
    curve = {order: k * Fraction(renyi.gaussian_rdp(alpha=order, sigma=sigma, l2=sensitivity_l2)) for order in orders}
    epsilon, order = min((renyi.improved_epsilon(alpha=at, rdp=rdp, delta=delta), at) for at, rdp in curve.items())
    exactly = gaussian_epsilon(l2=sensitivity_l2 * math.sqrt(k), sigma=sigma, delta=delta)
    return {"epsilon": epsilon, "optimal_order": order, "epsilon_exact": exactly}


def _smallest_epsilon(k: int, epsilon: float, target_delta: float, delta: float = 0.0) -> Outputs:
    points = [optimal.compose_optimal(k=k, epsilon=epsilon, delta=delta, i=i) for i in range(k // 2 + 1)]
    smallest = min((point for point in points if point.delta <= target_delta), key=lambda point: point.epsilon)
    curve = optimal.optimal_epsilon(k=k, epsilon=epsilon, delta=delta, target_delta=target_delta)
    return {**taken(smallest, epsilon_grid_thm3_3="epsilon", i="i"), "epsilon_exact_curve": curve}


def _sampled_gaussian(
    q: float, sigma: float, epsilon: float, neighbours: str = "add_remove", sensitivity_l2: float = 1.0
) -> Outputs:
    if relation(neighbours) is not ADD_REMOVE:
        raise ValueError("the curve is of a person who may be in the sample or not exist")
    remove, add = curves.sampled_gaussian_delta(rate=q, sigma=sigma / sensitivity_l2, epsilon=epsilon)
    return {"delta_remove": remove, "delta_add": add, "delta": max(remove, add)}


def _released_subsample(n: int, m: int, epsilon: float, neighbours: str = "change_one") -> Outputs:
    relation(neighbours)  # the same δ under both relations and at every ε
    delta = subsample_release_params(rate=Fraction(m, n)).delta
    return {"delta": delta, "pure_dp": delta == 0}


def _scheme(text: str) -> subsampling.Scheme:
    """The first scheme a description such as "poisson/add_remove or without_replacement/change_one" names."""
    for scheme, among in (
        (subsampling.Scheme.POISSON, ADD_REMOVE),
        (subsampling.Scheme.WITHOUT_REPLACEMENT, CHANGE_ONE),
    ):
        if f"{scheme.value}/{among.value}" in text or text == scheme.value:
            return scheme
    raise ValueError(f"scheme={text!r} names no sampling scheme with an amplification theorem")


READINGS: Final[Readings] = {
    "composition_basic": (
        lambda epsilons, deltas=None: taken(
            compose_basic(epsilons=epsilons, deltas=deltas or [0] * len(epsilons)),
            epsilon="epsilon",
            delta_sum="delta_sum",
            delta_exact_product="delta_product",
        ),
        lambda m, epsilon, sensitivity: taken(
            repeat_cost(m=m, epsilon=epsilon, l1=sensitivity),
            total_epsilon="total_epsilon",
            variance_of_average="variance_of_average",
            variance_single_shot_total_eps="variance_of_single",
        ),
        lambda epsilons: {
            "add_remove": _parallel(epsilons, ADD_REMOVE, Partition.BY_VALUE),
            "change_one": _parallel(epsilons, CHANGE_ONE, Partition.BY_VALUE),
            "change_one_if_row_cannot_change_partition": _parallel(epsilons, CHANGE_ONE, Partition.BY_FIXED_VALUE),
        },
        _parallel_by_place,
    ),
    "composition_advanced": (
        lambda k, epsilon, delta_prime, delta=0.0: taken(
            advanced.compose_advanced(k=k, epsilon=epsilon, delta=delta, delta_prime=delta_prime),
            epsilon="dwork_roth",
            delta_total="delta",
            tight_tanh_variant="tight",
            basic="basic",
        ),
        _per_query,
    ),
    "composition_kov": (
        lambda k, epsilon, i, delta=0.0: taken(
            optimal.compose_optimal(k=k, epsilon=epsilon, delta=delta, i=i),
            epsilon_total="epsilon",
            delta_i="delta_i",
            delta_total="delta",
        ),
        _smallest_epsilon,
        lambda epsilons, deltas, delta_slack: taken(
            compose_adaptive_het(epsilons=epsilons, deltas=deltas, slack_delta=delta_slack),
            terms="terms",
            epsilon="epsilon",
            which="which",
            delta_total="delta_with_slack",
            delta_total_if_sum_branch="delta_without_slack",
        ),
        lambda epsilons, deltas, epsilon_total: {
            "delta_total": heterogeneous_delta(epsilons=epsilons, deltas=deltas, epsilon_total=epsilon_total)
        },
    ),
    "zcdp": (
        lambda rho, delta: {
            "epsilon_standard": standard_epsilon(rho=rho, delta=delta),
            "epsilon_cks_optimal": zcdp.optimal_epsilon(rho=rho, delta=delta),
            "epsilon_exact_if_gaussian": gaussian_epsilon(l2=1, sigma=zcdp.gaussian_sigma(rho=rho, l2=1), delta=delta),
        },
        lambda epsilon, delta: {
            "rho": standard_rho(epsilon=epsilon, delta=delta),
            "sigma_for_l2_1": zcdp.gaussian_sigma(rho=standard_rho(epsilon=epsilon, delta=delta), l2=1),
        },
        lambda sigma, sensitivity_l2: {"rho": zcdp.gaussian_rho(sigma=sigma, l2=sensitivity_l2)},
        lambda epsilon: {
            "rho_generic": triple(Pure(epsilon=epsilon)).rho,
            "rho_exponential_mechanism_bounded_range": triple(BoundedRange(epsilon=epsilon)).rho,
        },
        lambda rhos: {"rho": sum((Triple(epsilon=None, delta=Fraction(0), rho=exact(rho)) for rho in rhos), FREE).rho},
    ),
    "rdp": (
        lambda alpha, epsilon0: {"rdp": renyi.laplace_rdp(alpha=alpha, epsilon=epsilon0)},
        lambda alpha, epsilon0: {"rdp": renyi.randomized_response_rdp(alpha=alpha, epsilon=epsilon0)},
        lambda alpha, sigma, sensitivity_l2: {"rdp": renyi.gaussian_rdp(alpha=alpha, sigma=sigma, l2=sensitivity_l2)},
        lambda q, sigma, alpha: {"rdp": renyi.subsampled_gaussian_rdp(alpha=whole(alpha), sigma=sigma, rate=q)},
        lambda alpha, rdp, delta: {
            "epsilon_mironov": rdp + math.log(1 / delta) / (alpha - 1),
            "epsilon_improved": renyi.improved_epsilon(alpha=alpha, rdp=rdp, delta=delta),
        },
        _rdp_of_gaussians,
    ),
    "pld": (
        lambda epsilon0, epsilon: {"delta": max(0.0, -math.expm1((epsilon - epsilon0) / 2))},
        lambda epsilon0, k, epsilon: {"delta": curves.composed_laplace_delta(epsilon0=epsilon0, k=k, epsilon=epsilon)},
        lambda epsilon0, k, epsilon: {
            "delta": curves.randomized_response_delta(epsilon0=epsilon0, k=k, epsilon=epsilon)
        },
        lambda sigma, k, epsilon, sensitivity_l2=1.0: {
            "delta": gaussian_delta(l2=sensitivity_l2 * math.sqrt(k), sigma=sigma, epsilon=epsilon)
        },
        lambda laplace_epsilon0, sigma, epsilon, sensitivity_l2=1.0: {
            "delta": curves.laplace_and_gaussian_delta(
                epsilon0=laplace_epsilon0, mu=Fraction(sensitivity_l2) / Fraction(sigma), epsilon=epsilon
            )
        },
        _sampled_gaussian,
    ),
    "subsampling": (
        lambda epsilon, q, delta=0.0, scheme="poisson/add_remove": taken(
            subsampling.amplify(epsilon=epsilon, delta=delta, rate=q, scheme=_scheme(scheme)),
            epsilon="epsilon",
            delta="delta",
        ),
        lambda target_epsilon, q, scheme="poisson/add_remove": {
            "base_epsilon": subsampling.base_epsilon(target_epsilon=target_epsilon, rate=q, scheme=_scheme(scheme))
        },
        lambda q, epsilon0: {"exact_max_log_ratio": amplified_response(epsilon=epsilon0, rate=q)},
        _released_subsample,
    ),
}
