"""The exact (ε, δ) of one whole number with discrete Gaussian noise, by sums of positive terms."""

import math
from collections.abc import Callable


def discrete_gaussian_delta(*, sigma_squared: float, shift: int, epsilon: float) -> float:
    """Σ (P(x) − e^ε P(x + shift))₊ for P(x) proportional to exp(−x²/2σ²)."""
    reach = range(-math.ceil(40 * math.sqrt(sigma_squared)) - 1, math.ceil(40 * math.sqrt(sigma_squared)) + 2)
    weights = [math.exp(-x * x / (2 * sigma_squared)) for x in reach]
    gaps = [min(0.0, epsilon - shift * (2 * x + shift) / (2 * sigma_squared)) for x in reach]
    return math.fsum(w * -math.expm1(gap) for w, gap in zip(weights, gaps, strict=True)) / math.fsum(weights)


def discrete_gaussian_epsilon(*, sigma_squared: float, shift: int, delta: float) -> float:
    """The smallest ε for δ."""
    return _crossing(lambda e: discrete_gaussian_delta(sigma_squared=sigma_squared, shift=shift, epsilon=e), delta)


def discrete_gaussian_sigma_squared(*, shift: int, epsilon: float, delta: float) -> float:
    """A σ² for (ε, δ), from which a little less is not enough."""
    return _crossing(lambda s: discrete_gaussian_delta(sigma_squared=s, shift=shift, epsilon=epsilon), delta)


def _crossing(falling: Callable[[float], float], limit: float) -> float:
    """Where a falling function passes `limit`, by halving."""
    low, high = 0.0, 1.0
    while falling(high) > limit:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if falling(middle) <= limit else (middle, high)
    return high
