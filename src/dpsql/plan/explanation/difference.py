"""EXPLAIN PRIVACY DIFF: why one question costs more, or is told less closely, than another. It reads the two plans that
would run, and plans nothing itself."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Mode
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan.expected import expected
from dpsql.plan.explanation.text import WIDTH
from dpsql.plan.price import Plan, SelectionStep
from dpsql.plan.slot_words import subject, title, unit_name
from dpsql.plan.wording import amount, counted, percent
from dpsql.sql.bound import Bounded

_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two questions: its plan, what all of it would be charged, and how many PRIVATE ones it asks first."""

    plan: Plan
    cost: Fraction
    inner: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trait:
    """Something that two plans can have in common or not, and what it does to price and margin."""

    name: str
    of: Callable[[Side], str]
    means: str


def difference_text(first: Side, second: Side) -> str:
    """What differs, each with what it does; then what is the same. At most a hundred columns."""
    differ = [trait for trait in _TRAITS if trait.of(first) != trait.of(second)]
    same = [trait.name for trait in _TRAITS if trait not in differ]
    sections = [
        _section("COST", [_costs(first.cost, second.cost)]),
        _section("MARGINS", _margins(first.plan, second.plan)),
        _section("DIFFERENT", [_said(trait, first, second) for trait in differ] or ["nothing that a plan can tell"]),
        _section("THE SAME", [", ".join(same)] if same else []),
        ["Nothing was spent, no data was read."],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _section(name: str, paragraphs: list[str]) -> list[str]:
    lines = [
        part
        for each in paragraphs
        for part in textwrap.wrap(each, WIDTH - 11, subsequent_indent="  ", break_on_hyphens=False)
    ]
    heads = [name] + [""] * len(lines)
    return [f"{head:<11}{line}".rstrip() for head, line in zip(heads, lines, strict=False)]


def _said(trait: _Trait, first: Side, second: Side) -> str:
    return f"{trait.name}: {trait.of(first)} → {trait.of(second)}. {trait.means}"


def _costs(first: Fraction, second: Fraction) -> str:
    if first == second:
        return f"both {amount(first)}"
    more = f"the {'second' if second > first else 'first'} costs {amount(abs(second - first))} more"
    return f"{amount(first)} → {amount(second)}: {more}"


def _margins(first: Plan, second: Plan) -> list[str]:
    """Columns of both by their name, then those of one of them."""
    of_first, of_second = ({each.name: each.text for each in expected(plan) if each.noisy} for plan in (first, second))
    both = [
        f"{text} → {of_second[name].removeprefix(name).strip()}" if of_second[name] != text else f"{text} in both"
        for name, text in of_first.items()
        if name in of_second
    ]
    alone = [f"the first has {text}" for name, text in of_first.items() if name not in of_second]
    return both + alone + [f"the second has {text}" for name, text in of_second.items() if name not in of_first]


def _measured(side: Side) -> str:
    return ", ".join(title(placed.slot, side.plan.bounded) for placed in side.plan.bounded.slots) or _NOTHING


def _rows(side: Side) -> str:
    caps = {placed.slot.cap for placed in side.plan.bounded.slots}
    rows = " and ".join(amount(cap) for cap in sorted(caps))
    return f"{rows} of one {unit_name(side.plan.bounded.query)}" if caps else _NOTHING


def _limits(side: Side) -> str:
    bounded = side.plan.bounded
    found = {
        f"{subject(placed.slot, bounded.query)} from {amount(Fraction(placed.slot.grain.lower))} to "
        f"{amount(Fraction(placed.slot.grain.upper))}"
        for placed in bounded.slots
        if placed.slot.grain is not None
    }
    return ", ".join(sorted(found)) or _NOTHING


def _groups(side: Side) -> str:
    bounded = side.plan.bounded
    if not bounded.query.keys:
        return "none"
    if bounded.private_keys:
        return "private ones, which must be found"
    number = bounded.number_of_keys
    return "public ones" if number is None else counted(number, "public group")


def _groups_each(side: Side) -> str:
    bounded = side.plan.bounded
    if not bounded.query.keys:
        return _NOTHING
    return f"{counted(bounded.groups, 'group')} of one {unit_name(bounded.query)}{_scaled(bounded)}"


def _scaled(bounded: Bounded) -> str:
    return ", scaled over all groups" if bounded.mode is Mode.SCALE else ""


def _finding(side: Side) -> str:
    """Key selection is a step of its own, unless counting people finds the groups."""
    step = next((each for each in side.plan.steps if isinstance(each, SelectionStep)), None)
    if step is None:
        return _NOTHING
    share = side.plan.terms.selection_share
    if step.counts is not None or len(side.plan.steps) == 1 or share is None:
        return "all of the price, which counts them too"
    return f"{amount(side.plan.terms.cost * share)} of the price"


def _noise(side: Side) -> str:
    kinds = {
        "Laplace" if isinstance(noise.carried.law, DiscreteLaplaceLaw) else "Gaussian" for noise in side.plan.noises
    }
    return " and ".join(sorted(kinds)) or "none"


def _stored(side: Side) -> str:
    if side.plan.stored is not None:
        return "the answer"
    return _NOTHING if side.plan.finer is None else "a coarser answer, which is made finer"


_TRAITS: Final = (
    _Trait(
        name="PRIVATE questions asked first",
        of=lambda side: amount(side.inner),
        means="Each that reads people's rows has an even share of the price.",
    ),
    _Trait(name="what is stored already", of=_stored, means="What is stored was paid for, and costs nothing again."),
    _Trait(
        name="noisy numbers in each group",
        of=lambda side: amount(len(side.plan.bounded.slots)),
        means="They share the price: the more there are, the more noise each of them has.",
    ),
    _Trait(
        name="what they are",
        of=_measured,
        means="The noise hides as much as one person can add to each of them.",
    ),
    _Trait(
        name="rows that count",
        of=_rows,
        means="The more rows of one person count, the further that person can move an answer, and the more noise "
        "hides them.",
    ),
    _Trait(
        name="limits of values",
        of=_limits,
        means="The wider they are, the further one person can move a sum, and the more noise hides them.",
    ),
    _Trait(name="groups", of=_groups, means="Public groups are listed; private ones must be found, which is paid for."),
    _Trait(
        name="groups that count",
        of=_groups_each,
        means="The more groups one person counts in, the more numbers that person moves.",
    ),
    _Trait(name="spent on finding groups", of=_finding, means="What finds them is not left for the numbers."),
    _Trait(name="noise", of=_noise, means="Of the two kinds, the one is taken that is smaller at this price."),
    _Trait(
        name="price of all that is bought",
        of=lambda side: amount(side.plan.terms.cost) if side.plan.steps else "0",
        means="The lower the price, the wider the margin.",
    ),
    _Trait(
        name="confidence",
        of=lambda side: percent(side.plan.terms.confidence),
        means="A margin that holds more often is wider; the noise is the same.",
    ),
)
