"""The shell as a person has it: typed into a terminal, read from its screen."""

import os
import re
import stat
import sys
from contextlib import contextmanager

import pytest
from terminal import Terminal

HOSPITAL = (
    "import dpsql; from dpsql.cli.shell import run; raise SystemExit(run(dpsql.demo(), source='hospital'{words}))"
)
SLOW = """
import dpsql, duckdb
from dpsql.cli.shell import run
rows = duckdb.connect()
owner = dpsql.open(":memory:")
visits = rows.sql("SELECT range AS patient, 1 AS ward FROM range(200000)")
owner.register("visits", visits, person="patient", unique=True, columns=["ward"])
owner.register("wards", rows.sql("SELECT 1 AS ward, range AS beds FROM range(200000)"), public=True, columns="all")
owner.promise(epsilon=5)
owner.defaults(cost_per_query=0.5, noise="laplace")
raise SystemExit(run(owner.grant("ana", budget=3), source="slow", history=False))
"""
FOR_EVER = "SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.beds % 7 <> 3 LIMIT 1 PER PERSON;"
"""Four times ten to the ten pairs of rows."""
COUNTED = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city;"
PROMPT = "ana@hospital>"


@contextmanager
def shell(folder, program=HOSPITAL, words="", *, columns=80, lines=40, **environment):
    said = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": str(folder), "PAGER": "", **environment}
    code = program.replace("{words}", words)
    command = [sys.executable, "-c", code]
    with Terminal(command, columns=columns, lines=lines, environment={**os.environ, **said}) as found:
        yield found
        assert b"DP900" not in found.seen  # a shell goes on after a bug; its tests do not


def waits(text, prompt=PROMPT):
    """It waits for the next statement: the last line is an empty prompt."""
    return text.rstrip().endswith(prompt)


def asked(terminal, text, prompt=PROMPT):
    """Type it, and read until the next prompt; what is on the screen from the typed text on."""
    terminal.enter("\x0c" + text)  # Ctrl-L clears the screen, so that nothing older is taken for an answer
    first = f"{prompt} {text}"[: terminal.screen.columns - 1]
    return terminal.until(lambda shown: shown.startswith(first) and "\n" in shown and waits(shown, prompt))


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def at(state):
    """One shell for all tests that leave it as it was."""
    with shell(state) as found:
        greeting = found.until(waits)
        assert "dpsql 0.1.0 · hospital · ana · budget ▰▰▰▰▰▰▰▰▰▰ 1.00 of 1.00" in greeting
        yield found


def a_statement_over_several_lines_is_answered_with_margin_price_and_budget(at):
    at.enter("\x0cSELECT city, COUNT(*) AS n")
    at.until("...>")
    at.enter("FROM patients GROUP BY city;")
    text = at.until(lambda shown: "release #" in shown and waits(shown))
    for city in ("Aarau", "Basel", "Bern", "Geneva"):
        (line,) = (line for line in text.splitlines() if f"│ {city} " in line)
        assert " ± " in line
    assert "cost 0.05 · budget ▰▰▰▰▰▰▰▰▰▱ 0.95 of 1.00 left · release #" in text
    again = asked(at, COUNTED)
    assert "told again for nothing: release #" in again
    assert "0.95 of 1.00 left" in again


def without_a_semicolon_commands_are_obeyed_and_the_statement_goes_on(at):
    at.enter("\x0cSELECT COUNT(*) AS n FROM wards")
    at.until("...>")
    at.enter("help")
    at.until(lambda shown: "end it with ;" in shown and shown.endswith("...>"))
    at.enter("\\cost")
    text = at.until(lambda shown: "would cost" in shown and shown.endswith("...>"))
    assert text.count("FROM wards") == 3
    at.enter(";")
    assert "cost 0.00" in at.until(lambda shown: "1 row" in shown and waits(shown))
    at.type("\x0c\x1b[A\x1b[A\x1b[A")  # the command is remembered by itself, before the statement of two lines
    at.until(lambda shown: shown == f"{PROMPT} \\cost")
    at.type("\x03")
    at.until(waits)


def tab_completes_from_the_policy_and_ctrl_c_throws_the_line_away(at):
    at.type("\x0cSELECT ci")
    at.until("SELECT ci")
    at.type("\t")
    at.until("SELECT city")
    at.type(" FROM pat\t")
    at.until("FROM patients")
    at.type(" WHERE city = 'Gen\t")
    at.until("'Geneva'")
    at.type("\x03")
    text = at.until(waits)
    assert text.count(PROMPT) == 2
    assert "DP" not in text
    at.type("\x0cSELECT COUNT(*) FROM visits WHERE diagnosis = 'f\t\t")  # its groups are private: nothing is proposed
    at.until("diagnosis = 'f")
    at.type("\x03")
    assert "flu" not in at.until(lambda shown: shown.count(PROMPT) == 2 and waits(shown))


def a_refusal_has_a_caret_and_the_shell_goes_on(at):
    text = asked(at, "SELECT age FROM patients;")
    lines = text.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.strip().startswith("^"))
    assert lines[place].index("^") == lines[place - 1].index("age")
    assert "  Try   " in text
    assert "there is no command \\budgt" in asked(at, "\\budgt")
    assert "did you mean \\budget?" in at.text()
    assert "0.95 of 1.00 left" in asked(at, "\\budget")


def a_dear_question_is_asked_about_before_it_is_paid(at):
    at.enter("\x0cSELECT COUNT(*) FROM patients WHERE flu WITHIN 15;")
    text = at.until("Run? [Y/n]")
    assert "Costs 0." in text
    assert "of your budget (margin ± 15); 0.95 is left." in text
    at.enter("n")
    at.until("Nothing was spent.")
    assert "0.95 of 1.00 left" in asked(at, "\\budget")
    at.enter("\x0c\\more 7 --within 15")
    text = at.until("Buy it? [y/N]")
    assert "To go from ± 21 to ± 15 costs 0." in text
    at.enter("")
    at.until("Nothing was spent.")
    at.until(waits)


def commands_of_this_and_of_other_shells(at):
    assert "groups: Aarau, Basel, Bern, Geneva" in asked(at, "\\d patients")
    assert "groups are private" in asked(at, "\\d visits")
    assert "visits " in asked(at, ".tables")
    assert "INVENTED ROWS" in asked(at, "\\sample wards")
    assert "would cost   0.05 of 0.95 left" in asked(at, "\\cost SELECT COUNT(*) FROM visits")
    assert "+++ second" in asked(
        at, "\\diff SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits LIMIT 1 PER PERSON"
    )
    assert "SELECT city, COUNT(*) AS n" in asked(at, "\\history")
    assert "did you mean \\mode" in asked(at, "\\mod")
    assert "leave; Ctrl-D does too" in asked(at, "help")


def a_narrow_screen_gets_columns_below_each_other_and_whole_words(at):
    at.resize(40, 40)
    try:
        text = asked(at, "SELECT city, COUNT(*) AS people_who_are_there, SUM(age) AS years FROM patients GROUP "
                         "BY city COST 0.01;")  # fmt: skip
        assert "people_who_are_there  " in text
        assert "│" not in text
        assert "only the public groups of city are counted" in " ".join(text.split())
    finally:
        at.resize(80, 40)


def history_is_kept_for_the_owner_of_the_file_alone(at, state):
    file = state / "dpsql" / "history"
    asked(at, "SELECT COUNT(*) FROM wards;")
    assert "SELECT COUNT(*) FROM wards;" in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    at.type("\x0c\x1b[A")  # the arrow up
    at.until("SELECT COUNT(*) FROM wards;")
    at.type("\x03")
    at.until(waits)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A shell at a small screen without colour, over tables that can be joined for ever."""
    state = tmp_path_factory.mktemp("state")
    with shell(state, SLOW, lines=15, PAGER="no-such-pager", NO_COLOR="1") as found:
        found.until(lambda shown: waits(shown, "ana@slow>"))
        yield found
        found.type("\x04")
        assert found.ended() == 0
        assert list(state.iterdir()) == []  # history=False
        assert not re.search(rb"\x1b\[[0-9;]*[34][0-9]m", found.seen)


def what_is_longer_than_the_screen_comes_in_pages(slow):
    slow.enter("\\?")
    text = slow.until("more lines; Enter: go on, q: leave")
    assert "\\d [TABLE]" in text
    assert "\\q " not in text
    slow.enter("q")
    slow.until(lambda shown: waits(shown, "ana@slow>"))
    assert "leave; Ctrl-D does too" not in slow.whole()
    slow.enter("\\?")
    slow.until(lambda shown: shown.endswith("q: leave --"))
    slow.enter("")
    assert "leave; Ctrl-D does too" in slow.until(lambda shown: waits(shown, "ana@slow>"))


def no_key_ends_in_the_traceback_of_a_library(slow):
    prompt = "ana@slow>"
    slow.type("\x0cSELECT COUNT(\t\t")  # more proposals than the screen has lines
    text = slow.until(lambda shown: "more: type a letter, then Tab" in shown and shown.endswith("SELECT COUNT("))
    assert "Display all" not in text
    slow.type("\x03")
    slow.until(lambda shown: waits(shown, prompt))
    slow.type("\x0c\x1b[31mSELECT\x1b[0;1m 1")  # coloured text, typed or pasted: it looks like a mouse
    slow.until(lambda shown: shown.endswith(f"{prompt} SELECT 1"))
    slow.type("\x03")
    slow.until(lambda shown: waits(shown, prompt))
    assert b"Unhandled" not in slow.seen


def test_a_terminal_without_symbols_is_answered_in_letters(tmp_path):
    with shell(tmp_path, words=", plain=True", TERM="dumb") as at:
        at.until(waits)
        at.enter("SELECT city, COUNT(*) AS n")
        at.until("...>")
        at.enter("FROM patients GROUP BY city;")
        text = at.until(lambda shown: "release #" in shown and waits(shown))
        assert "plus or minus 21" in text
        assert "#########. 0.95 of 1.00 left" in text
        at.enter("quit")
        assert at.ended() == 0
        assert at.seen.isascii()
        assert b"\x1b" not in at.seen


def ctrl_c_stops_the_engine_and_what_was_charged_stays_charged(slow):
    prompt, said = "ana@slow>", []
    for _ in range(2):  # the second time it is continued, and not paid again
        slow.enter("\x0c" + FOR_EVER)
        slow.until("[3/3] asking the engine")
        slow.type("\x03")
        text = slow.until(lambda shown: "Stopped." in shown and waits(shown, prompt))
        assert "[3/3]" not in text
        assert "2.50 of 3.00 left" in asked(slow, "\\budget", prompt)
        said.append("0.50 stays spent: ask the same again, and it costs nothing more" in text)
    assert said == [True, False]


def test_one_conversation_at_a_terminal(at, state):
    """In their order: each part goes on where the one before it ended, so that they are one test."""
    a_statement_over_several_lines_is_answered_with_margin_price_and_budget(at)
    without_a_semicolon_commands_are_obeyed_and_the_statement_goes_on(at)
    tab_completes_from_the_policy_and_ctrl_c_throws_the_line_away(at)
    a_refusal_has_a_caret_and_the_shell_goes_on(at)
    a_dear_question_is_asked_about_before_it_is_paid(at)
    commands_of_this_and_of_other_shells(at)
    a_narrow_screen_gets_columns_below_each_other_and_whole_words(at)
    history_is_kept_for_the_owner_of_the_file_alone(at, state)


def test_one_conversation_at_a_small_screen_over_endless_tables(slow):
    what_is_longer_than_the_screen_comes_in_pages(slow)
    no_key_ends_in_the_traceback_of_a_library(slow)
    ctrl_c_stops_the_engine_and_what_was_charged_stays_charged(slow)
