"""The ledger in a SQLite file: its laws, restarts, failures and waits. Processes race and crash in tests/system."""

import json
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import BudgetExhausted, LedgerBroken
from dpsql.ledger import laws
from dpsql.ledger.ledger import Ownership, ReleasedStep
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import FIRST, TENTH, TOLD, asking, promised
from tests.kits.ledger_kit import LedgerKit
from tests.kits.refusals import raised


class TestSqliteLedger(LedgerKit):
    def make(self, tmp_path):
        return SqliteLedger(tmp_path / "ledger.db")


class TestReopenedForEveryCall(LedgerKit):
    """Every law must hold although each call comes from somebody who knows nothing but the file."""

    threads = 4
    charges_per_thread = 10

    def make(self, tmp_path):
        return Forgetful(tmp_path / "ledger.db")


class Forgetful:
    def __init__(self, path):
        self.path = path
        self.closed = False
        SqliteLedger(path).close()

    def __getattr__(self, name):
        if self.closed:
            ledger = SqliteLedger(self.path)
            ledger.close()
            return getattr(ledger, name)

        def call(*values, **named):
            ledger = SqliteLedger(self.path)
            try:
                return getattr(ledger, name)(*values, **named)
            finally:
                ledger.close()

        return call

    @property
    def id(self):
        ledger = SqliteLedger(self.path)
        ledger.close()
        return ledger.id

    def close(self):
        self.closed = True


# Restarts


def test_a_restart_keeps_everything(open_, begun):
    first = begun()
    receipt = first.charge(asking())
    first.store(receipt, 0, TOLD)
    again = first.charge(asking("unfinished", steps=2))
    first.store(again, 0, FIRST)
    before = first.id, first.account(), first.account("ana"), first.recall(asking().question)
    first.close()

    second = open_()
    assert (second.id, second.account(), second.account("ana"), second.recall(asking().question)) == before
    resumed = second.charge(asking("unfinished", steps=2))
    assert resumed == replace(again, paid=False, stored=(FIRST,))  # with the same salt: the key is the same
    second.verify()


def test_two_openings_are_one_ledger(open_, begun):
    one, other = begun(), open_()
    receipt = one.charge(asking())
    assert other.account().spent.epsilon == TENTH
    other.store(receipt, 0, FIRST)
    assert one.recall(asking().question)[0].steps == (FIRST,)


def test_a_path_is_a_path_whatever_it_looks_like(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory", "a b%20#c.db", "'; DROP TABLE entries; --"):
        ledger = SqliteLedger(name)
        ledger.close()
        assert (tmp_path / name).stat().st_size > 0
        assert (tmp_path / f"{name}.key").stat().st_size == 32


def test_names_and_text_are_only_values(begun):
    ledger = begun()
    name = "x'); DROP TABLE entries; --"
    ledger.grant(name, epsilon=TENTH)
    asked = replace(asking(analyst=name), sql="'\x00\ud800\"; DROP TABLE accounts; --")
    ledger.store(ledger.charge(asked), 0, TOLD)
    assert ledger.recall(asked.question)[0].analyst == name
    ledger.verify()


def test_no_number_is_kept_as_a_float(full, raw):
    tables = [name for (name,) in raw(full, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert len(tables) == 3
    for table in tables:
        for row in raw(full, f"SELECT * FROM {table}"):
            assert not any(isinstance(value, float) for value in row)
    ((snapshot,),) = raw(full, "SELECT snapshot FROM head")
    spent = json.loads(snapshot)["accounts"][""]["spent"]
    assert spent == {"epsilon": "3/10", "delta": "0", "rho": "3/200"}


# Failures


def test_a_ledger_that_is_in_use_for_too_long_says_so(path, begun):
    ledger = begun(wait_ms=50)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    raised(LedgerBroken, lambda: ledger.charge(asking()), match="in use for too long")
    assert ledger.account().spent.epsilon == 0  # reading does not wait
    other.execute("ROLLBACK")
    other.close()
    ledger.charge(asking())
    ledger.verify()


def test_a_full_disk_leaves_nothing_half_written(begun):
    ledger = begun()
    receipt = ledger.charge(asking())
    (pages,) = ledger._database.execute("PRAGMA page_count").fetchone()
    ledger._database.execute(f"PRAGMA max_page_count = {pages + 1}")
    large = ReleasedStep(keys=(("x" * 100_000,),), values=((1,),))
    raised(LedgerBroken, lambda: ledger.store(receipt, 0, large), match="full")
    raised(LedgerBroken, lambda: ledger.charge(replace(asking("another"), sql="x" * 100_000)), match="full")
    assert ledger.recall(asking().question) == ()
    assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == TENTH
    ledger.verify()
    ledger._database.execute(f"PRAGMA max_page_count = {pages + 1000}")
    ledger.store(receipt, 0, large)
    ledger.verify()


def test_a_ledger_that_cannot_be_written_gives_no_receipt(begun):
    ledger = begun()
    ledger._database.execute("PRAGMA query_only = ON")
    raised(LedgerBroken, lambda: ledger.charge(asking()), match="cannot be written")
    assert ledger.account().spent.epsilon == 0


def interrupted(ledger):
    with ledger.writing() as page:
        laws.charge(page, asking())
        assert page.account("ana").spent.epsilon == TENTH
        raise KeyboardInterrupt


def test_an_interrupted_transaction_is_undone(begun):
    ledger = begun()
    raised(KeyboardInterrupt, lambda: interrupted(ledger))
    assert ledger.account("ana").spent.epsilon == 0
    ledger.charge(asking())
    ledger.verify()


def test_a_failure_says_nothing_of_the_statement(begun):
    ledger = begun()
    ledger._database.execute("DROP INDEX entries_same")
    ledger._database.execute("ALTER TABLE entries RENAME COLUMN same TO payments")
    error = raised(LedgerBroken, lambda: ledger.charge(asking()))
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert "payments" not in f"{error} {error.as_json()}"


def test_numbers_that_nobody_is_told_are_not_read(begun, open_, monkeypatch):
    begun().store(begun().charge(asking()), 0, FIRST)
    monkeypatch.setattr("dpsql.ledger.encoding.released_from_bytes", lambda record: 1 / 0)
    ledger = open_()
    assert [release.record for release in ledger.recall(asking().question, told=())] == [asking().record]
    raised(ZeroDivisionError, lambda: ledger.recall(asking().question))


@pytest.mark.parametrize(("disturbed", "most"), [(False, 9), (True, 14)])
def test_a_charge_asks_the_database_for_few_things(begun, open_, disturbed, most):
    """Begin, whether somebody else has written, and where somebody has: the head, accounts, what holds, what says so,
    how many periods. Then the same question; an entry, a payment, two accounts, the head; and the end."""
    ledger, other, said = begun(), open_(), []
    owned = Ownership(relation="add_remove", tables=(("people", 'person = "id"'),))
    ledger.own(owned)
    ledger.charge(asking(), under=owned)
    if disturbed:
        other.charge(asking("of another"), under=owned)
    ledger._database.set_trace_callback(said.append)
    ledger.charge(asking("another"), under=owned)
    assert len(set(said)) <= most  # what runs triggers is told twice
    ledger._database.set_trace_callback(None)


def test_a_writer_begins_soon_after_the_other_one_has_ended(tmp_path):
    # SQLite's own wait would look after 328 ms, and then after 428 ms. The best of three: the machine may be busy.
    assert min(late_by(tmp_path / f"{number}.db", held=0.34) for number in range(3)) < 0.04


def late_by(path, *, held):
    """Seconds between the end of one transaction and the end of the one that waited for it."""
    with closing(SqliteLedger(path)) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        ended = []
        waiting = threading.Thread(target=lambda: ledger.freeze("x") or ended.append(time.monotonic()))
        other.execute("BEGIN IMMEDIATE")
        waiting.start()
        time.sleep(held)
        other.execute("COMMIT")
        free = time.monotonic()
        waiting.join()
    return ended[0] - free


def test_no_other_connection_gets_between_two_charges_of_a_batch(tmp_path, monkeypatch):
    """Bob asks for more than the batch will leave when two of its five questions are charged: he waits, and is refused.
    With a transaction for each question he would be first, and the third one would not fit."""
    path, refused = tmp_path / "ledger.db", []
    with closing(SqliteLedger(path)) as ledger, closing(SqliteLedger(path)) as other:
        promised(ledger)
        for name in ("ana", "bob"):
            ledger.grant(name, epsilon=Fraction(1))
        rest = asking("the rest", analyst="bob", event=Pure(epsilon=TENTH * 7))

        def ask():
            with pytest.raises(BudgetExhausted) as error:
                other.charge(rest)
            refused.append(error)

        asks, real, charged = threading.Thread(target=ask), laws.charge, []

        def charge(page, asked, **more):
            charged.append(asked)
            return real(page, asked, **more)

        class Asked(list):
            def __iter__(self):
                for asked in super().__iter__():
                    if len(charged) == 2 and not asks.ident:
                        asks.start()
                        asks.join(timeout=0.2)
                        assert asks.is_alive()
                    yield asked

        monkeypatch.setattr(laws, "charge", charge)
        receipts = ledger.charge_together(Asked(asking(name) for name in "abcde"))
        asks.join()
        assert [receipt.number for receipt in receipts] == list(range(receipts[0].number, receipts[0].number + 5))
        assert len(refused) == 1
        assert ledger.account().spent.epsilon == TENTH * 5
        ledger.verify()


def test_a_closed_ledger_opens_no_database(begun):
    ledger = begun()
    ledger.close()
    raised(LedgerBroken, lambda: ledger._open_database(), match="closed")


def test_what_was_read_is_forgotten_before_it_takes_much_room(begun, monkeypatch):
    """However much was asked: and what is forgotten is read, and checked, again."""
    monkeypatch.setattr("dpsql.ledger.sql_page._REMEMBERED", 3)
    ledger = begun()
    for number in range(8):
        ledger.store(ledger.charge(asking(str(number))), 0, FIRST)
    for number in range(8):
        assert ledger.recall(asking(str(number)).question)[0].steps == (FIRST,)
        ledger.conditions("ana")
    assert len(ledger._memory) <= 3
    assert max(len(ledger._page._rows), len(ledger._page._hashes)) <= 8  # of one transaction, and three from before
