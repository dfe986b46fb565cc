"""A ledger of schema 1, written before entries had times, is brought to the tables of today when it is opened."""

import shutil
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.errors import LedgerBroken
from dpsql.ledger.schema import SCHEMA
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.testing.ledger_cases import FIRST, SECOND, TENTH, asking

OLD = Path(__file__).parents[2] / "fixtures" / "ledgers" / "schema1.db"
"""Written by the version before: a promise, owners, a data version, two grants, three charges, a retry, two steps."""


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "ledger.db"
    for ending in ("", ".key"):
        copied = shutil.copyfile(f"{OLD}{ending}", f"{path}{ending}")
        Path(copied).chmod(0o600)
    return path


def test_an_old_ledger_keeps_everything(old, raw):
    entries = raw(old, "SELECT number, kind, payload, hash FROM entries ORDER BY number")
    with closing(SqliteLedger(old, clock=lambda: 1_800_000_000)) as ledger:
        ledger.verify()
        assert ledger.id == "29e479e5e2e28e7864cbfe35deb4a211"
        assert ledger.data_version() == "2"
        assert ledger.account().spent.epsilon == Fraction(3, 10)
        assert (ledger.account("ana").spent.epsilon, ledger.account("bob").spent.epsilon) == (2 * TENTH, TENTH)
        assert ledger.recall(asking("one").question)[0].steps == (FIRST,)
        resumed = ledger.charge(asking("two", steps=2))
        assert (resumed.paid, resumed.stored) == (False, (SECOND,))
        ledger.store(resumed, 1, FIRST)
        assert ledger.charge(asking("four")).paid
        ledger.verify()
    assert raw(old, f"SELECT number, kind, payload, hash FROM entries WHERE number <= {len(entries)}") == entries
    times = [time for (time,) in raw(old, "SELECT time FROM entries ORDER BY number")]
    assert times == [None] * len(entries) + [1_800_000_000] * 3
    assert raw(old, "SELECT schema FROM about") == [(SCHEMA,)]
    with closing(SqliteLedger(old)) as again:
        again.verify()
        with again.reading() as page:
            assert list(page.times()) == times


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = 'ana'",
        "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = ''",
        "DELETE FROM accounts WHERE holder = 'bob'",
        "UPDATE payments SET attempts = 1",
        "DELETE FROM payments WHERE number = (SELECT MAX(number) FROM payments)",
        "DELETE FROM steps",
        "UPDATE steps SET entry = entry + 1",
        "DELETE FROM head",
        "UPDATE head SET number = number - 1",
        "UPDATE head SET seal = zeroblob(32)",
        "UPDATE head SET seal = 'x'",
        "DROP TRIGGER entries_are_not_changed; UPDATE entries SET payload = x'00' WHERE number = 3",
        "DROP TRIGGER entries_are_not_removed; DELETE FROM entries WHERE number = (SELECT MAX(number) FROM entries)",
        "UPDATE about SET schema = 0",
        "UPDATE about SET schema = 2",
        "UPDATE about SET schema = 3",
    ],
)
def test_an_old_ledger_that_does_not_verify_is_refused_and_left_alone(old, raw, statement):
    raw(old, *statement.split("; "))
    tables = [name for (name,) in raw(old, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    before = [raw(old, f"SELECT * FROM {name}") for name in tables]
    for _ in range(2):
        with pytest.raises(LedgerBroken):
            SqliteLedger(old)
    assert [raw(old, f"SELECT * FROM {name}") for name in tables] == before


def test_a_migration_that_is_cut_short_changes_nothing(old, raw, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("dpsql.ledger.migration.require_verified", lambda page: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            SqliteLedger(old)
    assert raw(old, "SELECT schema FROM about") == [(1,)]
    with closing(SqliteLedger(old)) as ledger:
        ledger.verify()


def test_a_migrated_ledger_is_made_as_a_new_one(old, raw, tmp_path):
    for path in (old, tmp_path / "new.db"):
        SqliteLedger(path).close()
    made = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    assert raw(old, made) == raw(tmp_path / "new.db", made)
    assert raw(old, "PRAGMA integrity_check") == [("ok",)]
