"""`dpsql help`: the same text as in Python, on standard output."""

import sys

import pytest

import dpsql


@pytest.mark.parametrize("words", [(), ("DP102",), ("proof", "M1"), ("m1",)])
@pytest.mark.parametrize("columns", [60, 200])
def test_it_prints_what_python_says(words, columns, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = command(["help", *words])
    assert found.out == dpsql.help(" ".join(words) or None) + "\n"
    assert found.err == ""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command(["help", *words]).out == dpsql.help(" ".join(words) or None, columns=min(columns, 100)) + "\n"


def test_an_unknown_topic_ends_as_an_unknown_name(command):
    found = command(["help", "DP12"], 3)
    assert found.out == ""
    assert "Did you mean DP102?" in found.err


@pytest.mark.parametrize("kind", [dpsql.Refused, dpsql.BadParameter])
def test_the_json_of_an_error_names_the_command(kind, command):
    _, *words = kind("what", why="why", fix="fix").as_json()["docs"].split()
    assert command(words).out.startswith(kind.code)
