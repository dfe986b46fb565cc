"""How explanations say numbers, people, values and slots: one way, wherever they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Value
from dpsql.catalog.types import SqlType
from dpsql.safe_text import THIN
from dpsql.sql.bound import Bounded
from dpsql.sql.clauses import call_text
from dpsql.sql.outputs import Aggregate, both_known, chosen, paired
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.slots import Slot, SlotKind
from dpsql.sql.words import PAIRS

_DIGITS: Final = 6
_EXACT_DIGITS: Final = 12
_SMALL: Final = Fraction(1, 10**4)
_LONG: Final = 10**12
_MOST_LISTED: Final = 6


def amount(value: int | Fraction) -> str:
    """A price, a scale or a bound: exact where it has at most twelve digits, else six of them, rounded up."""
    return _decimal(Fraction(value), rounding=ROUND_CEILING)


def about(value: int | float | Fraction) -> str:
    """A number that only gives an idea: to six digits."""
    return _decimal(Fraction(value), rounding=ROUND_HALF_EVEN)


def left_amount(value: Fraction) -> str:
    """What is left of a budget: as `amount`, rounded down."""
    return _decimal(value, rounding=ROUND_FLOOR)


def five_digits(value: Fraction) -> str:
    """At most five digits, rounded up: factors and chances."""
    return _decimal(value, rounding=ROUND_CEILING, exact=5, else_digits=5)


def _decimal(value: Fraction, *, rounding: str, exact: int = _EXACT_DIGITS, else_digits: int = _DIGITS) -> str:
    with localcontext() as context:
        context.rounding = rounding
        for digits in (exact, else_digits):
            context.prec = digits
            quotient = Decimal(value.numerator) / Decimal(value.denominator)
            if Fraction(quotient) == value:
                break
        if value and not _SMALL <= abs(value) < _LONG:
            digits_shown, _, exponent = f"{quotient.normalize():e}".partition("e")
            return f"{digits_shown}e{int(exponent)}"
        whole, point, rest = f"{quotient.normalize():f}".partition(".")
    sign, digits_before = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits_before):,}".replace(",", THIN) + point + rest


def margin_text(margin: Fraction) -> str:
    """A margin as it is printed, never below what it is: whole from 100 on, else to two digits."""
    if margin == 0:
        return "0"
    if margin >= 100 or margin.denominator == 1:
        return amount(math.ceil(margin))
    places = 1 - math.floor(math.log10(margin))
    return amount(Fraction(math.ceil(margin * 10**places), 10**places))


def percent(share: Fraction) -> str:
    """0.95 as 95 %."""
    return f"{amount(100 * share)} %"


def grain_text(size: Fraction) -> str:
    """A grain: a power of two below 1, or a whole number."""
    return f"2^-{size.denominator.bit_length() - 1}" if size.numerator == 1 and size < 1 else amount(size)


def value_text(value: Value) -> str:
    """A key or a bound as it would be written in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case Fraction():
            return amount(value).replace(THIN, "")
        case datetime() | date():
            return value.isoformat()
        case _:
            return value


def some(values: Iterable[str]) -> str:
    """The first few, and how many there are."""
    listed = list(values)
    if len(listed) <= _MOST_LISTED:
        return ", ".join(listed)
    return f"{', '.join(listed[:_MOST_LISTED])}, … ({amount(len(listed))} in all)"


def plural(name: str) -> str:
    """Several of them, as English says it most of the time."""
    if name.endswith("person"):
        return name.removesuffix("person") + "people"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("s", "x", "ch", "sh")) else "s")


def counted(number: int, name: str) -> str:
    """1 patient, 2 patients."""
    return f"{amount(number)} {name if number == 1 else plural(name)}"


def unit_name(query: Resolved) -> str:
    """Whom the promise protects: a patient, or one row where rows are protected one by one."""
    return "row" if protects_rows(query) else query.catalog.policy.person.name


def protects_rows(query: Resolved) -> bool:
    tables = query.catalog.policy.tables
    return bool(query.private_tables) and all(tables[name].unit_row for name in query.private_tables)


def subject(slot: Slot, query: Resolved) -> str:
    """What stands inside the aggregate: `charge`, `2 * age`."""
    argument = slot.argument
    if isinstance(argument, Apply) and argument.function == "to_double":
        (argument,) = argument.arguments
    if isinstance(argument, ColumnRef) and query.findings.columns[argument.id].name:
        return query.findings.columns[argument.id].name
    for aggregate in query.aggregates:
        if aggregate.function in PAIRS and (of := _of_pair(aggregate, slot, query)):
            return of
        if aggregate.arguments and argument in _read_by(aggregate):
            written = call_text(aggregate.text).argument or "the value"
            return f"{'filtered ' if aggregate.filter is not None else ''}{written}"
    return "the value"


def _of_pair(aggregate: Aggregate, slot: Slot, query: Resolved) -> str | None:
    """`age`, or `age and weight` of what is counted or multiplied."""
    names = [
        query.findings.columns[each.id].name if isinstance(each, ColumnRef) else f"the {place} value"
        for place, each in zip(("first", "second"), aggregate.arguments, strict=True)
    ]
    both = f"{names[0]} and {names[1]}"
    readings = dict(zip(paired(aggregate), names, strict=True))
    if slot.argument == both_known(aggregate):
        return both
    return None if slot.argument not in readings else both if slot.partner else readings[slot.argument]


def counted_things(slot: Slot, query: Resolved) -> str:
    """What a count counts: rows, rows that match a FILTER, or values."""
    if slot.kind is SlotKind.ROWS:
        return "rows"
    stars = (each for each in query.aggregates if not each.arguments and each.filter is not None)
    if any(slot.argument in _read_by(each) for each in stars):
        return "filtered rows"
    return f"values of {subject(slot, query)}"


def _read_by(aggregate: Aggregate) -> list[Scalar | None]:
    """What a slot of this aggregate may have as its argument."""
    plain: Scalar = aggregate.arguments[0] if aggregate.arguments else Constant(1, SqlType.INTEGER)
    forms = [plain]
    if plain.type is SqlType.BOOLEAN:
        forms.append(Apply("to_integer", (plain,), SqlType.INTEGER))
    forms += [Apply("to_double", (form,), SqlType.DOUBLE) for form in forms]
    return [chosen(form, aggregate.filter) for form in forms]


def counts_people(slot: Slot, query: Resolved) -> bool:
    """COUNT(DISTINCT person) alone asks for this slot: no row of a person is lost by counting them once."""
    if slot.cap != 1 or not slot.counts:
        return False
    asking = [each for each in query.aggregates if each.function == "count" and _asks(each, slot)]
    return bool(asking) and all(each.distinct for each in asking)


def asked_by_count(slot: Slot, query: Resolved) -> bool:
    """Whether somebody asks for this number itself, and not only for a mean that is made with it."""
    return any(each.function == "count" and _asks(each, slot) for each in query.aggregates)


def _asks(aggregate: Aggregate, slot: Slot) -> bool:
    """Whether this COUNT may be the one that a slot of rows or values answers."""
    if slot.kind is SlotKind.VALUES:
        return slot.argument in _read_by(aggregate)
    return aggregate.filter is None and (aggregate.distinct or not aggregate.arguments)


_TITLES: Final[Mapping[SlotKind, Callable[[str], str]]] = {
    SlotKind.SUM: lambda of: f"the sum of {of}",
    SlotKind.CENTRED: lambda of: f"the sum of {of}, each less the middle of its bounds",
    SlotKind.MEAN: lambda of: f"the sum of one average of {of} each, less the middle of its bounds",
    SlotKind.SQUARES: lambda of: f"the sum of squares of {of}, each less the middle of its bounds",
    SlotKind.PRODUCTS: lambda of: f"the sum of products of {of}, each less the middle of its bounds",
    SlotKind.DISTINCT: lambda of: f"the number of different values of {of}",
}


def title(slot: Slot, bounded: Bounded) -> str:
    """The slot as a quantity."""
    query = bounded.query
    if counts_people(slot, query):
        return f"the number of {plural(unit_name(query))}"
    if slot.kind in _TITLES:
        return _TITLES[slot.kind](subject(slot, query))
    return f"the number of {counted_things(slot, query)}"


def in_one_group(bounded: Bounded) -> str:
    """Caps hold inside each group where there are groups."""
    return " in one group" if bounded.query.keys else ""
