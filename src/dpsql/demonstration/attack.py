"""The attack on Bob: what exact counts give away, what noisy ones do not, and why patience does not help.

Exact numbers are shown here and nowhere else, and only of people who were invented for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Final

from dpsql import Analyst, DpsqlError
from dpsql import open as open_owner
from dpsql.charts.figure import Axis, Lines, Mark, Point, Series, Shape
from dpsql.charts.text import in_text
from dpsql.demonstration import hospital
from dpsql.demonstration.stage import WIDTH, Page, Stage, Trial, only_cell, refusal, typed
from dpsql.mechanisms.discrete_laplace import LaplaceMechanism
from dpsql.privacy.measure import posterior_percent
from dpsql.written import number

EPSILON: Final = Fraction(1, 2)
"""The price of each of the two counts."""
REPEATS: Final = 100
EVERYBODY: Final = "SELECT COUNT(*) FROM patients WHERE flu"
WITHOUT_BOB: Final = "SELECT COUNT(*) FROM patients WHERE flu AND name <> 'Bob'"
TURNED: Final = "SELECT COUNT(*) FROM patients WHERE flu AND 'Bob' <> name"
OTHER_WORDS: Final = "SELECT COUNT(*) FROM patients WHERE flu AND NOT name = 'Bob'"
_BUDGETS: Final = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(5))
_COUNTS: Final = 20


def pages(stage: Stage) -> Iterator[Page]:
    """The story, each page when the one before was read. Every answer is a real one, with noise drawn now."""
    with hospital.opened() as owner:
        ana = owner.grant("ana", budget=hospital.GRANT)
        yield _leak()
        yield _defence(ana)
        yield _reason(stage)
        yield _patience(ana)
        yield _other_words(ana)
    with hospital.opened() as owner:
        yield _side_doors(owner.grant("carl", budget=hospital.GRANT), stage)
    yield _hidden()
    yield _owner()


@cache
def exact_count(*, without: str | None = None) -> int:
    """What the owner of the data sees who counts the ill: the two questions, on the invented rows themselves."""
    return sum(1 for _, name, *_, flu in hospital.invented()["patients"] if flu and name != without)


def _leak() -> Page:
    everybody, others = exact_count(), exact_count(without="Bob")
    return Page(
        title="Exact answers leak",
        blocks=(
            (
                f"An invented hospital of {hospital.PATIENTS} patients. One of them is Bob, and whether he has flu is"
                " nobody's business. Suppose the owner answered exactly. Two counts of many people, both harmless:"
            ),
            f"    {EVERYBODY:<60}{everybody:>6}\n    {WITHOUT_BOB:<60}{others:>6}",
            (
                f"{everybody} - {others} = {everybody - others}: Bob has flu, and nobody asked about Bob. To answer"
                " only questions about many people does not help: both of these are."
            ),
        ),
    )


def _defence(ana: Analyst) -> Page:
    everybody = only_cell(ana.sql(EVERYBODY, epsilon=EPSILON))
    others = only_cell(ana.sql(WITHOUT_BOB, epsilon=EPSILON))
    return Page(
        title="The same two questions, asked through dpsql",
        blocks=(
            f"Ana has a budget of {hospital.GRANT:.2f} and pays {float(EPSILON):.2f} for each answer.",
            f"    {EVERYBODY:<58}{everybody!s:>12}\n    {WITHOUT_BOB:<58}{others!s:>12}",
            (
                f"The difference is {everybody - others}. Bob is 0 or 1 of that, so it says next to nothing about him."
                " The margins (±) hold 19 times out of 20. They come from the price alone: they are known before asking"
                " and safe to tell."
            ),
            f"For a hospital ± {everybody.margin} is nothing. For Bob it is everything.",
        ),
    )


def _reason(stage: Stage) -> Page:
    once = right_guesses(epsilon=EPSILON, repeats=1)
    most, twice = (posterior_percent(epsilon=epsilon) for epsilon in (EPSILON, 2 * EPSILON))
    return Page(
        title="Why it works: two worlds that look alike",
        blocks=(
            "The first answer as it may fall if Bob has flu, and if he has not:",
            in_text(two_worlds(exact_count()), columns=WIDTH, plain=stage.plain),
            (
                f"Whoever sees an answer can hardly tell the two apart. The best guess from the difference is right"
                f" {once:.0%} of the time; a coin is right 50%."
            ),
            (
                "Whatever an attacker knows and computes, the one answer that counts Bob moves 50-50 to"
                f" {most} % at most. Two answers of that price that both count him would move it to"
                f" {twice} % at most; with them Ana's budget is spent. (The price is ε: the odds grow by a"
                " factor of e^ε at most.)"
            ),
        ),
    )


def two_worlds(ill: int) -> Lines:
    """How likely each answer to the first question is, in the world with Bob among the ill and in the one without."""
    law = LaplaceMechanism(l1=1, epsilon=EPSILON).law
    reach = 2 * math.ceil(law.scale) + 4
    series = tuple(
        Series(
            name=name,
            shape=Shape.AREA,
            points=tuple(_point(answer, law.pmf(answer - count)) for answer in range(ill - reach, ill + reach + 1)),
        )
        for name, count in (("Bob has flu", ill), ("he has not", ill - 1))
    )
    return Lines(title="Two worlds", across=Axis(name="the answer"), along=Axis(name="how likely it is"), series=series)


def _point(answer: int, chance: float) -> Point:
    shown = round(chance, 3)
    return Point(at=answer, mark=Mark(label=str(answer), value=shown, low=shown, high=shown, text=str(shown)))


def _patience(ana: Analyst) -> Page:
    before = ana.budget.left
    told = {only_cell(ana.sql(WITHOUT_BOB, epsilon=EPSILON)).value for _ in range(REPEATS)}
    spent = before - ana.budget.left
    averaged = right_guesses(epsilon=EPSILON, repeats=REPEATS)
    return Page(
        title="Patience does not help",
        blocks=(
            f"The attacker asks the second question {REPEATS} times more, to average the noise away.",
            f"    different answers   {len(told)}\n    paid for them       {float(spent):.2f}",
            (
                "An answer that was given is stored and told again for nothing, with the same noise: there is nothing"
                " to average."
            ),
            (
                f"Without books it would be otherwise. New noise each time, both questions {REPEATS} times: the"
                f" averaged difference would be right about Bob {averaged:.0%} of the time. Noise alone does not stop"
                " patience."
            ),
        ),
    )


def _other_words(ana: Analyst) -> Page:
    left = ana.budget.left
    again = only_cell(ana.sql(TURNED, epsilon=EPSILON))
    return Page(
        title="Other words do not help either",
        blocks=(
            "The same question turned around is recognised: the same answer, for nothing.",
            f"{typed(ana, TURNED)}\n    {again}   cost {float(left - ana.budget.left):.2f}",
            (
                "What is not recognised costs as much as any new question, and the ledger adds up. Ana has spent her"
                f" budget: {float(left):.2f} is left."
            ),
            f"{typed(ana, OTHER_WORDS)}\n{refusal(ana, OTHER_WORDS)}",
            "Prices are charged before a row is read, and the limit holds for all questions together.",
        ),
    )


def _side_doors(carl: Analyst, stage: Stage) -> Page:
    divided = "SELECT COUNT(*) AS n FROM patients WHERE 1 / (CASE WHEN name = 'Bob' AND flu THEN 0 ELSE 1 END) = 1"
    listed = "SELECT diagnosis, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY diagnosis"
    return Page(
        title="Side doors",
        blocks=(
            (
                "Carl begins afresh, with what does not look like counting. An error that comes only if Bob has flu?"
                " Division by zero is no error here, for anybody:"
            ),
            stage.asked(carl, divided),
            (
                f"A group that only Bob is in? He alone has {hospital.BOBS_OWN}. Rare groups stay hidden, and what is"
                " rare is decided with noise, too:"
            ),
            stage.asked(carl, listed),
            "The names themselves?",
            _refused(carl, "SELECT name FROM patients"),
            _refused(carl, "SELECT name, COUNT(*) FROM patients GROUP BY name"),
            (
                "Time and error messages of the engine are the same kind of door: an engine's message is never passed"
                " on. How long a question takes is not protected, and dpsql says so."
            ),
        ),
    )


def _hidden() -> Page:
    asks = "SELECT COUNT(*) FROM patients WHERE name = 'Bob' AND flu"
    with hospital.opened(name_hidden=True) as owner:
        refused = _refused(owner.grant("ana", budget=hospital.GRANT), asks)
    return Page(
        title="Now you are the owner: hide what names people",
        blocks=(
            (
                "In this demo `name` can be filtered on, to show that the noise alone is enough. Nobody needs that"
                " column to count people, so the owner of real data hides it: name = { hidden = true } in the policy,"
                " or"
                ' hidden=["name"] in Python.'
            ),
            refused,
        ),
    )


def _owner() -> Page:
    return Page(
        title="Now you are the owner: choose the budget",
        blocks=(
            (
                "The budget for everybody together is what you promise. Less of it protects people more, and makes"
                f" answers coarser. Spent on {_COUNTS} counts:"
            ),
            "\n".join(["    budget   a 50-50 guess about anybody becomes   each count", *map(_choice, _BUDGETS)]),
            "dpsql says your promise in one sentence, before anybody asks. For a budget of 1:",
            promised("1"),
            (
                "Try it: dpsql demo opens this hospital. docs/tutorials/2-attack-on-bob.md tells this story with its"
                " reasons."
            ),
        ),
        trial=Trial(asks="Another budget, such as 0.3? [Enter ends] ", tell=promised),
    )


def promised(budget: str) -> str:
    """What an owner promises who chooses this budget; or what is wrong with it."""
    try:
        with open_owner(":memory:") as owner:
            owner.person(name="patient")
            return owner.promise(epsilon=number("the budget", budget))
    except DpsqlError as error:
        return str(error)


def _choice(epsilon: Fraction) -> str:
    margin = LaplaceMechanism(l1=1, epsilon=epsilon / _COUNTS).law.margin(confidence=Fraction(95, 100))
    return (
        f"    {float(epsilon):>6g}   at most {posterior_percent(epsilon=epsilon):>5} % sure                  ± {margin}"
    )


def _refused(analyst: Analyst, sql: str) -> str:
    error = refusal(analyst, sql)
    return f"{typed(analyst, sql)}\n{error.code}  {error.what}\n  Why   {error.why}"


_POINTS: Final = 2**14
"""Sums of noise beyond so many have no part in the figures: they are rarer than a float can say."""


def right_guesses(*, epsilon: Fraction, repeats: int) -> float:
    """How often "the averaged difference is above a half" is right about somebody, ill in every other case.

    Both counts are asked `repeats` times, each time with new noise for ε. The sum of the differences is then off by
    S, the sum of 2·repeats noises; the guess is right where S is below repeats/2, and a coin where it is equal.
    Probabilities of S come from its characteristic function φ: Pr[S = k] is the mean of φ(t)·cos(kt) over equally
    spaced t, and Pr[|S| <= m] that of φ(t) times the sum of the cosines, which is sin((m + ½)t) / sin(t/2).
    """
    p = LaplaceMechanism(l1=1, epsilon=epsilon).law.p
    inside, tie = (repeats - 1) // 2, repeats / 2
    within = at_tie = 0.0
    for point in range(_POINTS):
        t = 2 * math.pi * point / _POINTS
        phi = ((1 - p) ** 2 / (1 - 2 * p * math.cos(t) + p * p)) ** (2 * repeats)
        within += phi * (2 * inside + 1 if point == 0 else math.sin((inside + 0.5) * t) / math.sin(t / 2))
        at_tie += 0.0 if repeats % 2 else phi * math.cos(tie * t)
    return (1 + within / _POINTS + at_tie / _POINTS) / 2
