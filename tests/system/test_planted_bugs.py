"""Classic mistakes, planted one at a time: each is refused by `seal` before anything is paid, or seen by the audit.

Where a mistake is one that `seal` refuses, most are planted a second time with `seal` made blind, so that the audit is
known to see them by itself. What is printed wrongly cannot be seen by `seal`, which reads relations: there the audit is
the only net. Every check is also made without the bug, and passes.
"""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pandas
import pytest

import dpsql
from dpsql.accounting.triple import FREE, triple
from dpsql.errors import InternalError
from dpsql.mechanisms import table as mechanisms_table
from dpsql.plan.seal import Sealed
from dpsql.privacy.exact import Exact
from dpsql.session import answer
from dpsql.session.steps import drawn
from dpsql.sql import functions, inner
from dpsql.testing.fixed import SeededSource
from tests.kits.noiseless import ExactStep, exact_steps, without_noise
from tests.kits.owners import owner_of
from tests.kits.refusals import raised
from tests.kits.replay import excesses, replayed

from hospital import Hospital, badly_behaved, opened
from planted import BUGS, BY_WARD, FIRST, TOO_FAR, Bug
from planters import FORMS, KNOWN, tables_hide_common_tables, ties_as_the_engine_likes

SALT = 987654321


@cache
def analyst(person: int | None, options: tuple[tuple[str, object], ...]) -> dpsql.Analyst:
    hospital = badly_behaved() if person is None else badly_behaved().without(person)
    ana = opened(hospital, **dict(options))
    KNOWN.append((ana.place.catalog, hospital))
    return ana


def complaints(bug: Bug) -> Iterator[str]:
    """What the audit says about a question. Replacing a person: the one of many rows against each of the others."""
    options = tuple(bug.options.items())
    base = 41 if bug.options.get("relation") == "change_one" else None
    whole = replayed(analyst(base, options), bug.sql, salt=SALT)
    assert whole.sealed is not None, whole.verdict
    for person in bug.people:
        if person != base:
            forced = () if whole.failed else whole.recorded
            yield from excesses(whole, replayed(analyst(person, options), bug.sql, salt=SALT, forced=forced))


def blind(plan, _catalog):
    """A seal that believes every plan."""
    return Sealed(plan=plan, price=sum((triple(step.event) for step in plan.steps), FREE))


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_nobody_complains_without_the_bug(bug):
    if bug.refused is not None:
        error = raised(dpsql.Refused, lambda: analyst(None, tuple(bug.options.items())).query(bug.sql))
        assert error.code == bug.refused
    else:
        assert list(complaints(bug)) == []


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.seal], ids=str)
def test_seal_refuses_the_plan_and_nothing_is_paid(bug, monkeypatch):
    ana = analyst(None, tuple(bug.options.items()))
    before = ana.place.ledger.account().spent
    bug.plant(monkeypatch)
    with pytest.raises(InternalError, match=r"promises less|less noise|called one|read for nothing|cannot be derived"):
        ana.sql(bug.sql)
    assert ana.place.ledger.account().spent == before


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.audit], ids=str)
def test_the_audit_complains(bug, monkeypatch):
    bug.plant(monkeypatch)
    if bug.seal:
        monkeypatch.setattr(answer, "seal", blind)
    found = list(complaints(bug))
    assert any(bug.audit in complaint for complaint in found), found


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.audit and not bug.seal], ids=str)
def test_seal_alone_would_not_do(bug, monkeypatch):
    """What is printed wrongly, or taken from the data while planning, is sealed: the audit is the only net."""
    bug.plant(monkeypatch)
    assert analyst(None, tuple(bug.options.items())).query(bug.sql).sealed.plan.steps


# ------------------------------------------------------------------------------- the ball, where every grain counts

M, U = 83_739_041, 102_558_961
"""3·M² = 2·U² + 1. Three amounts of U scaled to the norm √2·U are M less 10^-9 each: a double rounds them to M, and
three times M is one grain beyond the ball."""


def claims(person: bool) -> dpsql.Analyst:
    """One person with the largest amount in three groups, of which two count: a corner of the ball's surface."""
    rows = [(2, "a", 5), *((1, kind, U) for kind in "abc" if person)]
    frame = pandas.DataFrame(rows, columns=["person", "kind", "amount"])
    words = {"person": "person", "bounds": {"amount": (-U, U)}, "keys": {"kind": ["a", "b", "c", "d"]}}
    caps = {"rows_per_person": 1, "groups_per_person": 2, "max_keys": 10}
    owner = owner_of(frame, "claims", **words, **caps, epsilon=10, delta=1e-6, cost_per_query=1, mode="scale")
    return owner.grant("ana", budget=10)


CORNER = "SELECT kind, SUM(amount) FROM claims GROUP BY kind"


def corner() -> list[str]:
    whole = replayed(claims(True), CORNER, salt=SALT)
    assert whole.sealed is not None, whole.verdict
    return list(excesses(whole, replayed(claims(False), CORNER, salt=SALT)))


def test_the_corner_of_the_ball_is_inside():
    assert 3 * M * M == 2 * U * U + 1
    assert corner() == []


@pytest.mark.parametrize("name", ["no slack", "the norm in single precision"])
def test_the_audit_sees_one_grain_beyond_the_ball(name, monkeypatch):
    if name == "no slack":
        honest = FORMS["factor"]
        monkeypatch.setitem(FORMS, "factor", lambda parts: honest(parts).replace(repr(inner.SLACK), "1.0"))
    else:
        monkeypatch.setitem(FORMS, "squared", lambda parts: f"pow(CAST(CAST({parts[0]} AS FLOAT) AS DOUBLE), 2)")
    assert any(TOO_FAR in complaint for complaint in corner())


# ---------------------------------------------------------------------- the order of rows, and numbers that are wrong


def order_tells(sql: str, *, mode: str | None = None) -> bool:
    """Whether the same noise on the same rows in another order makes another release."""
    ana = analyst(None, (("mode", mode),))
    sealed = ana.query(sql).sealed
    exact = exact_steps(sealed, ana.place.engine, salt=SALT)
    for step, found in zip(sealed.plan.steps, exact, strict=True):
        one = drawn(step, Exact(list(found.rows)), SeededSource(5))
        for seed in range(3):
            rows = random.Random(seed).sample(found.rows, len(found.rows))
            if drawn(step, Exact(rows), SeededSource(5)) != one:
                return True
    return False


ORDERED = (BY_WARD, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis")


@pytest.mark.parametrize("sql", ORDERED)
def test_the_order_of_the_engine_tells_nothing(sql):
    assert not order_tells(sql)


@pytest.mark.parametrize("sql", ORDERED)
def test_the_order_of_the_engine_would_be_noticed(sql, monkeypatch):
    monkeypatch.setattr(mechanisms_table, "sorted_by_key", lambda rows, *, keys: list(rows))
    assert order_tells(sql)


def first_rows(shuffled: Hospital) -> list[ExactStep]:
    ana = opened(shuffled)
    return exact_steps(ana.query(FIRST).sealed, ana.place.engine, salt=SALT)


def test_tied_rows_of_a_person_are_numbered_alike_in_any_order():
    found = [[step.rows for step in first_rows(badly_behaved().shuffled(seed))] for seed in range(4)]
    assert found == found[:1] * 4


def test_an_engine_that_numbers_tied_rows_as_it_likes_would_be_noticed(monkeypatch):
    ties_as_the_engine_likes(monkeypatch)
    monkeypatch.setattr(answer, "seal", blind)
    found = [[step.rows for step in first_rows(badly_behaved().shuffled(seed))] for seed in range(4)]
    assert any(rows != found[0] for rows in found[1:])


def bounded_visits(rows: int = 6) -> tuple[int, int, int]:
    """COUNT(charge), Σ clamped charges and Σ w·(charge − middle) by hand: per person, in grains of 2^-10.

    2^-10 is the largest power of two below 2000/2^20; the middle of 0 and 2000 is 1000.
    """
    charges: dict[object, list[int]] = {}
    for person, _, charge, *_ in badly_behaved().tables["visits"]:
        if person is not None and charge is not None and abs(charge) < float("inf"):
            inside = min(max(Fraction(charge), 0), 2000) * 1024
            charges.setdefault(person, []).append(math.floor(inside + Fraction(1, 2)))
    count = sum(min(len(own), rows) for own in charges.values())
    added = sum(min(sum(own), rows * 2000 * 1024) for own in charges.values())
    centred = 0
    for own in charges.values():
        total = sum(grains - 1000 * 1024 for grains in own)
        centred += total if len(own) <= rows else int(Fraction(total * rows, len(own)))
    return count, added, centred


def engine_visits() -> tuple[int, int, int]:
    ana = analyst(None, ())
    (step,) = exact_steps(
        ana.query("SELECT COUNT(charge), SUM(charge), AVG(charge) FROM visits").sealed, ana.place.engine, salt=SALT
    )
    (row,) = step.rows
    return row


def test_bounded_numbers_are_those_computed_by_hand():
    assert engine_visits() == bounded_visits()


def test_nan_and_infinity_that_pass_would_be_noticed(monkeypatch):
    """They are moved into the bounds like every number, so that nobody is hurt; but they are no numbers."""
    monkeypatch.setattr(functions, "clean", lambda scalar: scalar)
    assert all(ours != theirs for ours, theirs in zip(engine_visits(), bounded_visits(), strict=True))


def test_an_average_that_is_not_weighted_would_be_noticed(monkeypatch):
    """It is still clamped to what one person may add, so that nobody is hurt; but the average is not one."""
    monkeypatch.setattr(inner, "down_weighted", lambda total, count, cap: total)
    ours, theirs = engine_visits(), bounded_visits()
    assert ours[:2] == theirs[:2]
    assert ours[2] != theirs[2]


def test_a_table_that_hides_a_common_table_would_be_noticed(monkeypatch):
    """Either is answered privately, so that nobody is hurt; but it is the answer to another question."""
    sql = "WITH visits AS (SELECT * FROM patients) SELECT COUNT(*) FROM visits"
    ana = opened(badly_behaved(), rows=2000, unique=False)
    ((people,),) = badly_behaved().connection().execute(sql).fetchall()

    def counted():
        ((number,),) = without_noise(ana, sql)
        return number.value

    assert counted() == people
    tables_hide_common_tables(monkeypatch)
    assert counted() != people
