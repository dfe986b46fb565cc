"""EXPLAIN PRIVACY DIFF: why one question is dearer, or less close, than another; free, and about no row."""

import re
from fractions import Fraction

import pandas
import pytest

import dpsql
from dpsql.errors import DpsqlError, RowLevel
from in_this_process import serving

COUNT = "SELECT COUNT(*) AS n FROM patients"


@pytest.fixture(scope="module")
def ana():
    with dpsql.demo() as found:
        yield found


def different(ana, first, second):
    """What is said to differ: from, to."""
    text = str(ana.sql(f"EXPLAIN PRIVACY DIFF {first}; {second};"))
    section = re.sub("[ \n]+", " ", re.search(r"DIFFERENT(.*?)\n\n", text, re.DOTALL)[1])
    return {name.strip(): (old, new) for name, old, new in re.findall(r"([a-z PRIVATE]+): (.*?) → (.*?)\. ", section)}


def test_the_price_and_the_margins_are_those_of_the_two_plans(ana):
    dear = "SELECT COUNT(*) AS n, SUM(age) AS total FROM patients COST 0.2"
    text = str(ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}; {dear}"))
    assert "0.05 → 0.2: the second costs 0.15 more" in text
    margin, finer = ana.query(COUNT).margins["n"], ana.query(dear).margins["n"]
    assert f"n ± {margin} → ± {finer}" in text
    assert "the second has total ± " in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_what_differs_is_named_with_both_values(ana):
    found = different(ana, "SELECT COUNT(*) AS n FROM visits", "SELECT SUM(charge), AVG(charge) FROM visits")
    assert found["noisy numbers in each group"] == ("1", "3")
    assert found["limits of values"] == ("nothing", "charge from 0 to 2\u2009000")
    assert "rows that count" not in found
    fewer = different(ana, "SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits LIMIT 2 PER PERSON")
    assert fewer == {"rows that count": ("6 of one patient", "2 of one patient")}
    surer = different(ana, COUNT, f"{COUNT} CONFIDENCE 0.5")
    assert surer == {"confidence": ("95 %", "50 %")}


def test_private_groups_are_dearer_because_they_must_be_found(ana):
    private = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
    found = different(ana, private, f"{private} KEYS ('flu', 'asthma')")
    assert found["groups"] == ("private ones, which must be found", "2 public groups")
    share = Fraction(str(ana.sql("SELECT value FROM dp.policy WHERE name = 'defaults.selection_share'")["value"][0]))
    assert found["spent on finding groups"] == (f"{float(share * Fraction(1, 20)):g} of the price", "nothing")


def test_a_question_is_like_itself(ana):
    text = str(ana.sql(f"explain privacy diff {COUNT}; /* the same */ {COUNT}"))
    assert "nothing that a plan can tell" in text
    assert "both 0.05" in text


def test_it_is_free_and_a_refused_question_is_refused(ana):
    before = (ana.budget.spent, ana.sql("SELECT COUNT(*) FROM dp.ledger").rows)
    ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}; {COUNT} COST 0.3")
    with pytest.raises(RowLevel):
        ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}; SELECT * FROM patients")
    with pytest.raises(DpsqlError, match="compares two questions"):
        ana.sql(f"EXPLAIN PRIVACY DIFF {COUNT}")
    assert (ana.budget.spent, ana.sql("SELECT COUNT(*) FROM dp.ledger").rows) == before


def test_what_was_bought_is_free_beside_what_was_not():
    with dpsql.demo() as ana:
        ana.sql(COUNT)
        assert different(ana, COUNT, "SELECT COUNT(*) AS n FROM patients WHERE flu")["what is stored already"] == (
            "the answer",
            "nothing",
        )


def test_it_is_told_over_a_socket_in_the_same_words(tmp_path):
    with dpsql.open(":memory:") as owner:
        owner.register("t", pandas.DataFrame({"id": [1, 2]}), person="id", unique=True)
        owner.promise(epsilon=1)
        owner.defaults(cost_per_query=0.1, noise="laplace")
        here = owner.grant("ana", budget=1)
        asked = "EXPLAIN PRIVACY DIFF SELECT COUNT(*) AS n FROM t; SELECT COUNT(*) AS n FROM t COST 0.2"
        token = owner.keeper.admit("ana", role="analyst")
        with serving(owner, tmp_path / "door"), dpsql.connect(socket=tmp_path / "door", token=token) as there:
            told = there.sql(asked)
        assert (told.is_text, told.text) == (True, str(here.sql(asked)))
