"""The ledger in PostgreSQL: its laws, restarts, races, and a server that goes away."""

import signal
import sys
import threading
from contextlib import closing, suppress
from fractions import Fraction

import psycopg
import pytest

from dpsql.errors import BadParameter, LedgerBroken, MissingExtra
from dpsql.ledger.postgres import PostgresLedger
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import FIRST, SMALL, TENTH, TOLD, asking, at_once, promised
from tests.kits.ledger_kit import LedgerKit
from tests.kits.refusals import raised


class TestPostgresLedger(LedgerKit):
    threads = 8
    charges_per_thread = 25

    @pytest.fixture(autouse=True)
    def server(self, postgres):
        self.postgres = postgres

    def make(self, tmp_path):
        return PostgresLedger(self.postgres.room(), key=tmp_path / "ledger.key")


@pytest.fixture
def url(postgres):
    return postgres.room()


@pytest.fixture
def key(tmp_path):
    return tmp_path / "ledger.key"


@pytest.fixture
def begun(url, key):
    with closing(PostgresLedger(url, key=key)) as ledger:
        promised(ledger)
        ledger.grant("ana", epsilon=Fraction(1))
        yield ledger


def test_another_machine_continues_where_this_one_ended(begun, url, tmp_path):
    key, anchors = tmp_path / "copied.key", tmp_path / "anchors of the other"
    key.write_bytes((tmp_path / "ledger.key").read_bytes())
    key.chmod(0o600)
    receipt = begun.charge(asking())
    with closing(PostgresLedger(url, key=key, anchors=anchors)) as other:
        assert (other.id, other.account().spent.epsilon) == (begun.id, TENTH)
        resumed = other.charge(asking())
        assert (resumed.number, resumed.salt, resumed.paid) == (receipt.number, receipt.salt, False)
        other.store(resumed, 0, TOLD)
    assert begun.recall(asking().question)[0].steps == (TOLD,)
    begun.verify()


@pytest.mark.parametrize("damage", ["missing", "another", "readable by others"])
def test_a_ledger_without_its_key_is_refused(begun, url, key, damage):
    if damage == "missing":
        key.unlink()
    elif damage == "another":
        key.write_bytes(bytes(32))
    else:
        key.chmod(0o644)
    raised(LedgerBroken, lambda: PostgresLedger(url, key=key), match="key")


def test_a_key_without_its_ledger_opens_no_new_budget(begun, postgres, key):
    raised(LedgerBroken, lambda: PostgresLedger(postgres.room(), key=key), match="there is a key and no ledger")


def test_threads_that_open_at_once_open_one_ledger(url, key):
    ids = []

    def open_and_close():
        with closing(PostgresLedger(url, key=key)) as ledger:
            ids.append(ledger.id)

    at_once([open_and_close] * 8)
    assert len(ids) == 8
    assert len(set(ids)) == 1


def test_a_failed_creation_leaves_neither_key_nor_tables(url, key, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("dpsql.ledger.stored.write_first_entry", lambda *values, **named: 1 / 0)
        raised(ZeroDivisionError, lambda: PostgresLedger(url, key=key))
    assert not key.exists()
    PostgresLedger(url, key=key).close()


@pytest.fixture
def ways(monkeypatch):
    """How often somebody goes to a server and waits for it to answer."""
    gone, pipeline, execute = [], psycopg.Connection.pipeline, psycopg.Connection.execute

    def counted_pipeline(connection):
        gone.append("several")
        return pipeline(connection)

    def counted_execute(connection, *values):
        if connection.pgconn.pipeline_status == psycopg.pq.PipelineStatus.OFF:
            gone.append(values[0])
        return execute(connection, *values)

    monkeypatch.setattr(psycopg.Connection, "pipeline", counted_pipeline)
    monkeypatch.setattr(psycopg.Connection, "execute", counted_execute)
    return gone


def test_a_charge_and_a_step_go_to_the_server_twice_each(begun, url, key, ways):
    """To lock the head and to look, to write and to commit; also where somebody else has charged since. A payment that
    is not answered yet stands in the snapshot of the head."""
    with closing(PostgresLedger(url, key=key)) as other:
        begun.charge(asking("one"))
        other.charge(asking("two"))
        ways.clear()
        receipt = begun.charge(asking("three"))
        assert len(ways) == 2
        other.charge(asking("four"))
        ways.clear()
        begun.store(receipt, 0, FIRST)
        assert len(ways) == 2


def test_what_the_server_refuses_is_not_committed(begun, url):
    """The refusal of what was written comes with the commit, which is then not done."""
    before = begun.head().number
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("ALTER TABLE entries ADD CONSTRAINT none CHECK (kind <> 'charge')")
    raised(LedgerBroken, lambda: begun.charge(asking(steps=2)))
    with psycopg.connect(url) as other:
        found = [other.execute(f"SELECT MAX(number) FROM {table}").fetchall() for table in ("entries", "head")]
    assert found == [[(before,)], [(before,)]]


def test_a_commit_is_on_disk_when_it_returns(begun):
    settings = [begun._connection.execute(f"SHOW {name}").fetchall() for name in ("synchronous_commit", "fsync")]
    assert settings == [[("on",)], [("on",)]]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_who_waits_sees_what_was_written_meanwhile_whatever_the_server_begins_with(begun, url, key, isolation):
    with closing(PostgresLedger(url, key=key)) as other:
        for ledger in (begun, other):
            ledger._connection.execute(f"SET default_transaction_isolation = '{isolation}'")
        at_once(
            [
                lambda ledger=ledger, name=name: [
                    ledger.charge(asking(f"{name} {number}", event=Pure(epsilon=Fraction(1, 100))))
                    for number in range(10)
                ]
                for ledger, name in ((begun, "one"), (other, "other"))
            ]
        )
    assert begun.account().spent.epsilon == Fraction(20, 100)
    begun.verify()


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_a_conflict_has_words_and_breaks_nothing(begun, code):
    def conflict():
        with begun.writing():
            raise psycopg.errors.lookup(code)("words of the server")

    assert "words of the server" not in str(raised(LedgerBroken, lambda: conflict(), match="at the same moment"))
    assert begun.charge(asking()).paid


def test_a_schema_is_found_by_its_name_as_it_is_written(postgres, key):
    name = f"Books_{key.parent.name}"[:63]
    with psycopg.connect(postgres.url, autocommit=True) as other:
        other.execute(psycopg.sql.SQL("CREATE SCHEMA {}").format(psycopg.sql.Identifier(name)))
    url = psycopg.conninfo.make_conninfo(postgres.url, options=f'-csearch_path="{name}"')
    with closing(PostgresLedger(url, key=key)) as made:
        made.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
    with closing(PostgresLedger(url, key=key)) as found:
        assert found.account().epsilon == 1


@pytest.mark.parametrize("wait_ms", [0, 50])
def test_a_ledger_that_is_in_use_for_too_long_says_so(begun, url, key, wait_ms):
    with closing(PostgresLedger(url, key=key, wait_ms=wait_ms)) as hasty, psycopg.connect(url) as other:
        other.execute("SELECT * FROM head FOR UPDATE")
        raised(LedgerBroken, lambda: hasty.charge(asking()), match="in use for too long")
        assert hasty.account().spent.epsilon == 0  # reading does not wait
        other.rollback()
        assert hasty.charge(asking()).paid


def end_connections(postgres, of):
    with psycopg.connect(postgres.url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (of._connection.info.backend_pid,))


def test_a_lost_connection_tells_nothing_and_the_next_call_connects_again(begun, postgres):
    end_connections(postgres, begun)
    assert raised(LedgerBroken, lambda: begun.charge(asking()), match="cannot be").__suppress_context__
    assert begun.charge(asking()).paid
    begun.verify()


def test_a_connection_lost_inside_a_transaction_keeps_nothing(begun, postgres):
    def interrupted():
        with begun.writing() as page:
            page.append(asking())
            end_connections(postgres, begun)

    raised(LedgerBroken, lambda: interrupted())
    assert begun.account().spent.epsilon == 0
    assert begun.head().number == 4
    begun.verify()


def test_a_server_that_crashes_keeps_what_was_charged(postgres, begun):
    receipt = begun.charge(asking())
    begun.store(receipt, 0, FIRST)
    postgres.stop(signal.SIGQUIT)
    try:
        raised(LedgerBroken, lambda: begun.charge(asking("another")))
    finally:
        postgres.start()
    with suppress(LedgerBroken):  # the lost connection may be seen only now
        begun.account()
    assert begun.account().spent.epsilon == TENTH
    assert begun.recall(asking().question)[0].steps == (FIRST,)
    begun.verify()


def test_a_server_that_does_not_write_to_its_disk_is_refused(url, key, monkeypatch):
    connect = psycopg.connect

    class Careless:
        def __init__(self, *values, **named):
            self._real = connect(*values, **named)

        def execute(self, sql, *values):
            return self._real.execute("SELECT 'off'" if sql == "SHOW fsync" else sql, *values)

        def close(self):
            self._real.close()

    monkeypatch.setattr(psycopg, "connect", Careless)
    raised(LedgerBroken, lambda: PostgresLedger(url, key=key), match="does not write to its disk")
    assert not key.exists()


def test_switched_off_triggers_are_seen(begun, url, key):
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("ALTER TABLE entries DISABLE TRIGGER entries_are_not_changed")
    raised(LedgerBroken, lambda: PostgresLedger(url, key=key), match="keeps its entries from being changed")
    with pytest.raises(LedgerBroken):
        begun.account()  # the anchor tells


def test_entries_cannot_be_emptied(begun, url):
    with psycopg.connect(url) as other, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        other.execute("TRUNCATE entries CASCADE")


@pytest.mark.parametrize("address", ["postgresql://nobody@/none?host=/nowhere", "not an address"])
def test_a_server_that_is_not_there_says_so_without_the_address(key, address):
    assert address not in str(raised(LedgerBroken, lambda: PostgresLedger(address, key=key)))
    assert not key.exists()


def test_the_driver_is_asked_for_where_it_is_missing(monkeypatch, key):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    raised(MissingExtra, lambda: PostgresLedger("postgresql://", key=key), match="psycopg")


@pytest.mark.parametrize("wait", [-1, 0.5, True, 10**9])
def test_a_wait_is_a_number_of_milliseconds(key, wait):
    raised(BadParameter, lambda: PostgresLedger("postgresql://", key=key, wait_ms=wait))


def test_twins_on_other_machines_wait_until_the_first_has_its_answer_or_is_gone(begun, url, key):
    question, passed = asking().question, []

    def ask(ledger):
        with ledger.turn("ana", question):
            passed.append(ledger)

    for ending in ("leaves", "dies"):
        first, second = PostgresLedger(url, key=key), PostgresLedger(url, key=key)
        turn = first.turn("ana", question)
        turn.__enter__()
        waiting = threading.Thread(target=ask, args=(second,))
        waiting.start()
        with second.turn("ana", asking("another").question), second.turn("bob", question):
            assert passed == []
        if ending == "dies":
            first._connection.close()
            waiting.join()
        turn.__exit__(None, None, None)
        waiting.join()
        assert passed == [second]
        passed.clear()
        for ledger in (first, second):
            ledger.close()


def test_a_server_that_is_gone_lets_nobody_wait(begun):
    begun._connection.close()
    with begun.turn("ana", asking().question):
        pass


@pytest.mark.parametrize("facts", [(), (asking(),)])
def test_a_transaction_that_the_server_has_given_up_is_not_taken_for_committed(begun, facts):
    """It answers COMMIT alone with ROLLBACK, and raises nothing."""

    def given_up():
        with begun.writing() as page:
            for fact in facts:
                page.append(fact)
            with suppress(psycopg.Error):
                page._database.rows("SELECT nothing")

    raised(LedgerBroken, lambda: given_up(), match="cannot be read or written")
    assert begun.head().number == 4


def test_a_closed_ledger_reaches_no_server_and_lets_nobody_wait(url, key):
    ledger = PostgresLedger(url, key=key)
    ledger.close()
    ledger._database = None
    for use in (ledger._open_connection, ledger._commit):
        raised(LedgerBroken, use, match="closed")
    with ledger.process_turn(bytes(32)):
        pass


def test_what_is_no_failure_of_the_server_is_not_hidden_by_a_turn(begun, monkeypatch):
    monkeypatch.setattr(psycopg.Connection, "execute", lambda *values: 1 / 0)
    raised(ZeroDivisionError, lambda: begun.process_turn(bytes(32)).__enter__())
