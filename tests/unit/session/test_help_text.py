"""`dpsql.help`: a page for every code and every theorem, and the nearest where there is none."""

import pytest

import dpsql
from dpsql.codes import CODES
from dpsql.plan.explanation.rules import RULES
from tests.kits.refusals import raised


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("code", CODES)
def test_a_page_says_all_that_the_table_says(code):
    page, told = CODES[code], dpsql.help(code)
    assert told.startswith(f"{code}  {page.title}\n")
    for part in (page.what, page.why, page.fix, page.example, f"Exit {page.exit}:", page.kind.__name__):
        assert in_one_line(part) in in_one_line(told)
    assert all(len(line) <= 100 for line in told.splitlines() if "`" not in line)


@pytest.mark.parametrize("name", RULES)
def test_a_theorem_is_told_with_its_page(name):
    told = in_one_line(dpsql.help(f"proof {name}"))
    assert told == in_one_line(dpsql.help(name))
    assert RULES[name].says in told
    assert RULES[name].path in told


def test_a_page_is_as_narrow_as_it_is_wanted_and_everything_is_listed():
    narrow = dpsql.help("DP201", columns=50)
    assert in_one_line(narrow) == in_one_line(dpsql.help("DP201"))
    assert max(map(len, narrow.splitlines())) <= 50
    assert dpsql.help("M1", columns=0)
    told = dpsql.help()
    assert all(f"{code}  {page.title}\n" in told for code, page in CODES.items())
    assert all(rule.title in told for rule in RULES.values())


@pytest.mark.parametrize("written", ["dp102", " DP102 "])
def test_small_letters_and_blanks_do_not_matter(written):
    assert dpsql.help(written) == dpsql.help("DP102")


@pytest.mark.parametrize(("written", "near"), [("DP12", "DP102"), ("DP1O2", "DP102"), ("proof T11", "T1")])
def test_what_is_unknown_names_the_nearest(written, near):
    error = raised(dpsql.DpsqlError, lambda: dpsql.help(written))
    assert error.code == "DP401"
    assert f"Did you mean {near}" in error.what


def test_what_is_like_nothing_names_nothing_and_what_is_no_text_is_refused():
    error = raised(dpsql.DpsqlError, lambda: dpsql.help("\x1b[2J"))
    assert "Did you mean" not in error.what
    assert "\x1b" not in str(error)
    raised(dpsql.DpsqlError, lambda: dpsql.help(102), match="not int")
