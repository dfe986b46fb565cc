"""What a slot measures, in the words of the query and of the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.plan.wording import plural
from dpsql.sql.bound import Bounded
from dpsql.sql.call_text import call_text
from dpsql.sql.outputs import Aggregate, chosen
from dpsql.sql.pairing import both_known, paired
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.slots import Slot, SlotKind
from dpsql.sql.words import PAIRS


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
