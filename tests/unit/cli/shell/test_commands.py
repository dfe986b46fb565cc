"""Backslash commands: a table of words, each with a function and a line of help."""

import os
import re
import stat
import sys
from fractions import Fraction

import pytest

from dpsql.cli.shell.asking import ask
from dpsql.cli.shell.commands import BY_WORD, COMMANDS, Wish, more, obey, read_wish
from dpsql.cli.shell.reader import is_whole
from dpsql.errors import BadName, BadParameter, DpsqlError, NothingStored
from tests.kits.cases import cases
from tests.kits.refusals import each_raises, raised

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


@cases(__file__, "word", "near")
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


@cases(__file__, "line", "why=", "fix")
def test_a_mistake_has_a_reason_that_says_something(scene, line, why, fix):
    error = raised(BadParameter, lambda: obey(scene.shell, line))
    assert why in error.why
    assert fix in error.fix


# \more tells what a closer answer costs, and buys it where they say so.


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("", Wish()),
        ("42", Wish(release=42)),
        ("#42 --within 5", Wish(release=42, within=Fraction(5))),
        ("--cost 0.5 7", Wish(release=7, cost=Fraction(1, 2))),
    ],
)
def test_what_is_wished(words, wish):
    assert read_wish(words) == wish


@pytest.mark.parametrize("words", ["x", "1 2", "--within", "--within 0", "--within 1 --cost 1", "'", "--within -3"])
def test_what_is_no_wish(words):
    raised(BadParameter, lambda: read_wish(words))


def margin(scene):
    return scene.shell.last["n"][0].margin


def test_half_the_margin_unless_they_say_otherwise(scene):
    ask(scene.shell, COUNT)
    before, paid = margin(scene), scene.shell.asker.budget.spent
    scene.answers = ["y"]
    more(scene.shell, "")
    (question,) = scene.asked
    assert question.startswith(f"To go from ± {before} to ± ")
    assert margin(scene) <= before / 2
    charged = scene.shell.asker.budget.spent - paid
    (told,) = re.findall(r" costs (\d+\.\d{2,}) more; 0\.95 is left\. ", question)
    assert charged <= Fraction(told) < charged + Fraction(1, 10**6)


@pytest.mark.parametrize(
    "said", ["", " -- everybody", " COST 0.02 -- everybody; COST 3", " /* COST 1 */", " CONFIDENCE 0.9 -- x\n"]
)
def test_what_was_said_behind_the_question_is_no_hindrance(scene, said):
    ask(scene.shell, f"{COUNT}{said}")
    before = margin(scene)
    scene.answers = ["y"]
    more(scene.shell, f"--within {before / 4}")
    assert scene.asked[0].startswith(f"To go from ± {before} to ")
    assert margin(scene) <= before / 4


def test_enter_buys_nothing(scene):
    ask(scene.shell, COUNT)
    paid = scene.shell.asker.budget.spent
    scene.answers = [""]
    more(scene.shell, "--cost 0.2")
    assert scene.asked[0].endswith("[y/N] ")
    assert scene.shell.asker.budget.spent == paid
    assert "Not bought." in scene.said()
    scene.shell.screen.size = lambda: os.terminal_size((40, 24))
    scene.answers = [""]
    more(scene.shell, "--cost 0.2")
    assert " ".join(scene.asked[1].split()) == scene.asked[0].strip()
    assert max(map(len, scene.asked[1].rstrip().split("\n"))) <= 40


def test_a_margin_that_is_stored_is_free_and_a_release_is_one_of_ones_own(scene):
    ask(scene.shell, COUNT)
    more(scene.shell, f"--within {margin(scene)}")
    assert scene.asked == []
    assert "as close as that already" in scene.said()
    ask(scene.shell, f"{COUNT} WHERE age > 3 COST 0.02")
    release = scene.shell.last.release
    ask(scene.shell, "SELECT SUM(age) AS s FROM people")
    scene.answers = ["y"]
    more(scene.shell, f"{release} --cost 0.1")
    assert scene.shell.last.columns == ("n",)
    raised(BadParameter, lambda: more(scene.shell, "999999"), match="no release #999999 of yours")


def test_nothing_asked_and_nothing_stored(scene):
    raised(BadParameter, lambda: more(scene.shell, ""), match="nothing was asked yet")
    scene.shell.last_sql = COUNT
    raised(NothingStored, lambda: more(scene.shell, ""))
    ask(scene.shell, "SELECT AVG(age) AS a FROM people")
    scene.answers = ["n"]
    more(scene.shell, "")
    (question,) = scene.asked
    assert question.startswith("A closer answer costs ")
