"""A statement means what it says, however it is written: every fixture, in other writings, gets the same verdict.

The seeds are the titles of the fixtures, so that every run tries the same writings. `make test` adds words to
every second statement and writes the words of the others differently, `make audit` (DPSQL_EVERY_PLAN=1) does both to
all.
"""

import os
import random
from functools import cache

import pytest

import dpsql
from dpsql.plan.record import plan_record
from tests.kits.cases import cases
from tests.kits.noiseless import filled_plans

from fixtures import ALL, Fixture
from hospital import opened, well_behaved
from writings import ADDING, IN_PLACE, Original, Written, aliased, parenthesized, quoted, recased, renamed, rewritten


@cache
def analyst():
    return opened(well_behaved())


@cache
def original(sql: str) -> Original | None:
    return Original.of(sql)


@cache
def verdict(sql: str):
    """Of each question the price, the plan with every statement for the engine, and which one it is; or the error.

    A plan that awaits what PRIVATE questions release is compared once that is filled in, as it would be without noise.
    """
    try:
        query = analyst().query(sql)
    except dpsql.DpsqlError as error:
        return error
    return tuple(said(plan) for plan in filled_plans(query))


def said(plan):
    identity = plan.recalled.identity
    return plan.terms.cost, plan_record(plan, dialect="duckdb"), identity.frame, identity.slots


def same(one, two) -> bool:
    if isinstance(one, dpsql.DpsqlError) and isinstance(two, dpsql.DpsqlError):
        return one.code == two.code
    return one == two


def written(fixture: Fixture, *changes) -> Written:
    return rewritten(original(fixture.sql), changes, random.Random(f"{fixture}"))


EVERY = 1 if os.environ.get("DPSQL_EVERY_PLAN") == "1" else 2


@pytest.mark.parametrize(("turn", "fixture"), list(enumerate(ALL)), ids=[str(fixture) for fixture in ALL])
def test_another_writing_is_the_same_question(turn: int, fixture: Fixture):
    if original(fixture.sql) is None:
        assert fixture.code in ("DP100", "DP104")
        return
    expected = verdict(fixture.sql)
    if turn % EVERY == 0:
        adding = written(fixture, *ADDING)
        assert same(verdict(adding.text), expected), adding.text
    if (turn + 1) % EVERY == 0:
        in_place = written(fixture, *IN_PLACE)
        assert same(verdict(in_place.text), expected), in_place.text
        if isinstance(expected, dpsql.DpsqlError):
            assert in_place.token_range(verdict(in_place.text).at) == marked(fixture, expected), in_place.text


def marked(fixture: Fixture, error: dpsql.DpsqlError):
    """The tokens that the caret stands under."""
    starts = tuple((token.start, token.end + 1) for token in original(fixture.sql).tokens)
    return Written(text=fixture.sql, starts=starts).token_range(error.at)


@pytest.mark.parametrize("change", [recased, quoted, aliased, renamed, parenthesized], ids=lambda each: each.__name__)
def test_every_change_changes_many_statements(change):
    """A change that did nothing would prove nothing."""
    readable = [fixture for fixture in ALL[:: len(ALL) // 300] if original(fixture.sql) is not None]
    assert sum(written(fixture, change).text != written(fixture).text for fixture in readable) >= 30


@cases(__file__, "one", "two")
def test_a_statement_that_means_something_else_is_noticed(one, two):
    assert isinstance(verdict(one), tuple)
    assert isinstance(verdict(two), tuple)
    assert not same(verdict(one), verdict(two))
