"""Pictures of a question before it is answered, from plans alone, and of what a budget has left: nothing is read and
nothing is spent.

What a margin costs: the ± of one number at several prices. Two worlds: the law of one released count with one person
and without. It is public, because it is the law of the noise alone: neither world is the real one, and both are drawn
around a true count that the picture does not know. Burn-down: what was left after each payment, made of the ledger,
which holds no released value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import accumulate
from typing import Final

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.charts.figure import Axis, Lines, Mark, Point, Series, Shape
from dpsql.charts.picture import Picture
from dpsql.errors import BadName, BadParameter
from dpsql.ledger import facts
from dpsql.ledger.facts import Entry
from dpsql.ledger.ledger import Charge
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.mechanisms.noise_sum import Law
from dpsql.plan.expected import Expectation, told_noises
from dpsql.plan.price import Plan
from dpsql.plan.wording import unit_name
from dpsql.privacy.unit import Neighbours
from dpsql.session.digits import shown_amount, shown_down, shown_number
from dpsql.session.entry_rows import moment_of
from dpsql.sql.finish import linear_form

_PRICES: Final = tuple(Fraction(digit * 10**power, 1000) for power in range(1, 5) for digit in (1, 2, 5))
"""0.01, 0.02, 0.05, 0.1, … 50: as far as the grant allows."""

Expected = Mapping[str, Expectation]


def margin_curve(
    expected_at: Callable[[Fraction], Expected], *, usual: Fraction, most: Fraction, y: str | None
) -> Picture:
    """The curve of a column, at round prices up to `most` and at the usual one."""
    name = _column(expected_at(usual), y)
    prices = sorted({price for price in _PRICES if price <= most} | {usual})
    points, sized = [], None
    for price in prices:
        margin, sized = _margin(expected_at(price)[name])
        text = f"± {shown_number(0, float(margin))[1]}"
        size = float(margin)
        mark = Mark(label=shown_amount(price), value=size, low=size, high=size, text=text)
        points.append(Point(at=math.log(price), mark=mark))
    of = name if sized is None else f"{name} in a group of {sized}"
    return Picture(
        chart=Lines(
            title=f"What a margin costs: {of}",
            across=Axis(name="privacy cost (ε)", ticks=tuple((point.at, point.mark.label) for point in points)),
            along=Axis(name=f"± of {of}"),
            series=(Series(name=f"± of {of}", points=tuple(points)),),
            notes=(
                f"asked as it is, it costs {shown_amount(usual)}; no price above {shown_amount(max(prices))} is shown",
                "nothing was read and nothing was spent",
            ),
        )
    )


def _column(found: Expected, y: str | None) -> str:
    """The first column with a margin that is known before it is answered, or the one that was named."""
    if y is not None and y not in found:
        raise BadName(
            f"y={y!r} is no noisy column of this question",
            why="a column has the name of its alias, or of the expression as it was written",
            fix=f"choose one of: {', '.join(found)}" if found else "ask for a number about people, such as COUNT(*)",
        )
    name = y or next((name for name, each in found.items() if _margin_or_none(each)), next(iter(found), None))
    if name is None:
        raise BadParameter(
            "this question has no margin",
            why="it reads nothing private: its answer is exact, and costs nothing",
            fix="ask it",
        )
    return name


def _margin_or_none(column: Expectation) -> tuple[Fraction, int | None] | None:
    """The ±, and for a group of which size it is where that matters."""
    if column.margin is not None:
        return column.margin, None
    if column.examples:
        size, margin = column.examples[0]
        return margin, size
    return None


def _margin(column: Expectation) -> tuple[Fraction, int | None]:
    found = _margin_or_none(column)
    if found is None:
        raise BadParameter(
            f"the margin of {column.name} is not known before it is answered",
            why="it depends on the numbers that are told",
            fix="draw the curve of a count or a sum: y=…; of an average, the owner can say how many rows there are "
            "about: rows",
        )
    return found


_POINTS: Final = 80
_NEARLY_ALL: Final = Fraction(99, 100)
_BEST_GUESS: Final = "the best guess from this one number which world it is of"
_WITHOUT: Final = {Neighbours.ADD_REMOVE: "without them", Neighbours.CHANGE_ONE: "with somebody else instead"}


def two_worlds(plan: Plan, *, y: str | None) -> Picture:
    """How likely each answer is in both worlds, for the first count of a question or the one that was named."""
    name, law, reach = _count(plan, y)
    person = unit_name(plan.bounded.query)
    without = _WITHOUT[plan.bounded.query.catalog.policy.person.relation]
    far = law.margin(confidence=_NEARLY_ALL)
    step = max(1, math.ceil((2 * far + reach) / _POINTS))
    places = range(-far - reach, far + 1, step)
    right = guessed_right(law, reach)
    moved = f", who moves it by at most {reach}" if reach > 1 else ""
    return Picture(
        chart=Lines(
            title=f"Two worlds: {name} with and without one {person}",
            across=Axis(name=f"{name} as it is told, counted from the truth"),
            along=Axis(name="how likely"),
            series=(
                Series(name=f"with one {person}", points=_points(law, places, 0), shape=Shape.AREA),
                Series(name=without, points=_points(law, places, -reach), shape=Shape.AREA),
            ),
            notes=(
                f"the same question about everybody, and about everybody but one {person}{moved}",
                f"{_BEST_GUESS} is right {100 * right:.1f} % of the time; a coin, half of it",
                f"at a privacy cost of {shown_amount(plan.terms.cost)}; nothing was read and nothing was spent",
            ),
        )
    )


def guessed_right(law: Law, reach: int) -> float:
    """How often the best guess between the law and the law moved by `reach` is right, both being as likely before.

    The law is symmetric and falls from its middle, so the likelier world is the nearer one: half of 1 plus the
    probability of the places -reach/2 <= x < reach/2.
    """
    first = -(reach // 2)
    return min(1.0, (1 + math.fsum(law.pmf(x) for x in range(first, first + reach))) / 2)


def _points(law: Law, places: range, centre: int) -> tuple[Point, ...]:
    found = ((x, law.pmf(x - centre)) for x in places)
    return tuple(Point(at=x, mark=Mark(label=str(x), value=p, low=p, high=p, text=f"{p:.3g}")) for x, p in found)


def _count(plan: Plan, y: str | None) -> tuple[str, Law, int]:
    """The name of a column that is one released count, its law, and how far one person moves it."""
    noises = {noise.placed.column.id: noise for noise in told_noises(plan)}
    found = {}
    for output in plan.bounded.finish.outputs:
        form = None if output.part is not None else linear_form(output.expression, noises)
        weights = {} if form is None else form.weights
        if len(weights) == 1 and set(weights.values()) == {Fraction(1)}:
            noise = noises[next(iter(weights))]
            if noise.placed.slot.counts and isinstance(noise.carried, NoisySlotLaw) and noise.carried.grain == 1:
                found[output.name] = (output.name, noise.carried.law, noise.placed.slot.reach)
    if y is not None and y not in found and found:
        raise BadName(
            f"y={y!r} is no count of this question",
            why="two worlds are drawn for one count",
            fix=f"choose one of: {', '.join(found)}",
        )
    if not found:
        raise BadParameter(
            "there is no count to draw two worlds for",
            why="the picture shows how one person moves one count",
            fix="ask for COUNT(*) or COUNT(column)",
        )
    return found[y] if y is not None else next(iter(found.values()))


_MOST_TICKS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What one entry took from an account."""

    at: datetime
    spent: Triple


def payments_of(entries: Iterable[Entry], *, holder: str | None = None) -> list[Payment]:
    """The payments since the promise was made or renewed last, from one account or, without a holder, from all."""
    found: list[Payment] = []
    for entry in entries:
        match entry.fact:
            case facts.Promised() | facts.Renewed():
                found = []
            case Charge() as paid if holder in (None, paid.grant):
                found.append(Payment(at=moment_of(entry), spent=triple(paid.event)))
            case _:
                pass
    return found


def burn_down(account: Account, payments: Sequence[Payment], *, whose: str, outlook: str = "") -> Picture:
    """What was left of the account after each payment, and what is left now where others paid from it too. `outlook`:
    how far that goes, in words."""
    fresh = replace(account, spent=FREE)
    after = accumulate((payment.spent for payment in payments), initial=FREE)
    levels = [_left(replace(fresh, spent=spent)) for spent in after]
    labels = ["start", *(_label(number, payment) for number, payment in enumerate(payments, start=1))]
    now = _left(account)
    if levels[-1] != now:
        levels, labels = [*levels, now], [*labels, "now"]
    points = [_point(number, level, label) for number, (level, label) in enumerate(zip(levels, labels, strict=True))]
    others = ["the last step: what others paid from the same budget"] if labels[-1] == "now" else []
    last = _point(len(points), now, "today")  # the last step has a width too
    return Picture(
        chart=Lines(
            title=f"Budget of {whose}: {shown_down(now)} of {shown_amount(account.epsilon)} left",
            across=Axis(name=_period(payments), ticks=_ticks(labels)),
            along=Axis(name="left (ε)"),
            series=(Series(name="left", points=(*points, last), shape=Shape.STEPS),),
            notes=(*others, *filter(None, [outlook])),
        )
    )


def _left(account: Account) -> Fraction:
    return max(Fraction(0), account.epsilon - account.spent_epsilon)


def _point(number: int, level: Fraction, label: str) -> Point:
    size = float(level)
    return Point(at=number, mark=Mark(label=label, value=size, low=size, high=size, text=f"{shown_down(level)} left"))


def _label(number: int, payment: Payment) -> str:
    return f"{number} · {payment.at:%Y-%m-%d %H:%M}"


def _period(payments: Sequence[Payment]) -> str:
    days = [f"{payment.at:%Y-%m-%d}" for payment in payments]
    first_and_last = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
    return f"payments, {first_and_last}" if days else "payments"


def _ticks(labels: Sequence[str]) -> tuple[tuple[float, str], ...]:
    """The numbers of some payments."""
    step = max(1, -(-len(labels) // _MOST_TICKS))
    return tuple((float(number), labels[number].partition(" ")[0]) for number in range(0, len(labels), step))
