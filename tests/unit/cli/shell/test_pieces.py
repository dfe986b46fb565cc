"""What is typed, in pieces, and what a statement begins with and wishes for."""

from dpsql.cli.shell.pieces import first_word, has_margin_wish, pieces
from tests.kits.cases import cases


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


def test_a_comment_is_no_first_word():
    assert (first_word("/* a */ with x"), first_word("(select"), first_word(" -- x")) == ("WITH", "(", "")


@cases(__file__, "text", "wish=")
def test_a_margin_that_is_wished_for(text, wish):
    assert has_margin_wish(text) is wish
