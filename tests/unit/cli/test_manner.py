"""The manner of commands: the exit code of every error, and the stages that a terminal shows."""

import inspect
import io
import sys

import pytest

import dpsql.errors
from dpsql.cli.manner import Manner, exit_code, stages_shown
from dpsql.points import Point, reached
from tests.kits.cases import cases

EXPECTED = {
    "InternalError": 1,
    "BadParameter": 2,
    "NotUnderstood": 3,
    "BadName": 3,
    "BadType": 3,
    "RowLevel": 4,
    "TwoPeople": 4,
    "BudgetExhausted": 5,
    "OverLimit": 5,
    "FrozenLedger": 5,
    "NotPermitted": 6,
    "EngineFailed": 7,
    "NoSource": 7,
    "BadPolicy": 8,
    "LedgerBroken": 9,
}


@pytest.mark.parametrize(("name", "code"), EXPECTED.items())
def test_the_code_of_an_error(name, code):
    assert exit_code(getattr(dpsql.errors, name)("what", why="why", fix="fix")) == code


def test_every_error_has_one():
    kinds = [
        kind for _, kind in inspect.getmembers(dpsql.errors, inspect.isclass) if issubclass(kind, dpsql.DpsqlError)
    ]
    assert {exit_code(kind("what", why="why", fix="fix")) for kind in kinds} == set(range(1, 10))


# Stages on a terminal and nowhere else, and nothing of them stays.


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, way, **said):
    monkeypatch.setattr(sys, "stderr", way)
    with stages_shown(Manner(**said)):
        for point in Point:
            reached(point)
    reached(Point.RUNNING)  # of somebody who shows none
    return way.getvalue()


def test_stages_are_shown_in_their_order_and_erased(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for _ in range(2):  # heard once, however often they are shown
        text = shown(monkeypatch, Terminal())
        assert [text.count(f"[{stage}/3]") for stage in (1, 2, 3)] == [1, 1, 1]
        assert text.index("[1/3]") < text.index("[2/3]") < text.index("[3/3]")
        assert text.endswith("\r\x1b[K")


def test_a_stage_is_no_wider_than_the_terminal(monkeypatch):
    """What goes over two lines is erased from the second only."""
    monkeypatch.setenv("TERM", "xterm")
    for columns, remarked in ((10, False), (40, False), (100, True)):
        monkeypatch.setenv("COLUMNS", str(columns))
        stages = shown(monkeypatch, Terminal()).split("\r\x1b[K")
        assert max(map(len, stages)) < columns
        assert any("Ctrl-C" in stage for stage in stages) is remarked


@cases(__file__, "way=", "said=", "term")
def test_nobody_else_sees_them(monkeypatch, way, said, term):
    monkeypatch.setenv("TERM", term)
    assert shown(monkeypatch, way, **said) == ""


class Gone(Terminal):
    """A terminal that was closed after the first stage."""

    def write(self, text):
        if self.getvalue():
            raise OSError(5, "Input/output error")
        return super().write(text)


@pytest.mark.parametrize("close", [False, True])
def test_a_terminal_that_has_gone_away_breaks_nothing(monkeypatch, close):
    monkeypatch.setenv("TERM", "xterm")
    way = Gone()
    monkeypatch.setattr(sys, "stderr", way)
    answered = []
    with stages_shown(Manner()):
        reached(Point.ASKED)
        if close:
            way.close()  # writing is a ValueError from now on
        reached(Point.CHARGED)
        reached(Point.RUNNING)
        answered.append("what was paid for")
    assert answered
