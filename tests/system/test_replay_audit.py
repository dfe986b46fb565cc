"""Every accepted question, on a hospital of badly behaved rows and on its neighbours (rules 1, 3, 7, 9).

`make test` asks each of two neighbours, the other one in turn, and every second one also in the mode of noise it
chooses itself; `make audit` (DPSQL_EVERY_PLAN=1) asks each of all neighbours in both modes.
"""

import os
from functools import cache

import pytest

from tests.kits.replay import excesses, replayed

from fixtures import ACCEPTED, Fixture
from hospital import badly_behaved, opened

SALT = 123456789
EVERY = os.environ.get("DPSQL_EVERY_PLAN") == "1"
FULL, OTHERS = 41, (42, 43, 44, 1, 7)
"""One with a thousand rows; one of NULL and NaN, one with keys and values of their own, one who is in the table of
patients twice and shares a bed, and two ordinary people."""
TURN = {fixture.sql: place for place, fixture in enumerate(ACCEPTED)}
CASES = len(ACCEPTED) * 4
"""At least: where both modes of noise give different plans, each of them is replayed."""


@cache
def analyst(person=None, *, row=None, mode=None, threads=2, shuffled=None, relation="add_remove"):
    hospital = badly_behaved()
    if person is not None:
        hospital = hospital.without(person)
    if row is not None:
        hospital = hospital.without_row("readings", row)
    if shuffled is not None:
        hospital = hospital.shuffled(shuffled)
    return opened(hospital, mode=mode, threads=threads, relation=relation)


@cache
def base(sql, mode, relation="add_remove"):
    return replayed(analyst(mode=mode, relation=relation), sql, salt=SALT)


def test_there_are_enough_cases():
    assert CASES >= 1_500


@pytest.mark.parametrize("fixture", ACCEPTED, ids=str)
def test_no_person_moves_more_than_was_priced(fixture: Fixture):
    turn, chosen = TURN[fixture.sql], base(fixture.sql, "choose")
    require_bounded_moves(fixture.sql, "choose", chosen, (FULL, *in_turn(OTHERS, turn)))
    if EVERY or turn % 2 == 0:
        plain = base(fixture.sql, None)
        if plain.planned != chosen.planned:  # the same statements would compute the same once more
            require_bounded_moves(fixture.sql, None, plain, in_turn((FULL, *OTHERS), turn // 2))
    if EVERY or turn % 2:
        require_deterministic(fixture.sql, chosen)


def in_turn(people, turn):
    return people if EVERY else (people[turn % len(people)],)


def require_bounded_moves(sql, mode, whole, people):
    assert whole.sealed is not None, whole.verdict
    for person in people:
        other = replayed(analyst(person, mode=mode, shuffled=person), sql, salt=SALT, forced=whole.recorded)
        assert list(excesses(whole, other)) == [], person
    assert whole.query.explain().text() == other.query.explain().text()


def require_deterministic(sql, whole):
    """Threads and the order of rows change nothing."""
    other = replayed(analyst(mode="choose", threads=1, shuffled=99), sql, salt=SALT, forced=whole.recorded)
    assert [step.rows for step in whole.steps] == [step.rows for step in other.steps]
    assert [step.sql for step in whole.steps] == [step.sql for step in other.steps]


@pytest.mark.parametrize("row", [0, -1, -2, -3, -4])
@pytest.mark.parametrize("fixture", [each for each in ACCEPTED if "readings" in each.sql], ids=str)
def test_no_row_moves_more_than_was_priced(fixture: Fixture, row):
    whole = base(fixture.sql, None)
    number = row % len(badly_behaved().tables["readings"])
    other = replayed(analyst(row=number), fixture.sql, salt=SALT, forced=whole.recorded)
    assert list(excesses(whole, other)) == []


@pytest.mark.parametrize("fixture", ACCEPTED, ids=str)
def test_replacing_a_person_moves_no_more_than_was_priced(fixture: Fixture):
    """change_one: the hospital without one person, and the same hospital without another."""
    one = replayed(analyst(41, relation="change_one"), fixture.sql, salt=SALT)
    assert one.sealed is not None, one.verdict
    for person in in_turn((1, 43), TURN[fixture.sql]):
        other = replayed(analyst(person, relation="change_one"), fixture.sql, salt=SALT, forced=one.recorded)
        assert list(excesses(one, other)) == [], person
