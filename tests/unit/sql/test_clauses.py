"""A SELECT cut at its words, and asked for something else."""

from dataclasses import replace

import pytest

from dpsql.sql.clauses import also_grouped, clauses_of


def cut(sql: str, at: int | None = None):
    return clauses_of(sql, (sql.upper().index("SELECT") if at is None else at, len(sql)))


def test_every_part_is_found():
    found = cut(
        "WITH t AS (SELECT 1 FROM a) SELECT x, COUNT(*) FROM b JOIN t USING (x) WHERE y > 3 GROUP BY x "
        "HAVING COUNT(*) > 1 ORDER BY x LIMIT 3 COST 0.1;",
        at=28,
    )
    assert (found.before, found.items, found.source) == (
        "WITH t AS (SELECT 1 FROM a) ",
        "x, COUNT(*)",
        "b JOIN t USING (x)",
    )
    assert (found.where, found.group_by, found.tail, found.after) == ("y > 3", "x", "COST 0.1", "")


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT * FROM t", "SELECT COUNT(*) FROM t"),
        ("SELECT * FROM t;", "SELECT COUNT(*) FROM t"),
        ("select *\nfrom t -- all\nwhere x = 'FROM' -- some\norder by 1", "SELECT COUNT(*) FROM t WHERE x = 'FROM'"),
        ("SELECT EXTRACT(year FROM d) FROM t", "SELECT COUNT(*) FROM t"),
        ("SELECT a IS NOT DISTINCT FROM b FROM t LIMIT 3 PER PERSON", "SELECT COUNT(*) FROM t LIMIT 3 PER PERSON"),
        ("SELECT cost FROM t cost LIMIT 5 WITHIN 20", "SELECT COUNT(*) FROM t cost WITHIN 20"),
        ("EXPLAIN PRIVACY SELECT * FROM t ORDER BY a", "EXPLAIN PRIVACY SELECT COUNT(*) FROM t"),
    ],
)  # fmt: skip
def test_the_rows_stay_and_what_cuts_them_goes(sql, asked):
    assert cut(sql).asking("COUNT(*)") == asked


def test_an_inner_select_ends_at_its_parenthesis():
    sql = "SELECT COUNT(*) FROM (SELECT a FROM t WHERE (b) LIMIT 3) u WHERE a > 1"
    found = cut(sql, at=sql.index("SELECT a"))
    assert replace(found, order="").text == "SELECT COUNT(*) FROM (SELECT a FROM t WHERE (b)) u WHERE a > 1"


def test_conditions_are_joined():
    assert cut("SELECT * FROM t").also_where("x > 1").where == "x > 1"
    assert cut("SELECT * FROM t WHERE a").also_where("x > 1").where == "a AND x > 1"
    assert cut("SELECT * FROM t WHERE a OR b").also_where("x > 1").where == "(a OR b) AND x > 1"


def test_nothing_else_is_lost_with_a_condition():
    sql = "SELECT a, COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > 1 ORDER BY a DESC LIMIT 3 COST 0.1"
    assert cut(sql).text == sql
    assert cut(sql).also_where("b").text == sql.replace("GROUP", "WHERE b GROUP")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT a FROM t UNION ALL SELECT a FROM u",
        "SELECT /*+ dp(epsilon=0.1) */ a FROM t",
        "SELECT a FROM t WHERE 'never ends",
        "SELECT a FROM t WHERE b WHERE c",
    ],
)
def test_what_is_not_one_select_is_not_cut(sql):
    assert cut(sql) is None
    assert clauses_of("SELECT a FROM t", None) is None


@pytest.mark.parametrize(
    ("sql", "grouped"),
    [
        ("SELECT COUNT(*), city FROM t COST 1", "SELECT COUNT(*), city FROM t GROUP BY city COST 1"),
        ("SELECT sex, city FROM t GROUP BY sex", "SELECT sex, city FROM t GROUP BY sex, city"),
        ("SELECT 1", None),
    ],
)
def test_one_more_group(sql, grouped):
    assert also_grouped(sql, (0, len(sql)), by="city") == grouped
