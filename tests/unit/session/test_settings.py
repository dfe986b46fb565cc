"""SET holds for the session it was said in, goes before the policy and behind the text, and raises no limit. Which
statements of a text speak to the session, and what is asked for beside a question."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter

import pandas as pd
import pytest

import dpsql
import dpsql.dbapi
from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter, DpsqlError, NotPermitted, NotUnderstood, OverLimit
from dpsql.session.script import script
from dpsql.session.terms import Ask, asked, stated, terms_of, wishes_of
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import each_raises, raised

COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def owner():
    return owner_of(100, epsilon=10, delta=1e-6, cost_per_query=1, max_keys=10)


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=10, max_per_query=2)


def rows(answer):
    return [tuple(row) for row in answer]


def test_who_goes_before_whom(analyst):
    """clause > hint > session > policy; each step was tried to be the only one that differs."""
    assert analyst.cost(COUNT) == 1
    analyst.sql("SET dp.epsilon = 0.5")
    assert analyst.cost(COUNT) == Fraction(1, 2)
    hinted = COUNT.replace("SELECT", "SELECT /*+ dp(epsilon=0.25) */")
    assert analyst.cost(hinted) == Fraction(1, 4)
    assert analyst.cost(f"{hinted} COST 0.125") == Fraction(1, 8)
    assert analyst.query(COUNT, epsilon=0.3).cost.epsilon == Fraction(3, 10)
    analyst.sql("RESET dp.epsilon")
    assert analyst.cost(COUNT) == 1


HINTED = COUNT.replace("SELECT", "SELECT /*+ dp(noise='laplace') */")


@cases(__file__, "setting", "sql=", "where", "wanted=")
def test_every_setting_reaches_the_plan(analyst, setting, sql, where, wanted):
    seen = attrgetter(where)
    assert seen(analyst.query(sql)) != wanted or "CONFIDENCE" in sql or "/*+" in sql
    analyst.sql(setting)
    assert seen(analyst.query(sql)) == wanted


@cases(__file__, "sql=", "said=")
def test_a_call_and_its_text_agree(analyst, sql, said):
    assert raised(BadParameter, lambda: analyst.query(sql, **said), match="also an argument of the call").at is not None
    assert analyst.query(f"{COUNT} COST 0.5", epsilon=0.5).cost.epsilon == Fraction(1, 2)
    raised(BadParameter, lambda: analyst.query(f"{COUNT} COST 0.5").run(epsilon=0.25))


def test_a_setting_never_raises_the_limit_of_the_grant(analyst):
    error = raised(NotPermitted, lambda: analyst.sql("SET dp.epsilon = 3"))
    assert error.try_sql == "SET dp.epsilon = 2"
    assert error.at == (17, 18)
    analyst.sql(error.try_sql)
    assert analyst.cost(COUNT) == 2


def test_max_cost_stops_a_question_before_it_is_paid(analyst):
    analyst.sql("SET dp.max_cost = 0.1")
    error = raised(OverLimit, lambda: analyst.sql(COUNT), match=r"stopped by max_cost 0\.1")
    assert error.try_sql == f"{COUNT} COST 0.1"
    assert analyst.budget.spent == 0
    raised(OverLimit, lambda: analyst.sql(COUNT, max_cost=5))
    raised(OverLimit, lambda: analyst.sql(f"{COUNT} COST 0.1", max_cost=0.05), match=r"max_cost 0\.05")
    raised(OverLimit, lambda: analyst.run([f"{COUNT} WHERE age > 5", COUNT], total=0.3))
    assert analyst.budget.spent == 0
    assert rows(analyst.sql(f"DRY RUN {COUNT}"))[0] == ("cost", "1")
    assert analyst.sql(error.try_sql).cost.epsilon == Fraction(1, 10)


def test_a_question_keeps_the_settings_it_was_asked_under_and_a_setting_is_no_question(analyst):
    analyst.sql("SET dp.epsilon = 0.5")
    query = analyst.query(COUNT)
    analyst.sql("RESET ALL")
    assert query.run().cost.epsilon == Fraction(1, 2)
    each_raises(dpsql.DpsqlError, lambda ask: ask("SET dp.epsilon = 1"), (analyst.query, analyst.cost, analyst.explain))
    raised(NotUnderstood, lambda: analyst.sql(b"SET dp.epsilon = 1"))


def test_settings_are_shown(analyst):
    assert rows(analyst.sql("SET dp.noise = 'laplace'")) == [("dp.noise", "laplace", "session")]
    assert rows(analyst.sql("SHOW ALL")) == [
        ("dp.epsilon", "1", "policy"),
        ("dp.confidence", "0.95", "policy"),
        ("dp.max_cost", None, "nobody"),
        ("dp.noise", "laplace", "session"),
        ("dp.mode", None, "nobody"),
    ]
    assert rows(analyst.sql("RESET dp.noise")) == [("dp.noise", None, "nobody")]
    analyst.sql(COUNT, epsilon=0.5, noise="laplace")
    budget = analyst.sql("SHOW dp.budget")
    assert (budget.columns, rows(budget)) == (("total", "spent", "remaining"), [("10", "0.5", "9.5")])
    assert budget.cost.epsilon == 0
    assert budget.release is None


def test_of_a_grant_that_was_taken_back_nothing_remains(owner, analyst):
    owner.grant("lab", budget=1)
    owner.keeper.admit("mia", role="analyst", grant="lab")
    mia = owner.analyst("mia")
    owner.keeper.dismiss("mia")
    owner.revoke("ana")
    for asks, total, why in ((analyst, 10, "revoked"), (mia, 1, "not for mia any more")):
        assert rows(asks.sql("SHOW dp.budget")) == [(str(total), "0", "0")]
        assert (asks.budget.left, asks.budget.short, asks.budget.outlook) == (0, f"your grant: {why}", "")


def test_each_connection_is_a_session(analyst):
    one, two = dpsql.dbapi.connect(analyst), dpsql.dbapi.connect(analyst)
    first = one.cursor().execute("SET dp.epsilon = 0.25")
    assert first.fetchall() == [("dp.epsilon", "0.25", "session")]
    assert two.cursor().execute("SHOW dp.epsilon").fetchall() == [("dp.epsilon", "1", "policy")]
    assert analyst.cost(COUNT) == 1
    cursor = one.cursor().execute(COUNT)
    assert cursor.answer.cost.epsilon == Fraction(1, 4)
    raised(dpsql.dbapi.ProgrammingError, lambda: one.cursor().execute("SET dp.epsilom = 1"))


def test_threads_see_one_state_of_the_session(analyst):
    """Every question is under one of the two prices that were SET, and none of them is lost."""

    def ask(number):
        analyst.sql(f"SET dp.epsilon = {'0.5' if number % 2 else '0.25'}")
        return analyst.cost(f"{COUNT} WHERE age = {number}")

    with ThreadPoolExecutor(max_workers=8) as pool:
        assert set(pool.map(ask, range(40))) <= {Fraction(1, 2), Fraction(1, 4)}


QUESTION, SETTING, SHOWN = (False, True), (True, False), (True, True)


# The statements of a text, which of them speak to the session, and which have something to show.


def test_the_query_of_a_statement_stays_where_it_is():
    text = "SELECT 1; EXPLAIN /* b */ PRIVACY (FORMAT -- c\nJSON) -- d\n SELECT 2; EXPLAIN PRIVACY DIFF a; b; SIMULATE"
    statements = script(text)
    assert [each.purpose for each in statements] == ["answer", "explain_json", "", "simulate"]
    query = "/* b */                 -- c\n      -- d\n SELECT 2"
    assert (statements[1].query.sql, statements[1].query.offset) == (query, text.index("/* b"))
    for text in ("DRY RUN 'never ends", "EXPLAIN SELECT 1"):
        assert (script(text)[0].purpose, script(text)[0].query.sql) == ("answer", text)


@cases(__file__, "text=", "wanted=")
def test_the_statements_of_a_text(text, wanted):
    assert [(each.sql, each.is_setting, each.has_result) for each in script(text)] == wanted


@pytest.mark.parametrize(
    "text",
    ["SELECT 1; /*+ dp(epsilon=0.01) */", "/*+ dp(epsilon=0.01) */; SELECT 1", "SELECT 1; --+ dp(noise='laplace')"],
)
def test_a_hint_that_a_semicolon_cut_off_is_not_passed_over(text):
    """The question would be asked at another price."""
    assert sorted(each.sql[:3] for each in script(text)) in (["/*+", "SEL"], ["--+", "SEL"])
    assert [each.sql for each in script("SELECT 1; --+----+ /*+ */")] == ["SELECT 1"]


# What is asked for beside the question.


PURE = Account.opened(epsilon=Fraction(5), delta=Fraction(0), delta_prime=Fraction(0))


@pytest.mark.parametrize("tenth", [0.1, Decimal("0.1"), Fraction(1, 10)])
def test_a_number_is_what_was_written(tenth):
    assert stated(tenth) == Fraction(1, 10)


@cases(__file__, "wrong=")
def test_what_has_no_meaning_is_refused(wrong):
    raised(BadParameter, lambda: asked(**wrong))


def test_the_query_goes_before_the_policy_and_a_price_has_no_default():
    defaults = Defaults(cost_per_query=Fraction(1), confidence=Fraction(9, 10), mode=Mode.CHOOSE, noise=Noise.LAPLACE)
    ask = asked(epsilon=2, confidence=0.99, mode="scale", noise="gaussian")
    own = terms_of(ask, defaults, (PURE,))
    assert (own.cost, own.confidence, own.noise) == (2, Fraction(99, 100), Noise.GAUSSIAN)
    assert wishes_of(ask, defaults, own).mode is Mode.SCALE
    policy = terms_of(Ask(), defaults, (PURE,))
    assert (policy.cost, policy.confidence, policy.noise) == (1, Fraction(9, 10), Noise.LAPLACE)
    assert wishes_of(Ask(), defaults, policy).mode is Mode.CHOOSE
    raised(BadParameter, lambda: terms_of(Ask(), Defaults(), (PURE,)), match="nobody said")


NEAREST = 1 - Fraction(1, 10**30)
AVERAGE = "SELECT AVG(f) AS a FROM p"


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_confidence_without_a_margin_is_refused_at_every_door_before_it_is_paid_for(kind):
    people = pd.DataFrame({"id": range(100), "f": [0.5] * 100})
    words = {"person": "id", "unique": True, "bounds": {"f": (0, 1)}}
    owner = owner_of(people, "p", **words, epsilon=10, delta=1e-5, cost_per_query=0.1, noise=kind)
    analyst = owner.grant("ana", budget=5)
    nearer, written = 1 - Fraction(1, 10**31), f"9.{'9' * 30}e-1"
    doors = (
        lambda: analyst.sql(AVERAGE, confidence=nearer),
        lambda: analyst.query(AVERAGE, confidence=nearer),
        lambda: analyst.sql(f"{AVERAGE} CONFIDENCE {written}"),
        lambda: analyst.sql(f"SET dp.confidence = {written}"),
        lambda: owner.defaults(confidence=nearer),
    )
    each_raises(DpsqlError, lambda door: door(), doors, match="1e-30")
    assert analyst.budget.spent == 0
    for allowed in (NEAREST, 1 - NEAREST):  # what is let in is answered
        assert analyst.sql(AVERAGE, confidence=allowed).confidence == allowed
    owner.close()
