"""How large a whole number can be, from the expression alone.

Nothing is believed that the statement does not enforce: a column of the data has no range, whatever was declared for
it, until `clamp_whole` moved it into one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.states import Facts, Range, refused, whole
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar

LARGEST: Final = 2**126
"""Sums and products are taken in 128 bits with a sign; the last bit but one is spare."""
LARGEST_DIFFERENCE: Final = 2**63
"""Differences are taken in 64 bits with a sign."""


def type_of(scalar: Scalar, facts: Facts) -> SqlType | None:
    """Of the value the engine will have: columns by where they come from, not by what refers to them."""
    return facts[scalar.id].type if isinstance(scalar, ColumnRef) else scalar.type


def range_of(scalar: Scalar, facts: Facts) -> Range:
    """The range of an expression; without ends where it is not a whole number or nothing bounds it."""
    if type_of(scalar, facts) is not SqlType.INTEGER:
        return Range()
    match scalar:
        case ColumnRef():
            return facts[scalar.id].range
        case Constant():
            number = whole(scalar)
            return Range() if number is None else Range(low=number, high=number, null=False, sure=True)
        case Apply():
            rule, wanted = _RULES.get(scalar.function, (_unbounded, None))
            if wanted is not None and len(scalar.arguments) != wanted:
                raise refused(f"{scalar.function} with a wrong number of arguments")
            return rule(scalar.arguments, facts)
        case _:
            return Range()


def largest_of(scalar: Scalar, facts: Facts) -> int:
    """No whole number of the engine is larger, on either side of 0: 64 bits, or the grains of a bounded double."""
    if type_of(scalar, facts) is not SqlType.INTEGER:
        raise refused("fractions are added up, in an order that nothing settles")
    match scalar:
        case Apply("fine_grains", (_, lower, upper, low, high, per_unit)):
            numbers = [part.value for part in (lower, upper, low, high, per_unit) if isinstance(part, Constant)]
            exact = [Fraction(number) for number in numbers if isinstance(number, int | Fraction)]
            if len(exact) != 5:
                raise refused("grains between limits that are not literals")
            most = max(abs(exact[0]), abs(exact[1])) * abs(exact[4])
            return ceil(max(most, abs(exact[2]), abs(exact[3]))) + 1
        case _:
            return LARGEST_DIFFERENCE


def ends(range_: Range) -> tuple[int, int]:
    """Both ends of a range that must have them."""
    if range_.low is None or range_.high is None:
        raise refused("arithmetic on a number that nothing bounds")
    return range_.low, range_.high


def require_fits(*numbers: int) -> None:
    """No value, and no intermediate one, leaves the engine's integers."""
    if max(map(abs, numbers)) >= LARGEST:
        raise refused("a number could leave the engine's integers")


def added(range_: Range, *, times: int) -> Range:
    """The range of a sum of at most so many values; NULLs are passed over, no value at all gives NULL."""
    low, high = ends(range_)
    require_fits(times * low, times * high)
    return Range(low=times * min(low, 0), high=times * max(high, 0), null=True, sure=range_.sure)


_Arguments = Sequence[Scalar]


def _unbounded(_arguments: _Arguments, _facts: Facts) -> Range:
    return Range()


def _integer(scalar: Scalar, facts: Facts) -> Range:
    if type_of(scalar, facts) is not SqlType.INTEGER:
        raise refused("arithmetic on something that is not a whole number")
    return range_of(scalar, facts)


def _literal(scalar: Scalar) -> int:
    number = whole(scalar)
    if number is None:
        raise refused("a limit that is not a literal")
    return number


def _clamp(arguments: _Arguments, facts: Facts) -> Range:
    value, lowest, highest = arguments
    low, high = _literal(lowest), _literal(highest)
    if low > high:
        raise refused("a clamp between limits in the wrong order")
    require_fits(low, high)
    return Range(low=low, high=high, null=_integer(value, facts).null, sure=True)


def _or_zero(arguments: _Arguments, facts: Facts) -> Range:
    (value,) = arguments
    range_ = _integer(value, facts)
    if range_.low is None or range_.high is None:
        return replace(range_, null=False)
    return replace(range_, low=min(range_.low, 0), high=max(range_.high, 0), null=False)


def _minus(arguments: _Arguments, facts: Facts) -> Range:
    value, amount = arguments
    range_, number = _integer(value, facts), _literal(amount)
    low, high = ends(range_)
    if max(abs(end) for end in (low, high, number, low - number, high - number)) >= LARGEST_DIFFERENCE:
        raise refused("a difference could leave 64 bits")
    return replace(range_, low=low - number, high=high - number)


def _times(arguments: _Arguments, facts: Facts) -> Range:
    value, amount = arguments
    range_, number = _integer(value, facts), _literal(amount)
    products = [number * end for end in ends(range_)]
    require_fits(*products)
    return replace(range_, low=min(products), high=max(products))


def _squared(arguments: _Arguments, facts: Facts) -> Range:
    (value,) = arguments
    range_ = _integer(value, facts)
    low, high = ends(range_)
    require_fits(low * low, high * high)
    smallest = 0 if low <= 0 <= high else min(low * low, high * high)
    return replace(range_, low=smallest, high=max(low * low, high * high))


def _multiplied(arguments: _Arguments, facts: Facts) -> Range:
    one, two = (_integer(argument, facts) for argument in arguments)
    products = [a * b for a in ends(one) for b in ends(two)]
    require_fits(*products)
    return Range(low=min(products), high=max(products), null=one.null or two.null, sure=one.sure and two.sure)


def _plus(arguments: _Arguments, facts: Facts) -> Range:
    parts = [_integer(argument, facts) for argument in arguments]
    low, high = (sum(side) for side in zip(*map(ends, parts), strict=True))
    require_fits(low, high, *(end for part in parts for end in ends(part)))
    return Range(low=low, high=high, null=any(part.null for part in parts), sure=all(part.sure for part in parts))


def _down_weighted(arguments: _Arguments, facts: Facts) -> Range:
    """total · min(1, cap/count) toward zero lies between 0 and the total."""
    total, count, cap = arguments
    range_, number = _integer(total, facts), _literal(cap)
    _integer(count, facts)
    if number < 1:
        raise refused("a cap below 1")
    low, high = ends(range_)
    require_fits(low * number, high * number)
    return replace(range_, low=min(low, 0), high=max(high, 0), null=True)


def _shrink(arguments: _Arguments, facts: Facts) -> Range:
    """A value times a factor between 0 and 1, toward zero. `ball` refuses every other factor."""
    value, _factor = arguments
    range_ = _integer(value, facts)
    low, high = ends(range_)
    return replace(range_, low=min(low, 0), high=max(high, 0), null=True)


_RULES: Final[Mapping[str, tuple[Callable[[_Arguments, Facts], Range], int | None]]] = {
    "clamp_whole": (_clamp, 3),
    "or_zero": (_or_zero, 1),
    "minus": (_minus, 2),
    "times": (_times, 2),
    "squared": (_squared, 1),
    "multiplied": (_multiplied, 2),
    "plus": (_plus, None),
    "down_weighted": (_down_weighted, 3),
    "shrink": (_shrink, 2),
}
"""Every function that keeps a number bounded, with its number of arguments. All others lose all bounds."""
