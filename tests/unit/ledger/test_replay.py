"""Entries are lived through again: what the laws would not have done is seen, even where every hash is right. Every
entry has a time, which never goes back."""

from contextlib import closing
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.errors import LedgerBroken
from dpsql.ledger import laws
from dpsql.ledger.facts import Closed, Granted, Issued, Opened, Promised, Renewed, Retried, Stored, Versioned
from dpsql.ledger.ledger import Conditions, Ownership, Role, User
from dpsql.ledger.memory import MemoryLedger, MemoryPage
from dpsql.ledger.page import SOURCE
from dpsql.ledger.replay import _ReplayPage, replay
from dpsql.ledger.snapshot import Payment, Snapshot
from dpsql.privacy.events import DiscreteGaussian, KeySelection, Pure
from dpsql.privacy.window import Window
from tests.kits.cases import cases
from tests.kits.ledger_cases import FIRST, SMALL, TENTH, asking, promised
from tests.kits.refusals import raised

ACCOUNT = Account.opened(epsilon=1, delta=SMALL, delta_prime=SMALL / 2)
OWNED = Ownership(relation="add_remove", tables=(("people", 'person = "id"'),))
BEGUN = [Opened(id="x"), Promised(account=ACCOUNT), Granted(analyst="ana", epsilon=Fraction(1)), OWNED]


MONTHLY = [BEGUN[0], replace(BEGUN[1], per=Window.MONTH), *BEGUN[2:]]
USER = User(name="ana", role=Role.ANALYST)
LAB = Granted(analyst="lab", epsilon=Fraction(1))
LAB_TOKEN = Issued(user=replace(USER, grant="lab"), digest=bytes(32))


def replayed(facts, time=1_800_000_000):
    """The snapshot that follows from entries of which each has its hash, whatever it says."""
    page = MemoryPage(key=b"", clock=lambda: time)
    for fact in facts:
        page.append(fact)
    return replay(page)


def broken_entry(facts):
    return int(raised(LedgerBroken, lambda: replayed(facts)).what.partition("entry ")[2].split()[0])


def test_totals_are_added_up_from_the_events():
    """1/10 and a selection of (1/5, 10^-8, 3 keys), by hand: ε²/2 and ε²/2k."""
    selection = KeySelection(epsilon=Fraction(1, 5), delta=Fraction(1, 10**8), keys=3)
    totals = replayed([*BEGUN, asking("a"), asking("b", event=selection)])
    expected = Triple(epsilon=Fraction(3, 10), delta=Fraction(1, 10**8), rho=Fraction(1, 200) + Fraction(1, 25) / 6)
    assert totals.account(SOURCE).spent == totals.account("ana").spent == expected
    noise = asking("c", event=DiscreteGaussian(sigma_squared=1000, l2_squared=2))
    assert replayed([*BEGUN, noise]).account(SOURCE).spent == Triple(
        epsilon=None, delta=Fraction(0), rho=Fraction(1, 1000)
    )


def test_a_period_and_a_promise_begin_from_nothing():
    monthly = replayed([BEGUN[0], replace(BEGUN[1], per=Window.MONTH), *BEGUN[2:], asking("a"), Renewed(period=2)])
    assert monthly.account("ana").spent.epsilon == 0
    closed = replayed([*BEGUN, asking("a"), Closed(reason="a"), BEGUN[1], BEGUN[2]])
    assert closed.account(SOURCE).spent.epsilon == 0


def test_the_snapshot_does_not_grow_with_answered_questions():
    """2 000 charges and answers: the same subjects and payments, and accounts whose numbers are a little longer."""
    free = Granted(analyst="ana", epsilon=Fraction(1)), Pure(epsilon=Fraction(1, 10**6))
    facts = [*BEGUN]
    for name in range(2000):
        facts += [asking(str(name), event=free[1]), Stored(receipt=len(facts) + 1, step=0, released=FIRST)]
    grown, begun = replayed(facts), replayed(facts[:6])
    assert (grown.latest, grown.open) == (begun.latest, {})
    assert len(grown.to_bytes()) <= len(begun.to_bytes()) + 100


def test_the_oldest_of_too_many_open_payments_is_closed(monkeypatch):
    """It is neither continued nor stored: whoever asks again pays again, which is never too little."""
    monkeypatch.setattr("dpsql.ledger.snapshot.MOST_OPEN", 2)
    three = [*BEGUN, *(asking(name, event=Pure(epsilon=TENTH)) for name in "abc")]
    assert list(replayed(three).open) == [6, 7]
    assert replayed([*three, asking("a")]).account(SOURCE).spent.epsilon == 4 * TENTH
    assert broken_entry([*three, Retried(receipt=5)]) == 8
    assert broken_entry([*three, Stored(receipt=5, step=0, released=FIRST)]) == 8
    assert replayed([*three, Retried(receipt=6)]).open[6].attempts == 2


def test_payments_follow_from_the_entries():
    asked = asking(steps=2)
    totals = replayed([*BEGUN, asked, Retried(receipt=5), Stored(receipt=5, step=0, released=FIRST)])
    payment = totals.open[5]
    assert (payment.steps, payment.attempts, payment.stored, payment.complete) == (2, 2, (7,), False)
    assert totals.account(SOURCE).spent.epsilon == TENTH


@cases(__file__, "facts=", "entry=")
def test_what_a_law_forbids_is_seen(facts, entry):
    assert broken_entry(facts) == entry


def test_what_is_refused_at_the_door_today_is_read_in_older_ledgers():
    """Names with blanks, and a grant whose last day was past."""
    group = Granted(analyst="lab ", epsilon=TENTH)
    ended = Granted(analyst="bob", epsilon=TENTH, conditions=Conditions(expires=date(2020, 1, 1)))
    facts = [*BEGUN, group, ended, Issued(user=User(name=" eve", role=Role.ANALYST), digest=bytes(32))]
    assert {"ana", "lab ", "bob"} < replayed(facts).accounts().keys()


def test_a_promise_is_replayed_as_it_was_made():
    """An account opened with a smaller ρ* than today's stays as it is: it was what people were told."""
    modest = replace(ACCOUNT, rho=ACCOUNT.rho / 2)
    totals = replayed([BEGUN[0], Promised(account=modest), BEGUN[2]])
    assert totals.account(SOURCE).rho == ACCOUNT.rho / 2
    assert totals.account("ana").rho == ACCOUNT.rho / 2


def begun_page():
    page = MemoryPage(key=b"", clock=lambda: 1_800_000_000)
    for fact in BEGUN:
        page.append(fact)
    return page


def test_a_law_that_writes_twice_is_seen():
    """The entry would be compared with the second only."""
    page = _ReplayPage(begun_page())
    page.turn(next(iter(begun_page().chained())))
    page.append(BEGUN[1])
    raised(LookupError, lambda: page.append(BEGUN[0]))


def test_only_the_last_entry_comes_into_force():
    page = begun_page()
    raised(LookupError, lambda: page.keep_latest("promise", 2))
    assert page.latest("promise") is None


def test_what_is_no_charge_is_no_payment_and_what_is_no_step_no_answer():
    """A snapshot says where they stand, and the entries there say something else."""
    page, payment = begun_page(), Payment(number=2, pin="", steps=1, attempts=1, stored=(3,))
    raised(LedgerBroken, lambda: laws._paid(page, payment))
    raised(LedgerBroken, lambda: laws.released_steps(page, payment))


def test_a_step_of_another_payment_is_no_answer():
    page = begun_page()
    for fact in (asking("a"), Stored(receipt=5, step=0, released=FIRST)):
        page.append(fact)
    mine = Payment(number=5, pin="", steps=1, attempts=1, stored=(6,))
    assert laws.released_steps(page, mine) == (FIRST,)
    for wrong in (replace(mine, number=4), replace(mine, stored=(6, 6))):
        raised(LedgerBroken, lambda wrong=wrong: laws.released_steps(page, wrong))


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[]"])
def test_what_is_no_snapshot_is_refused(content):
    raised(LedgerBroken, lambda: Snapshot.from_bytes(content))


# Every entry has a time, which never goes back.


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
