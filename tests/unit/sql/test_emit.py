"""What the engine is sent: printed from relations alone, and small however deep they are."""

import duckdb
import pytest

from dpsql.errors import InternalError
from dpsql.sql.emit import LONGEST, EngineText, engine_text, statement_text
from tests.kits.refusals import raised

from stages import TABLES, rewritten


def text_of(sql: str) -> str:
    return statement_text(rewritten(sql).measurement, dialect="duckdb")


def deep(levels: int, expression: str) -> str:
    """A column that reads the one below it several times, at every level."""
    source = "(SELECT illness AS z, points AS n FROM visits) q"
    for _ in range(levels):
        source = f"(SELECT {expression} FROM {source}) q"
    return source


DOUBLING = [
    "z || z AS z, n",
    "z, CASE WHEN n > 1 THEN n ELSE n + 1 END AS n",
    "COALESCE(NULLIF(z, 'a'), z || z) AS z, n",
]


@pytest.mark.parametrize("expression", DOUBLING)
def test_what_is_read_twice_at_each_level_does_not_multiply(expression):
    """Written out, twenty levels would have a million copies; a filter that moves down through them writes them out."""
    sql = text_of(f"SELECT COUNT(*), COUNT(DISTINCT z) FROM {deep(20, expression)} WHERE n > 0")
    assert "AS MATERIALIZED (SELECT * FROM" in sql
    assert len(sql) < 20 * LONGEST
    assert sql.count("AS MATERIALIZED (SELECT * FROM") >= 3


def test_few_levels_are_left_to_the_engine():
    assert "SELECT * FROM" not in text_of(f"SELECT COUNT(*) FROM {deep(1, DOUBLING[0])}").replace(
        "SELECT * FROM (VALUES", ""
    )


@pytest.mark.parametrize("expression", DOUBLING)
def test_rows_that_are_set_aside_are_the_same_rows(expression):
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE visits ({TABLES['visits']})")
    plain.execute(
        "INSERT INTO visits (person, illness, points) VALUES (1, 'a', 3), (1, 'b', 0), (2, '', 7), (3, NULL, 1)"
    )
    question = f"SELECT COUNT(*) FROM {deep(7, expression)} WHERE n > 0 AND z <> 'a'"
    text = engine_text(rewritten(question).measurement, dialect="duckdb")
    assert "AS MATERIALIZED (SELECT * FROM" in text.sql
    assert plain.execute(text.sql, text.parameters(salt=1)).fetchall() == plain.execute(question).fetchall()


def test_columns_that_nobody_reads_are_not_read():
    assert "moment" not in text_of("SELECT COUNT(*) FROM visits WHERE points > 3")
    assert '"moment"' in text_of("SELECT COUNT(moment) FROM visits WHERE points > 3")


def test_a_choice_by_hash_is_not_sent_without_its_salt():
    """It would otherwise be the same in every answer."""
    salted = EngineText(sql="SELECT $salt", lists={}, salted=True)
    assert salted.parameters(salt=7) == {"salt": 7}
    raised(InternalError, salted.parameters)
