"""charge, run, draw, store: paid before the engine is asked about people, and never for nothing; each step once, and
what is stored is what is told."""

import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import partial
from threading import Barrier

import pandas as pd
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadKey, BadPolicy, BudgetExhausted, EngineFailed, InternalError
from dpsql.ledger.facts import Retried
from dpsql.ledger.ledger import PUBLIC_WAY, ReleasedStep
from dpsql.ledger.memory import MemoryLedger
from dpsql.privacy.exact import Exact
from dpsql.session import answer as answering
from dpsql.session.analyst import Analyst
from dpsql.session.charging import charge
from dpsql.session.declared import ownership_of
from dpsql.session.steps import key_values, told_keys
from dpsql.sql.relations import Column
from tests.kits.owners import owner_of
from tests.kits.refusals import raised
from tests.kits.released import plain

QUESTIONS = [
    "SELECT COUNT(*) FROM people",
    "SELECT city, SUM(age) FROM people GROUP BY city",
    "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town",
]


@pytest.fixture
def analyst():
    rows = pd.DataFrame({"who": range(400), "city": ["Basel", "Bern"] * 200, "age": 30, "town": ["x", "y"] * 200})
    keys = {"city": ["Basel", "Bern"], "town": "private"}
    words = {"person": "who", "unique": True, "keys": keys, "bounds": {"age": (0, 100)}}
    shares = {"delta": 1e-3, "max_keys": 100, "selection_share": 0.25, "delta_per_query": 1e-6}
    return owner_of(rows, **words, epsilon=100, cost_per_query=1, **shares).grant("ana", budget=100)


def alone(analyst, sql):
    """What the question takes from the budget when nobody else asks it."""
    other = with_a_ledger_of_its_own(analyst)
    other.sql(sql)
    return other.budget.spent


def with_a_ledger_of_its_own(analyst):
    ledger, account = MemoryLedger(), analyst.place.accounts[0]
    ledger.promise(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime)
    ledger.own(ownership_of(analyst.place.catalog))
    ledger.grant("ana", epsilon=analyst.budget.total)
    return Analyst(place=replace(analyst.place, ledger=ledger))


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("meet_at", ["charge", "perform"])
def test_twins_that_ask_at_once_get_one_answer_for_one_price(analyst, sql, meet_at, monkeypatch):
    """Both have planned before either pays; or both have paid, by one receipt, before either runs. That they wait for
    each other saves attempts; here they do not, and it is right all the same."""
    monkeypatch.setattr(MemoryLedger, "turn", lambda *_: nullcontext())
    barrier, effect = Barrier(2), getattr(answering, meet_at)

    def meeting(*given, **named):
        barrier.wait(timeout=20)
        return effect(*given, **named)

    expected = alone(analyst, sql)
    monkeypatch.setattr(answering, meet_at, meeting)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(analyst.sql, [sql, sql])
    assert plain(one) == plain(other)
    assert one.release == other.release
    assert analyst.budget.spent == expected
    assert sorted([one.cost.epsilon, other.cost.epsilon]) == [0, 1]
    assert min(one.cost.delta, other.cost.delta) == 0


def test_eight_twins_wait_for_the_first_and_use_up_no_attempt(analyst, monkeypatch):
    barrier, turn = Barrier(8), MemoryLedger.turn

    def meeting(*given):
        barrier.wait(timeout=20)
        return turn(*given)

    monkeypatch.setattr(MemoryLedger, "turn", meeting)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(analyst.sql, [QUESTIONS[0]] * 8))
    assert all(plain(one) == plain(answers[0]) for one in answers)
    assert sorted(one.cost.epsilon for one in answers) == [0] * 7 + [1]
    with analyst.place.ledger.reading() as page:
        assert page.facts_of(Retried) == ()


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_plan_that_is_run_after_its_twin_is_told_again(analyst, sql):
    one, other = analyst.query(sql), analyst.query(sql)
    first = one.answered()
    spent = analyst.budget.spent
    second = other.answered()
    assert (second.cost.epsilon, second.release) == (0, first.release)
    assert plain(first) == plain(second)
    assert analyst.budget.spent == spent


def test_an_answer_that_was_interrupted_goes_on_after_its_last_stored_step(analyst, monkeypatch):
    """The keys are stored, the measurement fails: the second attempt pays nothing and keeps the keys."""
    sql = "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town"
    engine, asked = type(analyst.place.engine), []
    run = engine.run

    def fails_once(self, text, **given):
        asked.append(text)
        if len(asked) == 2:
            raise EngineFailed("gone", why="a test", fix="ask again")
        return run(self, text, **given)

    monkeypatch.setattr(engine, "run", fails_once)
    raised(EngineFailed, lambda: analyst.sql(sql))
    spent = analyst.budget.spent
    again = analyst.sql(sql)
    assert (len(again), again.cost.epsilon, again.cost.delta) == (2, 0, 0)
    assert analyst.budget.spent == spent
    assert len(asked) == 3
    assert asked[1] == asked[2] != asked[0]


def test_dates_are_kept_as_text_and_come_back_as_dates():
    columns = tuple(
        Column(id=place, name="", type=type_)
        for place, type_ in enumerate([SqlType.DATE, SqlType.TIMESTAMP, SqlType.TEXT, SqlType.INTEGER])
    )
    key = (date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 0, 5), "2024-02-29", None)
    kept = told_keys(key)
    assert kept == ("2024-02-29", "2024-02-29T12:30:00.000005", "2024-02-29", None)
    assert key_values(ReleasedStep(keys=(kept,), values=((),)), columns) == (key,)


def test_nothing_is_measured_where_no_key_was_released(analyst):
    """At a tiny price no group is shown; the second step is stored all the same, and no statement is run for it."""
    asked = []
    engine = type(analyst.place.engine)
    run = engine.run
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "run", lambda self, text, **given: asked.append(text) or run(self, text, **given))
        answer = analyst.sql("SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town", epsilon=0.0001)
    assert (len(answer), len(asked)) == (0, 1)


def test_an_error_of_a_mechanism_takes_no_rows_along(analyst, monkeypatch):
    """Tools that show the locals of frames would show them."""
    monkeypatch.setattr(type(analyst.place.engine), "run", lambda *_, **__: Exact([("a secret", 7)]))
    error = raised(InternalError, lambda: analyst.sql(QUESTIONS[0]))
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    assert "a secret" not in "".join(told.format())
    assert error.__context__ is None


@pytest.fixture
def owner():
    rows = pd.DataFrame({"who": range(40), "age": 30, "ward": 1})
    words = {"person": "who", "unique": True, "bounds": {"age": (0, 99)}, "columns": ["ward"]}
    owner = owner_of(rows, **words, epsilon=10, delta=1e-3)
    owner.register("wards", pd.DataFrame({"id": range(5)}), public=True, columns=["id"])
    return owner


def analyst_of(owner, *, max_keys):
    owner.defaults(cost_per_query=1, max_keys=max_keys)
    return owner.grant("ana", budget=10)


def charged(query):
    place = query.place
    return charge(query.sealed, place.ledger, place.engine, analyst=place.analyst, grant=place.grant.to)


PER_WARD = "SELECT w.id, COUNT(*) FROM people p JOIN wards w ON p.ward = w.id GROUP BY w.id"


def test_a_receipt_is_durable_before_anything_is_read(owner, monkeypatch):
    query = analyst_of(owner, max_keys=10).query("SELECT COUNT(*) FROM people")
    monkeypatch.setattr(type(query.place.engine), "run", lambda *_, **__: pytest.fail("read before it was paid"))
    receipt = charged(query)
    assert (receipt.paid, receipt.stored) == (True, ())
    account = query.place.ledger.account("ana")
    assert account == account.grant(epsilon=10).charged(query.sealed.plan.charged)


def test_too_many_public_keys_and_what_does_not_fit_cost_nothing(owner):
    for sql, epsilon, error in ((PER_WARD, 1, BadKey), ("SELECT COUNT(*) FROM people", 11, BudgetExhausted)):
        query = analyst_of(owner, max_keys=4).query(sql, epsilon=epsilon)
        raised(error, partial(charged, query))
        assert query.place.ledger.account("ana").spent_epsilon == 0
    assert charged(analyst_of(owner, max_keys=5).query(PER_WARD)).paid


def test_a_free_plan_is_never_charged(owner):
    query = analyst_of(owner, max_keys=4).query("SELECT id FROM wards")
    raised(InternalError, lambda: charged(query))
    asked = analyst_of(owner, max_keys=4)
    asked.sql("SELECT COUNT(*) FROM people")
    again = asked.query("SELECT COUNT(*) FROM people")
    assert again.sealed.plan.stored is not None
    raised(InternalError, lambda: charged(again))
    unaware = replace(again.sealed, plan=replace(again.sealed.plan, stored=None))
    place = again.place
    assert charge(unaware, place.ledger, place.engine, analyst=place.analyst, grant=place.grant.to).stored


EXACT = {
    "rows of a public table": "SELECT id FROM wards",
    "keys of a public table": PER_WARD,
    "an inner question": "SELECT COUNT(*) FROM people WHERE age > (SELECT MAX(id) FROM wards)",
}


@pytest.mark.parametrize("what", EXACT)
def test_a_table_that_somebody_has_declared_private_since_is_not_read_exactly(owner, what, monkeypatch):
    """Another process closes the promise and makes one under which people are in the table; this one is still open."""
    analyst = analyst_of(owner, max_keys=10)
    assert len(analyst.sql("SELECT id FROM wards").rows) == 5
    ledger, before = owner._ledger, ownership_of(analyst.query(PER_WARD).place.catalog)
    account = ledger.account()
    ledger.close_promise("wards are about people")
    ledger.promise(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime)
    ways = tuple((table, way if way != PUBLIC_WAY else "person = id") for table, way in before.tables)
    assert ways != before.tables
    ledger.own(replace(before, tables=ways))
    ledger.grant("ana", epsilon=Fraction(10))
    monkeypatch.setattr(type(analyst.query("SELECT COUNT(*) FROM people").place.engine), "run_public", _not_read)
    raised(BadPolicy, lambda: analyst.sql(EXACT[what]), match="about other people")
    assert ledger.account().spent_epsilon == 0
    assert analyst.sql("SELECT * FROM dp.columns").rows  # views are about nobody


def _not_read(*_):
    pytest.fail("a table was read that people are in by now")
