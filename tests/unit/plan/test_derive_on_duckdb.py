"""No person, however extreme, moves what the engine computes further than `derive` says; somebody moves it so far."""

import random

import duckdb
import pytest
from derive_trees import (
    Care,
    Different,
    Items,
    People,
    Readings,
    Scaled,
    Total_,
    Visits,
    catalog,
    computed,
    difference,
    judged,
    planted,
    text_of,
)

from dpsql.plan.derive import Ball
from dpsql.privacy.unit import Neighbours

WARDS = ("A", "B", "C", "D", "E", "", None)
CHARGES = (None, -(2**40), -6, -5, -1, 0, 1, 2, 3, 4, 9, 10, 11, 2**40)
PEOPLE = ("ann", "bob", "cy")


@pytest.fixture
def engine():
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE visits (ID BIGINT, Patient_ID VARCHAR, ward VARCHAR, charge BIGINT)")
        connection.execute("CREATE TABLE care (id BIGINT, visit_id BIGINT, cost BIGINT)")
        connection.execute("CREATE TABLE items (care_id BIGINT, pieces BIGINT)")
        connection.execute("CREATE TABLE readings (ward VARCHAR, level BIGINT)")
        yield connection


def visits_of(person, chance):
    """Few rows or many, in few wards or all, mild or extreme."""
    wards = chance.sample(WARDS, chance.randint(1, len(WARDS)))
    charges = chance.sample(CHARGES, chance.randint(1, len(CHARGES)))
    return [
        (chance.randint(1, 6), person, chance.choice(wards), chance.choice(charges))
        for _ in range(chance.choice((0, 1, 3, 8, 25)))
    ]


def vector(engine, text, statement, rows):
    return computed(engine, text, len(statement.keys), rows)


def database(chance):
    rows = {person: visits_of(person, chance) for person in PEOPLE}
    rows[None] = visits_of(None, chance)
    return rows


def content(rows):
    """The tables as the engine holds them. Rows reached by a path leave with their last owner."""
    visits = [row for each in rows.values() for row in each]
    reached = {row[0] for row in visits}
    care = [(number % 4, number % 7, 3 * number - 20) for number in range(12) if number % 7 in reached]
    kept = {number for number, _, _ in care}
    items = [(number % 5, number - 4) for number in range(15) if number % 5 in kept]
    return {"visits": visits, "care": care, "items": items}


STATEMENTS = [
    Visits(),
    Total_(),
    Different(),
    People(),
    Scaled(),
    planted(Scaled, weights=(1, 300), radius_squared=10**6),
    Care(),
    Items(),
]
NAMES = ["choose", "total", "distinct", "people", "scale", "narrow scale", "path", "long path"]


@pytest.mark.parametrize("statement", STATEMENTS, ids=NAMES)
def test_no_person_reaches_further_by_leaving(engine, statement):
    reach, text, chance = statement.reach(), text_of(statement), random.Random(1)
    for _ in range(12):
        rows = database(chance)
        before = vector(engine, text, statement, content(rows))
        for person in PEOPLE:
            after = vector(engine, text, statement, content(rows | {person: []}))
            assert max(judged(reach, difference(before, after, len(statement.values)))) <= 1


@pytest.mark.parametrize("statement", STATEMENTS[:6], ids=NAMES[:6])
def test_no_person_reaches_further_by_changing(engine, statement):
    reach, text, chance = statement.reach(catalog(Neighbours.CHANGE_ONE)), text_of(statement), random.Random(2)
    for _ in range(30):
        rows = database(chance)
        before = vector(engine, text, statement, content(rows))
        person = chance.choice(PEOPLE)
        after = vector(engine, text, statement, content(rows | {person: visits_of(person, chance)}))
        assert max(judged(reach, difference(before, after, len(statement.values)))) <= 1


def extreme(person, charge, wards="ABCD"):
    return [(1, person, ward, charge if charge is not None else number) for ward in wards for number in range(9)]


@pytest.mark.parametrize("statement", STATEMENTS[:5], ids=NAMES[:5])
def test_somebody_reaches_as_far(engine, statement):
    """The reach is not only an upper bound: with enough rows everywhere it is attained (a ball up to truncation)."""
    charge = None if isinstance(statement, Different) else 2**40
    rows = {"ann": extreme("ann", charge)}
    text, reach = text_of(statement), statement.reach()
    if isinstance(statement, Scaled):  # a ball that bites: one ward alone would fill it
        statement = planted(Scaled, radius_squared=10**7)
        text, reach = text_of(statement), statement.reach()
    before, after = (vector(engine, text, statement, content(each)) for each in (rows, {"ann": []}))
    used = judged(reach, difference(before, after, len(statement.values)))
    assert all(0.99 < each <= 1 for each in used)
    assert isinstance(reach, Ball) or used == [1] * len(used)


def test_somebody_reaches_as_far_by_changing(engine):
    """From the worst to the best value in the same wards: squared distances; in other wards: distances."""
    statement = Visits()
    reach, text = statement.reach(catalog(Neighbours.CHANGE_ONE)), text_of(statement)
    low, high = ({"ann": extreme("ann", charge, wards)} for charge, wards in ((-(2**40), "AB"), (2**40, "AB")))
    before, after = (vector(engine, text, statement, content(rows)) for rows in (low, high))
    assert sum(row[1] ** 2 for row in difference(before, after, 2)) == reach.columns[1].l2_squared
    other = {"ann": extreme("ann", 2**40, "CD")}
    after, there = (vector(engine, text, statement, content(rows)) for rows in (high, other))
    assert sum(abs(row[1]) for row in difference(after, there, 2)) == reach.columns[1].l1


def test_a_row_that_is_a_unit_reaches_no_further(engine):
    statement, chance = Readings(), random.Random(3)
    text = text_of(statement)
    for _ in range(20):
        rows = [(chance.choice(WARDS), chance.choice(CHARGES)) for _ in range(6)]
        before = vector(engine, text, statement, {"readings": rows})
        without = vector(engine, text, statement, {"readings": rows[1:]})
        assert max(judged(statement.reach(), difference(before, without, 2))) <= 1
        other = [(chance.choice(WARDS), chance.choice(CHARGES)), *rows[1:]]
        after = vector(engine, text, statement, {"readings": other})
        assert max(judged(statement.reach(catalog(Neighbours.CHANGE_ONE)), difference(before, after, 2))) <= 1


def test_the_judge_sees_a_reach_that_is_too_small(engine):
    """The statement with G = 3, judged by the reach of G = 2."""
    statement = planted(Visits, groups=3)
    rows = {"ann": extreme("ann", 2**40)}
    before, after = (vector(engine, text_of(statement), statement, content(each)) for each in (rows, {"ann": []}))
    assert max(judged(Visits().reach(), difference(before, after, 2))) > 1
