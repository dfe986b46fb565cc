"""Backslash commands: a table of words, each with a function and a line of help."""

import os
import stat
import sys
from fractions import Fraction

import pytest

from dpsql.cli.shell.asking import ask
from dpsql.cli.shell.commands import BY_WORD, COMMANDS, obey
from dpsql.cli.shell.reader import is_whole
from dpsql.errors import BadName, BadParameter, DpsqlError
from tests.kits.refusals import each_raises, raised
from tests.kits.rows import read_rows

COUNT = "SELECT COUNT(*) AS n FROM people"


def obeyed(scene, line):
    obey(scene.shell, line)
    return scene.said()


def test_every_word_means_one_command():
    words = [word for command in COMMANDS for word in (command.word, *command.also)]
    assert len(words) == len(set(words)) == len(BY_WORD)
    promised = "d dt budget cost explain more history sample plot mode timing set e i o ? help q"
    others = ".tables .mode .schema .quit help quit exit"
    for expected in [*(f"\\{word}" for word in promised.split(" ")), *others.split(" ")]:
        assert expected in BY_WORD


def test_help_names_every_command_and_a_page_is_wrapped_once(scene):
    text = obeyed(scene, "\\?")
    assert all(command.usage in text and command.about in text for command in COMMANDS)
    assert "DP201" in obeyed(scene, "\\help DP201")
    scene.shell.screen.size = lambda: os.terminal_size((90, 40))
    lines = [line.rstrip() for line in obeyed(scene, "\\help DP201").splitlines()]
    fix = next(number for number, line in enumerate(lines) if line.startswith("  Fix"))
    assert max(map(len, lines)) <= 90
    assert len(lines[fix]) > 75  # the next line has more words: none of them would fit
    assert len(lines[fix + 1]) > 75


@pytest.mark.parametrize(("word", "near"), read_rows(__file__, "an unknown command is answered with the nearest"))
def test_an_unknown_command_is_answered_with_the_nearest(scene, word, near):
    error = raised(BadParameter, lambda: obey(scene.shell, word))
    assert f"did you mean {near}?" in error.fix


@pytest.mark.parametrize("word", ["\\foo", "\\x", ".", "\\"])
def test_what_is_like_no_command_is_not_taken_for_one(scene, word):
    assert raised(BadParameter, lambda: obey(scene.shell, word)).fix == "\\? lists them"


def test_a_page_that_is_not_there_is_answered_with_commands_of_the_shell(scene):
    for topic, near in (("foo", "\\help DP201"), ("DP20", "\\help DP20")):
        with pytest.raises(BadName, match="there is no help on") as refused:
            obey(scene.shell, f"\\help {topic}")
        assert near in refused.value.fix
        assert "dpsql help" not in refused.value.fix


def test_tables_and_columns_in_words(scene):
    assert obeyed(scene, ".tables").split() == ["people", "age,", "city,", "id"]
    text = obeyed(scene, "\\d PEOPLE;")
    assert "age   integer  0 to 100" in text
    assert "city  text     groups: Basel, Bern" in text
    assert "the person who is protected; hidden" in text
    error = raised(BadParameter, lambda: obey(scene.shell, "\\d peple"), match="there is no table peple")
    assert error.fix == "did you mean people?"


def test_prices_and_explanations_of_the_last_question_or_another(scene):
    raised(BadParameter, lambda: obey(scene.shell, "\\cost"), match="nothing was asked yet")
    assert "would cost   0.2 of 1.00 left" in obeyed(scene, f"\\cost {COUNT} COST 0.2;")
    ask(scene.shell, COUNT)
    scene.said()
    assert "told again for nothing" in obeyed(scene, "\\cost")
    assert "PROMISE" in obeyed(scene, "\\explain")
    assert "+COST" in obeyed(scene, f"\\diff {COUNT} WHERE age > 3; {COUNT} COST 0.2")
    assert scene.shell.asker.budget.spent == Fraction(1, 20)


def test_own_payments_and_rows_of_nobody(scene):
    text = obeyed(scene, "\\sample people")
    assert "INVENTED ROWS" in text
    assert scene.shell.asker.budget.spent == 0
    assert "paid for nothing yet" in obeyed(scene, "\\history")
    ask(scene.shell, f"{COUNT}\n WHERE age > 3")
    scene.said()
    assert f"0.05  {COUNT} WHERE age > 3" in obeyed(scene, "\\history")
    assert "0.95 of 1.00 left" in obeyed(scene, "\\budget")


def test_a_picture_of_the_last_answer(scene, tmp_path):
    raised(BadParameter, lambda: obey(scene.shell, "\\plot"), match="no answer to draw")
    ask(scene.shell, "SELECT city, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY city")
    scene.said()
    assert "n by city" in obeyed(scene, "\\plot")
    assert "years by city" in obeyed(scene, "\\plot years")
    assert str(tmp_path / "x.svg") in obeyed(scene, f"\\plot {tmp_path / 'x.svg'}")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(BadParameter, match="'~nobody-is-called-so' has no folder here"):
        obey(scene.shell, "\\plot ~nobody-is-called-so/x.svg")


def test_formats(scene):
    assert "csv" in obeyed(scene, "\\mode csv")
    ask(scene.shell, "SELECT city, COUNT(*) AS n FROM people GROUP BY city")
    assert scene.out.getvalue().splitlines()[0] == "city,n,n_low,n_high"
    each_raises(BadParameter, lambda wrong: obey(scene.shell, f"\\mode {wrong}"), ("xml", "parquet"))


def test_settings_of_the_shell_and_of_the_session(scene):
    assert "ask   0.2" in obeyed(scene, "\\set")
    obey(scene.shell, "\\set ask 0.5")
    obey(scene.shell, "\\set pager off")
    obey(scene.shell, "\\set epsilon = 0.125;")
    assert (scene.shell.ask_above, scene.shell.screen.paged) == (Fraction(1, 2), False)
    assert scene.shell.asker.cost(COUNT) == Fraction(1, 8)
    for wrong in ("\\set ask much", "\\set pager maybe", "\\set nothing 1"):
        with pytest.raises(DpsqlError):
            obey(scene.shell, wrong)
    assert "time is shown" in obeyed(scene, "\\timing on")
    ask(scene.shell, COUNT)
    assert "\ntime 0." in scene.said()


def test_a_file_of_statements_ends_at_the_first_mistake(scene, tmp_path):
    file = tmp_path / "several.sql"
    file.write_text(f"{COUNT}; -- one\nSELECT age FROM people;\n{COUNT} WHERE age > 3", encoding="utf-8")
    raised(DpsqlError, lambda: obey(scene.shell, f"\\i {file}"))
    assert scene.shell.asker.budget.spent == Fraction(1, 20)
    raised(BadParameter, lambda: obey(scene.shell, f"\\i {tmp_path / 'none'}"), match="cannot be used: No such file")


def test_answers_into_a_file(scene, tmp_path):
    file = tmp_path / "answers"
    obey(scene.shell, "\\mode csv")
    obey(scene.shell, f"\\o {file}")
    ask(scene.shell, COUNT)
    obey(scene.shell, "\\o")
    ask(scene.shell, COUNT)
    assert file.read_bytes().startswith(b"n,n_low,n_high\r\n")
    assert scene.out.getvalue().count("n,n_low,n_high") == 1
    raised(BadParameter, lambda: obey(scene.shell, f"\\o {tmp_path / 'none' / 'x'}"), match="cannot be used")


def test_an_editor_leaves_a_draft_and_no_file(scene, monkeypatch, tmp_path):
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nls -l "$1" > "$0.seen"\nsed -i s/people/visits/ "$1"\n', encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(script))
    scene.shell.last_sql = COUNT
    obey(scene.shell, "\\e")
    assert scene.shell.draft == "SELECT COUNT(*) AS n FROM visits;"
    scene.shell.draft = "SELECT begun FROM people\n"
    obey(scene.shell, "\\e")
    assert scene.shell.draft == "SELECT begun FROM visits"
    seen = (tmp_path / "editor.seen").read_text(encoding="utf-8").split()
    assert seen[0].startswith("-rw-------")
    assert not os.path.exists(seen[-1])
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    raised(BadParameter, lambda: obey(scene.shell, "\\e"), match="cannot be opened: there is no such program")
    monkeypatch.setenv("VISUAL", "vi 'x")
    raised(BadParameter, lambda: obey(scene.shell, "\\e"), match="cannot be opened: there is no such program")
    assert sys.stdin is not None


def test_an_editor_that_cannot_be_run_is_told(scene, monkeypatch, tmp_path):
    script = tmp_path / "editor"
    script.write_bytes(b"\x7fELF and nothing more")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    raised(BadParameter, lambda: obey(scene.shell, "\\e"), match="cannot be opened: Exec format error")


def test_a_comment_does_not_hide_the_semicolon_of_a_draft(scene, monkeypatch):
    monkeypatch.setenv("VISUAL", "true")
    scene.shell.last_sql = f"{COUNT} -- everybody"
    obey(scene.shell, "\\e")
    assert is_whole(scene.shell.draft)


def test_leaving(scene):
    for word in ("\\q", ".quit", "quit", "exit;"):
        scene.shell.leaving = False
        obey(scene.shell, word)
        assert scene.shell.leaving


@pytest.mark.parametrize(
    ("line", "why", "fix"),
    [
        ("\\budgt", "begins with \\ or . is a command", "did you mean \\budget?"),
        ("\\mode tabel", "\\mode takes table, ", "did you mean \\mode table?"),
        ("\\timing 3", "\\timing takes on or off", "write \\timing on"),
        ("\\i /nobody-has-this", "its statements were to be answered", "check its name"),
    ],
)
def test_a_mistake_has_a_reason_that_says_something(scene, line, why, fix):
    error = raised(BadParameter, lambda: obey(scene.shell, line))
    assert why in error.why
    assert fix in error.fix
