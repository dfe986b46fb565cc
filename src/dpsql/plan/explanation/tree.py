"""The derivation of a plan as a tree: what is released, from what, how far one person moves it, by which rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.catalog.model import Mode, TablePolicy
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import linear_margin
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, SlotNoise, Step
from dpsql.plan.recall import Finer, Way
from dpsql.plan.wording import (
    about,
    amount,
    counted,
    counts_people,
    grain_text,
    margin_text,
    percent,
    plural,
    title,
    unit_name,
)
from dpsql.sql.bound import Bounded
from dpsql.sql.caps import enforced_once
from dpsql.sql.relations import (
    AwaitedRows,
    Exists,
    Filter,
    Group,
    Join,
    Listed,
    Project,
    Relation,
    Scan,
    Union,
    Window,
    inputs,
)
from dpsql.sql.scalars import ColumnRef, columns_of
from dpsql.sql.slots import Slot, SlotKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One line of a derivation, the rules it applies (`rules.RULES`), and what it rests on."""

    text: str
    rules: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def derivation(plan: Plan) -> Node:
    """How the price of a plan comes about."""
    query = plan.bounded.query
    below = source(query.relation, plan.bounded)
    if not query.private and reads_released(query.relation):
        return Node(
            text="compute with what was released before: free, whatever is done with it",
            rules=("T6",),
            children=(below,),
        )
    if not query.private:
        return Node(text="read public tables: exact and free, nobody is in them", children=(below,))
    if not plan.steps:
        return Node(text="tell what is public already: exact and free, no row of anybody is read")
    if plan.stored is not None:
        return Node(text="tell the stored answer again: it was paid for when it was released", rules=("T6",))
    if plan.finer is not None:
        return _made_finer(plan, plan.finer, below)
    if len(plan.steps) == 1:
        (step,) = plan.steps
        return _step(step, plan, below=(below,))
    steps = tuple(_step(step, plan, below=()) for step in plan.steps)
    total = price_text(_total(plan))
    return Node(
        text=f"{len(steps)} steps, paid together before the first one runs: {total}",
        rules=("T4",) if _total(plan).epsilon is not None else ("T5", "T8"),
        children=(*steps, below),
    )


def _made_finer(plan: Plan, finer: Finer, below: Node) -> Node:
    """What is missing in a stored answer is bought, and put together with it."""
    paid = f"{amount(finer.upon.paid)} was paid before" if finer.upon.own else "it is already known"
    before = f"{paid}, {amount(finer.cost)} now"
    found = " over the groups that were found before" if finer.people is not None else ""
    return Node(
        text=f"make the stored answer finer: {before}; {_WAYS[finer.way]}{found}",
        rules=("T10", "T6"),
        children=tuple(_step(step, plan, below=(below,)) for step in plan.steps),
    )


_WAYS: Final[Mapping[Way, str]] = {
    Way.MEASURED: "it is measured once more for the difference in ρ, with the same salt, and both are averaged",
    Way.AVERAGED: "it is bought whole, with the same salt, and averaged with what was told before",
}


def _total(plan: Plan) -> Triple:
    return FREE if plan.event is None else triple(plan.event)


def price_text(price: Triple) -> str:
    """ε where there is one, else ρ; δ where there is one."""
    rho = "∞" if price.rho is None else amount(price.rho)
    loss = f"ρ = {rho}" if price.epsilon is None else f"ε = {amount(price.epsilon)}"
    return f"{loss}, δ = {amount(price.delta)}" if price.delta else loss


def _step(step: Step, plan: Plan, *, below: tuple[Node, ...]) -> Node:
    if isinstance(step, SelectionStep):
        return _selection(step, plan, below)
    return _measurement(step, plan, below)


# ---- finding private groups ------------------------------------------------------------------------------------


def _selection(step: SelectionStep, plan: Plan, below: tuple[Node, ...]) -> Node:
    bounded = plan.bounded
    person, people = unit_name(bounded.query), plural(unit_name(bounded.query))
    mechanism = step.mechanism
    keys = ", ".join(key.text for key in bounded.query.keys)
    what = "find and count" if step.counts is not None else "find"
    limit = "" if bounded.one_row_each else ", chosen by a salted hash"
    children = [
        _shown_rule(mechanism, people),
        Node(text=f"one {person} counts under at most {counted(bounded.groups, 'group')}{limit}", rules=("T2",)),
    ]
    if step.counts is not None:
        children.append(_noise(step.counts, plan, share=triple(step.event)))
    return Node(
        text=f"{what} the private groups of {keys}: {price_text(triple(step.event))}",
        rules=("M4", "T8") if isinstance(mechanism, GaussianThresholdSelection) else ("M3",),
        children=(*children, *below),
    )


def _shown_rule(
    mechanism: PartitionSelection[tuple[object, ...]] | GaussianThresholdSelection[tuple[object, ...]], people: str
) -> Node:
    if isinstance(mechanism, GaussianThresholdSelection):
        sigma = about(math.sqrt(mechanism.sigma_squared))
        return Node(
            text=f"a group is shown where its number of {people}, with discrete Gaussian noise of σ = {sigma}, is "
            f"above {amount(mechanism.threshold)}"
        )
    return Node(
        text=f"a group is shown the more likely the more {people} it has: every second time from "
        f"{amount(mechanism.even_chance)} on, always from {amount(mechanism.certain)} on"
    )


# ---- measuring -------------------------------------------------------------------------------------------------


def _measurement(step: MeasurementStep, plan: Plan, below: tuple[Node, ...]) -> Node:
    bounded = plan.bounded
    laplace = all(isinstance(noise.carried.law, DiscreteLaplaceLaw) for noise in step.noises)
    price = triple(step.event)
    slots = tuple(_slot(noise, plan, share=_share(price, len(step.noises))) for noise in step.noises)
    inside = (_groups(bounded, below),) if bounded.query.keys else below
    rules = (("T4",) if len(slots) > 1 else ()) if laplace else ("T5",)
    return Node(
        text=f"release {counted(len(slots), 'noisy number')}{_where(bounded)}: {price_text(price)}",
        rules=(*rules, *(("T6",) if _processed(plan) else ())),
        children=(*slots, *inside),
    )


def _share(price: Triple, slots: int) -> Triple:
    """Every slot takes the same part of the price."""
    return Triple(
        epsilon=None if price.epsilon is None else price.epsilon / slots,
        delta=price.delta,
        rho=None if price.rho is None else price.rho / slots,
    )


def _where(bounded: Bounded) -> str:
    if not bounded.query.keys:
        return ""
    if bounded.private_keys:
        return " for each group that was found"
    number = bounded.number_of_keys
    return " for each public group" if number is None else f" for each of {counted(number, 'public group')}"


def _processed(plan: Plan) -> bool:
    """Something is computed from released numbers, or chosen by them."""
    finish = plan.bounded.finish
    plain = all(isinstance(output.expression, ColumnRef) for output in finish.outputs)
    chosen = finish.having is not None or finish.qualify is not None or finish.limit is not None or finish.distinct
    return not plain or chosen or bool(finish.order_by)


def _slot(noise: SlotNoise, plan: Plan, *, share: Triple) -> Node:
    bounded, slot = plan.bounded, noise.placed.slot
    outputs = [out.name for out in bounded.finish.outputs if noise.placed.column.id in columns_of(out.expression)]
    used = f", for {', '.join(outputs)}" if outputs else ", for HAVING, QUALIFY or ORDER BY"
    return Node(
        text=f"{title(slot, bounded)}{used}",
        children=(
            _contribution(slot, bounded),
            Node(text=_distance(noise, bounded), rules=("T2",)),
            _noise(noise, plan, share=share),
        ),
    )


def _contribution(slot: Slot, bounded: Bounded) -> Node:
    person = unit_name(bounded.query)
    low, high = amount(slot.low * slot.size), amount(slot.high * slot.size)
    group = " to each group" if bounded.query.keys else ""
    text = f"one {person} adds between {low} and {high}{group}"
    capped = (
        ""
        if bounded.one_row_each or counts_people(slot, bounded.query)
        else "; the sum moved there as a whole"
        if slot.kind is SlotKind.SUM and slot.of_each
        else f"; {_CAPPED[slot.kind](amount(slot.cap))}"
    )
    if slot.grain is None:
        return Node(text=text + capped, rules=("T2",))
    if slot.partner is not None:
        return Node(text=f"{text}: both values clamped to their bounds{capped}", rules=("T2", "T3"))
    bounds = f"{amount(Fraction(slot.grain.lower))} and {amount(Fraction(slot.grain.upper))}"
    step = f", counted in steps of {grain_text(slot.grain.size)}" if slot.grain.size != 1 else ""
    return Node(text=f"{text}: values clamped to {bounds}{step}{capped}", rules=("T2", "T3"))


_CAPPED: Final[Mapping[SlotKind, Callable[[str], str]]] = {
    SlotKind.ROWS: lambda cap: f"rows capped at {cap}",
    SlotKind.VALUES: lambda cap: f"values capped at {cap}",
    SlotKind.SUM: lambda cap: f"the sum clamped to {cap} times the bounds and 0",
    SlotKind.CENTRED: lambda cap: f"more than {cap} values weighted down to {cap}",
    SlotKind.MEAN: lambda cap: f"their average moved there, and counted {'once' if cap == '1' else cap}",
    SlotKind.SQUARES: lambda cap: f"more than {cap} values weighted down to {cap}",
    SlotKind.PRODUCTS: lambda cap: f"more than {cap} pairs weighted down to {cap}",
    SlotKind.DISTINCT: lambda cap: f"at most {cap} different values, chosen by a salted hash",
}


def _distance(noise: SlotNoise, bounded: Bounded) -> str:
    """How far one unit moves the slot over all groups, in the norm of its noise."""
    slot, person = noise.placed.slot, unit_name(bounded.query)
    groups = " over all groups" if bounded.query.keys else ""
    if bounded.mode is Mode.SCALE:
        most = counted(bounded.groups, "group")
        return (
            f"all that one {person} adds, in all groups together, is scaled to what {most} at the limits would add (L2)"
        )
    if isinstance(noise.carried.law, DiscreteLaplaceLaw):
        return f"sensitivity {amount(bounded.l1(slot) * slot.size)}{groups} (L1)"
    return f"sensitivity {about(math.sqrt(bounded.l2_squared(slot)) * slot.size)}{groups} (L2)"


def _noise(noise: SlotNoise, plan: Plan, *, share: Triple) -> Node:
    carried, confidence = noise.carried, plan.terms.confidence
    margin = linear_margin([(Fraction(1), carried)], confidence=confidence)
    ends = f"{price_text(share)}, ± {margin_text(margin)} at {percent(confidence)}"
    if isinstance(carried.law, DiscreteLaplaceLaw):
        return Node(
            text=f"discrete Laplace noise of scale {amount(carried.law.scale * carried.grain)}: {ends}",
            rules=("M1", "M5"),
        )
    sigma = about(math.sqrt(carried.law.sigma_squared) * carried.grain)
    return Node(text=f"discrete Gaussian noise of σ = {sigma}: {ends}", rules=("M2", "M5"))


# ---- groups and rows -------------------------------------------------------------------------------------------


def _groups(bounded: Bounded, below: tuple[Node, ...]) -> Node:
    person = unit_name(bounded.query)
    keys = ", ".join(key.text for key in bounded.query.keys)
    number = bounded.number_of_keys
    which = "groups found before" if bounded.private_keys else "public groups, all of them appear"
    shown = which if number is None else f"{amount(number)} {which}"
    if number == 1:
        shown = "1 public group, it appears"
    return Node(text=f"GROUP BY {keys}: {shown}; one {person} {_counts_in(bounded)}", rules=("T2",), children=below)


def _counts_in(bounded: Bounded) -> str:
    groups = counted(bounded.groups, "group")
    if bounded.one_row_each:
        return "is in one group at most"
    if bounded.mode is Mode.SCALE:
        return f"counts in all of theirs, scaled to the weight of {groups}"
    if bounded.all_keys_fit:
        return "may count in all of them"
    return f"counts in at most {groups}, chosen by a salted hash"


def source(relation: Relation, bounded: Bounded) -> Node:
    """Where the rows come from."""
    match relation:
        case Scan():
            return Node(text=_scan(relation, bounded), rules=("T1",) if relation.private else ())
        case Listed() | AwaitedRows():
            return Node(text="rows that a question before this one released: public from then on", rules=("T6",))
        case Filter():
            return Node(text="keep the rows that match WHERE", children=(source(relation.input, bounded),))
        case Project():
            return source(relation.input, bounded)
        case Join():
            return Node(
                text="join, row by row" + ", keeping rows without a partner" * relation.outer,
                children=(source(relation.left, bounded), source(relation.right, bounded)),
            )
        case Union():
            return Node(text=_rows_of_all(bounded), children=tuple(source(each, bounded) for each in relation.branches))
        case Group():
            return _grouped(relation, bounded)
        case Exists(input=Exists(among=among)) if among is relation.among:  # one NOT IN, and what NULL means in it
            return source(relation.input, bounded)
        case Exists():
            what = "leave out" if relation.negated else "keep"
            same = f"of the same {unit_name(bounded.query)}" if _reads_people(relation.among) else "in public tables"
            return Node(
                text=f"{what} the rows that have a partner {same}",
                children=(source(relation.input, bounded), source(relation.among, bounded)),
            )
        case Window():
            return Node(
                text=f"look at the rows of each {unit_name(bounded.query)} by themselves, in order",
                children=(source(relation.input, bounded),),
            )
        case _:
            return Node(text=type(relation).__name__.lower())


def _grouped(group: Group, bounded: Bounded) -> Node:
    owner, unit = bounded.query.owner, unit_name(bounded.query)
    if not _reads_people(group):
        return Node(text="groups of public rows", children=(source(group.input, bounded),))
    if not group.totals:
        return Node(text=f"look up the {unit} in {', then '.join(_tables(group.input))}")
    if owner and set(group.by) >= set(owner):
        more = " and key" if len(group.by) > len(owner) else ""
        return Node(text=f"one row per {unit}{more}", children=(source(group.input, bounded),))
    return source(group.input, bounded)


def _rows_of_all(bounded: Bounded) -> str:
    """The caps come after the union: they hold for the rows of all branches together."""
    owner = bounded.query.owner
    return "all rows of each part" + (
        f"; what one {unit_name(bounded.query)} adds is capped for all together" * bool(owner)
    )


def _reads_people(relation: Relation) -> bool:
    return relation.private if isinstance(relation, Scan) else any(map(_reads_people, inputs(relation)))


def reads_released(relation: Relation) -> bool:
    """Whether rows of an earlier question of the statement are among what is read."""
    return isinstance(relation, Listed | AwaitedRows) or any(map(reads_released, inputs(relation)))


def _tables(relation: Relation) -> Iterator[str]:
    """The tables a path leads through, in its order."""
    if isinstance(relation, Scan):
        yield relation.table
    for each in inputs(relation):
        yield from _tables(each)


def _scan(scan: Scan, bounded: Bounded) -> str:
    query = bounded.query
    table = query.catalog.policy.tables[scan.table]
    if table.public:
        return f"scan {table.name}: public, nobody is in it"
    if table.unit_row:
        return f"scan {table.name}: each row is protected by itself"
    return f"scan {table.name}: {query.catalog.policy.person.name} = {way_to_person(table)}; {_limits(table, bounded)}"


def way_to_person(table: TablePolicy) -> str:
    """`patient_id`, or the path to it."""
    steps = [f"{'+'.join(step.columns)} -> {step.table}.{'+'.join(step.to_columns)}" for step in table.path]
    return " -> ".join([*steps, "+".join(table.person)])


def _limits(table: TablePolicy, bounded: Bounded) -> str:
    person = unit_name(bounded.query)
    if bounded.one_row_each:
        once = enforced_once(table, bounded.query.catalog)
        return f"one row per {person}, enforced by the engine" if once else "all rows are read"
    if table.unique:
        return f"one row per {person} counts"
    declared = [
        ("rows_per_person", table.rows_per_person),
        ("rows_per_group", table.rows_per_group),
        ("groups_per_person", table.groups_per_person),
    ]
    return ", ".join(f"{name} = {amount(limit)}" for name, limit in declared if limit is not None)
