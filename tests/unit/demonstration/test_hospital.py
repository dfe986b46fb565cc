"""The demo hospital: whole, the same each time, and behind the same noise as everything else."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import dpsql
from dpsql.demonstration import hospital
from tests.kits.refusals import raised
from tests.kits.scripts import script


@pytest.fixture(scope="module")
def tables():
    return hospital.invented()


@pytest.fixture(scope="module")
def ana():
    return dpsql.demo()


def test_everybody_sees_the_same_hospital(tables):
    """Python keeps the numbers of `Random.random` from version to version, and of no other method."""
    assert tables == hospital.invented.__wrapped__()  # made once more
    tree = ast.parse(Path(hospital.__file__).read_text(encoding="utf-8"))
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in {"random", "chance"}
    }
    assert used == {("random", "Random"), ("chance", "random")}


def test_every_row_refers_to_rows_that_are_there_and_the_policy_is_true_of_them(tables):
    people = {row[0] for row in tables["patients"]}
    wards = {row[0] for row in tables["wards"]}
    assert len(people) == len(tables["patients"]) == hospital.PATIENTS
    assert len({row[0] for row in tables["visits"]}) == len(tables["visits"])
    assert {row[1] for row in tables["visits"]} <= people
    assert {row[2] for row in tables["visits"]} <= wards
    # Bounds, keys and caps change no answer: what is clamped or left out would puzzle a newcomer.
    assert all(0 <= age <= 110 for _, _, age, *_ in tables["patients"])
    assert {row[3] for row in tables["patients"]} == set(hospital.CITIES)
    assert {row[4] for row in tables["patients"]} == set(hospital.SEXES)
    assert all(0 <= charge <= 2000 for *_, charge, _ in tables["visits"])
    assert all(hospital.FIRST_DAY <= row[3] <= hospital.LAST_DAY for row in tables["visits"])
    assert max(Counter(row[1] for row in tables["visits"]).values()) == hospital.VISITS_PER_PERSON
    (bob,) = [row for row in tables["patients"] if row[1] == "Bob"]
    assert bob[-1] is True
    assert [row[1] for row in tables["visits"] if row[-1] == hospital.BOBS_OWN] == [bob[0]]


def test_ana_has_the_grant_and_asks_for_the_price_of_the_demo(ana):
    assert ana.name == "ana"
    assert float(ana.budget.left) == float(ana.budget.total) == 1.0
    answer = ana.sql("SELECT city, COUNT(*) AS n FROM patients GROUP BY city")
    assert float(answer.cost.epsilon) == 0.05
    assert sorted(answer["city"]) == sorted(hospital.CITIES)
    # Through the person, and to the public table.
    joined = "SELECT w.ward, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward_id = w.ward_id GROUP BY w.ward"
    assert float(ana.cost(joined)) == 0.05
    assert float(ana.cost("SELECT AVG(p.age) FROM visits v JOIN patients p ON v.patient_id = p.patient_id")) == 0.05
    assert ana.sql("SELECT COUNT(*) AS n FROM wards")["n"] == [5]
    # One row per patient is a key of the table, so there is nothing to be cut off and nothing to explain.
    assert ana.sql("SELECT COUNT(*) AS n FROM patients WHERE age >= 65").notes == ()
    assert float(ana.cost("SELECT COUNT(*) FROM patients WHERE name = 'Bob'")) == 0.05
    raised(dpsql.Refused, lambda: ana.query("SELECT name FROM patients"))
    raised(dpsql.Refused, lambda: ana.query("SELECT name, COUNT(*) FROM patients GROUP BY name"))


def test_the_answers_have_noise_and_lie_near_the_rows(ana, tables):
    """Within six margins: noise beyond is drawn less than once in 10^20 runs. Exactly right, all of them: less than
    once in 10^8 (five counts, each exact with a probability of about 1/50)."""
    answer = ana.sql(
        "SELECT age // 20 AS band, COUNT(*) AS n FROM patients WHERE age < 100 GROUP BY band KEYS (0, 1, 2, 3, 4)"
    )
    exact = Counter(row[2] // 20 for row in tables["patients"])
    assert all(
        abs(cell.value - exact[band]) <= 6 * cell.margin for band, cell in zip(answer["band"], answer["n"], strict=True)
    )
    assert any(cell.value != exact[band] for band, cell in zip(answer["band"], answer["n"], strict=True))


def test_the_files_of_the_package_hold_the_invented_rows():
    tool = script("demo_rows")
    assert tool.stale() == [], "python tools/demo_rows.py --write"


def test_the_hospital_opens_without_inventing_rows(monkeypatch):
    monkeypatch.setattr(hospital, "invented", lambda: pytest.fail("inventing takes longer than reading"))
    hospital.opened().close()
