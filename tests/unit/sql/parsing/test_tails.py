"""Clauses at the end of a statement: where they begin, where they do not, and what is left for the parser."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.syntax import NO_OPTIONS


def options(sql):
    return parse(sql, dialect="duckdb").options


def values(sql):
    found = options(sql)
    names = ("epsilon", "within", "confidence", "rows_per_person")
    return {name: getattr(found, name).value for name in names if getattr(found, name) is not None}


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("COST 0.1", {"epsilon": Fraction(1, 10)}),
        ("cost 1e-3", {"epsilon": Fraction(1, 1000)}),
        ("COST .5", {"epsilon": Fraction(1, 2)}),
        ("COST 0", {"epsilon": 0}),
        ("WITHIN 20", {"within": 20}),
        ("WITHIN 20 CONFIDENCE 0.9", {"within": 20, "confidence": Fraction(9, 10)}),
        ("CONFIDENCE 0.9 WITHIN 20", {"within": 20, "confidence": Fraction(9, 10)}),
        ("LIMIT 3 PER PERSON", {"rows_per_person": 3}),
        ("limit 3 per person cost 2", {"rows_per_person": 3, "epsilon": 2}),
    ],
)
@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t AS x",
        "SELECT COUNT(*) FROM t WHERE flu",
        "SELECT COUNT(*) FROM t WHERE a = 'x'",
        "SELECT COUNT(*) FROM t WHERE a IS NULL",
        "SELECT CASE WHEN COUNT(*) > 5 THEN 1 END FROM t GROUP BY a ORDER BY a DESC",
        "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY 2 NULLS LAST LIMIT 5 OFFSET 2",
        "SELECT a, COUNT(*) FROM t GROUP BY a FETCH FIRST 3 ROWS ONLY",
        'SELECT a, COUNT(*) FROM t GROUP BY "order"',
        "WITH w AS (SELECT a FROM t) SELECT COUNT(*) FROM w",
        "(SELECT COUNT(*) FROM t)",
    ],
)
def test_a_clause_is_cut_off_and_the_rest_is_the_question(question, tail, said):
    found = parse(f"{question} {tail};", dialect="duckdb")
    assert values(f"{question} {tail};") == said
    assert found.query == parse(question, dialect="duckdb").query


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT cost FROM t",
        "SELECT cost, keys, within, confidence FROM t",
        "SELECT COUNT(*) cost FROM t",
        "SELECT COUNT(*) AS cost FROM t ORDER BY cost",
        "SELECT cost + 1, cost - 1, 1 - cost FROM t",
        "SELECT a FROM t ORDER BY cost - 1",
        "SELECT a FROM t ORDER BY a, cost - 1",
        "SELECT a FROM t ORDER BY a // cost - 1",
        "SELECT a FROM t WHERE a BETWEEN cost - 1 AND cost + 1",
        "SELECT a FROM t WHERE a > cost -1",
        "SELECT a FROM cost c WHERE c.cost < 5 AND c.within > 3",
        "SELECT a FROM t cost WHERE cost.a = 5",
        "SELECT a FROM t cost",
        "SELECT a FROM (SELECT a FROM t) keys (a)",
        "SELECT a FROM (SELECT a FROM t) AS keys (a) GROUP BY a",
        "SELECT keys FROM t GROUP BY keys HAVING keys > 5 ORDER BY keys LIMIT 5",
        "SELECT COUNT(*) FROM t COST",
        "SELECT a AS per, b AS person FROM t LIMIT 3",
    ],
)
def test_words_that_are_not_reserved_are_names(sql):
    assert options(sql) == NO_OPTIONS


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        ("SELECT COUNT(*) FROM t COST -1", "-1"),
        ("SELECT COUNT(*) FROM t COST +1", "+1"),
        ("SELECT COUNT(*) FROM t COST 0.1 COST 0.1", "0.1"),
        ("SELECT COUNT(*) FROM t COST 1e13", "1e13"),
        ("SELECT COUNT(*) FROM t COST 1e-13", "1e-13"),
        ("SELECT COUNT(*) FROM t WITHIN 5 %", "%"),
        ("SELECT COUNT(*) FROM t COST 0.1 GROUP BY a", "GROUP"),
        ("SELECT COUNT(*) FROM t COST 0.1, 0.2", ","),
        ("SELECT COUNT(*) FROM t COST 0.1 PER PERSON", "PER"),
        ("SELECT COUNT(*) FROM t LIMIT 3 PER PERSON LIMIT 4 PER PERSON", "4"),
        ("SELECT COUNT(*) FROM t LIMIT 'x' PER PERSON", "'x'"),
        ("SELECT COUNT(*) FROM t LIMIT -3 PER PERSON", "-3"),
        ("SELECT COUNT(*) FROM t LIMIT 3 PER", "PER"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a KEYS ()", ")"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a KEYS ('x',)", ")"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a KEYS ('x' 'y')", "'x' 'y'"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a KEYS ('x'", "("),
        ("SELECT a, COUNT(*) FROM t GROUP BY a KEYS ('x') KEYS ('y')", "KEYS ('y')"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a KEYS (DATE '2025-13-01')", "DATE '2025-13-01'"),
    ],
)
def test_what_is_wrong_is_marked(sql, marked):
    with pytest.raises(DpsqlError) as caught:
        options(sql)
    start, end = caught.value.at
    assert sql[start:end] == marked, caught.value


def test_listed_keys_keep_their_types():
    found = options("SELECT a FROM t GROUP BY a KEYS ('it''s', -3, 2.5, TRUE, DATE '2025-01-31')")
    assert [literal.value for literal in found.keys.value] == [
        "it's",
        -3,
        Fraction(5, 2),
        True,
        found.keys.value[4].value,
    ]
    assert found.keys.value[4].value.isoformat() == "2025-01-31"
