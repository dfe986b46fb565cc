"""From the greeting to the end: mistakes are told, and the shell goes on."""

import io

import pytest

from dpsql.cli.shell import loop, run
from dpsql.cli.shell.loop import answer, our_fault
from dpsql.cli.shell.screen import Screen
from dpsql.errors import BadParameter
from tests.kits.refusals import raised

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


def test_a_command_behind_a_statement_is_obeyed_and_the_statement_goes_on(scene):
    answer(scene.shell, f"{COUNT}\n\\cost")
    assert "would cost   0.05" in scene.said()
    assert scene.shell.draft == f"{COUNT}\n"
    answer(scene.shell, f"{COUNT}\n\\?")
    assert "\\budget" in scene.said()
    assert not scene.shell.leaving
    answer(scene.shell, f"{COUNT}\n\\q")
    assert scene.shell.leaving


@pytest.mark.parametrize("word", ["help", "quit", "EXIT;", ".quit"])
def test_whoever_forgot_the_semicolon_is_told_how_to_go_on(scene, word):
    answer(scene.shell, f"{COUNT}\n{word}")
    assert scene.said() == "The statement goes on: end it with ;   \\q leaves   Ctrl-C clears\n"
    assert scene.shell.draft == f"{COUNT}\n"
    answer(scene.shell, f"{COUNT} WHERE city = 'B\n\\q")
    assert "A quotation or a comment is open" in scene.said()
    assert not scene.shell.leaving


def test_a_statement_that_has_ended_is_answered_before_the_command_behind_it(scene):
    answer(scene.shell, f"{COUNT};\nquit")
    assert "release #" in scene.said()
    assert scene.shell.leaving
    assert not scene.shell.draft


def test_ctrl_c_at_a_question_goes_back_to_the_prompt(scene, monkeypatch):
    def pressed(shell, sql):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsql.cli.shell.asking.ask", pressed)
    answer(scene.shell, f"{COUNT};")
    assert "Stopped. What was charged stays charged" in scene.said()


def test_the_format_of_the_command_line_holds_in_the_shell(owner, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{COUNT};\n"))
    run(owner.grant("csv", budget=1), source="clinic", form="csv")
    assert capsys.readouterr().out.startswith("n,n_low,n_high\n")
    with pytest.raises(BadParameter, match="--format parquet is not known"):
        run(owner.grant("file", budget=1), source="clinic", form="parquet")


@pytest.mark.parametrize(
    "line", ["\\i ~nobody-is-called-so/x", "\\o ~nobody-is-called-so/x", "\\i a\0b", "\\o a\0b", "\\i \ud800", "\\i"]
)
def test_a_path_that_is_none_is_told_and_the_shell_goes_on(scene, line):
    answer(scene.shell, line)
    text = scene.said()
    assert "DP410" in text
    assert "names no file" in text or "no file is named" in text


def test_an_error_that_nobody_foresaw_is_one_sentence_without_its_words(scene, monkeypatch):
    def failing(shell, text):
        raise ValueError("Bob is 42")

    monkeypatch.setattr(loop, "ask_all", failing)
    monkeypatch.setattr(loop, "our_fault", our_fault)
    answer(scene.shell, f"{COUNT};")
    text = scene.said()
    assert "DP900" in text
    assert "Bob" not in text


def test_where_no_more_can_be_written_it_says_so_and_a_reader_who_has_gone_ends_it(scene, monkeypatch):
    monkeypatch.setattr(Screen, "show", _raising(OSError(28, "No space left on device")))
    answer(scene.shell, f"{COUNT};")
    assert "cannot be written: No space left on device" in scene.said()
    monkeypatch.setattr(Screen, "show", _raising(BrokenPipeError()))
    raised(BrokenPipeError, lambda: answer(scene.shell, f"{COUNT};"))


def _raising(error):
    def fail(*told, **words):
        raise error

    return fail


def test_what_the_shell_has_opened_is_closed_however_it_ends(owner, monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"\\o {tmp_path / 'kept'}\n{COUNT};\n"))
    shells, closed = [], []
    again = owner.grant("again", budget=1)

    def ends(shell, text):
        shells.append(shell)
        answer(shell, text)
        if len(shells) == 2:
            shell.asker = again
            raise SystemExit

    monkeypatch.setattr(type(again), "close", lambda asker: closed.append(asker))
    monkeypatch.setattr(loop, "answer", ends)
    raised(SystemExit, lambda: run(owner.grant("once", budget=1), source="clinic"))
    assert shells[0].screen.file.closed
    assert closed == [again]
