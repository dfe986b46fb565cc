"""The clock of the machine is set back and forward by years: no budget comes of it, and what has ended stays ended."""

import random
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpsql
from dpsql.errors import BudgetExhausted, LedgerBroken, NotPermitted
from dpsql.ledger import clock as ledger_clock
from dpsql.session import permits as session_clock
from tests.kits.refusals import raised

from crashing import found, opened, written

NEW = "SELECT COUNT(*) FROM people WHERE age > {}"


@pytest.fixture
def at(monkeypatch):
    """Sets the clock that the session and the ledger read to the noon of a day."""

    def set_to(year: int, month: int = 1, day: int = 1) -> None:
        now = datetime(year, month, day, 12, tzinfo=UTC)
        monkeypatch.setattr(session_clock, "datetime", SimpleNamespace(now=lambda zone: now.astimezone(zone)))
        monkeypatch.setattr(ledger_clock, "time", SimpleNamespace(time=now.timestamp))

    return set_to


def rewrite(folder: Path, *changes: tuple[str, str]) -> None:
    policy = (folder / "dpsql.toml").read_text()
    for before, after in changes:
        assert before in policy
        policy = policy.replace(before, after)
    (folder / "dpsql.toml").write_text(policy)


def test_entries_never_go_back_in_time_on_the_clock_that_is_read(at):
    at(2031, 5, 6)
    assert session_clock.today() == date(2031, 5, 6)
    assert ledger_clock.utc_seconds() == int(datetime(2031, 5, 6, 12, tzinfo=UTC).timestamp())
    owner = dpsql.open(":memory:")
    ledger = owner._ledger
    for number, year in enumerate((2026, 1999, 2031, 2000, 2030), start=1):
        at(year)
        ledger.data_version(str(number + 1))
    ledger.verify()
    with ledger.reading() as page:
        times = [link.time for link in page.chained()][1:]
    years = [datetime.fromtimestamp(time, UTC).year for time in times]
    assert years[2:] == [2031] * 3
    assert times == sorted(times)


def test_no_year_brings_a_budget_back(tmp_path, at):
    """A question in each of many years, in no order, by sessions that are open and by new ones, until all is spent."""
    folder, chance = written(tmp_path / "0"), random.Random(3)
    rewrite(folder, ("budget = 1000", "budget = 12"), ("delta = 1e-3", "delta = 0"), ("delta_per_query = 1e-6\n", ""))
    asked = 0
    for _ in range(4):
        at(chance.choice([1971, 1999, 2026, 2029, 2033]))
        with opened(folder) as owner:
            analyst = owner.analyst("ana")
            for _ in range(4):
                at(chance.choice([1971, 1999, 2026, 2029, 2033]))
                asked += 1
                if asked <= 12:
                    assert analyst.sql(NEW.format(asked)).cost.epsilon == 1
                else:
                    with pytest.raises(BudgetExhausted):
                        analyst.sql(NEW.format(asked))
                payments, spent, _ = found(owner._ledger)  # from a ledger that verifies
                assert len(payments) == spent == min(asked, 12)
    assert asked == 16


def test_a_clock_that_is_years_ahead_is_not_believed(tmp_path, at):
    """Nothing is asked and nothing written: time in a ledger does not go back."""
    folder = written(tmp_path / "0")
    at(2026)
    with opened(folder) as owner:
        analyst = owner.analyst("ana")
        analyst.sql(NEW.format(1))
        before = owner._ledger.head()
        for year in (2106, 2400):
            at(year)
            raised(LedgerBroken, lambda: analyst.sql(NEW.format(2)), match="clock")
        at(2027)
        assert owner._ledger.head() == before
        assert analyst.sql(NEW.format(2)).cost.epsilon == 1


def test_what_has_ended_stays_ended(tmp_path, at):
    folder = written(tmp_path / "0")
    rewrite(folder, ("budget = 1000", "budget = 1000\nexpires = 2030-01-01"))
    at(2029, 12, 31)
    with opened(folder) as owner:
        analyst = owner.analyst("ana")
        analyst.sql(NEW.format(1))
        for year in (2030, 2035, 2029, 1999):  # the ledger has seen a later day by then
            at(year)
            raised(NotPermitted, lambda: analyst.sql(NEW.format(2)), match="ended")
            raised(NotPermitted, lambda: analyst.sql(NEW.format(1)), match="ended")
        assert owner._ledger.account("ana").spent.epsilon == 1
    at(1999)
    with opened(folder) as owner:
        analyst = owner.analyst("ana")
        raised(NotPermitted, lambda: analyst.sql(NEW.format(2)), match="ended")
