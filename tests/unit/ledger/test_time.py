"""Every entry has a time, which never goes back."""

from contextlib import closing
from datetime import date
from fractions import Fraction

import pytest

from dpsql.errors import LedgerBroken
from dpsql.ledger.facts import Opened, Versioned
from dpsql.ledger.ledger import Conditions
from dpsql.ledger.memory import MemoryLedger, MemoryPage
from dpsql.ledger.replay import replay
from tests.kits.ledger_cases import SMALL, asking, promised

NOON = 1_800_000_000
YEARS = 9 * 365 * 86_400


class Clock:
    """Tells what it is set to."""

    def __init__(self, now=NOON):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture(params=["memory", "database"])
def timed(request, store):
    """A ledger and its clock."""
    clock = Clock()
    with closing(MemoryLedger(clock=clock) if request.param == "memory" else store.open(clock=clock)) as ledger:
        promised(ledger)
        ledger.grant("ana", epsilon=Fraction(1))
        yield ledger, clock


def times(ledger):
    with ledger.reading() as page:
        return [link.time for link in page.chained()]


def test_an_entry_has_the_time_of_the_clock(timed):
    ledger, clock = timed
    clock.now += 60
    ledger.charge(asking())
    assert times(ledger) == [NOON] * 4 + [NOON + 60]
    ledger.verify()


def test_a_clock_that_is_set_back_stands_still(timed):
    ledger, clock = timed
    for now in (NOON + YEARS, NOON - YEARS, NOON, NOON + YEARS + 1):
        clock.now = now
        ledger.charge(asking(f"at {now}"))
        with ledger.reading() as page:
            assert page.now() == max(NOON + YEARS, now)
    assert times(ledger)[4:] == [NOON + YEARS] * 3 + [NOON + YEARS + 1]
    assert ledger.account().spent.epsilon == Fraction(4, 10)  # no clock gives any of it back
    ledger.verify()


def test_a_clock_that_goes_back_between_openings_stands_still(store):
    with closing(store.open(clock=Clock(NOON))) as ledger:
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
    with closing(store.open(clock=Clock(NOON - YEARS))) as ledger:
        ledger.grant("ana", epsilon=Fraction(1))
        assert times(ledger) == [NOON] * 3


def test_the_clock_of_the_machine_is_asked_where_none_is_given(store):
    with closing(store.open()) as ledger, closing(MemoryLedger()) as memory:
        assert all(time > NOON - 10**8 for time in times(ledger) + times(memory))


@pytest.mark.parametrize(
    ("now", "said"), [(NOON + 11 * 366 * 86_400, "2038-01-23"), (4_000_000_000, "2096-10-02"), (10**12, "year 9999")]
)
def test_a_clock_that_is_years_ahead_writes_nothing(timed, now, said):
    """One entry of it would end every grant with a last day, on every machine."""
    ledger, clock = timed
    ledger.grant("bob", epsilon=Fraction(1), conditions=Conditions(expires=date(2030, 1, 1)))
    before = ledger.head()
    clock.now = now
    for use in (
        lambda: ledger.freeze("x"),
        lambda: ledger.charge(asking(analyst="bob")),
        lambda: ledger.conditions("bob"),
    ):
        with pytest.raises(LedgerBroken, match=f"clock of this machine is wrong: it says .*{said}.* 2027-01-15"):
            use()
    clock.now = NOON + 60
    assert ledger.head() == before
    assert ledger.charge(asking(analyst="bob")).paid
    ledger.verify()


def test_a_clock_that_was_not_set_when_the_ledger_was_made_may_be_set(store):
    for now in (0, NOON, NOON + YEARS):
        with closing(store.open(clock=Clock(now))) as ledger:
            ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
            ledger.grant(f"ana at {now}", epsilon=Fraction(1))
            assert times(ledger)[-1] == now
            ledger.verify()


def test_a_time_after_all_calendars_does_not_verify():
    page = MemoryPage(key=b"", clock=lambda: NOON)
    page.append(Opened(id="a" * 32))
    number = page.append(Versioned(label="2"))
    for time, end in ((253_402_300_799, number), (253_402_300_800, None)):
        page._links[-1] = page._links[-1]._replace(time=time)
        if end is None:
            with pytest.raises(LedgerBroken, match="entry 2"):
                replay(page)
        else:
            assert replay(page).latest["version"][0] == end
