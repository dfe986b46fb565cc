"""Golden values of additive noise: Laplace, Gaussian and their discrete laws."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpsql.errors import BadParameter
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw, rho_for
from dpsql.mechanisms.discrete_gaussian_curve import (
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    discrete_gaussian_sigma_squared,
)
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.gaussian import (
    gaussian_accuracy,
    gaussian_accuracy_bound,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    gaussian_sigma_classic,
)
from dpsql.mechanisms.laplace import (
    Laplace,
    laplace_accuracy,
    laplace_accuracy_exact,
    laplace_accuracy_union,
    laplace_epsilon,
    laplace_epsilon_for,
    laplace_failure,
    laplace_sample_size,
    laplace_sample_size_rule,
    laplace_scale,
    laplace_tail,
)
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours
from tests.vectors.errata_mechanisms import classic_sigma_without_its_precondition
from tests.vectors.verdicts import reading

Outputs = dict[str, Any]


def _written(value: float) -> Fraction:
    """The decimal number a file shows: 0.1 is one tenth there."""
    return Fraction(Decimal(repr(value)))


def _integer(value: float) -> int:
    if value != int(value):
        raise BadParameter(
            f"sensitivity={value!r} must be a whole number",
            why="discrete noise is added to whole numbers, which move by whole numbers",
            fix="measure in grains",
        )
    return int(value)


@reading("laplace")
def laplace_moments(sensitivity_l1: float, epsilon: float) -> Outputs:
    law = Laplace(scale=laplace_scale(l1=sensitivity_l1, epsilon=epsilon))
    return {"scale": law.scale, "variance": law.variance, "std": law.std}


@reading("laplace")
def laplace_scalar_accuracy(sensitivity_l1: float, epsilon: float, beta: float) -> Outputs:
    return {"alpha": laplace_accuracy(l1=sensitivity_l1, epsilon=epsilon, beta=beta)}


@reading("laplace")
def laplace_price_of_accuracy(sensitivity_l1: float, alpha: float, beta: float) -> Outputs:
    return {"epsilon": laplace_epsilon_for(l1=sensitivity_l1, alpha=alpha, beta=beta)}


@reading("laplace")
def laplace_price_of_scale(sensitivity_l1: float, scale: float) -> Outputs:
    return {"epsilon": laplace_epsilon(l1=sensitivity_l1, scale=scale)}


@reading("laplace")
def laplace_distribution(scale: float, x: float) -> Outputs:
    law = Laplace(scale=scale)
    return {"pdf": law.pdf(x), "cdf": law.cdf(x)}


@reading("laplace")
def laplace_quantile(scale: float, q: float) -> Outputs:
    return {"ppf": Laplace(scale=scale).ppf(q)}


@reading("laplace")
def laplace_sup_norm(sensitivity_l1: float, epsilon: float, k: int, beta: float) -> Outputs:
    union = laplace_accuracy_union(l1=sensitivity_l1, epsilon=epsilon, beta=beta, outputs=k)
    return {
        "alpha_union_bound": union,
        "alpha_exact": laplace_accuracy_exact(l1=sensitivity_l1, epsilon=epsilon, beta=beta, outputs=k),
        "actual_failure_prob_at_union": laplace_failure(l1=sensitivity_l1, epsilon=epsilon, alpha=union, outputs=k),
    }


@reading("laplace")
def laplace_mean_tail(n: int, epsilon: float, t: float) -> Outputs:
    """The mean of n values in [0, 1] moves by 1/n when one is changed."""
    scale = laplace_scale(l1=Fraction(1, n), epsilon=epsilon)
    return {"scale": scale, "threshold": t * scale, "prob": laplace_tail(t=t)}


@reading("laplace")
def laplace_planning(epsilon: float, alpha: float) -> Outputs:
    cost, error, relation = _written(epsilon), _written(alpha), Neighbours.CHANGE_ONE
    return {
        "n_laplace_seed_rule": laplace_sample_size_rule(epsilon=cost, alpha=error, neighbours=relation),
        "n_laplace_exact_for_beta_quarter": laplace_sample_size(
            epsilon=cost, alpha=error, beta=Fraction(1, 4), neighbours=relation
        ),
    }


@reading("gaussian")
def gaussian_classic(sensitivity_l2: float, epsilon: float, delta: float) -> Outputs:
    sigma = gaussian_sigma_classic(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    return {
        "sigma": sigma,
        "variance": sigma * sigma,
        "exact_delta_of_that_sigma": gaussian_delta(l2=sensitivity_l2, sigma=sigma, epsilon=epsilon),
    }


@reading("gaussian")
def gaussian_classic_out_of_range(sensitivity_l2: float, epsilon: float, delta: float) -> Outputs:
    sigma = classic_sigma_without_its_precondition(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    true_delta = gaussian_delta(l2=sensitivity_l2, sigma=sigma, epsilon=epsilon)
    return {
        "sigma_classic": sigma,
        "exact_delta_of_that_sigma": true_delta,
        "satisfies": true_delta <= delta,
        "must_reject_or_use_analytic": epsilon >= 1,
    }


@reading("gaussian")
def gaussian_analytic(sensitivity_l2: float, epsilon: float, delta: float) -> Outputs:
    sigma = gaussian_sigma(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    if epsilon == 0:
        return {"sigma": sigma, "ratio_to_classic": None}
    classic = classic_sigma_without_its_precondition(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    return {"sigma": sigma, "ratio_to_classic": sigma / classic}


@reading("gaussian")
def gaussian_curve(sensitivity_l2: float, sigma: float, epsilon: float) -> Outputs:
    return {"delta": gaussian_delta(l2=sensitivity_l2, sigma=sigma, epsilon=epsilon)}


@reading("gaussian")
def gaussian_inverse_curve(sensitivity_l2: float, sigma: float, delta: float) -> Outputs:
    return {"epsilon": gaussian_epsilon(l2=sensitivity_l2, sigma=sigma, delta=delta)}


@reading("gaussian")
def gaussian_accuracies(sensitivity_l2: float, epsilon: float, delta: float, beta: float) -> Outputs:
    """The accuracy of the textbook σ, which is a matter of the noise alone, whatever it protects."""
    sigma = classic_sigma_without_its_precondition(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    return {
        "sigma": sigma,
        "alpha": gaussian_accuracy(sigma=sigma, beta=beta),
        "alpha_upper_bound": gaussian_accuracy_bound(sigma=sigma, beta=beta),
    }


@reading("discrete_laplace")
def discrete_laplace_law(epsilon: float, sensitivity: float) -> Outputs:
    law = DiscreteLaplaceLaw(scale=_integer(sensitivity) / exact(epsilon))
    return {
        "pmf_0_to_3": [law.pmf(x) for x in range(4)],
        "variance": law.variance,
        "prob_abs_ge_5": law.tail(4),
    }


@reading("discrete_laplace")
def discrete_laplace_scaling(epsilon: float, sensitivity: float) -> Outputs:
    law = DiscreteLaplaceLaw(scale=_integer(sensitivity) / exact(epsilon))
    return {"p": law.p, "variance": law.variance}


@reading("discrete_laplace")
def discrete_laplace_curve(epsilon0: float, sensitivity: float, epsilon: float) -> Outputs:
    shift = _integer(sensitivity)
    return {"delta": DiscreteLaplaceLaw(scale=shift / exact(epsilon0)).delta(shift=shift, epsilon=epsilon)}


@reading("discrete_gaussian")
def discrete_gaussian_law(sigma: float) -> Outputs:
    law = DiscreteGaussianLaw(sigma_squared=exact(sigma) ** 2)
    return {
        "pmf_0_to_3": [law.pmf(x) for x in range(4)],
        "variance": law.variance,
        "rho_for_sensitivity_1": rho_for(sigma_squared=law.sigma_squared, l2_squared=1),
    }


@reading("discrete_gaussian")
def discrete_gaussian_curve(sigma: float, sensitivity: float, epsilon: float) -> Outputs:
    return {
        "delta": discrete_gaussian_delta(
            sigma_squared=exact(sigma) ** 2, shift=_integer(sensitivity), epsilon=exact(epsilon)
        )
    }


@reading("discrete_gaussian")
def discrete_gaussian_inverse_curve(sigma: float, sensitivity: float, delta: float) -> Outputs:
    shift = _integer(sensitivity)
    return {"epsilon": discrete_gaussian_epsilon(sigma_squared=exact(sigma) ** 2, shift=shift, delta=delta)}


@reading("discrete_gaussian")
def discrete_gaussian_calibration(sensitivity: float, epsilon: float, delta: float) -> Outputs:
    shift = _integer(sensitivity)
    spread = discrete_gaussian_sigma_squared(shift=shift, epsilon=epsilon, delta=delta)
    return {"sigma": float(spread) ** 0.5, "sigma_squared": spread}
