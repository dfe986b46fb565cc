"""Statements are split where a semicolon ends them, and nowhere else."""

import pytest

from dpsql.errors import NotUnderstood
from dpsql.sql.parse import compared, statements
from dpsql.sql.parsing.text import MAX_CHARACTERS, prepared


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n ; ; -- only a comment ; \n /* ; */ ;", []),
        ("SELECT 1", [(0, "SELECT 1")]),
        ("  SELECT 1 ;\n\nSELECT 2;", [(2, "SELECT 1"), (14, "SELECT 2")]),
        ("SELECT ';' ; SELECT \";\"", [(0, "SELECT ';'"), (13, 'SELECT ";"')]),
        ("SELECT 'it''s;' ; x", [(0, "SELECT 'it''s;'"), (18, "x")]),
        ("SELECT $$;$$; SELECT $a$;$$;$a$", [(0, "SELECT $$;$$"), (14, "SELECT $a$;$$;$a$")]),
        ("a -- ;\n; b /* ; /* ; */ ; */ c", [(0, "a"), (9, "b /* ; /* ; */ ; */ c")]),
        (
            "EXPLAIN PRIVACY SELECT ';' ; CALL f(';'); x",
            [(0, "EXPLAIN PRIVACY SELECT ';'"), (29, "CALL f(';')"), (42, "x")],
        ),
        ("x; explain privacy /* ; */ diff a; b; c", [(0, "x"), (3, "explain privacy /* ; */ diff a; b"), (38, "c")]),
        ("EXPLAIN PRIVACY DIFF a;", [(0, "EXPLAIN PRIVACY DIFF a;")]),
        ("SELECT 'a\\'; SELECT 'b'", [(0, "SELECT 'a\\'"), (13, "SELECT 'b'")]),
        ("SELECT 1; SELECT 'never ends ; x", [(0, "SELECT 1; SELECT 'never ends ; x")]),
        ("SELECT 1; /* never ends ; x", [(0, "SELECT 1; /* never ends ; x")]),
        ("SELECT 1; SELECT $a$ ; x", [(0, "SELECT 1; SELECT $a$ ; x")]),
        ("SELECT a$b$c; SELECT 2", [(0, "SELECT a$b$c"), (14, "SELECT 2")]),
    ],
)
def test_statements(text: str, found: list[tuple[int, str]]) -> None:
    assert list(statements(text)) == found
    assert all(text[offset : offset + len(one)] == one for offset, one in found)


def test_a_text_that_is_too_long_is_one_statement() -> None:
    text = "SELECT 1;" * (MAX_CHARACTERS // 9 + 1)
    assert statements(text) == ((0, text),)


def test_blanks_take_the_place_of_what_is_not_read() -> None:
    text = "EXPLAIN/* a\nb */ PRIVACY SELECT '--' -- x\r , \"/*\" ; ;"
    found = prepared(text)
    assert len(found.plain) == len(text)
    assert found.plain == " " * 11 + "\n" + " " * 13 + "SELECT '--'     \r , \"/*\"    "


def test_a_comparison_has_two_questions() -> None:
    assert compared("EXPLAIN PRIVACY DIFF SELECT ';'; -- and\n SELECT 2;") == ((21, "SELECT ';'"), (41, "SELECT 2"))
    assert compared("SELECT 'EXPLAIN PRIVACY DIFF a; b'") is None
    assert compared("EXPLAIN PRIVACY DIFFERENT") is None
    assert compared("EXPLAIN PRIVACY DIFF a; 'never ends") is None  # `parse` says what is wrong with it
    for text in ("EXPLAIN PRIVACY DIFF", "EXPLAIN PRIVACY DIFF a", "EXPLAIN PRIVACY DIFF a; b; c"):
        with pytest.raises(NotUnderstood, match="compares two questions"):
            compared(text)
