"""What a promise to one is worth to several, and what one neighbour relation says about the other."""

from __future__ import annotations

from math import inf
from typing import Final

from dpsql.enclosure import exp_bounds
from dpsql.errors import NoTheorem, Refused
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, require_count, require_delta, require_non_negative

_NO_PROMISE: Final = 20_000
"""exp(20 000) times any float δ above 0 is far above 1; the power need not be computed."""


def group_delta(*, epsilon: Number, delta: Number, size: int) -> float:
    """The δ of an (ε, δ) promise for groups of `size`: δ (exp(kε) - 1)/(exp(ε) - 1). From 1 on it promises nothing.

    Theorem   k hybrid steps: δ_1 = δ, δ_{j+1} = exp(ε) δ_j + δ (docs/theorems/group_privacy.md).
    Requires  ε >= 0, 0 <= δ < 1, size >= 1.
    Rounds    up; inf where the number is of no interest.
    """
    require_non_negative(epsilon=epsilon)
    require_delta(delta=delta)
    require_count(size=size)
    loss, slack = exact(epsilon), exact(delta)
    if slack == 0 or loss == 0 or size == 1:
        return round_up(slack * size)  # no power is needed, and nothing is lost
    if loss * size > _NO_PROMISE:
        return inf
    bits = 96 + max(0, loss.denominator.bit_length() - loss.numerator.bit_length())  # exp(ε) - 1 keeps its digits
    return round_up(slack * (exp_bounds(loss * size, bits=bits)[1] - 1) / (exp_bounds(loss, bits=bits)[0] - 1))


def group_privacy(params: PrivacyParams, *, size: int) -> PrivacyParams:
    """The promise that an (ε, δ) promise to one contains for a group of `size`: (kε, δ (exp(kε) - 1)/(exp(ε) - 1)).

    Theorem   Dwork, Roth (2014), Theorem 2.2 for δ = 0; Vadhan (2017), Lemma 2.2 (docs/theorems/group_privacy.md).
    Requires  size >= 1; refused with "no promise for groups of k" where the new δ reaches 1.
    Rounds    up, both numbers.
    """
    delta = group_delta(epsilon=params.epsilon, delta=params.delta, size=size)
    epsilon = round_up(exact(params.epsilon) * size)
    if delta >= 1 or epsilon == inf:
        raise Refused(
            f"no promise for groups of {size}",
            why="the slack δ grows by exp(ε) with each further member and has reached 1, where nothing is promised",
            fix="use a smaller δ or ε, a pure promise (δ = 0), or protect the whole group as one unit",
        )
    return PrivacyParams(epsilon=epsilon, delta=delta)


def convert_relation(params: PrivacyParams, *, given: Neighbours, wanted: Neighbours) -> PrivacyParams:
    """The promise under `wanted` neighbours that follows from one under `given` neighbours.

    Theorem   changing a row is removing it and adding another: two add/remove steps, so group privacy with k = 2.
              The other way nothing follows: a change-one promise may print the number of rows
              (docs/theorems/neighbour_relations.md).
    Requires  given = wanted, or add/remove to change-one.
    Rounds    up.
    """
    require_neighbours(given)
    require_neighbours(wanted)
    if given is wanted:
        return params
    if given is Neighbours.ADD_REMOVE:
        return group_privacy(params, size=2)
    raise NoTheorem(
        "a change-one promise says nothing about adding or removing a row",
        why="it compares databases of equal size only; an exact count of all rows keeps it with ε = 0",
        fix="calibrate the mechanism for add/remove neighbours from the start",
    )
