"""The lesson of five minutes: each step shows something, then asks the reader one question about it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpsql import Analyst
from dpsql.demonstration import hospital
from dpsql.demonstration.stage import Page, Quiz, Stage, only_cell, refusal, typed


def pages(ana: Analyst, stage: Stage) -> Iterator[Page]:
    """Each page when the one before was answered. Every answer is a real one, with noise drawn now."""
    yield _protected(ana, stage)
    yield _margin(ana, stage)
    yield _difference(ana)
    yield _again(ana, stage)
    yield _precision(ana)
    yield _refused(ana)


def _protected(ana: Analyst, stage: Stage) -> Page:
    return Page(
        title="Who is protected",
        blocks=(
            (
                f"You are {ana.name}, an analyst of an invented hospital: patients, their visits, and wards. What you"
                " may ask about is no secret:"
            ),
            stage.asked(ana, "SELECT column_name, type, low, high, keys FROM dp.columns WHERE table_name = 'patients'"),
            (
                "Every patient is protected, with all of their visits: whatever you are told would have come out nearly"
                " as likely without them."
            ),
        ),
        quiz=Quiz(
            asks="Bob was a patient here, with several visits. What is hidden about him?",
            choices=("his name", "each visit by itself", "everything, even whether he is a patient at all"),
            right=2,
            because="the answers would be nearly as likely if he had never come. A name that is left out protects"
            " nobody: age, city and a day are enough to find most people.",
        ),
    )


def _margin(ana: Analyst, stage: Stage) -> Page:
    return Page(
        title="Every number has a margin",
        blocks=(
            stage.asked(ana, "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"),
            (
                "The noise is the same for all groups, so that large ones are precise and small ones are not. A number"
                " that may be nothing but noise is marked ⚠."
            ),
        ),
        quiz=Quiz(
            asks="What does ± say?",
            choices=(
                "the true number is within it, always",
                "the true number is within it, 19 times out of 20",
                "how much the patients differ from one another",
            ),
            right=1,
            because="± is 95 % unless you say CONFIDENCE 0.99, which makes it wider. It counts the noise alone.",
        ),
    )


def _difference(ana: Analyst) -> Page:
    answer = ana.sql("SELECT sex, COUNT(*) AS n FROM patients WHERE flu AND sex IN ('f', 'm') GROUP BY sex")
    counts: dict[Any, Any] = dict(zip(answer["sex"], answer["n"], strict=True))
    women, men = counts["f"], counts["m"]
    difference = women - men
    apart = abs(difference.value) > difference.margin
    return Page(
        title="Compare with the margins, not without",
        blocks=(
            (
                f"Women with flu: {women}. Men with flu: {men}. The difference: {difference}. Its margin is less than"
                " the two together: noises rarely go the same way."
            ),
        ),
        quiz=Quiz(
            asks="Do more women than men have flu here, or fewer?",
            choices=("the answers tell", "the answers do not tell"),
            right=0 if apart else 1,
            because=f"a difference of {difference} "
            + ("stays on one side of 0." if apart else "may as well be 0, or on the other side of it."),
        ),
    )


def _again(ana: Analyst, stage: Stage) -> Page:
    return Page(
        title="What was told once is free",
        blocks=(
            "You have asked for the patients by city already. Now as shares, sorted otherwise:",
            stage.asked(
                ana, "SELECT city, COUNT(*) * 100.0 / 6000 AS percent FROM patients GROUP BY city ORDER BY city DESC"
            ),
        ),
        quiz=Quiz(
            asks="Why does it cost nothing?",
            choices=(
                "percentages are harmless",
                "it is computed from numbers you have been told, so that it tells nothing new",
                "the first questions are free",
            ),
            right=1,
            because="the same noise, so no averaging; and no new look at anybody.",
        ),
    )


def _precision(ana: Analyst) -> Page:
    coarse, fine = (f"SELECT COUNT(*) FROM patients WHERE age >= 65 WITHIN {margin}" for margin in (40, 20))
    prices = [ana.cost(sql) for sql in (coarse, fine)]
    times = round(prices[1] / prices[0])
    return Page(
        title="Precision has a price, and you see it first",
        blocks=(
            "DRY RUN, or `cost` in Python, tells the price of a question. It is free and reads no data.",
            "\n".join(
                f"{typed(ana, sql)}\n    costs {float(price):.3g}"
                for sql, price in zip((coarse, fine), prices, strict=True)
            ),
        ),
        quiz=Quiz(
            asks="What does half the margin cost?",
            choices=("as much", "about twice as much", f"about {max(times, 3)} times as much"),
            right={1: 0, 2: 1}.get(times, 2),
            because="so ask coarsely first. A finer answer to the same question costs the difference only.",
        ),
    )


def _refused(ana: Analyst) -> Page:
    asks = "SELECT MAX(age) FROM patients"
    works = "SELECT COUNT(*) FROM patients WHERE age >= 95"
    counted = only_cell(ana.sql(works, epsilon=Fraction(1, 20)))
    return Page(
        title="What is about one person is refused",
        blocks=(
            f"{typed(ana, asks)}\n{refusal(ana, asks)}",
            f"So count instead:\n{typed(ana, works)}\n    {counted}",
            f"{ana.budget.shown} of your budget is left.",
        ),
        quiz=Quiz(
            asks="Is MAX(age) refused because somebody very old is in the data?",
            choices=("yes", "no"),
            right=1,
            because="refusals, prices and margins never depend on rows. If they did, they would tell about people."
            " That was the lesson: dpsql demo opens this hospital for you, dpsql demo --attack shows what"
            f" {hospital.GRANT:.2f} of budget can give away about Bob.",
        ),
    )
