"""Which expressions over released numbers are linear: their noise has a law that can be computed exactly."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearForm:
    """constant + Σ weight · column. No weight is 0, so that n − n has no weights at all."""

    constant: Fraction = Fraction(0)
    weights: Mapping[int, Fraction] = field(default_factory=dict)


def linear_form(scalar: Scalar, slots: Container[int]) -> LinearForm | None:
    """The expression as a constant plus weighted slots, or None where it is anything else.

    Only sums, differences, signs, and products and quotients with constants are read, and `to_double` is looked
    through; a key, a NULL, a division by 0, a cast to an integer and every other function give None.
    """
    match scalar:
        case ColumnRef(id=number) if number in slots:
            return LinearForm(weights={number: Fraction(1)})
        case Constant(value=bool() | None):
            return None
        case Constant(value=int() | Fraction() as value):
            return LinearForm(constant=Fraction(value))
        case Apply(function=name, arguments=arguments) if name in _RULES:
            forms = [linear_form(argument, slots) for argument in arguments]
            known = [form for form in forms if form is not None]
            return _RULES[name](known) if len(known) == len(forms) else None
        case _:
            return None


_Rule: TypeAlias = Callable[[list[LinearForm]], LinearForm | None]


def _scaled(form: LinearForm, by: Fraction) -> LinearForm:
    weights = {number: weight * by for number, weight in form.weights.items() if by}
    return LinearForm(constant=form.constant * by, weights=weights)


def _added(forms: list[LinearForm]) -> LinearForm:
    weights: dict[int, Fraction] = {}
    for form in forms:
        for number, weight in form.weights.items():
            weights[number] = weights.get(number, Fraction(0)) + weight
    kept = {number: weight for number, weight in weights.items() if weight}
    return LinearForm(constant=sum((form.constant for form in forms), Fraction(0)), weights=kept)


def _subtracted(forms: list[LinearForm]) -> LinearForm:
    first, *others = forms
    return _added([first, *(_scaled(form, Fraction(-1)) for form in others)])


def _multiplied(forms: list[LinearForm]) -> LinearForm | None:
    product = LinearForm(constant=Fraction(1))
    for form in forms:
        if product.weights and form.weights:
            return None
        product = _scaled(form, product.constant) if form.weights else _scaled(product, form.constant)
    return product


def _divided(forms: list[LinearForm]) -> LinearForm | None:
    top, bottom = forms
    return None if bottom.weights or not bottom.constant else _scaled(top, 1 / bottom.constant)


_RULES: Final[Mapping[str, _Rule]] = {
    "add": _added,
    "sub": _subtracted,
    "mul": _multiplied,
    "div": _divided,
    "neg": lambda forms: _scaled(forms[0], Fraction(-1)),
    "to_double": lambda forms: forms[0],
}
