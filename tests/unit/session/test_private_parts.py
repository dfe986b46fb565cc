"""PRIVATE questions of a statement: one price for all of them, paid in full or not at all, and repeats are free."""

import json
from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

import dpsql
from dpsql.dbapi import connect
from dpsql.errors import BudgetExhausted, DpsqlError, EngineFailed, NothingStored, NotPermitted, NotSupported, OverLimit
from dpsql.session import answer, inquiry
from dpsql.session.noisy import Noisy
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

ABOVE = "SELECT COUNT(*) FROM visits WHERE charge > PRIVATE (SELECT AVG(charge) FROM visits)"
SUMMED = "WITH w AS PRIVATE (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT COUNT(*), SUM(n) FROM w"
THREE = (
    "WITH a AS PRIVATE (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT a.ward, COUNT(*) FROM visits "
    "JOIN a ON visits.ward = a.ward WHERE charge > PRIVATE (SELECT AVG(charge) FROM visits) GROUP BY a.ward"
)


def analyst_of(*, epsilon=2, delta=0, per=None, budget=1, cost=0.1, **grant):
    plain = duckdb.connect()
    plain.execute(
        "CREATE TABLE visits AS SELECT i AS who, 1 + i % 3 AS ward, (i * 37) % 100 AS charge, 'k' || i % 2 AS kind "
        "FROM range(600) r(i)"
    )
    plain.execute("CREATE TABLE wards AS SELECT * FROM (VALUES (1, 'north'), (2, 'south'), (3, 'east')) w(id, name)")
    bounds = {"charge": (0, 100), "ward": (1, 3)}
    words = {"person": "who", "unique": True, "bounds": bounds, "keys": {"kind": "private"}, "max_keys": 100}
    shares = {"cost_per_query": cost, "selection_share": 0.25, "delta_per_query": delta / 100 or None}
    owner = owner_of(plain, "visits", **words, epsilon=epsilon, delta=delta, per=per, **shares)
    owner.register("wards", plain, public=True, columns="all")
    plain.close()
    return owner.grant("ana", budget=budget, **grant), owner


@pytest.fixture
def ana():
    analyst, owner = analyst_of()
    yield analyst
    owner.close()


# ------------------------------------------------------------------------------------------------------ the price


@pytest.mark.parametrize(("sql", "parts"), [(ABOVE, 2), (SUMMED, 1), (THREE, 3)])
def test_the_price_is_that_of_the_statement_in_even_shares(sql, parts):
    ana, owner = analyst_of()
    query = ana.query(sql, epsilon=Fraction(1, 7))
    assert query.cost.epsilon == Fraction(1, 7)
    assert ana.sql(sql, epsilon=Fraction(1, 7)).cost.epsilon == Fraction(1, 7)
    assert ana.budget.spent == Fraction(1, 7)
    charges = owner.audit()
    assert [charge.cost for charge in charges] == [Fraction(1, 7 * parts)] * parts
    assert all(charge.agrees for charge in charges)


def test_the_price_is_of_the_policy_and_delta_is_added_up(ana):
    assert ana.sql(ABOVE).cost.epsilon == Fraction(1, 10)
    assert ana.budget.spent == Fraction(1, 10)
    ana, _ = analyst_of(delta=1e-6)
    sql = (
        "WITH a AS PRIVATE (SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind) "
        "SELECT visits.kind, COUNT(*) FROM visits JOIN a ON visits.kind = a.kind GROUP BY visits.kind"
    )
    query = ana.query(sql)
    each = ana.query("SELECT kind, COUNT(*) FROM visits GROUP BY kind").cost.delta
    assert query.cost.delta == 2 * each > 0
    assert query.run().cost.delta == 2 * each


def test_a_question_that_is_asked_twice_is_paid_for_once():
    ana, owner = analyst_of()
    twice = f"{ABOVE} OR charge < PRIVATE (SELECT AVG(charge) FROM visits) - 20"
    assert ana.query(twice, epsilon=Fraction(1, 5)).cost.epsilon == Fraction(1, 5)
    assert ana.sql(twice, epsilon=Fraction(1, 5)).cost.epsilon == Fraction(1, 5)
    assert [charge.cost for charge in owner.audit()] == [Fraction(1, 10)] * 2
    ana, _ = analyst_of()
    rows = connect(ana).cursor().execute(SUMMED).fetchall()
    assert [len(row) for row in rows] == [2]


# --------------------------------------------------------------------------------------- all of it, or nothing


@cases(__file__, "outer")
def test_a_refused_question_costs_nothing_whatever_stands_before_it(ana, outer):
    with pytest.raises(DpsqlError):
        ana.sql(f"WITH w AS PRIVATE (SELECT ward AS k, COUNT(*) AS n FROM visits GROUP BY ward) {outer}")
    assert ana.budget.spent == 0


def test_too_small_a_budget_costs_nothing():
    """Each of the two questions would fit, both together do not."""
    ana, _ = analyst_of(budget=Fraction(1, 10))
    with pytest.raises(BudgetExhausted, match=r"costs 0\.12, more than your grant has left") as caught:
        ana.sql(ABOVE, epsilon=Fraction(12, 100))
    assert "epsilon=0.1 would fit" in caught.value.fix
    assert ana.budget.spent == 0
    assert ana.sql(ABOVE, epsilon=Fraction(1, 10)).cost.epsilon == Fraction(1, 10)


def test_the_limit_for_one_query_is_one_for_the_statement():
    ana, _ = analyst_of(max_per_query=Fraction(1, 10))
    raised(NotPermitted, lambda: ana.sql(ABOVE, epsilon=Fraction(11, 100)), match=r"limit of 0\.1 per query")
    raised(OverLimit, lambda: ana.sql(ABOVE, epsilon=Fraction(1, 10), max_cost=Fraction(9, 100)))
    assert ana.budget.spent == 0
    assert ana.sql(ABOVE, epsilon=Fraction(1, 10)).cost.epsilon == Fraction(1, 10)


def test_what_nothing_reads_is_refused_and_too_many_public_keys_cost_nothing():
    ana, owner = analyst_of()
    owner.defaults(max_keys=2)
    with pytest.raises(dpsql.Refused):
        ana.sql(
            "SELECT wards.name, COUNT(*) FROM visits JOIN wards ON ward = id "
            "WHERE charge > PRIVATE (SELECT AVG(charge) FROM visits) GROUP BY wards.name"
        )
    assert ana.budget.spent == 0
    ana, _ = analyst_of()
    with pytest.raises(NotSupported, match="nothing reads"):
        ana.sql("WITH w AS PRIVATE (SELECT COUNT(*) FROM visits) SELECT COUNT(*) FROM visits")
    assert ana.budget.spent == 0


def test_a_failure_between_two_questions_keeps_what_was_paid(ana, monkeypatch):
    honest = answer.perform
    asked = []

    def failing(plan, receipt, **effects):
        asked.append(receipt.number)
        if len(asked) == 2:
            raise EngineFailed("the engine did not finish", why="a test", fix="ask again")
        return honest(plan, receipt, **effects)

    monkeypatch.setattr(answer, "perform", failing)
    with pytest.raises(EngineFailed, match="The PRIVATE questions before it are answered and stored") as caught:
        ana.sql(ABOVE)
    assert caught.value.fix.startswith("ask again. ")
    assert ana.budget.spent == Fraction(1, 10)  # the receipt of the second is there, and may be run again
    monkeypatch.undo()
    assert ana.sql(ABOVE).cost.epsilon == 0
    assert ana.budget.spent == Fraction(1, 10)


# ------------------------------------------------------------------------------------------------------- repeats


@pytest.mark.parametrize("sql", [ABOVE, SUMMED, THREE])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_repeat_is_free_and_the_same(sql, delta):
    ana, _ = analyst_of(delta=delta)
    first = ana.sql(sql)
    spent = ana.budget.spent
    again = ana.query(sql)
    assert again.cost.epsilon == 0
    told = again.run()
    assert told.cost.epsilon == 0
    assert [[str(cell) for cell in row] for row in told] == [[str(cell) for cell in row] for row in first]
    assert ana.budget.spent == spent


def test_an_inner_question_that_was_asked_before_is_free():
    ana, owner = analyst_of()
    ana.sql("SELECT AVG(charge) FROM visits", epsilon=Fraction(1, 20))
    assert ana.query(ABOVE).cost.epsilon == Fraction(1, 20)
    assert ana.sql(ABOVE).cost.epsilon == Fraction(1, 20)
    assert len(owner.audit()) == 2


def test_another_released_value_is_another_question():
    """The stored answer to the outer question is one about the released number it was asked with."""
    (one, owner), (two, _) = analyst_of(), analyst_of()
    plans = [ana.query(ABOVE).inquiry.outer.sealed.plan.recalled.identity for ana in (one, two)]
    assert plans[0] == plans[1]  # while nothing is released
    one.sql(ABOVE)
    two.sql(ABOVE)
    after = [ana.query(ABOVE).inquiry.outer.sealed.plan.recalled.identity for ana in (one, two)]
    assert len({each.frame for each in (*plans, *after)}) == 3
    del owner


def test_what_was_planned_with_is_used_even_if_more_is_known_since(ana):
    """The price that was told holds: a better answer to the inner question makes no new outer one."""
    ana.sql(ABOVE)
    query = ana.query(ABOVE)
    ana.sql("SELECT AVG(charge) FROM visits", epsilon=Fraction(3, 10))
    spent = ana.budget.spent
    assert query.cost.epsilon == 0
    assert replace(query, ask=replace(query.ask, max_cost=Fraction(0))).answered().cost.epsilon == 0
    assert ana.budget.spent == spent


# ---------------------------------------------------------------------------------------------------- what is told


def test_released_rows_are_those_of_the_question_itself(ana):
    alone = ana.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    rows = ana.sql("WITH w AS PRIVATE (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n FROM w")
    assert rows.cost.epsilon == 0
    assert [(ward, cell.value) for ward, cell in alone] == list(rows)


def test_no_margin_is_claimed_for_what_is_computed_and_one_beside_it_says_what_it_covers(ana):
    told = ana.sql(SUMMED)
    assert not any(isinstance(cell, Noisy) for row in told for cell in row)
    assert ana.query(SUMMED).margins == {}
    assert any("no ± is claimed" in note for note in told.notes)
    assert any(note.startswith("PRIVATE question 1, release #") and " n ± " in note for note in told.notes)
    ana, _ = analyst_of()
    told = ana.sql(ABOVE)
    ((cell,),) = told.rows
    assert isinstance(cell, Noisy)
    assert any("as they are" in note for note in told.notes)


def test_a_dry_run_says_everything_and_spends_nothing(ana):
    told = dict(ana.sql(f"DRY RUN {ABOVE}", epsilon=0.5).rows)
    assert told["cost"] == "0.5"
    assert told["allowed"] == "yes"
    assert "margin of AVG(charge) of PRIVATE question 1" in told
    assert dict(ana.sql(f"DRY RUN {ABOVE}", epsilon=1.2).rows)["allowed"].startswith("no")
    assert ana.budget.spent == 0


def test_explain_has_every_question_and_the_price_of_all(ana):
    text = str(ana.sql(f"EXPLAIN PRIVACY {ABOVE}", epsilon=0.5))
    assert "This statement asks 2 questions, one after the other; 2 of them read rows of people" in text
    assert "It costs 0.5" in text
    assert "PRIVATE QUESTION 1: SELECT AVG(charge) FROM visits" in text
    assert text.count("0.25 of ") == 4
    assert "[T7]" in text
    assert "0.25 of 1 left in your grant → 0.75 left" in text
    assert "0.25 of 0.75 left in your grant → 0.5 left" in text
    (((whole,),)) = ana.sql(f"EXPLAIN PRIVACY (FORMAT JSON) {ABOVE}", epsilon=0.5).rows
    told = json.loads(whole)
    assert told["together"]["cost"] == "1/2"
    assert [part["terms"]["cost"] for part in told["private"]] == ["1/4"]
    assert ":released0" in told["steps"][0]["sql"]
    assert ana.explain(SUMMED).text(ascii=True).isascii()
    assert ana.budget.spent == 0


def test_the_price_that_is_told_is_the_one_that_is_charged(ana, monkeypatch):
    """One rule says which questions are the same: where it changes, the explanation follows."""
    twice = f"{ABOVE} OR charge < PRIVATE (SELECT AVG(charge) FROM visits) - 20"
    query = ana.query(twice, epsilon=Fraction(1, 5))
    told = query.explain().as_json()["together"]
    assert (told["cost"], told["priced"]) == ("1/5", 2)
    monkeypatch.setattr(inquiry, "different", tuple)
    told = query.explain().as_json()["together"]
    assert (told["cost"], told["priced"]) == ("3/10", 3)
    assert query.cost.epsilon == Fraction(3, 10)


def test_a_batch_pays_for_all_questions_of_all_statements(ana):
    one, two = ana.run([ABOVE, SUMMED], total=Fraction(1, 2))
    assert (one.cost.epsilon, two.cost.epsilon) == (Fraction(1, 4), Fraction(1, 4))
    raised(BudgetExhausted, lambda: ana.run([THREE, f"{ABOVE} AND ward = 1"], total=3))
    assert ana.budget.spent == Fraction(1, 2)


def test_no_verdict_and_no_price_depends_on_what_is_released():
    """The same statement before and after its inner question is released, and after another value was."""
    plans = []
    for _ in range(3):
        ana, _owner = analyst_of()
        for _ in range(2):
            query = ana.query(THREE)
            plans.append([(part.sealed.plan.event, part.sealed.plan.terms.cost) for part in query.inquiry.parts])
            query.run()
    assert all(plan == plans[0] for plan in plans)


def test_a_price_in_the_text_is_that_of_the_whole_statement_and_nothing_is_bought_for_nothing(ana):
    raised(NothingStored, lambda: ana.sql(f"{ABOVE} COST 0"))
    assert ana.budget.spent == 0
    ana, _ = analyst_of()
    assert ana.sql(f"{ABOVE} COST 0.1").cost.epsilon == Fraction(1, 10)
    assert ana.sql(f"{ABOVE} COST 0").cost.epsilon == 0


def test_caps_and_keys_at_the_end_are_those_of_the_statement_itself(ana):
    inquiry = ana.query(f"{ABOVE} LIMIT 1 PER PERSON").inquiry
    assert (inquiry.inner[0].ask.rows_per_person, inquiry.outer.ask.rows_per_person) == (None, 1)
    grouped = ana.sql(ABOVE.replace("COUNT(*)", "kind, COUNT(*)", 1) + " GROUP BY kind KEYS ('k0', 'k7') ORDER BY kind")
    assert [row[0] for row in grouped.rows] == ["k0", "k7"]
    ana, _ = analyst_of()
    with pytest.raises(NotSupported, match="WITHIN is not possible in a statement with PRIVATE"):
        ana.sql(f"{ABOVE} WITHIN 100")


@cases(__file__, "sql")
def test_private_questions_are_found_wherever_they_stand(ana, sql):
    query = ana.query(sql, epsilon=Fraction(1, 10))
    assert len(query.inquiry.inner) == 1
    assert query.run().cost.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("where", ["", " v WHERE v.ward = visits.ward"])
def test_a_value_about_people_needs_the_word(ana, where):
    sql = f"SELECT COUNT(*) FROM visits WHERE charge > (SELECT AVG(charge) FROM visits{where}) AND ward = 1"
    error = raised(NotSupported, lambda: ana.sql(sql))
    assert error.try_sql == (None if where else sql.replace("(SELECT", "PRIVATE (SELECT"))
    assert sql[slice(*error.at)].startswith("(SELECT AVG(charge)")
    assert ana.budget.spent == 0


def test_a_value_about_public_tables_needs_no_word_and_is_free(ana):
    answer_ = ana.sql("SELECT name, id - (SELECT MIN(id) FROM wards) FROM wards WHERE id = (SELECT MAX(id) FROM wards)")
    assert ([tuple(row) for row in answer_.rows], answer_.cost.epsilon, answer_.notes) == ([("east", 2)], 0, ())
    ana, _ = analyst_of()
    told = ana.sql("WITH w AS PRIVATE (SELECT MAX(id) AS m FROM wards) SELECT name FROM wards JOIN w ON id = m")
    assert told.rows == (("east",),)
    assert told.cost.epsilon == 0
    assert ana.budget.spent == 0


# -------------------------------------------------------------------------------------- what was paid for stays paid


def test_over_a_finer_inner_answer_the_statement_is_another_question(ana):
    """The inner question is asked by itself, more precisely: the statement is over that answer from then on."""
    ana.sql(ABOVE, epsilon=0.1)
    assert ana.query(ABOVE, epsilon=0.1).cost.epsilon == 0
    fine = ana.sql("SELECT AVG(charge) FROM visits", epsilon=0.4)
    assert ana.query(ABOVE, epsilon=0.1).cost.epsilon == Fraction(1, 20)  # the inner half is stored
    raised(NothingStored, lambda: ana.sql(f"{ABOVE} COST 0"))
    bought = ana.sql(ABOVE, epsilon=0.1)
    assert any(f"release #{fine.release}" in note for note in bought.notes)
    spent = ana.budget.spent
    for again in (ana.sql(ABOVE, epsilon=0.1), ana.sql(f"{ABOVE} COST 0")):
        assert again.rows[0][0].value == bought.rows[0][0].value
    assert ana.budget.spent == spent


def test_a_statement_asked_for_the_first_time_takes_the_finest_inner_answer(ana):
    ana.sql("SELECT AVG(charge) FROM visits", epsilon=0.05)
    fine = ana.sql("SELECT AVG(charge) FROM visits", epsilon=0.4)
    answer_ = ana.sql(ABOVE, epsilon=0.1)
    assert answer_.cost.epsilon == Fraction(1, 20)  # the inner half is stored
    assert any(f"release #{fine.release}" in note for note in answer_.notes)


NORTH = "SELECT COUNT(*) FROM visits WHERE ward < (SELECT MAX(id) FROM wards)"


def test_a_public_inner_question_does_not_hide_a_stored_answer(ana):
    first = ana.sql(NORTH, epsilon=0.1)
    assert ana.query(NORTH, epsilon=0.1).cost.epsilon == 0
    assert dict(ana.sql(f"DRY RUN {NORTH} COST 0.1"))["cost"] == "0"
    again = ana.sql(f"{NORTH} COST 0")
    assert (again.cost.epsilon, again.rows[0][0].value) == (0, first.rows[0][0].value)


@pytest.mark.parametrize("sees", [False, True])
def test_a_stored_answer_over_a_public_inner_question_is_told_for_nothing_after_a_renewal(sees):
    ana, owner = analyst_of(per="month")
    bob = owner.grant("bob", budget=1, sees_releases=sees)
    ana.sql(NORTH, epsilon=0.1)
    owner.renew()
    for asking, price in ((ana, 0), (bob, 0 if sees else Fraction(1, 10))):
        assert asking.query(NORTH, epsilon=0.1).cost.epsilon == asking.sql(NORTH, epsilon=0.1).cost.epsilon == price


def test_a_statement_over_a_public_inner_question_is_made_finer():
    ana, _ = analyst_of(delta=1e-6)
    ana.sql(NORTH, epsilon=0.1, noise="gaussian")
    assert ana.query(NORTH, epsilon=0.2, noise="gaussian").cost.epsilon == Fraction(1, 10)
    answer_ = ana.sql(NORTH, epsilon=0.2, noise="gaussian")
    assert any("made finer: 0.1 was paid before, 0.1 now" in note for note in answer_.notes)


def test_nothing_is_read_for_a_price_while_nothing_can_be_stored(ana, monkeypatch):

    def asked(*_, **__):
        raise EngineFailed("asked", why="a test", fix="none")

    monkeypatch.setattr(type(ana.place.engine), "run_public", asked)
    assert ana.query(NORTH, epsilon=0.1).cost.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("stored", [False, True])
@cases(__file__, "column", "claimed=")
def test_a_number_calculated_with_a_released_one_has_no_interval(ana, column, claimed, stored):
    """The margin of the outer question knows nothing of the noise of the inner one: it held in 83 % of the answers."""
    if stored:
        ana.sql("SELECT COUNT(*) FROM visits")
        ana.sql("SELECT AVG(charge) FROM visits")
    sql = f"SELECT {column} AS x, COUNT(*) AS n FROM visits WHERE charge > PRIVATE (SELECT AVG(charge) FROM visits)"
    assert ("x" in ana.query(sql).margins, "n" in ana.query(sql).margins) == (claimed, True)
    ((x, n),) = ana.sql(sql).rows
    assert (x.margin is not None, n.margin is not None) == (claimed, True)
    assert ((x - 1).margin is not None) == claimed


@pytest.mark.parametrize(
    ("column", "claimed"),
    [("COUNT(*) - a.n", False), ("SUM(charge * CLAMP(m, 0, 10))", False), ("COUNT(*)", True), ("a.n", None)],
)
def test_nor_has_one_that_reads_a_released_number_as_a_group(column, claimed):
    ana, _ = analyst_of(delta=1e-6)
    rows = "SELECT who, charge, a.ward, a.n, a.n * 2 AS m FROM visits JOIN a ON visits.ward = a.ward"
    sql = (
        "WITH a AS PRIVATE (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) "
        f"SELECT {column} AS x FROM ({rows}) AS a GROUP BY a.ward, a.n"
    )
    assert ("x" in ana.query(sql).margins) == bool(claimed)
    for (x,) in ana.sql(sql).rows:
        assert (isinstance(x, Noisy) and x.margin is not None) == bool(claimed)


NUMBERS = "PRIVATE (SELECT kind AS k, COUNT(*) AS n FROM visits GROUP BY kind) AS a"
TEXTS = "PRIVATE (SELECT kind AS k, CAST(COUNT(*) AS VARCHAR) AS n FROM visits GROUP BY kind) AS a"
UNITED = f"SELECT k, n AS v FROM {NUMBERS} UNION ALL SELECT name, 1 FROM wards"
BESIDE = f"visits JOIN {NUMBERS} ON kind = k"


@cases(__file__, "rows=", "claimed=")
def test_nor_has_one_that_reads_it_behind_a_subquery(rows, claimed):
    """A column that a subquery makes of a released number is one, whatever makes it."""
    ana, _ = analyst_of(delta=1e-6)
    sql = f"SELECT SUM(CLAMP(v, 0, 1000)) AS x FROM ({rows}) AS s"
    assert ("x" in ana.query(sql).margins) == claimed
    ((x,),) = ana.sql(sql).rows
    assert (x.margin is not None) == claimed
