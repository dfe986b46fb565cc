"""Where released values decide which rows an answer shows, its intervals hold for all groups at once.

The exact rows of 275 groups come from the engine once. Each run draws the noise of the real plan and makes one answer
of it with the real release; an answer holds when every interval that it shows holds.

False alarms: seeds are fixed, so that a build which passed passes again. With fresh seeds a limit three standard errors
below 95 % would be missed, by intervals that hold in 95 % and no more, once in 60 times with the 20 runs of
`make test`, and once in 420 times with the 1 000 runs of `make audit`; there are 25 such limits, and 49. Margins of
single rows, which hold in hardly any answer, are a planted bug.

DPSQL_SELECTED_RUNS sets the number of runs: from 100 on all shapes of data are tried, else two. DPSQL_SELECTED_TABLE
names a file that gets a line of figures for each case.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.ledger.ledger import Receipt
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.shown_counts import shown_intervals
from dpsql.mechanisms.table import noise_of
from dpsql.plan.seal import Sealed
from dpsql.privacy.exact import Exact
from dpsql.session.answer_value import Answer
from dpsql.session.steps import drawn
from dpsql.session.telling import told
from dpsql.sql.finish import Finish
from dpsql.testing.fixed import SeededSource
from tests.kits.noiseless import ExactStep, exact_steps

RUNS = int(os.environ.get("DPSQL_SELECTED_RUNS", "20"))
GROUPS = 275
CONFIDENCE = 0.95

SHAPES: Mapping[str, Callable[[int], int]] = {
    "equal": lambda group: 100,
    "steps": lambda group: 20 + group,
    "zipf": lambda group: 30 + 3000 // (group + 1),
    "giant": lambda group: 5000 if group == 7 else 60 + group % 3,
}
"""How many people each group has."""
TRIED = list(SHAPES) if RUNS >= 100 else ["equal", "zipf"]
CUT = {"equal": 102, "steps": 120, "zipf": 44, "giant": 63}
"""What HAVING compares with: among many groups about so many are shown by their noise alone."""


@cache
def analyst() -> dpsql.Analyst:
    """One table for each shape: each person has one row, in a group that is public as `g` and private as `h`."""
    plain = duckdb.connect()
    owner = dpsql.open(":memory:")
    for name, size in SHAPES.items():
        plain.execute(f"CREATE TABLE {name} (person BIGINT, g INTEGER, h INTEGER, v INTEGER)")
        sizes = ", ".join(f"({group}, {size(group)})" for group in range(GROUPS))
        plain.execute(
            f"INSERT INTO {name} SELECT row_number() OVER (), s.g, s.g, (s.g * 7 + r.i) % 100 "
            f"FROM (VALUES {sizes}) AS s(g, n), LATERAL (SELECT unnest(range(s.n)) AS i) AS r"
        )
        owner.register(
            name,
            plain,
            person="person",
            unique=True,
            bounds={"v": (0, 100)},
            keys={"g": list(range(GROUPS)), "h": "private"},
            rows_per_person=1,
            groups_per_person=1,
        )
    plain.close()
    owner.promise(epsilon=1000, delta=1e-4)
    owner.defaults(cost_per_query=0.5, max_keys=1000, selection_share=0.25, delta_per_query=1e-6)
    return owner.grant("ana", budget=1000)


Truths = Mapping[int, list[float]]
"""The exact slots of each group."""
Truth = Callable[[Truths, int | None], float]


@dataclass(frozen=True)
class Case:
    """A question about a table, and the true values of its last columns by the key of the row."""

    sql: str
    truths: tuple[Truth, ...]
    noise: str = "gaussian"

    def sealed(self, shape: str) -> Sealed:
        return analyst().query(self.sql.format(t=shape, cut=CUT[shape]), noise=self.noise).sealed


def slot(place: int) -> Truth:
    return lambda rows, key: rows[key or 0][place]


def largest(rows: Truths, key: int | None) -> float:
    return max(values[0] for values in rows.values())


def mean(rows: Truths, key: int | None) -> float:
    """50 is the middle of the bounds; the slots are the number of values and their distance from it."""
    number, distance = rows[key or 0]
    return 50 + distance / number


def rank(rows: Truths, key: int | None) -> float:
    return 1 + sum(values[0] > rows[key or 0][0] for values in rows.values())


COUNT = (slot(0),)
TOP = "SELECT g, COUNT(*) AS n FROM {t} GROUP BY g ORDER BY n DESC LIMIT 10"
SELECTED: Mapping[str, Case] = {
    "top 10": Case(TOP, COUNT),
    "top 10, Laplace": Case(TOP, COUNT, "laplace"),
    "HAVING": Case("SELECT g, COUNT(*) AS n FROM {t} GROUP BY g HAVING COUNT(*) > {cut}", COUNT),
    "QUALIFY": Case(
        "SELECT g, COUNT(*) AS n FROM {t} GROUP BY g QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 5", COUNT
    ),
    "MAX": Case("SELECT MAX(COUNT(*)) OVER () AS n FROM {t} GROUP BY g LIMIT 1", (largest,)),
    "thresholded": Case("SELECT h, COUNT(DISTINCT person) AS n FROM {t} GROUP BY h", COUNT),
    "top 5 of the thresholded": Case(
        "SELECT h, COUNT(DISTINCT person) AS n FROM {t} GROUP BY h ORDER BY n DESC LIMIT 5", COUNT
    ),
    "top 10 of averages": Case("SELECT g, AVG(v) AS mean FROM {t} GROUP BY g ORDER BY mean DESC LIMIT 10", (mean,)),
    "averages and counts": Case(
        "SELECT g, AVG(v) AS mean, COUNT(v) AS n FROM {t} GROUP BY g ORDER BY n DESC LIMIT 10", (mean, slot(0))
    ),
    "two columns": Case(
        "SELECT g, COUNT(*) AS n, SUM(v) AS s FROM {t} GROUP BY g HAVING COUNT(*) > {cut} OR SUM(v) > 50 * {cut}",
        (slot(0), slot(1)),
    ),
    "all in order": Case("SELECT g, COUNT(*) AS n FROM {t} GROUP BY g ORDER BY n DESC", COUNT),
    "ranks": Case("SELECT g, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM {t} GROUP BY g", (rank,)),
}


@cache
def exact(case: Case, shape: str) -> tuple[Sealed, ExactStep]:
    sealed = case.sealed(shape)
    (step,) = exact_steps(sealed, analyst().place.engine, salt=1)
    return sealed, step


def answers(case: Case, shape: str, *, runs: int = RUNS) -> Iterator[Answer]:
    """One answer for each draw of the noise of the plan."""
    sealed, step = exact(case, shape)
    source = SeededSource(GROUPS)
    for number in range(runs):
        noisy = drawn(sealed.plan.steps[0], Exact(list(step.rows)), source=source)
        yield told(sealed, Receipt(number=number, paid=True, salt=1), (noisy,), ledger="selected")


def held(case: Case, shape: str, answer: Answer) -> list[bool]:
    """For each shown interval, whether the truth is inside."""
    sealed, step = exact(case, shape)
    grains = [noise.carried.grain for noise in sealed.plan.noises]
    rows = {row[0]: [float(grain * value) for grain, value in zip(grains, row[1:], strict=True)] for row in step.rows}
    shown = len(case.truths)
    return [
        cell.low <= truth(rows, row[0] if len(row) > shown else None) <= cell.high
        for row in answer.rows
        for cell, truth in zip(row[-shown:], case.truths, strict=True)
    ]


def limit(runs: int) -> float:
    """Three standard errors below 95 %."""
    return CONFIDENCE - 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / runs)


def share(case: Case, shape: str) -> float:
    """Of all answers, in how many each interval holds."""
    return sum(all(held(case, shape, answer)) for answer in answers(case, shape)) / RUNS


def noted(name: str, shape: str, **figures: float) -> None:
    """A line of the table of figures, where one is wanted."""
    table = os.environ.get("DPSQL_SELECTED_TABLE")
    if table:
        with Path(table).open("a", encoding="utf-8") as lines:
            told = " ".join(f"{what} {figure:.4f}" for what, figure in figures.items())
            lines.write(f"{name} | {shape} | {told}\n")


@pytest.mark.parametrize("shape", TRIED)
@pytest.mark.parametrize("name", SELECTED)
def test_all_intervals_of_an_answer_hold_at_once(name, shape):
    found = share(SELECTED[name], shape)
    noted(name, shape, held=found, limit=limit(RUNS))
    assert found >= limit(RUNS)


@pytest.mark.parametrize("name", ["top 10", "top 10, Laplace", "HAVING", "QUALIFY", "all in order", "two columns"])
def test_plain_margins_would_be_noticed(name, monkeypatch):
    """The planted bug: nothing is seen to decide."""
    monkeypatch.setattr(Finish, "deciding", lambda *_, **__: frozenset())
    assert share(SELECTED[name], "equal") < limit(RUNS)


def exact_margin(law, groups: int) -> int:
    """The smallest m with Pr[|Z| <= m]^groups >= 95 %, from the probabilities themselves."""
    inside, margin = law.pmf(0), 0
    while inside**groups < CONFIDENCE:
        margin += 1
        inside += 2 * law.pmf(margin)
    return margin


@pytest.mark.parametrize("shape", TRIED)
@pytest.mark.parametrize("name", ["top 10", "top 10, Laplace", "HAVING", "QUALIFY", "MAX", "two columns"])
def test_the_margin_is_the_exact_one_for_all_groups(name, shape):
    """At most 5 % wider; rounding a count that was scaled adds half a person."""
    case = SELECTED[name]
    sealed, _ = exact(case, shape)
    noises = [noise.carried for noise in sealed.plan.noises]
    answer = next(answer for answer in answers(case, shape, runs=100) if answer.rows)
    for place, carried in enumerate(noises, start=-len(noises)):
        least = float(exact_margin(carried.law, GROUPS * len(noises)) * carried.grain)
        widths = {(row[place].high - row[place].low) / 2 for row in answer.rows}
        noted(name, shape, width=max(widths) / least)
        assert all(least <= width <= 1.05 * (least + carried.rounded / 2) for width in widths)
        assert {row[place].groups for row in answer.rows} == {GROUPS}
    assert "holds for all 275 groups at once" in " ".join(answer.notes)


INDEPENDENT = Case("SELECT g, SUM(v) AS s FROM {t} GROUP BY g HAVING COUNT(*) > {cut}", COUNT)


def test_a_value_on_other_noise_keeps_its_own_margin():
    """HAVING on a count says nothing about the noise of a sum: 95 % of the sums that are shown are covered."""
    sealed, _ = exact(INDEPENDENT, "equal")
    first = sealed.plan.noises[0].carried
    shown = [(held(INDEPENDENT, "equal", answer), answer) for answer in answers(INDEPENDENT, "equal")]
    single = {row[-1].high - row[-1].value for _, answer in shown for row in answer.rows}
    assert len(single) == 1
    assert next(iter(single)) <= exact_margin(first.law, 1) * first.grain + first.rounded / 2
    found = [each for each, _ in shown for each in each]
    assert len(found) > 100
    noted("independent", "equal", held=sum(found) / len(found), limit=limit(len(found)))
    assert sum(found) / len(found) >= limit(len(found))


def test_a_threshold_is_inverted():
    """The plain interval covers 0 % of the shown counts of 60 people at τ = 126 and σ = 20; this one 95 % or more."""
    law = DiscreteGaussianLaw(sigma_squared=Fraction(400))
    for people in (60, 90, 120, 300):
        draws = [people + noise for noise in noise_of(law, size=400_000, source=SeededSource(people))]
        shown = [value for value in draws if value > 126][:3000]
        found = shown_intervals(shown, law=law, threshold=126, confidence=Fraction(19, 20))
        assert len(shown) > 100
        assert sum(low <= people <= high for low, high in found) / len(shown) >= limit(len(shown))
    ((low, _), (far_low, far_high)) = shown_intervals([127, 1000], law=law, threshold=126, confidence=Fraction(19, 20))
    margin = exact_margin(law, 1)
    assert low == 1
    assert (far_low, far_high) == (1000 - margin, 1000 + margin)
