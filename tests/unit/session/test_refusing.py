"""Every refusal of a question stands in the ledger, once, with its code; prices and explanations do not."""

import pytest

from dpsql.engines.duckdb import DuckdbEngine
from dpsql.errors import BadParameter, DpsqlError, EngineFailed, FrozenLedger, OverLimit
from dpsql.ledger.facts import Refused
from dpsql.session.refusing import wants_an_answer
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import each_raises, raised

COUNT = "SELECT COUNT(*) FROM people"
ROWS = "SELECT age FROM people"


@pytest.fixture
def owner():
    with owner_of(40, epsilon=10, cost_per_query=1, noise="laplace") as owner:
        yield owner


@pytest.fixture
def ana(owner):
    return owner.grant("ana", budget=2, max_per_query=1.5)


def refused(owner):
    facts = [entry.fact for entry in owner._ledger.entries()]
    return [(fact.analyst, fact.code, fact.sql) for fact in facts if isinstance(fact, Refused)]


@cases(__file__, "sql=", "code")
def test_a_refusal_is_written_down(owner, ana, sql, code):
    error = raised(DpsqlError, lambda: ana.sql(sql))
    assert refused(owner) == [("ana", error.code, sql)]
    assert error.code == code


def test_a_long_text_is_cut_and_characters_of_no_language_are_question_marks(owner, ana):
    raised(DpsqlError, lambda: ana.sql("SELECT '\ud800\x00'"))
    assert [(code, sql[:9]) for _, code, sql in refused(owner)] == [("DP100", "SELECT '?")]
    raised(DpsqlError, lambda: ana.sql("SELECT " + "x" * 50_000))
    assert len(refused(owner)[-1][2]) == 4000


def test_what_nobody_was_going_to_be_told_is_not_written_down(owner, ana):
    each_raises(DpsqlError, lambda ask: ask(ROWS), (ana.cost, ana.explain, ana.query))
    for sql in (
        f"EXPLAIN PRIVACY {ROWS}",
        f"DRY RUN {ROWS}",
        f"/* why */ EXPLAIN PRIVACY {ROWS}",
        "SET dp.epsilon = x",
    ):
        with pytest.raises(DpsqlError):
            ana.sql(sql)
    raised(DpsqlError, lambda: ana.sql(7))
    ana.sql(COUNT)
    assert refused(owner) == []


def test_a_question_that_is_run_later_counts_too(owner, ana):
    question = ana.query(COUNT)
    raised(OverLimit, lambda: question.run(max_cost=0.1))
    raised(BadParameter, lambda: ana.sql(COUNT, epsilon=-1))
    question.run()
    raised(DpsqlError, lambda: ana.query("SELECT AVG(age) FROM people").run(epsilon=1.2))
    assert [code for _, code, _ in refused(owner)] == ["DP202", "DP410", "DP201"]


def test_a_frozen_source_refuses_everything_before_it_is_read(owner, ana):
    ana.sql(COUNT)
    owner.keeper.freeze("a look")
    each_raises(FrozenLedger, lambda sql: ana.sql(sql), (COUNT, "SELEC", "SELECT * FROM dp.budget"))
    assert [code for _, code, _ in refused(owner)] == ["DP204"] * 3
    owner.keeper.unfreeze("seen")
    assert ana.sql(COUNT).cost.epsilon == 0


def test_a_failure_of_the_engine_is_no_refusal(owner, ana, monkeypatch):
    """It may depend on rows, and so would the ledger."""

    def fail(self, sql, /, *, parameters):
        raise EngineFailed("x", why="y", fix="z")

    monkeypatch.setattr(DuckdbEngine, "run", fail)
    raised(EngineFailed, lambda: ana.sql(COUNT))
    assert refused(owner) == []


def test_a_batch_that_is_refused_is_written_down(owner, ana):
    raised(DpsqlError, lambda: ana.run([COUNT, ROWS], total=1))
    assert refused(owner) == [("ana", "DP101", ROWS)]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [(COUNT, True), (f" -- x\nDRY  RUN {COUNT}", False), (f"explain privacy (format json) {COUNT}", False), (7, False)],
)
def test_what_wants_an_answer(sql, wanted):
    assert wants_an_answer(sql) is wanted
