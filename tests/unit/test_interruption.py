"""An interruption is held back from the draw to the store, and comes directly after it."""

import signal
import sys
import threading
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.interruption import forget, interrupt, uninterrupted
from dpsql.points import EVENT, Point


def test_an_interruption_waits_for_the_end_of_the_block():
    done = []

    def held():
        with uninterrupted():
            interrupt()
            with uninterrupted():
                done.append("inside")
            done.append("outside")

    with pytest.raises(KeyboardInterrupt):
        held()
    assert done == ["inside", "outside"]
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_an_interruption_that_waits_can_be_dropped():
    with uninterrupted():
        interrupt()
        forget()


def test_another_thread_is_not_held_back():
    seen = []

    def elsewhere():
        try:
            interrupt()
        except KeyboardInterrupt:
            seen.append("raised")

    with uninterrupted():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == ["raised"]


class Hook:
    """Interrupts the main thread by a signal when the pipeline reaches a point. Audit hooks stay, so it is one."""

    at = None

    def __call__(self, event, arguments):
        if event == EVENT and arguments[0] == self.at:
            self.at = None
            signal.raise_signal(signal.SIGUSR1)


@pytest.fixture(scope="module")
def hook():
    made = Hook()
    sys.addaudithook(made)
    return made


@pytest.fixture
def ana():
    before = signal.signal(signal.SIGUSR1, lambda *_: interrupt())
    with dpsql.open(":memory:") as owner:
        owner.register("people", pd.DataFrame({"id": range(40)}), person="id", unique=True)
        owner.promise(epsilon=10)
        owner.defaults(cost_per_query=1, noise="laplace")
        yield owner.grant("ana", budget=2)
    signal.signal(signal.SIGUSR1, before)


COUNT = "SELECT COUNT(*) FROM people"


@pytest.mark.parametrize("point", [Point.READ, Point.DRAWN, Point.STORE_BEGUN, Point.STORE_WRITTEN])
def test_what_is_drawn_is_stored(ana, hook, point):
    hook.at = point.name
    with pytest.raises(KeyboardInterrupt):
        ana.sql(COUNT)
    again = ana.sql(COUNT, max_cost=0)  # stored: no second draw, no second charge
    assert (again.cost.epsilon, ana.budget.spent) == (0, 1)


@pytest.mark.parametrize("point", [Point.CHARGE_WRITTEN, Point.RUNNING])
def test_what_is_ended_after_the_charge_stays_charged_and_runs_again(ana, hook, point):
    for _ in range(2):
        hook.at = point.name
        with pytest.raises(KeyboardInterrupt):
            ana.sql(COUNT)
        assert ana.budget.spent == 1
        if point is Point.CHARGE_WRITTEN:
            break  # the second time nothing is charged any more
    assert ana.sql(COUNT).rows
    assert ana.budget.spent == Fraction(1)


def test_what_is_ended_before_the_charge_is_not_charged(ana, hook):
    hook.at = Point.SEALED.name
    with pytest.raises(KeyboardInterrupt):
        ana.sql(COUNT)
    assert ana.budget.spent == 0
