"""A statement means what it says, however it is written: every fixture, in other writings, gets the same verdict.

The seeds are the titles of the fixtures and the numbers of the writings, so that every run tries the same ones.
"""

from __future__ import annotations

import random
from functools import cache

import pytest

import dpsql
from dpsql.plan.record import plan_record

from fixtures import ALL, Fixture
from hospital import opened, well_behaved
from writings import ADDING, IN_PLACE, Original, aliased, parenthesized, quoted, recased, renamed, rewritten

WRITINGS = 3
"""Of each kind, for each fixture."""


@cache
def analyst():
    return opened(well_behaved())


def verdict(sql: str):
    """The price, the plan with every statement for the engine, and which question it is; or the code of the error."""
    try:
        plan = analyst().query(sql).sealed.plan
    except dpsql.DpsqlError as error:
        return error.code
    record = plan_record(plan, dialect="duckdb")
    identity = plan.recalled.identity
    return plan.terms.cost, record, identity.frame, identity.slots


def place(sql: str):
    try:
        analyst().query(sql)
    except dpsql.DpsqlError as error:
        return error.at
    return None


@pytest.mark.parametrize("fixture", ALL, ids=str)
def test_another_writing_is_the_same_question(fixture: Fixture):
    original = Original.of(fixture.sql)
    if original is None:
        assert fixture.code in ("DP100", "DP104")
        return
    said = verdict(fixture.sql)
    for number in range(WRITINGS):
        chance = random.Random(f"{fixture}, writing {number}")
        for changes in (IN_PLACE, ADDING):
            other = rewritten(original, changes, chance).text
            assert verdict(other) == said, other


@pytest.mark.parametrize("fixture", [each for each in ALL if each.code is not None], ids=str)
def test_the_caret_marks_the_same_words(fixture: Fixture):
    original = Original.of(fixture.sql)
    if original is None:
        return
    unchanged = rewritten(original, (), random.Random(0))
    here = tuple((token.start, token.end + 1) for token in original.tokens)
    expected = type(unchanged)(text=fixture.sql, starts=here).token_range(place(fixture.sql))
    for number in range(WRITINGS):
        other = rewritten(original, (recased,), random.Random(f"{fixture}, caret {number}"))
        assert other.token_range(place(other.text)) == expected, other.text


@pytest.mark.parametrize("change", [recased, quoted, aliased, renamed, parenthesized], ids=lambda each: each.__name__)
def test_every_change_changes_many_statements(change):
    """A change that did nothing would prove nothing."""
    originals = [found for fixture in ALL if (found := Original.of(fixture.sql)) is not None]
    changed = 0
    for original in originals:
        one = rewritten(original, (change,), random.Random(1)).text
        two = rewritten(original, (), random.Random(1)).text
        changed += one != two
    assert changed >= 60


def test_a_statement_that_means_something_else_is_noticed():
    assert verdict("SELECT COUNT(*) FROM visits") != verdict("SELECT COUNT(*) FROM patients")
    assert verdict("SELECT SUM(points) FROM visits") != verdict("SELECT SUM(points + 1) FROM visits")
    assert verdict("SELECT floor FROM wards") != verdict("SELECT id FROM wards")
