"""One statement as its questions: inner ones first, each with what is in sight of it, the statement last."""

from dpsql.errors import NotSupported
from dpsql.sql.apart import MOST_QUESTIONS, apart
from dpsql.sql.parse import parse
from tests.kits.cases import cases
from tests.kits.refusals import raised


def questions(sql):
    """The text of each question, and the common tables it can see."""
    return [(sql[slice(*each.at)], sorted(each.known.tables)) for each in apart(parse(sql, dialect="duckdb"))]


def texts(sql):
    return [text for text, _ in questions(sql)]


def test_a_plain_statement_is_one_question():
    sql = "WITH a AS (SELECT x FROM t) SELECT COUNT(*) FROM (SELECT x FROM a) u WHERE x > 1"
    assert questions(sql) == [(sql[sql.index("SELECT COUNT") :], [])]


def test_a_question_sees_the_tables_before_it_and_no_others():
    found = questions(
        "WITH a AS (SELECT x FROM t), b AS PRIVATE (SELECT y FROM a), c AS (SELECT z FROM b) SELECT w FROM b, c"
    )
    assert found[0] == ("SELECT y FROM a", ["a"])
    assert found[1][0] == "SELECT w FROM b, c"


def test_inner_questions_come_first():
    sql = "SELECT a FROM t WHERE x > PRIVATE (SELECT b FROM t WHERE x > PRIVATE (SELECT c FROM t))"
    assert [text[:8] for text in texts(sql)] == ["SELECT c", "SELECT b", "SELECT a"]


def test_a_value_inside_a_common_table_sees_what_its_table_sees():
    found = questions(
        "WITH a AS (SELECT x FROM t), b AS (SELECT PRIVATE (SELECT y FROM a) AS y FROM t) SELECT z FROM b"
    )
    assert found[0] == ("SELECT y FROM a", ["a"])


@cases(__file__, "place")
def test_no_place_is_passed_over(place):
    assert texts(place.format("PRIVATE (SELECT 7 FROM v)"))[:-1] == ["SELECT 7 FROM v"]


def test_what_between_writes_twice_is_asked_once():
    assert len(texts("SELECT 1 FROM t WHERE PRIVATE (SELECT 7 FROM v) BETWEEN 1 AND 2")) == 2


def test_a_private_table_is_asked_once_however_often_it_is_read():
    assert len(texts("WITH w AS PRIVATE (SELECT 7 FROM v) SELECT 1 FROM w a, w b, w c")) == 2


def test_so_many_questions_and_no_more():
    many = " + ".join(f"PRIVATE (SELECT {n} FROM v)" for n in range(MOST_QUESTIONS))
    assert len(texts(f"SELECT {many} FROM t")) == MOST_QUESTIONS + 1
    raised(NotSupported, lambda: texts(f"SELECT {many} + PRIVATE (SELECT 99 FROM v) FROM t"), match="more than 16")
