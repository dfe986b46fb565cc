"""The largest loss of smooth noise on a grid: a check of the proven bound from below."""

import math

from dpsql.mechanisms.heavy_tail import require_gamma
from dpsql.privacy.rounding import exact, round_down
from dpsql.require import Number, require_count, require_epsilon


def cauchy_worst_loss_found(*, epsilon: Number, gamma: Number, points: int) -> float:
    """The largest privacy loss of smooth Cauchy-type noise on a grid; S differs by exp(β), the centres by one S.

    Theorem   none: a maximum over a grid is a lower bound of the supremum, a check of `cauchy_loss_bound` from below.
    Requires  γ > 1, ε up to 4096; 3 to 10**6 points.
    Rounds    to nearest.
    """
    require_epsilon(epsilon=epsilon)
    require_gamma(gamma=gamma)
    require_count(at_least=3, at_most=10**6, points=points)
    power = float(gamma)
    alpha = round_down(exact(epsilon) / (2 * (exact(gamma) + 1)))
    worst = 0.0
    for index in range(1, points):
        z = math.tan(math.pi * (index / points - 0.5))  # evenly over the whole line, dense where the loss turns
        narrow = _log_density(z - alpha, gamma=power)
        wide = _log_density(z * math.exp(-alpha), gamma=power) - alpha
        worst = max(worst, abs(narrow - wide))
    return worst


def _log_density(z: float, *, gamma: float) -> float:
    """ln 1/(1 + |z|^γ), without overflow."""
    size = abs(z)
    return -math.log1p(size**gamma) if size <= 1 else -(gamma * math.log(size) + math.log1p(size**-gamma))
