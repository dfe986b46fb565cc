"""From the greeting to the end: mistakes are told, and the shell goes on."""

import io

import pytest

from dpsql.cli.shell import run
from dpsql.cli.shell.loop import answer
from dpsql.errors import BadParameter

COUNT = "SELECT COUNT(*) AS n FROM people"


def test_a_whole_session_line_by_line(owner, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{COUNT}\n;\nSELECT COUNT(*) FROM nonsense;\n\\nonsense\n{COUNT};\n"))
    assert run(owner.grant("ana", budget=1), source="cli\x1bnic", plain=True) == 0
    out, err = capsys.readouterr()
    assert out.count("| ") == 4  # two tables of one column: head and row
    assert "dpsql 0.1.0; cli\\x1bnic; ana; budget ########## 1.00 of 1.00" in err
    assert "ana@cli\\x1bnic> " in err
    assert "DP401" in err
    assert "there is no command \\nonsense" in err
    assert "told again for nothing" in err
    assert (out + err).isascii()


def test_several_statements_of_one_line_end_at_a_mistake(scene):
    answer(scene.shell, f"{COUNT}; SELECT age FROM people; {COUNT} WHERE age > 3;")
    text = scene.said()
    assert "DP101" in text
    assert text.count("release #") == 1


def test_ctrl_c_at_a_question_goes_back_to_the_prompt(scene, monkeypatch):
    def pressed(shell, sql):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsql.cli.shell.loop.ask", pressed)
    answer(scene.shell, f"{COUNT};")
    assert "Stopped. What was charged stays charged" in scene.said()


def test_the_format_of_the_command_line_holds_in_the_shell(owner, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{COUNT};\n"))
    run(owner.grant("csv", budget=1), source="clinic", form="csv")
    assert capsys.readouterr().out.startswith("n,n_low,n_high\n")
    with pytest.raises(BadParameter, match="--format parquet is not known"):
        run(owner.grant("file", budget=1), source="clinic", form="parquet")
