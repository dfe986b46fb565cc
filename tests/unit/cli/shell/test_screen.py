"""What reaches a terminal: no character that steers it, no sign it lacks, no line it breaks in the middle of a word."""

import io
import os
from pathlib import Path

import pytest

from dpsql.cli.shell.screen import Screen, clean, folder_of_state
from dpsql.errors import BadParameter


def screen(*, lines=10, columns=40, keys=(), paged=True, ascii_only=False):
    asked = iter(keys)
    said = []

    def key(prompt):
        said.append(prompt)
        return next(asked)

    made = Screen(
        out=io.StringIO(), err=io.StringIO(), ascii=ascii_only, paged=paged,
        size=lambda: os.terminal_size((columns, lines)), key=key,
    )  # fmt: skip
    return made, said


def test_nothing_steers_the_terminal_and_ascii_has_words_for_every_sign():
    assert clean("a\x1b[2Jb\u202ec\n\td") == "a\\x1b[2Jb\\u202ec\n        d"
    made, _ = screen()
    made.say("red \x1b[31m")
    made.show("red \x1b[31m")
    assert "\x1b" not in made.err.getvalue() + made.out.getvalue()
    made, _ = screen(ascii_only=True)
    made.show("┌─┐ ± é ▏")
    assert made.out.getvalue().isascii()
    made, _ = screen(columns=20, ascii_only=True)
    long = '{"a": "' + "é " * 40 + '"}'
    made.show(long, whole=True)
    assert made.out.getvalue() == long + "\n"


def test_prose_is_wrapped_and_tables_and_code_are_not():
    made, _ = screen(columns=30)
    long = "word " * 12
    assert all(len(line) <= 30 for line in made.wrapped(long))
    assert " ".join(" ".join(made.wrapped(long)).split()) == long.strip()
    for kept in ("│ " + "x" * 50, "    SELECT " + "y" * 50, "+" + "-" * 40):
        assert made.wrapped(kept) == [kept]


def test_a_long_answer_comes_page_by_page_and_q_leaves(monkeypatch):
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    made, said = screen(lines=6, keys=["", "q"])
    made.show("\n".join(f"line {number}" for number in range(30)))
    assert made.out.getvalue().splitlines() == [f"line {number}" for number in range(10)]
    assert [prompt.split()[1] for prompt in said] == ["25", "20"]


@pytest.mark.parametrize(("pager", "paged"), [("", True), (None, False)])
def test_nothing_is_paged_where_nobody_wants_it(monkeypatch, pager, paged):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("PAGER", raising=False)
    if pager is not None:
        monkeypatch.setenv("PAGER", pager)
    made, said = screen(lines=6, paged=paged)
    made.show("\n".join("x" for _ in range(30)))
    assert (len(made.out.getvalue().splitlines()), said) == (30, [])


def test_answers_go_to_a_file_and_remarks_do_not(tmp_path):
    made, _ = screen(ascii_only=True)
    with (tmp_path / "out").open("w", encoding="utf-8") as made.file:
        made.show("Zürich ± 1")
        made.say("cost")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "Zürich ± 1\n"
    assert (made.out.getvalue(), made.err.getvalue()) == ("", "cost\n")
    made, _ = screen()
    with open("/dev/full", "w", encoding="utf-8") as made.file, pytest.raises(BadParameter, match="cannot be written"):
        made.show("n")
    assert made.file is None
    made.show("n")
    assert made.out.getvalue() == "n\n"


def test_where_history_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert folder_of_state() == tmp_path / "dpsql"
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", "/h")
    assert folder_of_state() == Path("/h/.local/state/dpsql")


def test_their_own_pager_gets_the_whole_text(monkeypatch, tmp_path):
    monkeypatch.setenv("PAGER", f"tee {tmp_path / 'seen'}")
    made, said = screen(lines=6)
    made.out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    text = "\n".join(f"line {number} ±" for number in range(30))
    made.show(text)
    assert (tmp_path / "seen").read_text(encoding="utf-8") == text + "\n"
    assert said == []


def test_a_pager_that_cannot_be_read_is_none(monkeypatch):
    monkeypatch.setenv("PAGER", "less 'x")
    made, said = screen(lines=6, keys=["q"])
    made.show("\n".join(f"line {number}" for number in range(30)))
    assert len(said) == 1
    assert "line 4" in made.out.getvalue()


def test_ctrl_c_between_pages_leaves_them(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("PAGER", "none")
    made, _ = screen(lines=6)

    def pressed(prompt):
        raise KeyboardInterrupt

    made.key = pressed
    made.show("\n".join("x" for _ in range(30)))
    assert len(made.out.getvalue().splitlines()) == 5
