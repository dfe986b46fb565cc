"""Running a release on a random sample of the people, and what that is worth."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from dpsql.accounting.limits import priced_epsilon, require_within
from dpsql.enclosure import exp_bounds, log_bounds
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number, require_delta, require_positive, require_probability, require_type


class Scheme(Enum):
    """How the sample is drawn."""

    POISSON = "poisson"
    """Every person enters by an own coin of probability `rate`. A theorem here for neighbours by add_remove."""

    WITHOUT_REPLACEMENT = "without_replacement"
    """A uniform set of m of the n people; `rate` is m/n. A theorem here for neighbours by change_one."""


def _require_rate(*, rate: Number) -> None:
    """A share of the people that is not nothing; 1 is everybody, and amplifies nothing."""
    require_positive(rate=rate)
    require_probability(rate=rate)


def amplify(*, epsilon: Number, delta: Number, rate: Number, scheme: Scheme) -> PrivacyParams:
    """The (ε', δ') of an (ε, δ)-DP release run on a sample, under the one relation of its scheme.

    Theorem   Balle, Barthe, Gaboardi (2018), Thm. 8 and 9:  ε' = ln(1 + q (e^ε − 1)),  δ' = q δ.
    Requires  the sample is fresh, secret and drawn as the scheme says; 0 < rate <= 1.
    Rounds    up.
    """
    size = priced_epsilon(epsilon=epsilon)
    require_delta(delta=delta)
    _require_rate(rate=rate)
    require_type(Scheme, scheme=scheme)
    q = exact(rate)
    # ln(1 + q (e^ε − 1)) = ε + ln(q + (1 − q) e^−ε): the exponential is at most 1, whatever ε.
    small = exp_bounds(-min(size, Fraction(2048)), bits=128)[1]
    inner = size + log_bounds(q + (1 - q) * small, bits=128)[1]
    return PrivacyParams(epsilon=round_up(inner), delta=round_up(q * exact(delta)))


def base_epsilon(*, target_epsilon: Number, rate: Number, scheme: Scheme) -> float:
    """The largest ε of a release that is `target_epsilon`-DP once it runs on a sample.

    Theorem   `amplify` solved for ε:  ε = ln(1 + (e^ε' − 1) / q).
    Requires  as `amplify`; the e^ε' of a target above 700 is refused.
    Rounds    down.
    """
    target = priced_epsilon(target_epsilon=target_epsilon)
    require_within(lowest=0, highest=700, target_epsilon=target_epsilon)
    _require_rate(rate=rate)
    require_type(Scheme, scheme=scheme)
    low = exp_bounds(target, bits=128)[0]
    return max(0.0, round_down(log_bounds(1 + (low - 1) / exact(rate), bits=128)[0]))
