"""Where a typed statement ends, whatever stands in its quotations and comments."""

import pytest

from dpsql.cli.shell.pieces import ended, first_word, has_margin_wish, is_blank, pieces, statements
from tests.kits.cases import cases


@pytest.mark.parametrize(
    ("text", "statements", "left"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1; SELECT 2; SEL", ["SELECT 1", "SELECT 2"], " SEL"),
        ("SELECT ';'", [], "SELECT ';'"),
        ("SELECT 'it''s;';", ["SELECT 'it''s;'"], ""),
        ('SELECT ";" FROM t;', ['SELECT ";" FROM t'], ""),
        ("SELECT 1 -- no end;\n;", ["SELECT 1 -- no end;"], ""),
        ("SELECT /* ; /* ; */ ; */ 1;", ["SELECT /* ; /* ; */ ; */ 1"], ""),
        ("SELECT $a$ ; $a$;", ["SELECT $a$ ; $a$"], ""),
        ("SELECT 'open;", [], "SELECT 'open;"),
        ("SELECT /* open;", [], "SELECT /* open;"),
        (";; ;", [], ""),
        ("-- nothing\n;", [], ""),
        ("EXPLAIN PRIVACY DIFF SELECT 1;", [], "EXPLAIN PRIVACY DIFF SELECT 1;"),
        ("explain privacy diff SELECT 1; SELECT 2; SELECT 3;",
         ["explain privacy diff SELECT 1; SELECT 2", "SELECT 3"], ""),
    ],
)  # fmt: skip
def test_a_statement_ends_with_its_own_semicolon(text, statements, left):
    assert ended(text) == (statements, left)


def test_pieces_leave_out_blanks_alone():
    text = "SELECT 'a' \"b\" 1.5e3 -- c\n <> é"
    assert [(each.kind, text[each.start : each.end]) for each in pieces(text)] == [
        ("word", "SELECT"),
        ("text", "'a'"),
        ("name", '"b"'),
        ("number", "1.5e3"),
        ("comment", "-- c"),
        ("sign", "<"),
        ("sign", ">"),
        ("word", "é"),
    ]
    assert [each.closed for each in pieces("SELECT 'a")] == [True, False]


def test_blanks_and_comments_are_no_statement_and_the_last_may_do_without_its_semicolon():
    assert is_blank(" -- x\n /* y */ ")
    assert not is_blank("/* y")
    assert (first_word("/* a */ with x"), first_word("(select"), first_word(" -- x")) == ("WITH", "(", "")
    assert statements("SELECT 1; -- one\n SELECT 2 ; SELECT 3 ") == ["SELECT 1", "-- one\n SELECT 2", "SELECT 3"]
    assert statements("SELECT 1; -- one") == ["SELECT 1"]


@cases(__file__, "text", "wish=")
def test_a_margin_that_is_wished_for(text, wish):
    assert has_margin_wish(text) is wish
