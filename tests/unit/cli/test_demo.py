"""`dpsql demo`: told to the end where nobody can press a key, page by page where somebody can."""

import io
import os
import sys

import pytest

from dpsql.cli import demo
from dpsql.cli.main import main
from dpsql.demonstration import attack, tour
from dpsql.demonstration.stage import Page
from tests.kits.cases import cases


class Keyboard(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Somebody in front of a terminal who types these lines."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def types(lines):
        monkeypatch.setattr(sys, "stdin", Keyboard("".join(lines)))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    return types


PAGES = [Page(title=f"Page {number}", blocks=("5 ± 2",)) for number in range(3)]


@pytest.fixture
def pages(monkeypatch):
    """Short stories in place of the long ones, which have tests of their own."""
    monkeypatch.setattr(tour, "pages", lambda ana, stage: PAGES)
    monkeypatch.setattr(attack, "pages", lambda stage: PAGES)


@pytest.mark.usefixtures("pages")
def test_without_a_terminal_nothing_is_waited_for_and_letters_may_be_plain(command, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    out, err = command(["demo"])
    assert err == ""
    assert "\x1b" not in out
    assert "3. Page 2" in out
    assert "Now you: dpsql demo -c" in out
    assert max(map(len, out.split("\n"))) <= 80
    out, err = command(["demo", "--plain"])
    assert err == ""
    assert "5 plus or minus 2" in out
    assert out.isascii()


@pytest.mark.usefixtures("pages")
def test_at_a_terminal_each_page_waits(terminal, command):
    terminal(["\n"])  # on to the next page; then the keyboard is gone
    out, err = command(["demo", "--attack"])
    assert "\x1b[1m1. Page 0\x1b[0m" in out
    assert err.count("[Enter]") == 2  # two pages to turn


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_pause_and_no_color(terminal, command, monkeypatch, name, value):
    terminal([])
    monkeypatch.setenv(name, value)
    out, err = command(["demo", "--attack", "--no-pause"])
    assert err == ""
    assert "\x1b" not in out
    assert "3. Page 2" in out


def test_a_question_is_asked_of_the_demo(command):
    assert command(["demo", "-c", "SELECT COUNT(*) AS n FROM wards", "--format", "csv"]).out.split() == ["n", "5"]


def test_questions_on_standard_input_are_asked(command, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT COUNT(*) AS n FROM wards;\nSELECT 1 + 1 AS two FROM wards"))
    assert command(["demo", "--format", "csv"]).out.split()[:2] == ["n", "5"]


@pytest.mark.usefixtures("pages")
def test_a_pipe_in_which_nothing_comes_is_not_waited_for(command, monkeypatch):
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as silent, open(writing, "w"):
        monkeypatch.setattr(sys, "stdin", silent)
        told = command(["demo"])
        assert "Now you: dpsql demo -c" in told.out
        assert "standard input is open and nothing came" in told.err


def test_a_silent_pipe_is_not_read_either_where_nobody_hears_of_it(monkeypatch):
    """Whoever started the program has closed its standard error: it ends, and waits for no question."""

    def closed(*words):
        raise BrokenPipeError

    reading, writing = os.pipe()
    monkeypatch.setattr("dpsql.cli.demo.say", closed)
    monkeypatch.setattr("dpsql.cli.asking.text_of", lambda *words, **said: pytest.fail("the pipe was read"))
    with open(reading, encoding="utf-8") as silent, open(writing, "w"):
        monkeypatch.setattr(sys, "stdin", silent)
        with pytest.raises(BrokenPipeError):
            demo._piped()


@pytest.mark.usefixtures("pages")
def test_at_a_terminal_the_tour_ends_in_the_shell(terminal, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("dpsql.cli.shell.run", lambda asker, **said: opened.append((asker.name, said)) or 7)
    terminal(["\n"] * 20)
    assert main(["demo", "--no-color"]) == 7
    ((name, said),) = opened
    assert (name, said["source"], said["plain"], said["colour"]) == ("ana", "demo", False, False)
    assert "Now you." in capsys.readouterr().out


def test_the_shell_behind_the_tour_has_the_whole_budget(terminal, command, monkeypatch):
    """Though the tour has paid for its own questions: the first answer is shown, then the rest is skipped."""
    left = []
    monkeypatch.setattr("dpsql.cli.shell.run", lambda asker, **said: left.append(asker.budget.shown) or 0)
    terminal(["\n", "q\n"])
    out, err = command(["demo", "--no-color"])
    assert left == ["1.00 of 1.00"]
    assert "release #" in out
    assert "3. " not in out
    assert "You have 1.00 of 1.00 to spend" in out
    assert err.count("q skips the rest") == 2


@cases(__file__, "words=")
def test_what_makes_no_sense_together_is_refused(words, command):
    out, err = command(["demo", *words], 2)
    assert out == ""
    assert "DP410" in err
