"""TPC-H with protected customers: the page says what holds, and what is answered is right.

The data are built at the scale DPSQL_TPCH_SCALE, 0.01 unless set.
"""

import os
import shutil
import tempfile
from decimal import Decimal
from functools import cache
from pathlib import Path

import duckdb
import pytest

from dpsql.session.noisy import LinearMargin, Noisy
from tests.kits.noiseless import without_noise
from tests.kits.scripts import script

AT_LEAST = 22
"""Questions that are answered; a change that refuses one of them is noticed."""
TOOL = script("tpch")


SCALE = os.environ.get("DPSQL_TPCH_SCALE", TOOL.SMALL)


@cache
def folder():
    """A folder for this process, removed when it ends."""
    return tempfile.TemporaryDirectory()


@cache
def opened():
    """An analyst, and a copy of the database for plain SQL."""
    place = Path(folder().name)
    TOOL.build(place, scale=SCALE)
    shutil.copy(place / "tpch.duckdb", place / "plain.duckdb")
    return TOOL.opened(place), duckdb.connect(place / "plain.duckdb", read_only=True)


@cache
def verdicts():
    return [TOOL.verdict(question, opened()[0]) for question in TOOL.questions()]


def test_there_are_22_of_them_most_are_answered_and_the_page_says_which():
    assert [question.number for question in TOOL.questions()] == list(range(1, 23))
    assert all(bool(question.how) == bool(question.adapted) for question in TOOL.questions())
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(verdicts()), "python tools/tpch.py --write"
    assert sum(each.text is not None for each in verdicts()) >= AT_LEAST


@pytest.mark.parametrize("question", TOOL.questions(), ids=lambda each: f"{each.number} {each.title}")
def test_without_noise_the_answer_is_that_of_plain_sql(question):
    analyst, plain = opened()
    text = verdicts()[question.number - 1].text
    if text is None:
        assert question.adapted, "a question that is refused has a text for the day it is not"
        return
    ours = [tuple(row) for row in without_noise(analyst, text)]
    theirs = plain.execute(text.replace("PRIVATE ", "")).fetchall()
    assert list(differences(ours, theirs)) == []
    assert theirs


def differences(ours, theirs):
    """Rows by what is not noisy in them: public groups that nobody is in appear too, with zeros."""
    (width,) = {len(row) for row in ours}
    numbers = [place for place in range(width) if isinstance(ours[0][place], Noisy)]
    found = {key(row, numbers): row for row in ours}
    for row in theirs:
        mine = found.pop(key(row, numbers), None)
        if mine is None or not all(close(mine[place], row[place]) for place in numbers):
            yield mine, row
    for row in found.values():
        if any(row[place].value for place in numbers if isinstance(row[place].interval, LinearMargin)):
            yield row, "nobody is in it"


def key(row, numbers):
    """Exact numbers of public tables are told as doubles, and amounts of money have two digits."""
    cells = (cell for place, cell in enumerate(row) if place not in numbers)
    return tuple(round(float(cell), 4) if isinstance(cell, Decimal | float) else cell for cell in cells)


def close(ours, theirs):
    """Counts exactly, sums and averages up to the grain: about a millionth of the bounds."""
    if theirs is None:
        return True
    if isinstance(theirs, int):
        return ours.value == theirs
    return abs(float(ours.value) - float(theirs)) <= 1e-6 * abs(float(theirs)) + 1e-5 * (ours.margin or 0)
