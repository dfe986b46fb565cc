"""The law of one released count with one person and without: public, because it is the law of the noise alone.

Neither world is the real one: both are drawn around a true count that the picture does not know.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpsql.charts.figure import Axis, Lines, Mark, Point, Series, Shape
from dpsql.charts.picture import Picture
from dpsql.errors import BadName, BadParameter
from dpsql.mechanisms.margins import Law, NoisySlotLaw
from dpsql.plan.expected import told_noises
from dpsql.plan.price import Plan
from dpsql.plan.slot_words import unit_name
from dpsql.privacy.unit import Neighbours
from dpsql.session.digits import shown_amount
from dpsql.sql.linear import linear_form

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
