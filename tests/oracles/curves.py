"""Exact privacy curves δ(ε) by formulas and integrals of many digits: what accountants are measured by."""

import math
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath

from tests.kits.digits import mp

Reals = float | Fraction


def gaussian_delta(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Gaussian noise of σ = 1 and distance μ at any real ε (Balle, Wang 2018, Theorem 8), to the digits in force."""
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def randomized_response_delta(*, k: int, epsilon0: Reals, epsilon: Reals, delta0: Reals = 0) -> mpmath.mpf:
    """k randomized responses, the worst releases of (ε₀, δ₀): l lies lose (k − 2l) ε₀, and δ₀ is a confession."""
    with mpmath.workdps(120):
        size, asked = mp(epsilon0), mp(epsilon)
        gaps = [(lies, (k - 2 * lies) * size - asked) for lies in range(k + 1)]
        terms = (math.comb(k, n) * mpmath.exp(-n * size) * -mpmath.expm1(-gap) for n, gap in gaps if gap > 0)
        pure = mpmath.fsum(terms) / (1 + mpmath.exp(-size)) ** k
        return pure + (1 - pure) * (1 - (1 - mp(delta0)) ** k)


def composed_laplace_delta(*, epsilon0: Reals, k: int, epsilon: Reals) -> mpmath.mpf:
    """k Laplace releases of ε₀: E[(1 − e^{ε − L})₊] for L = kε₀ − 2S, S the sum of k copies of B · min(T, ε₀).

    B is a fair coin and T exponential, so min(T, ε₀) has the law of T, less e^{−ε₀} times that of ε₀ + T, plus e^{−ε₀}
    at ε₀. Of n copies take the first part a times, the second b times, the third n − a − b times: S is a Gamma(a + b)
    law moved by (n − a) ε₀.
    """
    with mpmath.workdps(60 + 2 * k):
        size = mp(epsilon0)

        @cache
        def mean(shape: int, moved: int) -> Any:
            """E[(1 − e^{2(X − w)})₊] for X of the Gamma(shape) law and w what is left of (kε₀ − ε)/2."""
            width = (k * size - mp(epsilon)) / 2 - moved * size
            if width <= 0:
                return mpmath.mpf(0)
            below, tilted = (mpmath.hyp1f1(shape, shape + 1, sign * width) for sign in (-1, 1))
            return width**shape / mpmath.factorial(shape) * (below - mpmath.exp(-2 * width) * tilted)

        terms = (
            math.comb(k, n) * math.comb(n, a) * math.comb(n - a, b) * (-1) ** b * mean(a + b, n - a)
            * mpmath.exp((a - n) * size) for n in range(k + 1) for a in range(n + 1) for b in range(n - a + 1)
        )  # fmt: skip
        return mpmath.fsum(terms) / 2**k


def laplace_and_gaussian_delta(*, epsilon0: Reals, mu: Reals, epsilon: Reals) -> mpmath.mpf:
    """One Laplace with one Gaussian release: E[δ_G(ε − L)], L the loss ε₀ (|X − 1| − |X|) of Laplace noise X."""
    with mpmath.workdps(40):
        size, distance, asked = mp(epsilon0), mp(mu), mp(epsilon)
        ends = gaussian_delta(distance, asked - size) + mpmath.exp(-size) * gaussian_delta(distance, asked + size)

        def between(x: mpmath.mpf) -> mpmath.mpf:
            return size * mpmath.exp(-size * x) * gaussian_delta(distance, asked - size * (1 - 2 * x))

        return (ends + mpmath.quad(between, mpmath.linspace(0, 1, 9))) / 2


def sampled_gaussian_delta(*, rate: Reals, sigma: Reals, epsilon: Reals) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Gaussian noise on a Poisson sample, of M = (1 − q) N(0, σ²) + q N(1, σ²) against N(0, σ²) and in reverse.

    M(x) = r N(0, σ²)(x) where x = σ² ln((r − 1 + q)/q) + ½: a half-line from there is the worst event.
    """
    with mpmath.workdps(120):
        q, s, growth = mp(rate), mp(sigma), mpmath.exp(mp(epsilon))

        def above(ratio: mpmath.mpf, mean: int) -> mpmath.mpf:
            return mpmath.ncdf((mean - mpmath.mpf(1) / 2) / s - s * mpmath.log((ratio - 1 + q) / q))

        remove = q * above(growth, 1) - (growth - 1 + q) * above(growth, 0)
        if 1 / growth - 1 + q <= 0:
            return remove, mpmath.mpf(0)
        plain, moved = above(1 / growth, 0), above(1 / growth, 1)
        return remove, 1 - plain - growth * (1 - (1 - q) * plain - q * moved)
