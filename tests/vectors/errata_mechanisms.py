"""Formulas of the notes that are wrong, kept to show that they are. Used by readings and tests, never by a release."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dpsql.mechanisms.normal import standard_tail_quantile
from dpsql.privacy.digits import decimal, working
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_epsilon, require_open_unit, require_positive


def classic_sigma_without_its_precondition(*, l2: Number, epsilon: Number, delta: Number) -> float:
    """The textbook Gaussian σ for any ε. Proved for ε < 1 only; for large ε its true δ is above the one claimed."""
    require_positive(l2=l2)
    require_epsilon(epsilon=epsilon)
    require_open_unit(delta=delta)
    with working():
        return float(decimal(exact(l2) / exact(epsilon)) * (2 * decimal(Fraction(5, 4) / exact(delta)).ln()).sqrt())


def gaussian_accuracy_with_the_root_around_everything(
    *, l2: Number, epsilon: Number, delta: Number, beta: Number
) -> float:
    """The α of one table: erfinv(1 - β) slipped under the square root. The right one is σ sqrt(2) erfinv(1 - β)."""
    require_open_unit(beta=beta)
    inverse = standard_tail_quantile(float(beta) / 2) / math.sqrt(2)
    sigma = classic_sigma_without_its_precondition(l2=l2, epsilon=epsilon, delta=delta)
    return math.sqrt(2) * sigma * math.sqrt(inverse)


def normal_density_divided_by_the_variance(*, x: Number, sigma: Number) -> float:
    """The normal density as one slide prints it, with σ² where σ belongs: its integral is 1/σ."""
    require_positive(sigma=sigma)
    with working():
        size = decimal(exact(x) / exact(sigma))
        return float((-size * size / 2).exp() / decimal(exact(sigma)) ** 2 / Decimal(2 * math.pi).sqrt())
