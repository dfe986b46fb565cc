"""Where a bound can bite: a margin covers the bounded quantity, and these sentences say how it may differ.

They follow from the plan, so that they are the same whether or not any row is touched by a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Mode
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep
from dpsql.plan.wording import (
    amount,
    asked_by_count,
    counted,
    counted_things,
    counts_people,
    in_one_group,
    plural,
    subject,
    unit_name,
)
from dpsql.sql.bound import Bounded
from dpsql.sql.intervals import Interval
from dpsql.sql.keys import Domain, PrivateKey
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Group, Project, Relation, Window, inputs
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, walk
from dpsql.sql.slots import Slot, SlotKind

_FOUND: Final = "the groups are those that were found before; they were not looked for again"


def caveats(plan: Plan) -> tuple[str, ...]:
    """One sentence for each bound that may change an answer, in the order of the query."""
    if not plan.steps:
        return ()
    bounded = plan.bounded
    found = [note for placed in bounded.slots for note in _of_slot(placed.slot, bounded)]
    found += _of_rounded(bounded)
    found += _of_each_person(bounded)
    found += _of_ratios(bounded)
    found += _of_groups(plan)
    found += [
        note for key, domain in zip(bounded.query.keys, bounded.domains, strict=True) for note in _of_key(key, domain)
    ]
    found += [hidden_groups(step, plan) for step in plan.steps if isinstance(step, SelectionStep)]
    found += [_FOUND] if plan.finer is not None and plan.finer.people is not None else []
    return tuple(dict.fromkeys(found))


def _of_slot(slot: Slot, bounded: Bounded) -> Iterator[str]:
    if slot.partner is not None:
        return  # both values have a slot of their own, which says it
    if slot.argument is not None and slot.grain is not None:
        low, high = Fraction(slot.grain.lower), Fraction(slot.grain.upper)
        # where type, expression and filters do not keep every value inside
        if not bounded.query.findings.kept(slot.argument).within(Interval(low, high)):
            yield f"{subject(slot, bounded.query)} counts within {amount(low)} and {amount(high)}"
    said = counts_people(slot, bounded.query) or _said_of_the_mean(slot, bounded)
    if not bounded.one_row_each and not said:
        name = counted_things if slot.kind in (SlotKind.ROWS, SlotKind.VALUES) else subject
        of = f"{name(slot, bounded.query)} of one {unit_name(bounded.query)}{in_one_group(bounded)}"
        yield _CAPS[slot.kind](slot, of)


def _beyond(slot: Slot, of: str) -> str:
    return f"{of} beyond {amount(slot.cap)} are not counted"


def _sum_beyond(slot: Slot, of: str) -> str:
    low, high = amount(slot.low * slot.size), amount(slot.high * slot.size)
    return f"the sum of {of} counts within {low} and {high}"


def _weighted(slot: Slot, of: str) -> str:
    return f"more than {counted(slot.cap, 'value')} of {of} together weigh as much as {amount(slot.cap)}"


def _mean_of_each(slot: Slot, of: str) -> str:
    low, high = (amount((slot.middle + end) * slot.size) for end in (slot.low, slot.high))
    return f"the average of {of} counts once, within {low} and {high}"


def _said_of_the_mean(slot: Slot, bounded: Bounded) -> bool:
    """Whether this is the number of values under a mean, whose own sentence says what becomes of too many of them."""
    if slot.kind is not SlotKind.VALUES:
        return False
    alone = not asked_by_count(slot, bounded.query)
    means = (each.slot for each in bounded.slots if _CAPS.get(each.slot.kind) in (_weighted, _mean_of_each))
    return any(mean.cap == slot.cap and (alone or mean.argument == slot.argument) for mean in means)


def _different(slot: Slot, of: str) -> str:
    different = "1 value" if slot.cap == 1 else f"{amount(slot.cap)} different values"
    return f"at most {different} of {of} {'is' if slot.cap == 1 else 'are'} counted, chosen by hash"


_CAPS: Final[Mapping[SlotKind, Callable[[Slot, str], str]]] = {
    SlotKind.ROWS: _beyond,
    SlotKind.VALUES: _beyond,
    SlotKind.SUM: _sum_beyond,
    SlotKind.CENTRED: _weighted,
    SlotKind.MEAN: _mean_of_each,
    SlotKind.SQUARES: _weighted,
    SlotKind.DISTINCT: _different,
}
"""What a cap does to the values of one person, which are named as they stand in the query."""


def _of_rounded(bounded: Bounded) -> Iterator[str]:
    """Columns that are integers because their bounds or keys are whole; said of them whatever their rows hold."""
    query = bounded.query
    used = [column for use in query.uses for column in use.columns]
    used += [query.findings.columns[number] for scalar in _computed(query.relation) for number in columns_of(scalar)]
    read = sorted({column.origin for column in used if column.origin is not None})
    tables = query.catalog.policy.tables
    rounded = list(dict.fromkeys(name for table, name in read if tables[table].columns[name].is_rounded))
    if rounded:
        several = len(rounded) > 1
        yield (
            f"{' and '.join(rounded)} {'are' if several else 'is'} declared in whole numbers, so that "
            f"any fractions of {'them' if several else 'it'} were rounded"
        )


def _computed(relation: Relation) -> Iterator[Scalar]:
    """The expressions of inner queries, at any depth."""
    if isinstance(relation, Project):
        yield from (scalar for scalar in relation.expressions if not isinstance(scalar, ColumnRef))
    for below in inputs(relation):
        yield from _computed(below)


def _of_each_person(bounded: Bounded) -> Iterator[str]:
    """What is added up inside one person is moved into its bounds too."""
    findings = bounded.query.findings
    for node in (node for scalar in _totals(bounded.query.relation) for node in walk(scalar)):
        match node:
            case Apply(
                "fine_grains", (value, Constant(value=Fraction() as low), Constant(value=Fraction() as high), *_)
            ):
                if not findings.kept(value).within(Interval(low, high)):
                    name = findings.columns[value.id].name if isinstance(value, ColumnRef) else ""
                    of = f"{name or 'what is added up'} of each {unit_name(bounded.query)}"
                    yield f"sums and means of {of} count it within {amount(low)} and {amount(high)}"


def _totals(relation: Relation) -> Iterator[Scalar]:
    """What is added up, at any depth."""
    match relation:
        case Group():
            yield from (total.argument for total in relation.totals if total.argument is not None)
        case Window():
            yield from relation.calls
    for below in inputs(relation):
        yield from _totals(below)


def _of_ratios(bounded: Bounded) -> Iterator[str]:
    """A person beyond the cap counts as much in a part as in the whole: shares are then too large."""
    query = bounded.query
    capped = {each.column.id for each in query.aggregates if each.function in ("count", "sum")}
    divided = (
        node.arguments
        for output in query.finish.outputs
        for node in walk(output.expression)
        if isinstance(node, Apply) and node.function == "div"
    )
    if not bounded.one_row_each and any(
        (above := columns_of(part) & capped) and (below := columns_of(whole) & capped) and above != below
        for part, whole in divided
    ):
        yield (
            "in a quotient both numbers are capped, each by itself, and the quotient may be off by more than ±; "
            "a share is better asked as AVG(CASE WHEN … THEN 1 ELSE 0 END)"
        )


def _of_groups(plan: Plan) -> Iterator[str]:
    """Finding groups chooses some of each person; measuring chooses too, or scales."""
    bounded = plan.bounded
    if not bounded.keys_limited or bounded.all_keys_fit:
        return
    person, groups = unit_name(bounded.query), counted(bounded.groups, "group")
    scaled = bounded.mode is Mode.SCALE and any(isinstance(step, MeasurementStep) for step in plan.steps)
    if bounded.private_keys or not scaled:
        finding = " when groups are found" if scaled else ""
        yield f"one {person} counts in at most {groups}{finding}, chosen by hash"
    if scaled:
        yield f"one {person} whose numbers are larger than {groups} can hold is scaled down in each of their groups"


def _of_key(key: GroupKey, domain: Domain) -> Iterator[str]:
    """Public groups are a list, and rows may have other values; CASE and the like name all that they can have."""
    if isinstance(domain, PrivateKey) or isinstance(key.expression, Constant):
        return
    if isinstance(key.expression, Apply) and key.expression.function in ("case", "coalesce"):
        return
    yield f"only the public groups of {key.text or 'key'} are counted"


def hidden_groups(step: SelectionStep, plan: Plan) -> str:
    """From how many people on a group is likely to appear."""
    people = plural(unit_name(plan.bounded.query))
    mechanism = step.mechanism
    if isinstance(mechanism, GaussianThresholdSelection):
        return f"groups with fewer than about {amount(mechanism.threshold)} {people} stay hidden"
    return (
        f"groups with fewer than about {amount(mechanism.even_chance)} {people} stay hidden; from "
        f"{amount(mechanism.certain)} on all are shown"
    )
