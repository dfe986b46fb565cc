"""The largest loss of smooth noise on a grid: a check of the proven bound from below."""

import math


def cauchy_worst_loss_found(*, epsilon: float, gamma: float, points: int) -> float:
    """The largest privacy loss of smooth Cauchy-type noise on a grid; S differs by exp(β), the centres by one S."""
    alpha, worst = epsilon / (2 * (gamma + 1)), 0.0
    for index in range(1, points):
        z = math.tan(math.pi * (index / points - 0.5))  # evenly over the whole line, dense where the loss turns
        narrow = _log_density(z - alpha, gamma=gamma)
        wide = _log_density(z * math.exp(-alpha), gamma=gamma) - alpha
        worst = max(worst, abs(narrow - wide))
    return worst


def _log_density(z: float, *, gamma: float) -> float:
    """ln 1/(1 + |z|^γ), without overflow."""
    size = abs(z)
    return -math.log1p(size**gamma) if size <= 1 else -(gamma * math.log(size) + math.log1p(size**-gamma))
