"""EXPLAIN PRIVACY DIFF: the explanations of two questions as a text diff; free, and about no row."""

import dpsql
from dpsql.errors import DpsqlError, RowLevel
from in_this_process import serving
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

COUNT = "SELECT COUNT(*) AS n FROM patients"


def lines(ana, first, second):
    return str(ana.sql(f"EXPLAIN PRIVACY DIFF {first}; {second};")).splitlines()


def test_it_is_a_text_diff_of_the_two_explanations(ana):
    dear = "SELECT COUNT(*) AS n, SUM(age) AS total FROM patients COST 0.2"
    found = lines(ana, COUNT, dear)
    assert found[:2] == ["--- first", "+++ second"]
    for sign, sql in (("-", COUNT), ("+", dear)):
        told = ana.query(sql).explain().text().splitlines()
        assert f"{sign}{' ' * 13}n ± {ana.query(sql).margins['n']}" in found
        assert {line[1:] for line in found[2:] if line.startswith(sign)} <= set(told)
    assert lines(ana, COUNT, f"/* the same */ {COUNT}") == ["Both are explained alike."]


def test_it_is_free_and_a_refused_question_is_refused(ana):
    before = (ana.budget.spent, ana.sql("SELECT COUNT(*) FROM dp.ledger").rows)
    ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}; {COUNT} COST 0.3")
    raised(RowLevel, lambda: ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}; SELECT * FROM patients"))
    raised(DpsqlError, lambda: ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}"), match="compares two questions")
    assert (ana.budget.spent, ana.sql("SELECT COUNT(*) FROM dp.ledger").rows) == before


def test_it_is_told_over_a_socket_in_the_same_words(tmp_path):
    with owner_of(2, "t", epsilon=1, cost_per_query=0.1, noise="laplace") as owner:
        here = owner.grant("ana", budget=1)
        asked = "EXPLAIN PRIVACY DIFF SELECT COUNT(*) AS n FROM t; SELECT COUNT(*) AS n FROM t COST 0.2"
        token = owner.keeper.admit("ana", role="analyst")
        with serving(owner, tmp_path / "door"), dpsql.connect(socket=tmp_path / "door", token=token) as there:
            told = there.sql(asked)
        assert (told.is_text, told.text) == (True, str(here.sql(asked)))
