"""One source, one budget: no view, alias, join, data version or other name opens another one, and other people are
another promise, printed as the sum of both."""

from fractions import Fraction

import duckdb
import pytest

import dpsql
from dpsql.errors import BadParameter, BadPolicy, BudgetExhausted, NotPermitted
from tests.kits.refusals import raised

POLICY = """version = 1
[source]
url = "duckdb://clinic.duckdb"
{version}
[person]
relation = "{relation}"
[promise]
epsilon = 1
delta = 0
per = "{per}"
[defaults]
cost_per_query = 1
[table.{people}]
source = "patients"
{way}
columns.age = {{ bounds = [0, 100] }}
columns.ward = {{ bounds = [0, 9] }}
{more}
[[grant]]
to = "ana"
budget = 1
[[grant]]
to = "bob"
budget = 1
"""
PERSON = 'person = "id"\nrows_per_person = 1'
OLD_PEOPLE = (
    '[table.old]\nsource = "old_patients"\nperson = "id"\nrows_per_person = 1\ncolumns.age = { bounds = [0, 100] }'
)
BEDS = '[table.beds]\nperson = "id"\nrows_per_person = 1\ncolumns.bed = { bounds = [0, 9] }'


@pytest.fixture
def opened(tmp_path):
    with duckdb.connect(tmp_path / "clinic.duckdb") as data:
        data.execute("CREATE TABLE patients AS SELECT i AS id, i % 90 AS age, i % 4 AS ward FROM range(200) t(i)")
        data.execute("CREATE TABLE beds AS SELECT i AS id, i % 9 AS bed FROM range(200) t(i)")
        data.execute("CREATE VIEW old_patients AS SELECT id, age FROM patients WHERE age > 60")
        data.execute('CREATE VIEW "Older" AS SELECT age FROM old_patients WHERE age > 80')

    def open_with(*, people="patients", way=PERSON, more="", relation="add_remove", version="", per="forever"):
        written = POLICY.format(people=people, way=way, more=more, relation=relation, version=version, per=per)
        (tmp_path / "dpsql.toml").write_text(written, encoding="utf-8")
        return dpsql.open(tmp_path / "dpsql.toml")

    return open_with


def spend_all(owner):
    owner.analyst("ana").sql("SELECT COUNT(*) FROM patients")


TRIES = {
    "the same table": ({}, "SELECT COUNT(*) FROM patients WHERE age > 3"),
    "an alias": ({}, "SELECT COUNT(*) FROM patients AS somebody WHERE somebody.age > 3"),
    "another name in the policy": ({"people": "folk"}, "SELECT COUNT(*) FROM folk"),
    "a view": ({"more": OLD_PEOPLE}, "SELECT COUNT(*) FROM old"),
    "another table of the same people": ({"more": BEDS}, "SELECT COUNT(*) FROM beds"),
    "a join": ({"more": BEDS}, "SELECT COUNT(*) FROM patients p JOIN beds b ON p.id = b.id"),
    "another data version": ({"version": 'data_version = "2"'}, "SELECT COUNT(*) FROM patients"),
    "a common table": ({}, "WITH w AS (SELECT * FROM patients) SELECT SUM(age) FROM w"),
}


@pytest.mark.parametrize("name", TRIES)
def test_nothing_opens_a_fresh_budget(opened, name):
    """Ana has spent the promise; Bob has a grant of his own under it, and tries."""
    words, sql = TRIES[name]
    with opened() as owner:
        spend_all(owner)
    with opened(**words) as owner:
        assert owner.budget.spent == 1
        raised(BudgetExhausted, lambda: owner.analyst("bob").sql(sql, epsilon=Fraction(1, 100)))
        assert owner.budget.spent == 1


def test_no_word_in_the_file_makes_a_promise_renewable(opened):
    with opened() as owner:
        spend_all(owner)
    raised(BadParameter, lambda: opened(per="day"), match='another promise: per was "forever" and is now "day"')
    with opened() as owner:
        raised(NotPermitted, lambda: owner.renew(), match="for ever")
        assert owner.budget.spent == 1


def test_each_of_them_would_be_answered_with_a_budget(opened):
    """So that the refusals above are about the budget. An alias makes no other question: it is told again."""
    with opened(more=f"{OLD_PEOPLE}\n{BEDS}") as owner:
        ana = owner.analyst("ana")
        for name, (_, sql) in TRIES.items():
            if name != "another name in the policy":
                ana.sql(sql, epsilon=Fraction(1, 100))
        assert owner.budget.spent == Fraction(len(TRIES) - 2, 100)


OTHERS = {
    "person": {"way": 'person = "ward"\nrows_per_person = 1'},
    "unit": {"way": "unit = 'row'"},
    "path": {"way": 'person_via = "id -> beds.id -> id"\nrows_per_person = 1', "more": BEDS},
    "relation": {"relation": "change_one"},
    "public": {"way": "public = true"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_people_are_another_promise(opened, name):
    with opened() as owner:
        spend_all(owner)
    raised(BadPolicy, lambda: opened(**OTHERS[name]), match="the promise of this ledger is about other people")
    with opened() as owner:
        told = owner.close_promise(f"another {name}")
        assert "ε = 1, δ = 0 in all" in told
    with opened(**OTHERS[name]) as owner:
        for asked in (lambda: owner.analyst("bob"), lambda: owner.budget):
            with pytest.raises((BadParameter, NotPermitted), match=f"was closed: another {name}"):
                asked()
        assert len(owner._ledger.promises()) == 1
        owner.promise(epsilon=1)
    with opened(**OTHERS[name]) as owner:  # what was said in a call is the promise of the file from then on
        assert owner.budget.spent == 0
        assert [(float(made.account.epsilon), made.periods) for made in owner._ledger.promises()] == [(1, 1), (1, 1)]
        answer = owner.analyst("bob").sql("SELECT COUNT(*) FROM patients")
        assert answer.cost.epsilon == (0 if name == "public" else 1)
        owner._ledger.verify()


@pytest.mark.parametrize("way", ["public = true", "unit = 'row'"])
@pytest.mark.parametrize("view", ["old_patients", "OLDER"])
def test_a_view_of_people_is_about_people(opened, view, way):
    with pytest.raises(BadPolicy, match=r"dpsql\.toml:\d+ table\.shown: it reads rows of patients") as told:
        opened(more=f'[table.shown]\nsource = "{view}"\n{way}')
    assert "one by one" in told.value.why
