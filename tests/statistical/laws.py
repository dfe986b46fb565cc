"""The exact laws of the samplers, written down independently of the code that draws from them."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr


@dataclass(frozen=True)
class LaplaceLaw:
    """Pr[x] = tanh(1/2t) · exp(-|x|/t)."""

    scale: Fraction

    def cdf(self, x):
        """Pr[X <= x] for integers x: q^(-x)/(1+q) below 0, 1 - q^(x+1)/(1+q) from 0 on, q = exp(-1/t)."""
        t, x = float(self.scale), np.asarray(x, dtype=float)
        below = np.exp(np.minimum(x, 0) / t) / (1 + math.exp(-1 / t))
        above = 1 - np.exp(-(np.maximum(x, 0) + 1) / t) / (1 + math.exp(-1 / t))
        return np.where(x < 0, below, above)

    def tail(self, x: int) -> float:
        """Pr[|X| >= x] for x >= 1, without cancellation."""
        t = float(self.scale)
        return 2 * math.exp(-x / t) / (1 + math.exp(-1 / t))

    @property
    def variance(self) -> float:
        q = math.exp(-1 / float(self.scale))
        return 2 * q / math.expm1(-1 / float(self.scale)) ** 2

    @property
    def fourth_moment(self) -> float:
        """E[X⁴] = 2q(1 + 10q + q²) / (1-q)⁴ ... summed from the geometric series of x⁴ q^x."""
        q = math.exp(-1 / float(self.scale))
        series = q * (1 + 11 * q + 11 * q**2 + q**3) / (-math.expm1(-1 / float(self.scale))) ** 5
        return 2 * series * math.tanh(1 / (2 * float(self.scale)))

    @property
    def spread(self) -> float:
        return float(self.scale)


@dataclass(frozen=True)
class GaussianLaw:
    """Pr[x] ∝ exp(-x²/2σ²)."""

    sigma: Fraction

    def _sums(self):
        reach = math.ceil(14 * float(self.sigma)) + 2
        x = np.arange(-reach, reach + 1, dtype=float)
        weight = np.exp(-(x**2) / (2 * float(self.sigma) ** 2))
        return x, weight / weight.sum()

    def cdf(self, x):
        """Summed directly up to σ = 2000; above, the normal cdf at x + 1/2 is within 1/(24σ²) of it, relatively."""
        if self.sigma > 2000:
            return ndtr((np.asarray(x, dtype=float) + 0.5) / float(self.sigma))
        grid, pmf = self._sums()
        return np.interp(np.asarray(x, dtype=float), grid, np.cumsum(pmf))

    def tail(self, x: int) -> float:
        if self.sigma > 2000:
            return 2 * float(ndtr(-(x - 0.5) / float(self.sigma)))
        grid, pmf = self._sums()
        return float(pmf[np.abs(grid) >= x].sum())

    @property
    def variance(self) -> float:
        if self.sigma > 2000:
            return float(self.sigma) ** 2
        grid, pmf = self._sums()
        return float((grid**2 * pmf).sum())

    @property
    def fourth_moment(self) -> float:
        if self.sigma > 2000:
            return 3 * float(self.sigma) ** 4
        grid, pmf = self._sums()
        return float((grid**4 * pmf).sum())

    @property
    def spread(self) -> float:
        return float(self.sigma)
