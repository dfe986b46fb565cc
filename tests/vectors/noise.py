"""Readings of the golden vectors on smooth noise."""

from __future__ import annotations

from typing import Any

from dpsql.mechanisms.heavy_tail import heavy_tail_normaliser, heavy_tail_variance_is_finite
from dpsql.mechanisms.smooth_loss import (
    cauchy_worst_loss_found,
    laplace_worst_delta,
    scale_change_delta,
)
from dpsql.mechanisms.smooth_noise import (
    cauchy_beta,
    smooth_beta,
    smooth_beta_vector,
    smooth_cauchy_scale,
    smooth_laplace_scale,
)
from tests.vectors.verdicts import reading


@reading("smooth_mechanism")
def cauchy(epsilon: float, gamma: float, S: float) -> dict[str, Any]:
    return {
        "beta_max": cauchy_beta(epsilon=epsilon, gamma=gamma),
        "noise_scale": float(smooth_cauchy_scale(bound=S, epsilon=epsilon, gamma=gamma)),
        "density_normaliser": heavy_tail_normaliser(gamma=gamma),
        "max_privacy_loss_found": cauchy_worst_loss_found(epsilon=epsilon, gamma=gamma, points=8001),
        "variance_finite": heavy_tail_variance_is_finite(gamma=gamma),
    }


@reading("smooth_mechanism")
def laplace(epsilon: float, delta: float, S: float) -> dict[str, Any]:
    beta = smooth_beta(epsilon=epsilon, delta=delta, dimensions=1)
    worst = laplace_worst_delta(epsilon=epsilon, beta=beta)[1]
    return {
        "beta": beta,
        "noise_scale": float(smooth_laplace_scale(bound=S, epsilon=epsilon)),
        "exact_worst_delta_one_step": float(worst),
        "guarantee_holds": worst <= delta,
    }


@reading("smooth_mechanism")
def groups(bins: int, epsilon: float, delta: float) -> dict[str, Any]:
    one = smooth_beta(epsilon=epsilon, delta=delta, dimensions=1)
    many = smooth_beta_vector(epsilon=epsilon, delta=delta, dimensions=bins)
    with_one, with_many = (scale_change_delta(epsilon=epsilon, beta=beta, dimensions=bins)[1] for beta in (one, many))
    return {
        "beta_1d": one,
        "exact_delta_from_scale_change_alone_1d_beta": float(with_one),
        "beta_1d_ok": with_one <= delta,
        "beta_d_nrs": many,
        "exact_delta_from_scale_change_alone_d_beta": float(with_many),
    }
