"""Golden values of additive noise: Laplace, Gaussian, their discrete laws, and noise that follows a smooth bound."""

import math
from fractions import Fraction
from typing import Final

from dpsql.mechanisms import gaussian, laplace, smooth_loss, smooth_noise
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw, rho_for
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.laplace import Laplace, laplace_scale
from dpsql.privacy.rounding import exact
from tests.oracles import discrete_gaussian
from tests.oracles.smooth_loss import cauchy_worst_loss_found
from tests.vectors.errata import classic_sigma_without_its_precondition
from tests.vectors.words import CHANGE_ONE, Outputs, Readings, taken, whole, written


def _laplace_sup_norm(sensitivity_l1: float, epsilon: float, k: int, beta: float) -> Outputs:
    union = laplace.laplace_accuracy_union(l1=sensitivity_l1, epsilon=epsilon, beta=beta, outputs=k)
    failure = -math.expm1(k * math.log1p(-math.exp(-union * epsilon / sensitivity_l1)))
    return {
        "alpha_union_bound": union,
        "alpha_exact": laplace.laplace_accuracy_exact(l1=sensitivity_l1, epsilon=epsilon, beta=beta, outputs=k),
        "actual_failure_prob_at_union": failure,
    }


def _laplace_mean_tail(n: int, epsilon: float, t: float) -> Outputs:
    """The mean of n values in [0, 1] moves by 1/n when one is changed."""
    scale = laplace_scale(l1=Fraction(1, n), epsilon=epsilon)
    return {"scale": scale, "threshold": t * scale, "prob": laplace.laplace_tail(t=t)}


def _laplace_planning(epsilon: float, alpha: float) -> Outputs:
    cost, error, quarter = written(epsilon), written(alpha), Fraction(1, 4)
    return {
        "n_laplace_seed_rule": math.ceil(2 / (cost * error)),
        "n_laplace_exact_for_beta_quarter": laplace.laplace_sample_size(
            epsilon=cost, alpha=error, beta=quarter, neighbours=CHANGE_ONE
        ),
    }


def _gaussian_classic(sensitivity_l2: float, epsilon: float, delta: float) -> Outputs:
    sigma = gaussian.gaussian_sigma_classic(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    true_delta = gaussian.gaussian_delta(l2=sensitivity_l2, sigma=sigma, epsilon=epsilon)
    return {"sigma": sigma, "variance": sigma * sigma, "exact_delta_of_that_sigma": true_delta}


def _gaussian_classic_out_of_range(sensitivity_l2: float, epsilon: float, delta: float) -> Outputs:
    sigma = classic_sigma_without_its_precondition(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    true_delta = gaussian.gaussian_delta(l2=sensitivity_l2, sigma=sigma, epsilon=epsilon)
    return {
        "sigma_classic": sigma,
        "exact_delta_of_that_sigma": true_delta,
        "satisfies": true_delta <= delta,
        "must_reject_or_use_analytic": epsilon >= 1,
    }


def _gaussian_analytic(sensitivity_l2: float, epsilon: float, delta: float) -> Outputs:
    sigma = gaussian.gaussian_sigma(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    if epsilon == 0:
        return {"sigma": sigma, "ratio_to_classic": None}
    classic = classic_sigma_without_its_precondition(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    return {"sigma": sigma, "ratio_to_classic": sigma / classic}


def _gaussian_accuracies(sensitivity_l2: float, epsilon: float, delta: float, beta: float) -> Outputs:
    """The accuracy of the textbook σ, which is a matter of the noise alone, whatever it protects."""
    sigma = classic_sigma_without_its_precondition(l2=sensitivity_l2, epsilon=epsilon, delta=delta)
    return {
        "sigma": sigma,
        "alpha": gaussian.gaussian_accuracy(sigma=sigma, beta=beta),
        "alpha_upper_bound": gaussian.gaussian_accuracy_bound(sigma=sigma, beta=beta),
    }


def _discrete_laplace(epsilon: float, sensitivity: float) -> DiscreteLaplaceLaw:
    return DiscreteLaplaceLaw(scale=whole(sensitivity) / exact(epsilon))


def _discrete_laplace_law(epsilon: float, sensitivity: float) -> Outputs:
    law = _discrete_laplace(epsilon, sensitivity)
    return {"pmf_0_to_3": [law.pmf(x) for x in range(4)], "variance": law.variance, "prob_abs_ge_5": law.tail(4)}


def _discrete_gaussian_law(sigma: float) -> Outputs:
    law = DiscreteGaussianLaw(sigma_squared=exact(sigma) ** 2)
    rho = rho_for(sigma_squared=law.sigma_squared, l2_squared=1)
    return {"pmf_0_to_3": [law.pmf(x) for x in range(4)], "variance": law.variance, "rho_for_sensitivity_1": rho}


def _discrete_gaussian_calibration(sensitivity: float, epsilon: float, delta: float) -> Outputs:
    spread = discrete_gaussian.discrete_gaussian_sigma_squared(shift=whole(sensitivity), epsilon=epsilon, delta=delta)
    return {"sigma": spread**0.5, "sigma_squared": spread}


def _smooth_laplace(epsilon: float, delta: float, S: float) -> Outputs:
    beta = smooth_noise.smooth_beta(epsilon=epsilon, delta=delta, dimensions=1)
    worst = smooth_loss.laplace_worst_delta(epsilon=epsilon, beta=beta)[1]
    return {
        "beta": beta,
        "noise_scale": smooth_noise.smooth_laplace_scale(bound=S, epsilon=epsilon),
        "exact_worst_delta_one_step": worst,
        "guarantee_holds": worst <= delta,
    }


def _smooth_groups(bins: int, epsilon: float, delta: float) -> Outputs:
    one = smooth_noise.smooth_beta(epsilon=epsilon, delta=delta, dimensions=1)
    many = smooth_noise.smooth_beta_vector(epsilon=epsilon, delta=delta, dimensions=bins)
    with_one, with_many = (
        smooth_loss.scale_change_delta(epsilon=epsilon, beta=beta, dimensions=bins)[1] for beta in (one, many)
    )
    return {
        "beta_1d": one,
        "exact_delta_from_scale_change_alone_1d_beta": with_one,
        "beta_1d_ok": with_one <= delta,
        "beta_d_nrs": many,
        "exact_delta_from_scale_change_alone_d_beta": with_many,
    }


READINGS: Final[Readings] = {
    "laplace": (
        lambda sensitivity_l1, epsilon: taken(
            Laplace(scale=laplace_scale(l1=sensitivity_l1, epsilon=epsilon)),
            scale="scale",
            variance="variance",
            std="std",
        ),
        lambda sensitivity_l1, epsilon, beta: {
            "alpha": laplace.laplace_accuracy(l1=sensitivity_l1, epsilon=epsilon, beta=beta)
        },
        lambda sensitivity_l1, alpha, beta: {
            "epsilon": laplace.laplace_epsilon_for(l1=sensitivity_l1, alpha=alpha, beta=beta)
        },
        lambda sensitivity_l1, scale: {"epsilon": laplace.laplace_epsilon(l1=sensitivity_l1, scale=scale)},
        lambda scale, x: {"pdf": Laplace(scale=scale).pdf(x), "cdf": Laplace(scale=scale).cdf(x)},
        lambda scale, q: {"ppf": Laplace(scale=scale).ppf(q)},
        _laplace_sup_norm,
        _laplace_mean_tail,
        _laplace_planning,
    ),
    "gaussian": (
        _gaussian_classic,
        _gaussian_classic_out_of_range,
        _gaussian_analytic,
        lambda sensitivity_l2, sigma, epsilon: {
            "delta": gaussian.gaussian_delta(l2=sensitivity_l2, sigma=sigma, epsilon=epsilon)
        },
        lambda sensitivity_l2, sigma, delta: {
            "epsilon": gaussian.gaussian_epsilon(l2=sensitivity_l2, sigma=sigma, delta=delta)
        },
        _gaussian_accuracies,
    ),
    "discrete_laplace": (
        _discrete_laplace_law,
        lambda epsilon, sensitivity: taken(_discrete_laplace(epsilon, sensitivity), p="p", variance="variance"),
        lambda epsilon0, sensitivity, epsilon: {
            "delta": _discrete_laplace(epsilon0, sensitivity).delta(shift=whole(sensitivity), epsilon=epsilon)
        },
    ),
    "discrete_gaussian": (
        _discrete_gaussian_law,
        lambda sigma, sensitivity, epsilon: {
            "delta": discrete_gaussian.discrete_gaussian_delta(
                sigma_squared=sigma**2, shift=whole(sensitivity), epsilon=epsilon
            )
        },
        lambda sigma, sensitivity, delta: {
            "epsilon": discrete_gaussian.discrete_gaussian_epsilon(
                sigma_squared=sigma**2, shift=whole(sensitivity), delta=delta
            )
        },
        _discrete_gaussian_calibration,
    ),
    "smooth_mechanism": (
        lambda epsilon, gamma, S: {
            "beta_max": smooth_noise.cauchy_beta(epsilon=epsilon, gamma=gamma),
            "noise_scale": smooth_noise.smooth_cauchy_scale(bound=S, epsilon=epsilon, gamma=gamma),
            "density_normaliser": 2 * math.pi / gamma / math.sin(math.pi / gamma),
            "max_privacy_loss_found": cauchy_worst_loss_found(epsilon=epsilon, gamma=gamma, points=8001),
            "variance_finite": gamma > 3,
        },
        _smooth_laplace,
        _smooth_groups,
    ),
}
