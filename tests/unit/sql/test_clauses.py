"""A SELECT cut at its words, and asked for something else."""

from dataclasses import replace

from dpsql.sql.clauses import also_grouped, clauses_of, with_item
from tests.kits.cases import cases


def cut(sql: str, at: int | None = None):
    return clauses_of(sql, (sql.upper().index("SELECT") if at is None else at, len(sql)))


def test_every_part_is_found():
    found = cut(
        "WITH t AS (SELECT 1 FROM a) SELECT x, COUNT(*) FROM b JOIN t USING (x) WHERE y > 3 GROUP BY x "
        "HAVING COUNT(*) > 1 ORDER BY x LIMIT 3 COST 0.1;",
        at=28,
    )
    expected = ("WITH t AS (SELECT 1 FROM a) ", "x, COUNT(*)", "b JOIN t USING (x)")
    assert (found.before, found.items, found.source) == expected
    assert (found.where, found.group_by, found.tail, found.after) == ("y > 3", "x", "COST 0.1", "")


@cases(__file__, "sql", "asked")
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


@cases(__file__, "sql")
def test_what_is_not_one_select_is_not_cut(sql):
    assert cut(sql) is None
    assert clauses_of("SELECT a FROM t", None) is None
    assert with_item("SELECT a FROM t", None, (7, 8), "b") is None


@cases(__file__, "sql", "grouped=")
def test_one_more_group(sql, grouped):
    assert also_grouped(sql, (0, len(sql)), by="city") == grouped
