"""When a line is whole, how it is coloured, and where it is remembered."""

import io
import stat

import pytest
from prompt_toolkit.document import Document

from dpsql.cli.shell.reader import LineReader, SqlLexer, _history, behind_statement, continuation, is_whole
from tests.kits.cases import cases


@cases(__file__, "text=", "whole=")
def test_enter_sends_what_is_whole(text, whole):
    assert is_whole(text) is whole


def test_lines_are_put_together_until_they_are_whole():
    out = io.StringIO()
    reader = LineReader(source=io.StringIO("SELECT 1\n\nFROM t;\n\\q\n"), out=out)
    assert reader.read("ana@x> ") == "SELECT 1\n\nFROM t;"
    assert reader.read("ana@x> ") == "\\q"
    assert out.getvalue() == "ana@x>   ...>   ...> ana@x> "
    assert list(reader.typed()) == ["SELECT 1\n\nFROM t;", "\\q"]
    with pytest.raises(EOFError):
        reader.read("ana@x> ")
    assert len(continuation(20)) == 20


def test_a_command_behind_a_statement_that_goes_on_is_sent_and_remembered_by_itself():
    out = io.StringIO()
    reader = LineReader(source=io.StringIO("SELECT 1\n\\d\n;\n"), out=out)
    text = reader.read("ana@x> ")
    assert behind_statement(text) == ("SELECT 1", "\\d")
    assert reader.read("ana@x> ", default="SELECT 1\n") == "SELECT 1\n;"
    assert out.getvalue() == "ana@x>   ...>   ...> "
    assert list(reader.typed()) == ["\\d", "SELECT 1\n;"]


def test_words_texts_and_comments_have_colours_of_their_own():
    text = "SELECT 'a\nb' -- c\n FROM t1"
    lines = SqlLexer().lex_document(Document(text))
    found = [[part for part in lines(number) if part[1]] for number in range(3)]
    assert found == [
        [("class:keyword", "SELECT"), ("", " "), ("class:text", "'a")],
        [("class:text", "b'"), ("", " "), ("class:comment", "-- c")],
        [("", " "), ("class:keyword", "FROM"), ("", " "), ("", "t1")],
    ]
    assert lines(9) == []


def test_history_is_for_its_owner_and_never_in_the_way(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept = _history(kept=True)
    kept.append_string("SELECT 1;")
    file = tmp_path / "state" / "dpsql" / "history"
    assert "SELECT 1;" in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.unlink()
    file.mkdir()  # it cannot be written any more
    kept.append_string("SELECT 2;")
    assert list(kept.get_strings()) == ["SELECT 1;", "SELECT 2;"]
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    _history(kept=True).append_string("SELECT 3;")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    _history(kept=False).append_string("SELECT 4;")
    assert not (tmp_path / "other").exists()
