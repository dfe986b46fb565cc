"""What is done with released rows: free, because nothing private is read any more (post-processing)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Sorted, columns_of

SEEN_AT_ONCE: Final = 24
"""So many rows are seen in every picture and on every screen; longer answers are cut there."""


class Part(Enum):
    """What of a number with a margin is shown."""

    LOW = "low"
    HIGH = "high"
    MARGIN = "margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    name: str
    expression: Scalar
    possible: Scalar | None = None
    """What holds for released columns that rows can be behind: no variance is negative. None: always."""
    part: Part | None = None
    """Only this of the number, as a plain one; NULL where there is no margin."""
    interval: bool = True
    """False: it is calculated with what another question released, whose noise is not in the margin of this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """SELECT [DISTINCT] outputs FROM released [HAVING] [QUALIFY] [ORDER BY] [LIMIT] [OFFSET].

    Expressions read the columns of the released table by their numbers: keys, then slots.
    """

    outputs: tuple[OutputColumn, ...]
    having: Scalar | None = None
    distinct: bool = False
    order_by: tuple[Sorted, ...] = ()
    limit: int | None = None
    offset: int = 0
    qualify: Scalar | None = None

    def mapped(self, change: Callable[[Scalar], Scalar]) -> Finish:
        """The same, with every expression changed."""

        def perhaps(scalar: Scalar | None) -> Scalar | None:
            return None if scalar is None else change(scalar)

        return replace(
            self,
            outputs=tuple(
                replace(output, expression=change(output.expression), possible=perhaps(output.possible))
                for output in self.outputs
            ),
            having=perhaps(self.having),
            qualify=perhaps(self.qualify),
            order_by=tuple(replace(key, by=change(key.by)) for key in self.order_by),
        )

    def deciding(self, keys: Collection[int], *, groups: int) -> frozenset[int]:
        """The columns of the released table that decide which of its rows are shown. LIMIT leaves none of at most so
        many `groups` out, and DISTINCT none of rows that show all `keys`. Of a long answer the first rows are seen."""
        conditions = [condition for condition in (self.having, self.qualify) if condition is not None]
        seen = SEEN_AT_ONCE if self.limit is None else min(self.limit, SEEN_AT_ONCE)
        cut = [key.by for key in self.order_by] if self.offset or seen < groups else []
        shown = {output.expression.id for output in self.outputs if isinstance(output.expression, ColumnRef)}
        merged = [output.expression for output in self.outputs] if self.distinct and not shown.issuperset(keys) else []
        return frozenset().union(*map(columns_of, (*conditions, *cut, *merged)))


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
