"""GoogleSQL's aggregates mean what GoogleSQL's documentation says of them, or are refused in words."""

import random
from itertools import combinations_with_replacement

import duckdb
import pandas as pd
import pytest

import dpsql
from dpsql.errors import DpsqlError, NotSupported
from tests.kits.cases import cases
from tests.kits.noiseless import exact_steps, without_noise
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY"
PROFESSORS = [
    (101, "pencil", 24), (123, "pen", 16), (123, "pencil", 10), (123, "pencil", 38), (101, "pen", 19),
    (101, "pen", 23), (130, "scissors", 8), (150, "pencil", 72),
]  # fmt: skip
"""The table of the examples in GoogleSQL's documentation."""


def opened(rows, **declared):
    frame = pd.DataFrame(rows, columns=["id", "item", "quantity"])
    words = {"person": "id", "bounds": {"quantity": (0, 100)}, "keys": {"item": ["pen", "pencil", "scissors"]}}
    caps = {"rows_per_person": 9, "groups_per_person": 3, "max_keys": 100, **declared}
    owner = owner_of(frame, "professors", **words, **caps, epsilon=1000, delta=1e-6, cost_per_query=1)
    return owner.grant("ana", budget=1000)


@pytest.fixture(scope="module")
def professors():
    return opened(PROFESSORS)


def by_item(analyst, aggregate, *, clause=CLAUSE):
    answer = without_noise(analyst, f"{clause} item, {aggregate} FROM professors GROUP BY item")
    return [row[1].value for row in answer.rows]  # pen, pencil, scissors


@cases(__file__, "aggregate", "documented=")
def test_the_examples_of_the_documentation(professors, aggregate, documented):
    """Without noise; pencils are 24, the mean of 10 and 38, and 72. The last four by hand."""
    assert by_item(professors, aggregate) == pytest.approx(documented, abs=1e-3)


def test_without_the_clause_an_average_is_that_of_rows(professors):
    assert by_item(professors, "AVG(quantity)", clause="SELECT") == pytest.approx([58 / 3, 36, 8])


BOUNDS = [(0, 100), (10, 60), (-7.5, 33.25), (99, 200)]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_the_average_of_averages_of_plain_sql(low, high):
    chance = random.Random(5)
    rows = [
        (person, chance.choice(["pen", "pencil", "scissors"]), chance.choice([None, *range(101)]))
        for person in range(60)
        for _ in range(chance.randrange(1, 8))
    ]
    frame = pd.DataFrame(rows, columns=["id", "item", "quantity"])
    (mean, total) = zip(*duckdb.connect().register("frame", frame).sql(
        f"SELECT AVG(LEAST(GREATEST(m, {low}), {high})), SUM(LEAST(GREATEST(s, {min(low, 0)}), {high})) FROM "
        "(SELECT item, id, AVG(quantity) AS m, SUM(quantity) AS s FROM frame WHERE quantity IS NOT NULL "
        "GROUP BY item, id) GROUP BY item ORDER BY item"
    ).fetchall(), strict=True)  # fmt: skip
    analyst = opened(rows)
    bounds = f"contribution_bounds_per_group => ({low}, {high})"
    assert by_item(analyst, f"AVG(quantity, {bounds})") == pytest.approx(list(mean), abs=1e-3)
    if low <= 0:
        assert by_item(analyst, f"SUM(quantity, {bounds})") == pytest.approx(list(total), abs=1e-3)


@pytest.mark.parametrize(
    ("aggregate", "bounds"),
    [*(("AVG", bounds) for bounds in ((-20, 0), (-20, -1), (100, 130), (120.5, 130))), ("SUM", (-20, 0))],
)
def test_bounds_that_leave_one_number_are_refused(professors, aggregate, bounds):
    """Quantities lie within 0 and 100. SUM within -20 and 0 was that of 1 for each person, with a margin of 0."""
    with pytest.raises(dpsql.BadParameter, match="the same for every person"):
        professors.query(f"{CLAUSE} {aggregate}(quantity, contribution_bounds_per_group => {bounds}) FROM professors")


def test_no_neighbour_is_farther_than_the_slots_say():
    """Each person has one of all small multisets of rows, and every fifth of them is taken away: the number of people
    moves by 1, the sum of averages by the average of that person, and neither farther than its noise allows for."""
    values = [None, -900, 0, 1, 40, 900]
    people = [rows for size in (1, 2, 3) for rows in combinations_with_replacement(values, size)]
    rows = [(person, "pen", value) for person, its in enumerate(people) for value in its]
    sql = f"{CLAUSE} AVG(quantity, contribution_bounds_per_group => (-3, 50)) AS a FROM professors"
    everybody = slots(rows, sql)
    for person, its in enumerate(people[::5]):
        left = [row for row in rows if row[0] != 5 * person]
        moved = [one - other for one, other in zip(everybody, slots(left, sql), strict=True)]
        known = [min(max(value, 0), 100) for value in its if value is not None]
        mean = min(max(sum(known) / len(known), -3), 50) if known else None
        assert moved[0] == (mean is not None)
        assert moved[1] == pytest.approx(0 if mean is None else mean - 25, abs=1e-3)
        assert abs(moved[1]) <= 25


def slots(rows, sql):
    """The exact numbers that would meet the noise, in their units. The owner declares 0 to 100 for each row."""
    analyst = opened(rows)
    sealed = analyst.query(sql).sealed
    (step,) = exact_steps(sealed, analyst.place.engine, salt=1)
    (row,) = step.rows
    assert [float(noise.placed.slot.reach * noise.placed.slot.size) for noise in sealed.plan.noises] == [1, 25]
    return [float(noise.placed.slot.size * value) for noise, value in zip(sealed.plan.noises, row, strict=True)]


def test_a_person_counts_once_whatever_the_policy_caps_and_the_answer_says_so(professors):
    """Price and noise of an average of people do not depend on how many rows of one count."""
    one = professors.query(f"{CLAUSE} AVG(quantity) FROM professors").sealed.plan
    other = opened(PROFESSORS, rows_per_group=2).query(f"{CLAUSE} AVG(quantity) FROM professors").sealed.plan
    assert [noise.carried for noise in one.noises] == [noise.carried for noise in other.noises]
    assert [placed.slot.cap for placed in one.bounded.slots] == [1, 1]
    answer = professors.sql(f"{CLAUSE} AVG(quantity, contribution_bounds_per_group => (5, 50)) FROM professors")
    assert "the average of quantity of one person counts once, within 5 and 50" in answer.notes


@cases(__file__, "written", "why")
def test_what_has_no_such_meaning_is_refused_in_words(professors, written, why):
    raised(NotSupported, lambda: professors.cost(f"{CLAUSE} {written} FROM professors"), match=why)


def test_rows_that_nothing_limits_are_told_so_and_the_way_out_works():
    frame = pd.DataFrame({"id": [1, 1, 2], "x": [1, 2**60, 3]})
    ana = owner_of(frame, "t", person="id", rows_per_person=3, columns=["x"], epsilon=10, cost_per_query=1).grant(
        "ana", budget=10
    )
    for call, limits in (("AVG(x)", "0, 1000"), ("AVG(x, contribution_bounds_per_group => (0, 9))", "0, 9")):
        with pytest.raises(DpsqlError) as caught:
            ana.cost(f"{CLAUSE} {call} FROM t")
        assert f"CLAMP(x, {limits})" in caught.value.try_sql
        assert without_noise(ana, caught.value.try_sql).rows
