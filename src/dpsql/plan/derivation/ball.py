"""All groups of a person, scaled together into an L2 ball: the one pattern that is trusted, node by node.

    norm    per unit, the sum over all its rows of Σ_j (w_j · a_j)²       a Group by the owner alone
    factor  min(1, R(1 − 2^-40)/√norm)                                    beside the very rows of that sum
    shrink  a_j · factor, toward zero

Then Σ (w_j · shrunk_j)² over the rows of one unit is at most R². Proof: docs/theorems/derivation.md.
"""

from __future__ import annotations

from typing import Final

from dpsql.plan.derivation.ranges import ends, range_of, require_fits
from dpsql.plan.derivation.states import Coordinate, Factor, Facts, Norm, Owned, Role, refused, whole
from dpsql.sql.relations import Total
from dpsql.sql.scalars import Apply, ColumnRef, Scalar, columns_of, substituted

LARGEST_COORDINATE: Final = 2**53
"""Below it a double holds every whole number."""


def meaning_of(scalar: Scalar, facts: Facts) -> Scalar:
    """The expression over the row of the basis."""
    if isinstance(scalar, ColumnRef):
        return facts[scalar.id].meaning or scalar
    meanings = ((number, facts[number].meaning) for number in columns_of(scalar))
    known = {number: meaning for number, meaning in meanings if meaning is not None}
    return substituted(scalar, known) if known else scalar


def norm_of(total: Total, state: Owned) -> Norm | None:
    """What a sum per unit is a norm of. The caller has seen that the unit alone is grouped by."""
    if total.function != "sum" or total.argument is None or state.part:
        return None
    if range_of(total.argument, state.facts).null:
        return None  # a NULL term would hide the other terms of its row from the sum
    meant = meaning_of(total.argument, state.facts)
    squares = meant.arguments if isinstance(meant, Apply) and meant.function == "plus" else (meant,)
    terms = []
    for square in squares:
        if not (isinstance(square, Apply) and square.function == "squared"):
            return None
        terms.append(square.arguments[0])
    return Norm(state.basis, tuple(terms))


def role_of(scalar: Scalar, state: Owned) -> Role | None:
    """What a new column is in the pattern; `factor` and `shrink` anywhere else are refused."""
    if isinstance(scalar, ColumnRef):
        return state.facts[scalar.id].role
    match scalar:
        case Apply("factor", (ColumnRef(id=number), limit)):
            return _factor(state.facts[number].role, whole(limit))
        case Apply("shrink", (amount, ColumnRef(id=number))):
            return _coordinate(amount, state.facts[number].role, state)
        case _:
            _require_free(scalar)
            return None


def _require_free(scalar: Scalar) -> None:
    if isinstance(scalar, Apply):
        if scalar.function in {"factor", "shrink"}:
            raise refused("a factor outside of the pattern that bounds a norm")
        for argument in scalar.arguments:
            _require_free(argument)


def _factor(role: Role | None, radius_squared: int | None) -> Factor:
    if not isinstance(role, Norm):
        raise refused("a factor of something that is not the norm of a unit")
    if radius_squared is None or radius_squared < 1:
        raise refused("a ball without a radius")
    require_fits(radius_squared)
    return Factor(role, radius_squared)


def _coordinate(amount: Scalar, role: Role | None, state: Owned) -> Coordinate:
    _require_free(amount)
    if not isinstance(role, Factor):
        raise refused("a number is scaled by something that is not a factor")
    norm = role.norm
    if not (norm.basis is state.basis or norm.basis == state.basis):
        raise refused("numbers are scaled by the norm of other rows")
    range_ = range_of(amount, state.facts)
    if max(map(abs, ends(range_))) >= LARGEST_COORDINATE or range_.null:
        raise refused("a scaled number does not fit a double, or may be NULL")
    meant = meaning_of(amount, state.facts)
    for index, term in enumerate(norm.terms):
        weight = _weight(term, meant)
        if weight is not None:
            return Coordinate(role, index, weight)
    raise refused("a number is scaled by a norm it is not part of")


def _weight(term: Scalar, amount: Scalar) -> int | None:
    """w, where the term is w · amount; times 1 is not written."""
    if term == amount:
        return 1
    match term:
        case Apply("times", (inside, weight)) if inside == amount:
            number = whole(weight)
            return number if number is not None and number >= 1 else None
        case _:
            return None
