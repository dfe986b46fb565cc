"""Laplace against Gaussian noise for one query: definition, parameter, promise, variance and accuracy, side by side."""

from __future__ import annotations

from dataclasses import dataclass

from dpsql.mechanisms.gaussian import gaussian_accuracy, gaussian_sigma, gaussian_sigma_classic
from dpsql.mechanisms.laplace import Laplace, laplace_accuracy, laplace_scale
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import Number, require_epsilon, require_open_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMechanism:
    """One row of the table. `accuracy` is the error of one answer that is exceeded with probability `beta`."""

    name: str
    definition: str
    sensitivity: str
    parameter: str
    value: float
    privacy: PrivacyParams
    variance: float
    beta: float
    accuracy: float


def compare_mechanisms(
    *, l1: Number, l2: Number, epsilon: Number, delta: Number, beta: Number
) -> tuple[ComparedMechanism, ...]:
    """Laplace, exact Gaussian and, where ε < 1, textbook Gaussian noise for the same query and the same (ε, δ).

    Theorem   those of the functions that make each row. Laplace needs no δ and uses the L1 norm; Gaussian needs a
              δ > 0 and uses the L2 norm, which is smaller by up to the square root of the number of outputs.
    Requires  l1 > 0, l2 > 0, ε > 0, 0 < δ < 1, 0 < β < 1; both norms for the same neighbour relation.
    Rounds    parameters and accuracies up.
    """
    require_epsilon(epsilon=epsilon)
    require_open_unit(delta=delta, beta=beta)
    gaussians = [("σ: exact curve (Balle, Wang)", gaussian_sigma(l2=l2, epsilon=epsilon, delta=delta))]
    if epsilon < 1:
        classic = gaussian_sigma_classic(l2=l2, epsilon=epsilon, delta=delta)
        gaussians.append(("σ = l2 sqrt(2 ln(1.25/δ)) / ε", classic))
    promise = PrivacyParams(epsilon=round_up(exact(epsilon)), delta=round_up(exact(delta)))
    return (
        _laplace_row(l1=l1, epsilon=epsilon, beta=beta),
        *(_gaussian_row(parameter=name, sigma=sigma, privacy=promise, beta=beta) for name, sigma in gaussians),
    )


def _laplace_row(*, l1: Number, epsilon: Number, beta: Number) -> ComparedMechanism:
    scale = laplace_scale(l1=l1, epsilon=epsilon)
    return ComparedMechanism(
        name="Laplace",
        definition="value + Y,  density exp(-|y|/b) / 2b",
        sensitivity="l1",
        parameter="b = l1 / ε",
        value=scale,
        privacy=PrivacyParams(epsilon=round_up(exact(epsilon))),
        variance=Laplace(scale=scale).variance,
        beta=round_up(exact(beta)),
        accuracy=laplace_accuracy(l1=l1, epsilon=epsilon, beta=beta),
    )


def _gaussian_row(*, parameter: str, sigma: float, privacy: PrivacyParams, beta: Number) -> ComparedMechanism:
    return ComparedMechanism(
        name="Gaussian",
        definition="value + Y,  density exp(-y²/2σ²) / (σ sqrt(2π))",
        sensitivity="l2",
        parameter=parameter,
        value=sigma,
        privacy=privacy,
        variance=sigma * sigma,
        beta=round_up(exact(beta)),
        accuracy=gaussian_accuracy(sigma=sigma, beta=beta),
    )
