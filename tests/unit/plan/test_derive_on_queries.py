"""Statements the rewriter makes of real queries: the reach by hand, and people removed from a real DuckDB."""

import random
from dataclasses import replace

import duckdb
import pytest
from derive_trees import computed, difference, judged, moves

from dpsql.catalog.model import Mode
from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, derive
from dpsql.sql.emit import engine_text
from dpsql.sql.relations import Group, over
from dpsql.sql.rewrite import filled
from tests.kits.planning import declared, rewritten
from tests.kits.refusals import raised

POLICY = """
version = 1
source.url = "memory:"
[person]
name = "patient"
{relation}
[promise]
epsilon = 5.0
delta   = 1e-6
[defaults]
max_keys = 1000
[table.patients]
person = "patient_id"
unique = true
[table.patients.columns]
patient_id = {{ hidden = true }}
age = {{ bounds = [0, 110] }}
[table.visits]
person = "patient_id"
rows_per_person = 4
rows_per_group = 3
groups_per_person = 2
[table.visits.columns]
patient_id = {{ hidden = true }}
visit_id = {{ hidden = true }}
ward = {{ keys = ["A", "B", "C", "D"] }}
illness = {{ keys = "private" }}
charge = {{ bounds = [-10, 20] }}
[table.drugs]
person_via = "visit_id -> visits.visit_id -> patient_id"
rows_per_person = 5
rows_per_group = 2
groups_per_person = 3
[table.drugs.columns]
visit_id = {{ hidden = true }}
drug = {{ keys = "private" }}
days = {{ bounds = [1, 9] }}
[table.samples]
unit = "row"
[table.samples.columns]
kind = {{ keys = ["x", "y"] }}
weight = {{ bounds = [0, 8] }}
[table.wards]
public = true
[table.wards.columns]
ward = {{}}
floor = {{ bounds = [0, 9] }}
"""
TABLES = {
    "patients": "patient_id BIGINT, age BIGINT",
    "visits": "patient_id BIGINT, visit_id BIGINT, ward VARCHAR, illness VARCHAR, charge BIGINT",
    "drugs": "visit_id BIGINT, drug VARCHAR, days BIGINT",
    "samples": "kind VARCHAR, weight BIGINT",
    "wards": "ward VARCHAR, floor BIGINT",
}
ADD_REMOVE, CHANGE_ONE = (
    declared(POLICY.format(relation=relation), TABLES, patients=(("patient_id",),))
    for relation in ("", 'relation = "change_one"')
)


def statements(sql, catalog=ADD_REMOVE, *, mode=None, gaussian=False):
    """(selection, measurement), either of them None."""
    made = rewritten(sql, catalog, mode=mode, gaussian=gaussian)
    return getattr(made, "selection", None), getattr(made, "measurement", None)


def reach_of(statement, catalog=ADD_REMOVE, *, selection=False):
    keys, values = (tuple(column.id for column in columns) for columns in (statement.keys, statement.values))
    return derive(statement.relation, keys=keys, values=values, catalog=catalog, selection=selection)


BY_HAND = {
    # cap 4; [-10, 20] · 4 = [-40, 80]
    "SELECT COUNT(*), SUM(charge) FROM visits": moves((4, 16), (80, 6400)),
    "SELECT COUNT(charge) FROM visits WHERE charge > 3": moves((4, 16)),
    # middle 5, distances up to 15: 4 · 15, and 4 · 225
    "SELECT VAR_POP(charge) FROM visits": moves((4, 16), (60, 3600), (900, 810_000)),
    # pairs of visits and patients: distances up to 15 and up to 55, at most 4 pairs
    "SELECT COVAR_POP(charge, age) FROM visits JOIN patients USING (patient_id)": moves(
        (4, 16), (60, 3600), (220, 220**2), (3300, 3300**2)
    ),
    "SELECT COUNT(DISTINCT patient_id) FROM visits": moves((1, 1)),
    "SELECT COUNT(DISTINCT charge), COUNT(*) FROM visits": moves((4, 16), (4, 16)),
    # cap 3 in each of 2 groups
    "SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward": moves((6, 18), (120, 7200), keys=2),
    "SELECT ward, COUNT(DISTINCT charge) FROM visits GROUP BY ward": moves((6, 18), keys=2),
    "SELECT ward, COUNT(*) FROM visits WHERE ward IN ('A') GROUP BY ward": moves((3, 9)),
    "SELECT charge > 0, COUNT(*) FROM visits GROUP BY 1": moves((6, 18), keys=2),
    # one row each, enforced
    "SELECT COUNT(*), SUM(age) FROM patients": moves((1, 1), (110, 12100)),
    "SELECT age > 50, COUNT(*) FROM patients GROUP BY 1": moves((1, 1)),
    # paths and joins: 5 rows of a person; with visits the larger cap
    "SELECT COUNT(*), SUM(days) FROM drugs": moves((5, 25), (45, 2025)),
    "SELECT SUM(p.age) FROM visits v JOIN patients p ON v.patient_id = p.patient_id": moves((440, 440**2)),
    "SELECT COUNT(*) FROM drugs d JOIN visits v ON d.visit_id = v.visit_id": moves((5, 25)),
    "SELECT w.floor, COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor": moves((6, 18), keys=2),
    "SELECT kind, COUNT(*), SUM(weight) FROM samples GROUP BY kind": moves((1, 1), (8, 64)),
}


@pytest.mark.parametrize("sql", BY_HAND)
def test_the_reach_of_a_query(sql):
    _, measurement = statements(sql)
    assert reach_of(measurement) == BY_HAND[sql]


def test_scale_mode():
    """Counts in 1024ths: 3 · 1024 in one group; sums: 3 · 20. Weights bring both to 3072 · 2^20, exactly or nearly."""
    _, measurement = statements("SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward", gaussian=True)
    unit = 3072 * 2**20
    ball = Ball(weights=(2**20, unit // 60), radius_squared=unit**2 * 2 * 2)
    assert reach_of(measurement) == ball
    assert reach_of(measurement, CHANGE_ONE) == Ball(weights=ball.weights, radius_squared=4 * ball.radius_squared)


def test_private_keys_are_selected_by_people_and_then_measured():
    selection, measurement = statements("SELECT illness, SUM(charge) FROM visits GROUP BY illness")
    assert reach_of(selection, selection=True) == moves((2, 2), keys=2)
    assert reach_of(measurement) == moves((120, 7200), keys=2)
    assert reach_of(filled(measurement, (("flu",), ("cold",), (None,)))) == moves((120, 7200), keys=2)


def test_change_one():
    sql = "SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward"
    _, measurement = statements(sql, CHANGE_ONE)
    assert reach_of(measurement, CHANGE_ONE) == moves((12, 36), (240, 16200), keys=2)  # (20+10)·3 = 90: 2 · 90²
    _, alone = statements("SELECT SUM(charge) FROM visits", CHANGE_ONE)
    assert reach_of(alone, CHANGE_ONE) == moves((120, 14400))


PUBLIC_GROUPS = "SELECT COUNT(*) FROM visits v JOIN (SELECT ward, {} FROM wards GROUP BY ward) w ON v.ward = w.ward"


def test_groups_of_public_rows_are_public():
    """At most 4 rows of a person, however many groups they meet."""
    _, measurement = statements(PUBLIC_GROUPS.format("MAX(floor) AS top, SUM(floor) AS s, COUNT(*) AS n"))
    assert reach_of(measurement) == moves((4, 16))


@pytest.mark.parametrize("function", ["avg", "median", "var_pop", "sum_distinct", "first", "sum"])
def test_public_totals_that_depend_on_the_order_of_rows_are_refused(function):
    _, measurement = statements(PUBLIC_GROUPS.format("SUM(floor) AS s") + " WHERE w.s > 3")

    def planted(relation):
        changed = over(relation, planted)
        if not isinstance(changed, Group):
            return changed
        totals = (replace(each, function=function) if each.function == "own_sum" else each for each in changed.totals)
        return replace(changed, totals=tuple(totals))

    spoiled = replace(measurement, relation=planted(measurement.relation))
    assert spoiled != measurement
    raised(InternalError, lambda: reach_of(spoiled), match="in an order that nothing settles")


@pytest.fixture
def engine():
    with duckdb.connect(config={"threads": 1}) as connection:
        for table, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
        connection.execute("INSERT INTO wards VALUES ('A', 1), ('B', 1), ('B', 2), ('C', 2), (NULL, 3), ('A', NULL)")
        yield connection


def person(number, chance):
    """Rows of one person: (patients, visits, drugs). Visits of two people may share a number."""
    many = chance.choice((0, 1, 3, 9, 30))
    charges = chance.sample((None, -(2**40), -11, -10, 0, 1, 5, 19, 20, 21, 2**40), 4)
    wards = chance.sample(("A", "B", "C", "D", "Z", None), chance.randint(1, 6))
    visits = [
        (
            number,
            chance.randint(1, 5),
            chance.choice(wards),
            chance.choice(("flu", "cold", None)),
            chance.choice(charges),
        )
        for _ in range(many)
    ]
    return {"patients": [(number, chance.choice((None, -3, 0, 50, 110, 999)))], "visits": visits}


def database(people, drugs):
    """All tables. A drug leaves with the last person its visit belongs to."""
    rows = {table: [row for each in people.values() for row in each[table]] for table in ("patients", "visits")}
    reached = {visit for _, visit, *_ in rows["visits"]}
    return rows | {"drugs": [row for row in drugs if row[0] in reached]}


ASKED = [
    *((sql, {}) for sql in BY_HAND if "samples" not in sql),
    ("SELECT ward, COUNT(*), SUM(charge), AVG(charge) FROM visits GROUP BY ward", {"gaussian": True}),
    ("SELECT illness, ward, COUNT(*) FROM visits GROUP BY illness, ward", {"mode": Mode.CHOOSE}),
    ("SELECT drug, SUM(days), COUNT(DISTINCT days) FROM drugs GROUP BY drug", {}),
    ("SELECT drug, SUM(days) FROM drugs GROUP BY drug", {"gaussian": True}),
]


@pytest.mark.parametrize(("sql", "how"), ASKED, ids=[f"{sql} {how or ''}" for sql, how in ASKED])
def test_no_person_moves_an_answer_further(engine, sql, how):
    chance = random.Random(4)
    selection, measurement = statements(sql, **how)
    for _ in range(4):
        people = {number: person(number, chance) for number in (1, 2, 3)} | {None: person(None, chance)}
        drugs = [
            (chance.randint(1, 6), chance.choice(("p", "q", "r", None)), chance.choice((None, -5, 1, 9, 50)))
            for _ in range(chance.choice((2, 20, 60)))
        ]
        whole = database(people, drugs)
        for statement in filter(None, (selection, measurement)):
            if statement is measurement and selection is not None:
                keys = tuple(computed(engine, engine_text(selection, dialect="duckdb"), len(selection.keys), whole))
                if not keys:
                    continue
                statement = filled(measurement, keys)
            reach = reach_of(statement, selection=statement is selection)
            text, width = engine_text(statement, dialect="duckdb"), len(statement.keys)
            before = computed(engine, text, width, whole)
            for leaving in (1, 2, 3):
                rest = {number: rows for number, rows in people.items() if number != leaving}
                after = computed(engine, text, width, database(rest, drugs))
                assert max(judged(reach, difference(before, after, len(statement.values)))) <= 1
