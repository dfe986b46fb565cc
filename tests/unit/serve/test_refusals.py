"""What one name may take: so many refusals within an hour, those that depend on rows not counted; and processor time,
out of a bucket that is full again after a minute."""

import pytest

from dpsql.errors import NO_REFUSALS, EngineFailed, NotPermitted, OutOfTime, RowLevel
from dpsql.serve.server import Refusals, TimeBudgets
from tests.kits.refusals import raised


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def ask(refusals, name, error=None):
    refusals.require_few(name)
    refusals.count(name, None if error is None else error.code)
    if error is not None:
        raise error("no", why="because", fix="otherwise")


def test_the_oldest_of_too_many_must_be_an_hour_old(clock):
    refusals = Refusals(2, clock=clock)
    for minute in (0, 30):
        clock.now = 60.0 * minute
        raised(RowLevel, lambda: ask(refusals, "ana", RowLevel))
    for minute in (30, 59.9):
        clock.now = 60.0 * minute
        raised(NotPermitted, lambda: ask(refusals, "ana"))
        ask(refusals, "bob")
    clock.now = 3600.0
    ask(refusals, "ana")
    raised(RowLevel, lambda: ask(refusals, "ana", RowLevel))
    with pytest.raises(NotPermitted):  # the second and the third are not an hour apart
        ask(refusals, "ana")


@pytest.mark.parametrize("error", NO_REFUSALS)
def test_what_is_no_refusal_is_not_counted(clock, error):
    """An engine fails on rows: who may ask later must not depend on them."""
    refusals = Refusals(1, clock=clock)
    raised(error, lambda: ask(refusals, "ana", error))
    ask(refusals, "ana")
    assert EngineFailed in NO_REFUSALS


def test_a_bucket_is_empty_when_it_is_spent_and_refills_with_time(clock):
    times = TimeBudgets(30.0, clock=clock)
    times.require("ana")
    times.spend("ana", 40.0)  # one long request may take more than is left
    error = raised(OutOfTime, lambda: times.require("ana"), match="30 seconds")
    assert "in 21 s" in error.fix  # 10 seconds too many, at half a second a second
    times.require("bob")
    clock.now += 20.5
    times.require("ana")
    clock.now += 3600
    times.spend("ana", 29.0)  # never more than one bucket
    times.require("ana")
    times.spend("ana", 1.5)
    raised(OutOfTime, lambda: times.require("ana"))
