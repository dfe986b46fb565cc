"""Every refusal of a question stands in the ledger, once, with its code; prices and explanations do not."""

import pandas as pd
import pytest

import dpsql
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.errors import BadParameter, DpsqlError, EngineFailed, FrozenLedger, OverLimit
from dpsql.ledger.facts import Refused
from dpsql.session.refusing import wants_an_answer

COUNT = "SELECT COUNT(*) FROM people"
ROWS = "SELECT age FROM people"


@pytest.fixture
def owner():
    with dpsql.open(":memory:") as owner:
        people = pd.DataFrame({"id": range(40), "age": 30})
        owner.register("people", people, person="id", unique=True, bounds={"age": (0, 99)})
        owner.promise(epsilon=10)
        owner.defaults(cost_per_query=1, noise="laplace")
        yield owner


@pytest.fixture
def ana(owner):
    return owner.grant("ana", budget=2, max_per_query=1.5)


def refused(owner):
    facts = [entry.fact for entry in owner._ledger.entries()]
    return [(fact.analyst, fact.code, fact.sql) for fact in facts if isinstance(fact, Refused)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (ROWS, "DP101"),
        ("SELECT SUM(age * id) FROM people", "DP102"),
        ("SELECT wrong FROM people", "DP401"),
        ("SELEC", "DP100"),
        ("SELECT COUNT(*) FROM people COST 1.9", "DP402"),
        ("SELECT COUNT(*) FROM people COST 0", "DP203"),
        ("DROP TABLE people", "DP104"),
        ("SELECT 'never ends", "DP100"),
    ],
)
def test_a_refusal_is_written_down(owner, ana, sql, code):
    with pytest.raises(DpsqlError) as found:
        ana.sql(sql)
    assert refused(owner) == [("ana", found.value.code, sql)]
    assert found.value.code == code


def test_characters_of_no_language_are_written_as_question_marks(owner, ana):
    with pytest.raises(DpsqlError):
        ana.sql("SELECT '\ud800\x00'")
    ((_, code, sql),) = refused(owner)
    assert (code, sql[:9]) == ("DP100", "SELECT '?")


def test_a_long_text_is_cut(owner, ana):
    with pytest.raises(DpsqlError):
        ana.sql("SELECT " + "x" * 50_000)
    ((_, _, sql),) = refused(owner)
    assert len(sql) == 4000


def test_what_nobody_was_going_to_be_told_is_not_written_down(owner, ana):
    for ask in (ana.cost, ana.explain, ana.query):
        with pytest.raises(DpsqlError):
            ask(ROWS)
    for sql in (
        f"EXPLAIN PRIVACY {ROWS}",
        f"DRY RUN {ROWS}",
        f"/* why */ EXPLAIN PRIVACY {ROWS}",
        "SET dp.epsilon = x",
    ):
        with pytest.raises(DpsqlError):
            ana.sql(sql)
    with pytest.raises(DpsqlError):
        ana.sql(7)
    ana.sql(COUNT)
    assert refused(owner) == []


def test_a_question_that_is_run_later_counts_too(owner, ana):
    question = ana.query(COUNT)
    with pytest.raises(OverLimit):
        question.run(max_cost=0.1)
    with pytest.raises(BadParameter):
        ana.sql(COUNT, epsilon=-1)
    question.run()
    with pytest.raises(DpsqlError):
        ana.query("SELECT AVG(age) FROM people").run(epsilon=1.2)
    assert [code for _, code, _ in refused(owner)] == ["DP202", "DP410", "DP201"]


def test_a_frozen_source_refuses_everything_before_it_is_read(owner, ana):
    ana.sql(COUNT)
    owner.keeper.freeze("a look")
    for sql in (COUNT, "SELEC", "SELECT * FROM dp.budget"):
        with pytest.raises(FrozenLedger):
            ana.sql(sql)
    assert [code for _, code, _ in refused(owner)] == ["DP204"] * 3
    owner.keeper.unfreeze("seen")
    assert ana.sql(COUNT).cost.epsilon == 0


def test_a_failure_of_the_engine_is_no_refusal(owner, ana, monkeypatch):
    """It may depend on rows, and so would the ledger."""

    def fail(self, sql, /, *, parameters):
        raise EngineFailed("x", why="y", fix="z")

    monkeypatch.setattr(DuckdbEngine, "run", fail)
    with pytest.raises(EngineFailed):
        ana.sql(COUNT)
    assert refused(owner) == []


def test_a_batch_that_is_refused_is_written_down(owner, ana):
    with pytest.raises(DpsqlError):
        ana.run([COUNT, ROWS], total=1)
    assert refused(owner) == [("ana", "DP101", ROWS)]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [(COUNT, True), (f" -- x\nDRY  RUN {COUNT}", False), (f"explain privacy (format json) {COUNT}", False), (7, False)],
)
def test_what_wants_an_answer(sql, wanted):
    assert wants_an_answer(sql) is wanted
