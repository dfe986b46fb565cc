"""What analysts of other tools write: the refusal marks it, says how it is written here, and its rewrite works."""

import time

import pytest

import dpsql
from dpsql.errors import NotUnderstood
from dpsql.sql.other_dialects import in_other_words, with_our_calls
from dpsql.sql.parse import parse
from tests.kits.cases import cases
from tests.kits.refusals import raised


def refusal(ana, sql):
    error = raised(dpsql.DpsqlError, lambda: ana.query(sql))
    assert error.why
    assert error.fix
    return error


@cases(__file__, "sql", "marked", "rewrite")
def test_it_is_marked_and_written_as_it_is_here(ana, sql, marked, rewrite):
    error = refusal(ana, sql)
    assert sql[slice(*error.at)] == marked
    assert (error.try_sql or "nothing") == rewrite
    if rewrite != "nothing":
        ana.query(rewrite)


def test_typographic_quotes_inside_of_text_are_text(ana):
    ana.query("SELECT COUNT(*) FROM patients WHERE city = 'the ‘old’ town'")
    error = refusal(ana, "SELECT COUNT(*) FROM patients WHERE town = 'the ‘old’ town'")
    assert error.what == "there is no column town in patients"


@pytest.mark.parametrize(
    "sql", ["SELECT 1 FROM a SEMI JOIN b USING (c)", "SELECT city FROM patients GROUP BY ALL", "DESCRIBE patients"]
)
def test_what_the_reader_refuses_keeps_its_words(ana, sql):
    read = raised(dpsql.DpsqlError, lambda: parse(sql, dialect="duckdb"))
    told = refusal(ana, sql)
    assert (told.what, told.why, told.fix) == (read.what, read.why, read.fix)


def test_a_mistake_elsewhere_keeps_its_own_words(ana):
    """A column may be called top, and a function of ours stay as it is."""
    error = refusal(ana, "SELECT COUNT(*) AS top, DATE_TRUNC('month', day) FROM visits GROUP BY 2 HAVING nothing > 3")
    assert "nothing" in error.what
    sql = "SELECT COUNT(* FROM patients WHERE city = ‘Bern’"
    error = refusal(ana, sql)
    assert (error.at, error.what) == ((12, 13), "( is never closed, near '('")
    error = refusal(ana, "SELECT COUNT(*) FROM patients WITHIN 5%")
    assert "not a share of the answer" in error.what
    assert "WITHIN 50" in error.fix


@pytest.mark.parametrize(
    "call", ["FIRST_VALUE(city)", "AGE(day)", "DECODE(city, 'a', 1)", "WIDTH_BUCKET(age, 0, 9, 3)"]
)
def test_what_is_not_alike_is_not_guessed(ana, call):
    assert "did you mean" not in refusal(ana, f"SELECT {call} FROM visits JOIN patients USING (patient_id)").fix


@pytest.mark.parametrize("depth", [40, 2_000])
def test_calls_nested_too_deep_keep_their_refusal(ana, depth):
    error = refusal(ana, f"SELECT SUM({'IFF(flu, 1, ' * depth}0{')' * depth}) FROM patients")
    assert "write IF(" not in error.fix


@cases(__file__, "start", "filling", "end")
def test_advice_takes_no_longer_than_its_text_is_long(start, filling, end):
    """Milliseconds; seconds where a pattern looks at the rest of the text from each place of it."""
    text = f"{start}{filling * (19_500 // len(filling))}{end}"
    began = time.process_time()
    in_other_words(NotUnderstood("a", why="b", fix="c", at=(0, len(text))), text)
    assert time.process_time() - began < 0.8


def test_calls_within_calls_are_rewritten_once():
    """Of 18 calls without an equal here the innermost was rewritten 2^18 times."""
    text = f"{'DATEPART(' * 18}ISNULL(a, b){')' * 18}"
    began = time.process_time()
    assert with_our_calls(text) == text.replace("ISNULL", "COALESCE")
    assert time.process_time() - began < 0.8
