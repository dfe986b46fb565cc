"""Thousands of random statements: each has a typed outcome, the same on neighbours, and an answer that is right.

`make test` asks DPSQL_SENTENCES statements (2 000 unless set) from the seed DPSQL_SENTENCES_SEED (1 unless set), and
runs a sample of the accepted ones; with DPSQL_SENTENCES_DEEP=1, as in `make audit`, it runs them all. A failure names
the seed of its statement: sentence(catalog, seed) writes it again.
"""

import collections
import math
import os
import random
from collections.abc import Iterator
from functools import cache

import duckdb
import pytest

import dpsql
from dpsql.session.noisy import LinearMargin, Noisy
from tests.kits.noiseless import without_noise
from tests.kits.replay import excesses, replayed
from tests.kits.untouchable import untouched

from hospital import badly_behaved, opened, well_behaved
from sentence_parts import PLAIN_MACROS, SIGNATURES
from sentences import Sentence, sentence
from writings import ADDING, IN_PLACE, Original, rewritten

STATEMENTS = int(os.environ.get("DPSQL_SENTENCES", "2000"))
SEED = os.environ.get("DPSQL_SENTENCES_SEED", "1")
DEEP = os.environ.get("DPSQL_SENTENCES_DEEP") == "1"
AT_ONCE = 100
CHUNKS = range(math.ceil(STATEMENTS / AT_ONCE))
COMPARED, AUDITED, REWRITTEN, TWICE = (1, 1, 1, 1) if DEEP else (8, 40, 20, 4)
"""Every so many accepted statements of a chunk are run, and every so many statements are written in other words, and
asked of a neighbour too: no engine can be touched, so that there is little that could differ."""
PEOPLE = (41, 43, 44)
ANSWERED = "answered"
ENOUGH = 400
"""A cap that no well behaved person reaches."""


@cache
def neighbours():
    """Two analysts of neighbouring hospitals, whose engines must not be asked."""
    return [untouched(opened(hospital)) for hospital in (badly_behaved(), badly_behaved().without(41))]


@cache
def analyst():
    return opened(well_behaved(), rows=ENOUGH, per_group=ENOUGH, groups=ENOUGH)


@cache
def audited(person=None):
    hospital = badly_behaved()
    return opened(hospital if person is None else hospital.without(person).shuffled(person))


@cache
def plain():
    connection = well_behaved().connection()
    for macro in PLAIN_MACROS:
        connection.execute(macro)
    return connection


def asked(number: int) -> Iterator[tuple[str, Sentence]]:
    """The statements of one chunk, each with its seed."""
    catalog = neighbours()[0].place.catalog
    for place in range(number * AT_ONCE, min(STATEMENTS, (number + 1) * AT_ONCE)):
        yield f"{SEED}.{place}", sentence(catalog, f"{SEED}.{place}")


def verdict(one, text):
    """Price, plan and identity of each question; or the whole error. Any other exception goes through."""
    try:
        parts = one.query(text).inquiry.parts
    except dpsql.DpsqlError as error:
        require_useful(error, text)
        return error.code, str(error)
    plans = [part.sealed.plan for part in parts]
    return ANSWERED, [(plan.terms.cost, plan.steps, plan.recalled.identity) for plan in plans]


def require_useful(error, text):
    assert error.code not in ("DP000", "DP900"), error
    assert error.what
    assert error.why
    assert error.fix
    assert error.at is None or 0 <= error.at[0] <= error.at[1] <= len(text)


@pytest.mark.parametrize("number", CHUNKS)
def test_every_statement_has_a_right_outcome(number):
    codes = collections.Counter()
    accepted = []
    here, neighbour = neighbours()
    for seed, one in asked(number):
        ours = verdict(here, one.text)
        if codes.total() % TWICE == 0:
            assert verdict(neighbour, one.text) == ours, (seed, one.text)
        codes[ours[0]] += 1
        if codes.total() % REWRITTEN == 0:
            require_the_same_in_other_words(seed, one, ours)
        if ours[0] == ANSWERED:
            accepted.append((seed, one))
    if codes.total() == AT_ONCE:
        assert 30 < codes[ANSWERED] < 85, codes
        assert len(codes) >= 5, codes
    for seed, one in [pair for pair in accepted if pair[1].plain is not None][::COMPARED]:
        require_plain_answer(seed, one)
    for seed, one in accepted[number % AUDITED :: AUDITED]:
        require_bounded_moves(seed, one)


def require_the_same_in_other_words(seed: str, one: Sentence, said):
    original = Original.of(one.text)
    if original is None:
        return
    for changes in (IN_PLACE, ADDING) if original.nodes else (IN_PLACE,):  # what is no query has no conditions
        other = rewritten(original, changes, random.Random(seed)).text
        code, plan = verdict(neighbours()[0], other)
        assert code == said[0], (seed, one.text, other)
        assert code != ANSWERED or plan == said[1], (seed, one.text, other)


def require_plain_answer(seed: str, one: Sentence):
    theirs = plain_rows(one.plain)
    if theirs is not None:
        ours = [tuple(row) for row in without_noise(analyst(), one.text)]
        assert not list(differences(one, ours, theirs)), (seed, one.text, one.plain)


def require_bounded_moves(seed: str, one: Sentence):
    whole = replayed(audited(), one.text, salt=7)
    for person in PEOPLE:
        other = replayed(audited(person), one.text, salt=7, forced=whole.recorded)
        assert list(excesses(whole, other)) == [], (seed, person, one.text)


# ---- what is compared ----------------------------------------------------------------------------------------------


def plain_rows(sql):
    """None where the engine itself fails on a value: ours is total, and says NULL there."""
    try:
        return plain().execute(sql).fetchall()
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException):
        return None


def differences(one: Sentence, ours, theirs):
    """Groups of plain SQL that we do not have, groups of ours that should be empty, and numbers that differ."""
    if one.form == "public_rows":
        if sorted(map(repr, ours)) != sorted(map(repr, theirs)):
            yield ours, theirs
        return
    by_key = {row[: one.keys]: row[one.keys :] for row in ours}
    for row in theirs:
        key, numbers = row[: one.keys], row[one.keys :]
        if key not in by_key:
            if None not in key:  # a NULL that nobody listed
                yield "a group is missing", row
        elif not all(map(close, by_key.pop(key), numbers)):
            yield key, numbers
    for key, numbers in by_key.items():
        if any(isinstance(cell, Noisy) and isinstance(cell.interval, LinearMargin) and cell.value for cell in numbers):
            yield "a group that nobody is in has numbers", key, numbers


def close(ours, theirs):
    """Up to the grain, which is about a millionth of the bounds; the margin is some caps wide."""
    if theirs is None:  # an average of nothing
        return True
    value, margin = (ours.value, ours.margin or 0) if isinstance(ours, Noisy) else (ours, 0)
    return abs(float(value) - float(theirs)) <= 1e-6 * abs(float(theirs)) + 1e-5 * margin + 1e-9


# ---- the grammar itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda each: f"{each.function} {each.ours}")
def test_every_line_of_the_grammar_is_answered(signature):
    """One that were always refused would test nothing."""
    columns = {"integer": "points", "double": "charge", "text": "diagnosis", "date": "day", "timestamp": "moment"}
    written = signature.ours.format(*(columns.get(type_, "(points > 0)") for type_ in signature.arguments))
    assert verdict(neighbours()[0], f"SELECT COUNT({written}) FROM visits")[0] == ANSWERED


def test_a_wrong_answer_would_be_noticed():
    one = Sentence(text="SELECT ward_id, COUNT(*) FROM visits GROUP BY ward_id", plain="", keys=1)
    right = plain_rows("SELECT ward_id, COUNT(*) FROM visits GROUP BY ward_id")
    wrong = plain_rows("SELECT ward_id, COUNT(*) + (ward_id = 2)::INT FROM visits GROUP BY ward_id")
    ours = [tuple(row) for row in without_noise(analyst(), one.text)]
    assert not list(differences(one, ours, right))
    assert len(list(differences(one, ours, wrong))) == 1
    assert list(differences(one, ours[1:], right))
