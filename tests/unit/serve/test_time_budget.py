"""A bucket of processor time for each name: refused while it is empty, full again after a minute."""

from dpsql.errors import OutOfTime
from dpsql.serve.server import TimeBudgets
from tests.kits.refusals import raised


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_bucket_is_empty_when_it_is_spent_and_refills_with_time():
    clock = Clock()
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
