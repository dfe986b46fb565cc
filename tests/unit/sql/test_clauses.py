"""Statements as text: a SELECT cut at its words, the parts of a call as readers point at them, SET, RESET and SHOW."""

from dataclasses import replace

from dpsql.errors import DpsqlError
from dpsql.sql import setting_text
from dpsql.sql.clauses import also_grouped, call_text, clauses_of, with_item
from dpsql.sql.setting_text import setting_statement
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import bounded


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


# The parts of a call, against what a reader would point at.


@cases(__file__, "call=", "argument=", "condition=")
def test_the_argument_and_the_filter(call, argument, condition):
    found = call_text(call)
    assert (found.argument, found.filter) == (argument, condition)
    assert found.argument in call[slice(*found.span)]


def refusal(sql: str) -> DpsqlError:
    return raised(DpsqlError, lambda: bounded(sql))


@cases(__file__, "sql", "proposal=")
def test_a_rewrite_compiles_or_there_is_none(sql, proposal):
    error = refusal(sql)
    assert error.try_sql == proposal
    if proposal is not None:
        bounded(proposal)
    assert "needs limits for code" in error.what or "needs limits for 1 / code" in error.what


@cases(__file__, "sql", "instead")
def test_other_words_are_sql(sql, instead):
    assert refusal(sql).fix == f"write {instead}"
    bounded(f"SELECT {instead} FROM visits")


# SET, RESET, SHOW as text.


@cases(__file__, "sql=", "name", "value=")
def test_a_setting_is_read(sql, name, value):
    found = setting_statement(sql)
    assert isinstance(found, setting_text.SetOption)
    assert (found.name, found.value) == (name, value)


@cases(__file__, "sql", "statement=")
def test_the_others_too(sql, statement):
    assert setting_statement(sql) == statement


@cases(__file__, "sql=")
def test_everything_else_is_left_to_parse(sql):
    assert setting_statement(sql) is None


@cases(__file__, "sql", "code", "marked")
def test_a_mistake_is_marked(sql, code, marked):
    error = raised(DpsqlError, lambda: setting_statement(sql))
    assert (error.code, sql[slice(*error.at)]) == (code, marked)
