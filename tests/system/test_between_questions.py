"""What one question leaves behind for the next: stored releases, other analysts, the calendar, changed declarations."""

from datetime import date

import pandas as pd
import pytest

import dpsql
from dpsql.errors import BadPolicy, Hidden, InternalError, NotPermitted
from dpsql.privacy.unit import Neighbours
from dpsql.session import query as query_module
from tests.kits.refusals import raised


@pytest.fixture
def owner():
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame(
        {
            "who": range(300),
            "city": ["Bern"] * 299 + ["Aarau"],
            "day": pd.to_datetime(["2025-05-05"] * 300).astype("datetime64[us]"),
        }
    )
    wards = pd.DataFrame({"id": [1, 2], "code": ["x", "y"]})
    owner.register("people", rows, person="who", unique=True, keys={"city": "private"}, columns=["day"])
    owner.register("wards", wards, public=True, columns=["id"], hidden=["code"])
    owner.promise(epsilon=50, delta=1e-3)
    owner.defaults(cost_per_query=1, max_keys=20_000, selection_share=0.25, delta_per_query=1e-6)
    return owner


GROUPS = "SELECT city FROM people GROUP BY city"


def test_a_coarse_selection_does_not_stand_for_a_fine_one(owner):
    """At a tiny price no group of 300 people is shown, but for one draw in 14 000 (σ = 319, threshold 1519); who pays
    for more precision must get it."""
    analyst = owner.grant("ana", budget=50)
    assert len(analyst.sql(GROUPS, epsilon=0.00001)) == 0
    fine = analyst.sql(GROUPS, epsilon=5)
    assert fine.cost.epsilon == 5
    assert [row[0] for row in fine] == ["Bern"]
    assert analyst.sql(GROUPS, epsilon=4).cost.epsilon == 0


def test_another_analysts_release_is_known_but_not_numbered(owner):
    ann, bob = owner.grant("ann", budget=20), owner.grant("bob", budget=20, sees_releases=True)
    first = ann.sql("SELECT COUNT(*) FROM people")
    again = bob.sql("SELECT COUNT(*) FROM people")
    assert (again.cost.epsilon, again.release, first.release is None) == (0, None, False)
    assert again.rows[0][0].value == first.rows[0][0].value
    assert any("already known" in note for note in again.notes)
    assert ann.sql("SELECT COUNT(*) FROM people").release == first.release


def test_a_question_kept_for_a_year_meets_the_end_of_its_grant(owner, monkeypatch):
    analyst = owner.grant("ana", budget=5, expires=date(2999, 1, 1))
    kept = analyst.query("SELECT COUNT(*) FROM people")
    monkeypatch.setattr(query_module, "today", lambda: date(2999, 1, 2))
    raised(NotPermitted, lambda: kept.run(), match="ended")


def test_a_name_for_people_does_not_change_who_is_protected():
    owner = dpsql.open(":memory:")
    owner.person(relation="change_one")
    owner.person(name="patient")
    assert owner.catalog.policy.person.relation is Neighbours.CHANGE_ONE


def test_hidden_columns_of_public_tables_stay_hidden_and_their_aggregates_are_refused(owner):
    analyst = owner.grant("ana", budget=5)
    raised(Hidden, lambda: analyst.sql("SELECT code FROM wards"))
    assert len(analyst.sql("SELECT id FROM wards")) == 2
    raised(dpsql.Refused, lambda: owner.grant("ana", budget=5).sql("SELECT MIN(DISTINCT id) FROM wards"))


def test_the_calendar_ends_with_the_year_9999_and_null_in_a_list_of_keys_is_no_key(owner):
    analyst = owner.grant("ana", budget=5)
    years = "SELECT DATE_TRUNC('year', day) AS y, COUNT(*) FROM people WHERE day BETWEEN '2024-01-01' AND '9999-12-31'"
    assert len(analyst.sql(f"{years} GROUP BY 1")) == 7976
    analyst = owner.grant("ana", budget=5)
    rows = analyst.sql("SELECT city, COUNT(*) FROM people WHERE city IN ('Bern', NULL) GROUP BY city")
    assert [row[0] for row in rows] == ["Bern"]
    analyst = owner.grant("ana", budget=5)
    rows = analyst.sql("SELECT who > 9 AS k, who > 9 AS l, COUNT(*) FROM people GROUP BY k, l")
    assert [row[:2] for row in rows] == [(False, False), (True, True)]


def test_a_public_number_of_rows_is_exact():
    owner = dpsql.open(":memory:")
    with pytest.raises(BadPolicy):
        owner.register("t", pd.DataFrame({"x": [1]}), unit="row", rows="about 6000", rows_public=True, columns=["x"])


def test_new_data_are_a_new_question_on_the_same_budget(owner):
    before = owner.grant("ana", budget=5)
    before.sql("SELECT COUNT(*) FROM people")
    owner.new_data_version("2")
    after = owner.grant("ana", budget=5)
    assert after.sql("SELECT COUNT(*) FROM people").cost.epsilon == 1
    assert float(after.budget.spent) == pytest.approx(2, rel=1e-6)


def test_seal_refuses_a_person_who_counts_twice_behind_a_key(owner, monkeypatch):
    from dpsql.plan import seal as sealing
    from dpsql.plan.derive import Move, Moves

    monkeypatch.setattr(sealing, "derive", lambda *_, **__: Moves(columns=(Move(l1=2, l2_squared=4),), keys_per_unit=1))
    raised(InternalError, lambda: owner.grant("ana", budget=5).query(GROUPS))


@pytest.mark.parametrize("noise", [None, "laplace", "gaussian"])
@pytest.mark.parametrize("cost", [1, 5])
def test_an_answer_with_private_keys_spends_no_more_than_its_price(cost, noise):
    """A selection and a measurement are counted in one currency, so that the share of the account is the price."""
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame({"who": range(600), "city": "Bern", "x": range(600)})
    owner.register("t", rows, person="who", unique=True, keys={"city": "private"}, bounds={"x": (0, 600)})
    owner.promise(epsilon=10, delta=1e-6)
    owner.defaults(max_keys=10, selection_share=0.25, delta_per_query=1e-8)
    analyst = owner.grant("ana", budget=10)
    answer = analyst.sql("SELECT city, SUM(x), COUNT(*) FROM t GROUP BY city", epsilon=cost, noise=noise)
    assert answer.cost.epsilon == cost
    assert float(analyst.budget.spent) <= cost * (1 + 1e-9)


@pytest.mark.parametrize("limit", [float("nan"), float("inf"), -1, "x"])
def test_a_limit_is_a_number(owner, limit):
    raised(dpsql.BadParameter, lambda: owner.grant("ana", budget=5).sql("SELECT COUNT(*) FROM people", max_cost=limit))


def test_no_answer_takes_more_than_it_says_whatever_was_bought_before():
    """Laplace answers weigh more once they are counted in ρ: a Gaussian that would do that to them is not bought."""
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame({"who": range(600), "city": ["Bern", "Basel"] * 300, "x": range(600)})
    owner.register("t", rows, person="who", unique=True, keys={"city": ["Basel", "Bern"]}, bounds={"x": (0, 600)})
    owner.promise(epsilon=5, delta=1e-6)
    owner.defaults(cost_per_query=0.5, max_keys=10)
    analyst = owner.grant("ana", budget=5)
    spent = 0.0
    for sql in (
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE x > 3",
        "SELECT city, COUNT(*), AVG(x), STDDEV(x) FROM t GROUP BY city",
    ):
        analyst.sql(sql)
        assert float(analyst.budget.spent) - spent <= 0.5 * (1 + 1e-9)
        spent = float(analyst.budget.spent)
