"""run, draw, store: each step once, and what is stored is what is told."""

import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime
from threading import Barrier

import pandas as pd
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import EngineFailed, InternalError
from dpsql.ledger.facts import Retried
from dpsql.ledger.ledger import ReleasedStep
from dpsql.ledger.memory import MemoryLedger
from dpsql.privacy.exact import Exact
from dpsql.session import answer as answering
from dpsql.session.analyst import Analyst
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
