"""The tour of a minute: what is protected, an answer with its margin and price, and what happens to other questions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from dpsql import Analyst
from dpsql.demonstration import hospital
from dpsql.demonstration.stage import Page, Stage, refusal, typed

FIRST: Final = "SELECT city, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY city"
CLOSER: Final = "SELECT COUNT(*) AS n FROM patients WHERE flu WITHIN 10"
ROWS: Final = "SELECT * FROM patients"
EXPLAINED: Final = "SELECT COUNT(*) AS n FROM visits WHERE charge > 1000"


def pages(ana: Analyst, stage: Stage) -> Iterator[Page]:
    """Each page when the one before was read. Every answer is a real one, with noise drawn now."""
    yield Page(
        title="A hospital, and who is protected in it",
        blocks=(
            (
                f"Three tables, patients, visits and wards: {hospital.PATIENTS} invented patients, in memory, gone when"
                f" you leave. You are {ana.name}, an analyst. You may ask anything in SQL, and see no row."
            ),
            (
                "Protected is each patient, with all of their visits: no answer depends noticeably on any one of them."
                f" For that every number gets a little noise, every answer has a price, and you have a budget of"
                f" {hospital.GRANT:.2f}."
            ),
        ),
    )
    yield Page(
        title="An answer, with its margin and its price",
        blocks=(
            stage.asked(ana, FIRST),
            (
                "± is how far off a number may be, 19 times out of 20. The noise is the same for every city, so it"
                " matters less where many patients live. A number that may be nothing but noise would be marked ⚠."
            ),
        ),
    )
    yield Page(
        title="The same again is free",
        blocks=(
            stage.asked(ana, FIRST),
            (
                "The same numbers, for nothing: they were told once. Run a notebook twice, refresh a dashboard: nothing"
                " more is spent."
            ),
        ),
    )
    yield _closer(ana, stage)
    yield _rewritten(ana, stage)
    yield _explained(ana)


def _closer(ana: Analyst, stage: Stage) -> Page:
    price = ana.cost(CLOSER)
    return Page(
        title="Say how precise, and see the price first",
        blocks=(
            (
                "WITHIN 10 asks for ± 10 and finds the cheapest price for it. To know the price costs nothing and reads"
                f" no data: {float(price):g} here, and you have {ana.budget.shown}."
            ),
            stage.asked(ana, CLOSER),
        ),
    )


def _rewritten(ana: Analyst, stage: Stage) -> Page:
    error = refusal(ana, ROWS)
    works = error.try_sql or FIRST
    return Page(
        title="What has no private answer is refused, with one that has",
        blocks=(
            f"{typed(ana, ROWS)}\n{error}",
            "A refusal costs nothing, and is the same whatever the rows are. What it proposes works:",
            stage.asked(ana, works),
        ),
    )


def _explained(ana: Analyst) -> Page:
    told: Any = ana.explain(EXPLAINED).as_json()
    (expected, *_), (step, *_) = told["expected"], told["derivation"]["children"]
    return Page(
        title="Why it is safe, in three lines",
        blocks=(
            (
                "EXPLAIN PRIVACY before any question shows how it would be protected, with the proofs, for nothing. In"
                " short:"
            ),
            (
                f"{typed(ana, EXPLAINED)}\n    whom   {told['promise']['label']}"
                f"\n    how    {step['children'][0]['text']}; noise many times larger hides them"
                f"\n    price  {float(Fraction(told['terms']['cost'])):g}, for {expected['text']}"
            ),
        ),
    )
