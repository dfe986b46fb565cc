"""A question: what it costs, where its errors point, and what is no question at all."""

import copy
import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpsql
from dpsql.errors import BadKey, BudgetExhausted, DpsqlError, NotPermitted, NotUnderstood, OverLimit
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import raised


@pytest.fixture
def owner():
    rows = pd.DataFrame({"who": range(40), "age": 30})
    words = {"person": "who", "unique": True, "bounds": {"age": (0, 99)}}
    owner = owner_of(rows, **words, epsilon=10**6, delta=1e-3, cost_per_query=0.5, max_keys=20)
    owner.register("days", pd.DataFrame({"day": range(50)}), public=True, columns=["day"])
    return owner


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=10**6)


@pytest.mark.parametrize("epsilon", [np.float64(0.1), 0.1, Fraction(1, 10)])
def test_a_tenth_is_a_tenth_whoever_wrote_it(analyst, epsilon):
    assert analyst.query("SELECT COUNT(*) FROM people", epsilon=epsilon).cost.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("sql", [None, b"SELECT COUNT(*) FROM people", 5, ["SELECT 1"]])
def test_a_question_is_text(analyst, sql):
    for ask in (analyst.sql, analyst.query, analyst.cost, analyst.explain):
        with pytest.raises(NotUnderstood, match="text"):
            ask(sql)


def test_an_error_at_run_time_points_into_the_text(analyst, owner):
    """Keys of public tables are counted when the answer is bought, and a grant may have shrunk since the plan."""
    sql = "SELECT d.day, COUNT(*) FROM people p JOIN days d ON p.age = d.day GROUP BY d.day"
    query = analyst.query(sql)
    for ask in (query.run, lambda: query.answered()):
        with pytest.raises(BadKey) as caught:
            ask()
        assert caught.value.sql == sql
    kept = analyst.query("SELECT COUNT(*) FROM people", epsilon=500)
    owner.grant("ana", budget=100)
    error = raised(BudgetExhausted, lambda: kept.answered())
    assert error.sql == kept.sql


@cases(__file__, "sql", "options=", "spent=", "proposed=")
def test_what_is_proposed_can_be_asked_with_what_is_left(owner, sql, options, spent, proposed):
    ana = owner.grant("eve", budget=2)
    if spent:
        ana.sql("SELECT COUNT(age) FROM people", epsilon=spent)
    error = raised(DpsqlError, lambda: ana.sql(sql, **options))
    assert error.try_sql == (None if proposed is None else f"SELECT {proposed}")
    if proposed is not None:
        ana.sql(error.try_sql, **options)


def test_a_limit_is_kept_before_anything_is_spent(analyst):
    raised(OverLimit, lambda: analyst.query("SELECT COUNT(*) FROM people").run(max_cost=0.4))
    assert analyst.budget.spent == 0


@pytest.mark.parametrize("epsilon", [99, 101, 10**5, 10**6])
def test_an_absurd_price_is_explained_at_once(analyst, epsilon):
    text = " ".join(analyst.query("SELECT COUNT(*) FROM people", epsilon=epsilon).explain().text().split())
    assert ("which is no limit in practice" in text) == (epsilon > 100)
    assert "may become sure, more than 99.99 %" in text


def test_lazy_names_are_listed_and_the_other_side_of_every_question_is_a_dpsql_error(analyst):
    assert set(dpsql.__all__) <= set(dir(dpsql))
    assert all(getattr(dpsql, name) is not None for name in dir(dpsql))
    for sql in ("", "SELECT", "DROP TABLE people", "SELECT who FROM people", "SELECT COUNT(*) FROM nowhere", "\x00"):
        with pytest.raises(DpsqlError) as caught:
            analyst.sql(sql)
        assert caught.value.sql == sql


def test_a_wish_to_scale_that_would_save_nothing_is_told():
    """One slot in one group per person: choosing has the same reach. In two groups of three it is used."""
    with dpsql.open(":memory:") as owner:
        rows = pd.DataFrame({"id": [n % 50 for n in range(150)], "ward": [n % 3 for n in range(150)]})
        owner.register("one", rows, person="id", rows_per_person=1, groups_per_person=1, keys={"ward": [0, 1, 2]})
        owner.register("two", rows, person="id", rows_per_person=1, groups_per_person=2, keys={"ward": [0, 1, 2]})
        owner.promise(epsilon=1, delta=1e-6)
        owner.defaults(cost_per_query=0.01, max_keys=10)
        analyst = owner.grant("ana", budget=1)
        for sql, used in [
            ("SELECT ward, COUNT(*) FROM one GROUP BY ward", False),
            ("SELECT COUNT(*) FROM one", False),
            ("SELECT ward, COUNT(*) FROM two GROUP BY ward", True),
        ]:
            notes = analyst.sql(sql, mode="scale").notes
            assert any("is scaled down in each" in note for note in notes) == used
            assert any('mode "scale" was not used' in note for note in notes) != used
            assert not any("was not used" in note for note in analyst.sql(sql).notes)


def test_a_limit_is_quoted_as_it_was_written():
    sql, analyst = "SELECT COUNT(*) FROM people", owner_of(1, epsilon=2).grant("ana", budget=2, max_per_query=1.0000001)
    above = r"epsilon = 1\.0000002 is above your limit of 1\.0000001 per query"
    raised(NotPermitted, lambda: analyst.sql(sql, epsilon=1.0000002), match=above)
    stopped = r"stopped by max_cost 1: it would cost 1\.0000001"
    raised(OverLimit, lambda: analyst.sql(sql, epsilon=1.0000001, max_cost=1), match=stopped)


def test_an_answer_shows_where_the_ledger_ends(analyst):
    """Whoever keeps the last one sees later whether the ledger still holds it."""
    first = analyst.sql("SELECT COUNT(*) FROM people")
    head = analyst.place.ledger.head()
    assert head.number == first.release + 1  # the charge, then the answer
    assert first.head == f"#{head.number}:{head.hash.hex()[:8]}"
    assert analyst.sql("SELECT COUNT(*) FROM people").head == first.head
    assert analyst.sql("SELECT COUNT(*) FROM days").head == first.head
    assert analyst.sql("SELECT SUM(age) FROM people").head.startswith(f"#{head.number + 2}:")
    assert analyst.sql("EXPLAIN PRIVACY SELECT COUNT(*) FROM people").head is None


@pytest.mark.parametrize("ask", ["sql", "query", "cost", "explain"])
def test_a_word_that_no_question_has_is_refused_and_not_passed_over(analyst, ask):
    for sql in ("SELECT COUNT(*) FROM people", *(["SET dp.max_cost = 1"] if ask == "sql" else [])):
        with pytest.raises(TypeError, match="epsilom"):
            getattr(analyst, ask)(sql, epsilom=1)
    with pytest.raises(TypeError, match="max_cost" if ask != "sql" else "within"):
        getattr(analyst, ask)("SELECT COUNT(*) FROM people", **{"within" if ask == "sql" else "max_cost": 1})


@pytest.fixture
def ben():
    """An analyst of whose numbers some noise is left."""
    return owner_of(40, epsilon=5, delta=1e-6, cost_per_query=0.5, max_keys=20).grant("ben", budget=5)


def test_a_better_answer_is_the_statement_with_another_end(ben):
    coarse = ben.sql("SELECT COUNT(*) AS n FROM people -- all\n COST 0.1", confidence=0.9)
    margin = coarse["n"][0].margin
    finer = coarse.better(within=margin / 4)
    assert finer["n"][0].margin <= margin / 4
    assert finer.confidence == coarse.confidence
    assert finer.better(within=margin / 2).cost.epsilon == 0  # it is precise enough
    (last,) = ben.sql("SELECT sql FROM dp.ledger ORDER BY number DESC LIMIT 1")["sql"]
    assert re.fullmatch(r"SELECT COUNT\(\*\) AS n FROM people -- all\n\s*WITHIN [0-9.]+", last)
    assert ben.query("SELECT COUNT(*) AS n FROM people COST 0.1").run(within=margin / 2).cost.epsilon == 0


@pytest.mark.parametrize("wrong", [{}, {"within": 5, "epsilon": 1}, {"within": 0}, {"within": "5"}, {"epsilon": -1}])
def test_a_better_answer_has_one_measure(ben, wrong):
    coarse = ben.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.1)
    spent = ben.budget.spent
    raised(dpsql.BadParameter, lambda: coarse.better(**wrong))
    assert ben.budget.spent == spent


def test_a_better_answer_is_refused_where_it_is_too_dear_and_one_of_a_batch_is_made_better(ben):
    coarse = ben.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.1)
    spent = ben.budget.spent
    assert raised(dpsql.DpsqlError, lambda: coarse.better(epsilon=2, max_cost=0.5)).code == "DP202"
    assert ben.budget.spent == spent
    (coarse,) = ben.run(["SELECT COUNT(*) AS n FROM people"], total=0.1)
    margin = coarse["n"][0].margin
    assert coarse.better(within=margin / 2)["n"][0].margin <= margin / 2


@pytest.mark.parametrize("carried", [copy.deepcopy, lambda answer: pickle.loads(pickle.dumps(answer))])
def test_an_answer_that_is_carried_away_has_no_way_back_to_the_data(ben, carried):
    answer = carried(ben.sql("SELECT COUNT(*) AS n FROM people", epsilon=1))
    assert answer.again is None
    raised(dpsql.BadParameter, lambda: answer.better(within=1), match="asked for again")


@pytest.fixture(scope="module")
def in_rho():
    """Under (5, 1e-6) there is less than 0.45 in ρ, and Laplace noise of ε = 0.3 takes ε²/2 of it: more than 0.5 of the
    promise for a price of 0.3. Bob may ask for 0.4 at once, Ana for anything."""
    rows = pd.DataFrame({"id": range(50), "x": range(50)})
    with owner_of(rows, "t", person="id", unique=True, columns=["x"], epsilon=5, delta=1e-6) as owner:
        ana, bob = owner.grant("ana", budget=2), owner.grant("bob", budget=2, max_per_query=0.4)
        for analyst in (ana, bob):
            analyst.sql("SELECT COUNT(*) FROM t", epsilon=0.1, noise="gaussian")
        yield ana, bob


def test_max_cost_limits_what_is_taken_where_noise_weighs_more_than_its_price(in_rho):
    ana, _ = in_rho
    before, sql = ana.budget.spent, "SELECT COUNT(x) FROM t COST 0.3"
    ana.sql("SET dp.noise = 'laplace'")
    for limit in (0.3, 0.4):
        with pytest.raises(OverLimit, match=r"price is 0\.30, and it would take 0\.5\d* of your budget") as told:
            ana.sql(sql, max_cost=limit)
    assert "gaussian" in told.value.fix
    ana.sql("SET dp.max_cost = 0.3")
    raised(OverLimit, lambda: ana.sql(sql), match="weighs more than its price")
    assert ana.budget.spent == before
    ana.sql("SET dp.noise = 'gaussian'")
    ana.sql(sql)
    assert 0 < ana.budget.spent - before <= Fraction(3, 10)
    ana.sql("RESET ALL")
    before = ana.budget.spent
    ana.sql("SELECT COUNT(x) AS n FROM t WHERE x > 1", epsilon=0.3, noise="laplace", max_cost=0.7)
    assert Fraction(1, 2) < ana.budget.spent - before < Fraction(7, 10)


def test_the_cap_of_the_owner_limits_what_is_taken_too(in_rho):
    _, bob = in_rho
    before, sql = bob.budget.spent, "SELECT /*+ dp(noise='laplace') */ COUNT(x) FROM t COST 0.3"
    for text in (sql, f"DRY RUN {sql}"):
        with pytest.raises(NotPermitted, match=r"would take 0\.5\d* of your budget with this noise, above your limit"):
            bob.sql(text)
    assert bob.budget.spent == before
    bob.sql(sql.replace("laplace", "gaussian"))
    assert 0 < bob.budget.spent - before <= Fraction(3, 10)
