"""Exact privacy curves δ(ε) of common histories, by closed forms: what every numerical accountant is measured by.

Curves of continuous noise. They describe the mathematics; a release is priced by theorems about what is drawn.

k Laplace releases. With x from Laplace noise at 0 of scale 1/ε₀ and the other centre at 1, L = ε₀ for x ≤ 0, ε₀ −
2ε₀x in between, −ε₀ from 1 on. So L = ε₀ − 2B·min(T, ε₀) with a fair coin B and T exponential of mean 1. The sum of k
losses is kε₀ − 2S, and with w = (kε₀ − ε)/2, δ(ε) = E[(1 − e^{2(S−w)})₊]. The Laplace transform of one summand of S
is ½ + ½(1 + s e^{−(1+s)ε₀})/(1+s). Its k-th power is, with s = (1+s) − 1,

    2^{−k} Σ_j e^{−jε₀(1+s)} Σ_m c_{j,m} (1+s)^{−m},    c_{j,m} = Σ_n C(k,n) C(n,j) C(j,n−m) (−1)^{j−n+m}.

e^{−jε₀s} shifts by jε₀ and (1+s)^{−m} is the Gamma(m) law (a point mass for m = 0). So δ(ε) = 2^{−k} Σ_j e^{−jε₀} Σ_m
c_{j,m} K_m(w − jε₀) over j with w > jε₀, where K_m(W) = E[(1 − e^{2(X−W)})₊] for X of the Gamma(m) law, by the
recursions of incomplete Gamma integrals. Terms alternate and are at most 8^k, while δ ≥ 2^{−k}(1 − e^{−2w}); decimal
arithmetic carries that many digits more.

Laplace with Gaussian. Condition on the Laplace loss ℓ: E[δ_G(ε − ℓ)], with atoms ½ at ε₀ and ½e^{−ε₀} at −ε₀ and
density ¼e^{(ℓ−ε₀)/2} between. For negative arguments the formula for δ_G stands: 1 holds at every real ε. With x = ε
− ℓ the middle part is ¼e^{(ε−ε₀)/2} ∫ e^{−x/2}δ_G(x) dx from ε − ε₀ to ε + ε₀. Let T be the tail 1 − Φ, so that
δ_G(x) = T(x/μ − μ/2) − e^x T(x/μ + μ/2). Both e^{−x/2}φ(x/μ − μ/2) and e^{x/2}φ(x/μ + μ/2) are e^{−μ²/8}φ(x/μ), so by
parts

    ∫ e^{−x/2}δ_G(x) dx = 4e^{−μ²/8} T(x/μ) − 2e^{−x/2} T(x/μ − μ/2) − 2e^{x/2} T(x/μ + μ/2).

Times e^{(ε−ε₀)/2}, every term is at most 4: e^x T(x/μ + μ/2) ≤ T(x/μ − μ/2) ≤ 1 as δ_G ≥ 0, and e^{x/2−μ²/8} T(x/μ) ≤
e^{−(x/μ−μ/2)²/2} for x ≥ 0. So 310 digits more than the result needs are enough for every δ above 1e-300.

Sampled Gaussian. Let R = N₁/N₀ and M = (1−q)N₀ + qN₁. M − e^εN₀ = q(N₁ − e^{ε'}N₀) with e^{ε'} = 1 + (e^ε−1)/q: the
positive part has mass q δ_G(ε'). N₀ − e^εM = e^εq(rN₀ − N₁) with r = (e^{−ε} − 1 + q)/q; for r > 0 the positive part
has mass e^εqr ∫(N₀ − N₁/r)₊ = e^εqr δ_G(ln(1/r)), and 0 otherwise.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from dpsql.accounting.limits import counted, priced_epsilon, require_within, slack
from dpsql.enclosure import exp_bounds, log_bounds, sqrt_bounds
from dpsql.errors import Refused
from dpsql.privacy.digits import DIGITS, decimal, float_above, normal_tail, working
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number
from tests.oracles.accounting import asked_epsilon, optimal_delta
from tests.oracles.shifts import GaussianShift, LaplaceShift

LARGEST_LAPLACE_K: Final = 100
_SMALLEST: Final = Decimal("1e-300")


def laplace_delta(*, epsilon0: Number, epsilon: Number) -> float:
    """The smallest δ at ε of one Laplace release of scale l1/ε₀: 1 − e^{(ε−ε₀)/2}, and 0 from ε₀ on.

    Theorem   `LaplaceShift.hockey_stick` at the shift ε₀.
    Requires  ε₀ > 0, ε >= 0.
    Rounds    up.
    """
    size, asked = priced_epsilon(epsilon0=epsilon0), asked_epsilon(epsilon=epsilon)
    return LaplaceShift(shift=size, scale=1).hockey_stick(epsilon=asked)


def composed_laplace_delta(*, epsilon0: Number, k: int, epsilon: Number) -> float:
    """The smallest δ at ε of k Laplace releases of ε₀ each.

    Theorem   the loss is kε₀ − 2S, with S the sum of k copies of B · min(T, ε₀), B a fair coin, T exponential;
              the law of S by expanding its Laplace transform (above).
    Requires  1 <= k <= 100, ε₀ > 0, ε >= 0.
    Rounds    up, by at most one part in 10**12.
    """
    k = counted(k=k, at_most=LARGEST_LAPLACE_K)
    size, asked = priced_epsilon(epsilon0=epsilon0), asked_epsilon(epsilon=epsilon)
    room = (k * size - asked) / 2
    if room <= 0:
        return 0.0
    # The terms are at most 8**k while δ is at least 2**-k · (1 − e^{−2 room}): so many digits may cancel.
    lost = max(0, room.denominator.bit_length() - room.numerator.bit_length()) // 3
    context = Context(prec=40 + 2 * k + lost)
    half, step = _decimal(room, context), _decimal(size, context)
    total, scale, shrink = Decimal(0), Decimal(1), context.exp(context.minus(step))
    for j in range(k + 1):
        width = context.subtract(half, context.multiply(Decimal(j), step))
        if width <= 0:
            break
        line = Decimal(0)
        for coefficient, value in zip(_coefficients(k, j), _truncated_means(width, k, context), strict=True):
            line = context.fma(Decimal(coefficient), value, line)
        total = context.fma(scale, line, total)
        scale = context.multiply(scale, shrink)
    exactly = Fraction(context.divide(total, Decimal(2**k)))
    return min(1.0, max(0.0, round_up(exactly * (1 + Fraction(1, 10**12)))))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _coefficients(k: int, j: int) -> list[int]:
    """2^k times the coefficient of e^{−jε₀(1+s)} (1 + s)^{−m}, m = 0..k, in the k-th power of the transform of S."""
    return [
        sum(
            math.comb(k, n) * math.comb(n, j) * math.comb(j, n - m) * (-1) ** (j - n + m)
            for n in range(max(j, m), min(k, m + j) + 1)
        )
        for m in range(k + 1)
    ]


def _truncated_means(width: Decimal, k: int, context: Context) -> list[Decimal]:
    """E[(1 − e^{2(X − width)})₊] for X = 0 and for X of the Gamma(m) law, m = 1..k."""
    grown, shrunk = context.exp(width), context.exp(context.minus(width))
    decay = context.multiply(shrunk, shrunk)
    below, tilted, power = context.subtract(Decimal(1), shrunk), context.subtract(grown, Decimal(1)), Decimal(1)
    means = [context.subtract(Decimal(1), decay)]
    for m in range(1, k + 1):
        means.append(context.subtract(below, context.multiply(decay, tilted)))
        power = context.divide(context.multiply(power, width), Decimal(m))
        below = context.subtract(below, context.multiply(power, shrunk))
        tilted = context.subtract(context.multiply(power, grown), tilted)
    return means


def randomized_response_delta(*, epsilon0: Number, k: int, epsilon: Number) -> float:
    """The smallest δ at ε of k randomized responses of ε₀ each: the worst k-fold ε₀-DP release.

    Theorem   Kairouz, Oh, Viswanath (2015).
    Requires  1 <= k <= 10**6, ε₀ > 0, ε >= 0.
    Rounds    up.
    """
    return optimal_delta(k=k, epsilon=epsilon0, delta=0, epsilon_total=epsilon)


def gaussian_delta(*, sigma: Number, l2: Number, k: int, epsilon: Number) -> float:
    """The smallest δ at ε of k Gaussian releases.

    Theorem   k releases are one of distance sqrt(k) l2: `GaussianShift.hockey_stick` at μ = sqrt(k) l2/σ.
    Requires  k >= 1, ε >= 0, and μ between 2**-40 and 2**20.
    Rounds    up.
    """
    return _gaussian(sigma=sigma, l2=l2, k=k).hockey_stick(epsilon=asked_epsilon(epsilon=epsilon))


def gaussian_exact_epsilon(*, sigma: Number, l2: Number, k: int, delta: Number) -> float:
    """The smallest ε at δ of k Gaussian releases.

    Theorem   `gaussian_delta`, which falls with ε, solved by `GaussianShift.approx_max_divergence`.
    Requires  k >= 1, 0 < δ < 1, and μ between 2**-40 and 2**20.
    Rounds    up.
    """
    return _gaussian(sigma=sigma, l2=l2, k=k).approx_max_divergence(delta=slack(delta=delta))


def _gaussian(*, sigma: Number, l2: Number, k: int) -> GaussianShift:
    """Noise of σ = 1 and a shift of at least sqrt(k) l2/σ: δ grows with the shift."""
    k = counted(k=k)
    require_within(lowest=Fraction(1, 2**60), highest=2**60, sigma=sigma, l2=l2)
    mu = sqrt_bounds(k * (exact(l2) / exact(sigma)) ** 2, bits=128)[1]
    require_within(lowest=Fraction(1, 2**40), highest=2**20, mu=mu)
    return GaussianShift(shift=mu, sigma=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledDelta:
    """δ in both directions: with the person against without, and the reverse."""

    remove: float
    add: float

    @property
    def delta(self) -> float:
        return max(self.remove, self.add)


def sampled_gaussian_delta(
    *, rate: Number, sigma: Number, l2: Number, epsilon: Number, neighbours: Neighbours
) -> SampledDelta:
    """The smallest δ at ε of Gaussian noise on a Poisson sample, in both directions.

    Theorem   with M = (1 − q) N(0) + q N(1): δ(M, N(0)) = q δ_G(ln(1 + (e^ε − 1)/q)), and with
              r = (e^{−ε} − 1 + q)/q, δ(N(0), M) = e^ε q r δ_G(ln(1/r)) for r > 0, else 0.
    Requires  0 < rate <= 1, 0 <= ε <= 700, add_remove.
    Rounds    up.
    """
    if neighbours is not Neighbours.ADD_REMOVE:
        raise Refused(
            f"no curve for Poisson sampling under {neighbours!r}",
            why="the two mixtures are those of a person who may be in the sample or not exist",
            fix="use add_remove",
        )
    require_within(lowest=Fraction(1, 2**60), highest=1, rate=rate)
    require_within(lowest=0, highest=700, epsilon=epsilon)
    noise, q, asked = _gaussian(sigma=sigma, l2=l2, k=1), exact(rate), exact(epsilon)
    low, high = exp_bounds(asked, bits=128)
    inner = max(Fraction(0), log_bounds(1 + (low - 1) / q, bits=128)[0])
    remove = q * exact(noise.hockey_stick(epsilon=inner))
    ratio = min(Fraction(1), (1 / low - 1 + q) / q)  # an upper bound of r, and r δ_G(ln(1/r)) grows with r
    add = Fraction(0)
    if ratio > 0:
        inner = max(Fraction(0), log_bounds(1 / ratio, bits=128)[0])
        add = high * q * ratio * exact(noise.hockey_stick(epsilon=inner))
    return SampledDelta(remove=round_up(remove), add=min(1.0, round_up(add)))


def laplace_and_gaussian_delta(*, laplace_epsilon0: Number, sigma: Number, l2: Number, epsilon: Number) -> float:
    """The smallest δ at ε of one Laplace release of ε₀ together with one Gaussian release.

    Theorem   δ(ε) = E[δ_G(ε − L)] over the Laplace loss L: an atom 1/2 at ε₀, an atom e^{−ε₀}/2 at −ε₀, and the
              density e^{(ℓ − ε₀)/2}/4 between. The integral in closed form: above.
    Requires  0 < ε₀ <= 64, 0 <= ε <= 1000, and μ = l2/σ between 2**-6 and 2**10.
    Rounds    up; values below 1e-300 to 1e-300.
    """
    size, asked = priced_epsilon(epsilon0=laplace_epsilon0), asked_epsilon(epsilon=epsilon)
    require_within(lowest=0, highest=64, laplace_epsilon0=laplace_epsilon0)
    require_within(lowest=0, highest=1000, epsilon=epsilon)
    shift = exact(_gaussian(sigma=sigma, l2=l2, k=1).shift)
    require_within(lowest=Fraction(1, 2**6), highest=2**10, mu=shift)
    # No term below is larger than 4, and a δ under 1e-300 is not looked at: so many digits may cancel.
    with working(DIGITS + 310):
        mu, near, far = decimal(shift), decimal(asked - size), decimal(asked + size)
        atoms = (_signed_gaussian(mu, near) + decimal(-size).exp() * _signed_gaussian(mu, far)) / 2
        between = (near / 2).exp() * (_antiderivative(mu, far) - _antiderivative(mu, near)) / 4
        return min(1.0, float_above(max(atoms + between, _SMALLEST)))


def _signed_gaussian(mu: Decimal, epsilon: Decimal) -> Decimal:
    """δ_G(x) = Pr[N > x/μ − μ/2] − e^x Pr[N > x/μ + μ/2] at any real x = `epsilon`, to the digits of the block."""
    return normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)


def _antiderivative(mu: Decimal, x: Decimal) -> Decimal:
    """A function of x with the derivative e^{−x/2} δ_G(x)."""
    growing, falling = (x / 2).exp(), (-x / 2).exp()
    middle = 2 * (-mu * mu / 8).exp() * normal_tail(x / mu)
    return 2 * (middle - falling * normal_tail(x / mu - mu / 2) - growing * normal_tail(x / mu + mu / 2))
