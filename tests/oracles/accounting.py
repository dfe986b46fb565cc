"""Other prices and the curves behind prices, which the accountants are measured by."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpsql.accounting.basic import survival
from dpsql.accounting.heterogeneous import _Losses
from dpsql.accounting.limits import priced_lists
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import Number


def heterogeneous_delta(*, epsilons: Sequence[Number], deltas: Sequence[Number], epsilon_total: Number) -> float:
    """The curve that `heterogeneous_epsilon` inverts, at one ε: Murtagh, Vadhan (2016), Theorem 1.5."""
    pairs = priced_lists(epsilons=epsilons, deltas=deltas)
    pure = _Losses([epsilon for epsilon, _ in pairs]).delta(exact(epsilon_total))
    return round_up(1 - survival(Counter(delta for _, delta in pairs).items()) * (1 - min(Fraction(1), exact(pure))))


def standard_epsilon(*, rho: float, delta: float) -> float:
    """An ε with (ε, δ)-DP for any ρ-zCDP release: Bun, Steinke (2016), Proposition 1.3."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def standard_rho(*, epsilon: float, delta: float) -> float:
    """The ρ whose standard conversion at δ is ε."""
    log = math.log(1 / delta)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2


def amplified_response(*, epsilon: float, rate: float) -> float:
    """The loss of randomized response on a Poisson sample of one person, which answers as for "no" when left out."""
    lie = 1 / (1 + math.exp(epsilon))
    without, within = (1 - lie, lie), (lie, 1 - lie)
    sampled = [(1 - rate) * a + rate * b for a, b in zip(without, within, strict=True)]
    return max(abs(math.log(a / b)) for a, b in zip(sampled, without, strict=True))
