"""What was changed behind the back of a ledger is seen."""

import sqlite3

import pytest

from dpsql.errors import LedgerBroken
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.testing.ledger_cases import FIRST, asking

ENTRIES = 10

UNLOCKED = [
    f"DROP TRIGGER {name}" for name in ("entries_are_not_changed", "entries_are_not_removed", "entries_are_numbered")
]


def broken(path):
    """What `verify` says; "" where it is content."""
    try:
        ledger = SqliteLedger(path)
    except LedgerBroken as error:
        return error.what
    try:
        ledger.verify()
    except LedgerBroken as error:
        return error.what
    finally:
        ledger.close()
    return ""


def test_the_ledger_of_these_tests_is_whole(full, raw):
    assert raw(full, "SELECT kind FROM entries ORDER BY number") == [
        (kind,)
        for kind in ("opened", "promise", "grant", "grant", "charge", "step", "charge", "retry", "step", "charge")
    ]
    assert broken(full) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET kind = 'grant' WHERE number = 3",
        "DELETE FROM entries WHERE number = 10",
        "INSERT OR REPLACE INTO entries SELECT number, kind, payload, hash FROM entries WHERE number = 3",
        "INSERT INTO entries SELECT number + 20, kind, payload, hash FROM entries WHERE number = 3",
    ],
)
def test_entries_are_append_only(full, statement, raw):
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw(full, statement)
    assert broken(full) == ""


@pytest.mark.parametrize("number", range(1, ENTRIES + 1))
def test_one_changed_byte_is_seen(full, number, raw):
    ((payload,),) = raw(full, f"SELECT payload FROM entries WHERE number = {number}")
    for place in (0, len(payload) // 2, len(payload) - 1):
        changed = bytearray(payload)
        changed[place] ^= 1
        raw(full, "DROP TRIGGER IF EXISTS entries_are_not_changed")
        raw(full, ("UPDATE entries SET payload = ? WHERE number = ?", (bytes(changed), number)))
        assert f"entry {number} " in broken(full)
    raw(full, ("UPDATE entries SET payload = ? WHERE number = ?", (payload, number)))
    assert broken(full) == ""


@pytest.mark.parametrize("number", range(1, ENTRIES + 1))
def test_a_changed_word_or_hash_is_seen(full, number, raw):
    raw(full, *UNLOCKED)
    ((kind, link),) = raw(full, f"SELECT kind, hash FROM entries WHERE number = {number}")
    raw(full, f"UPDATE entries SET kind = 'x' || kind WHERE number = {number}")
    assert f"entry {number} " in broken(full)
    raw(full, ("UPDATE entries SET kind = ?, hash = ? WHERE number = ?", (kind, bytes(32), number)))
    assert "does not verify" in broken(full)
    raw(full, ("UPDATE entries SET hash = ? WHERE number = ?", (link, number)))
    assert broken(full) == ""
    for column in ("kind", "payload", "hash"):
        raw(full, f"UPDATE entries SET {column} = 7.5 WHERE number = {number}")
    assert broken(full) != ""


@pytest.mark.parametrize("number", range(1, ENTRIES + 1))
def test_a_removed_entry_is_seen(full, number, raw):
    raw(full, *UNLOCKED, f"DELETE FROM entries WHERE number = {number}")
    assert "does not verify" in broken(full)
    raw(full, f"UPDATE entries SET number = number - 1 WHERE number > {number}")  # nor does closing the gap help
    raw(full, f"UPDATE head SET number = {ENTRIES - 1}")
    assert "does not verify" in broken(full)


@pytest.mark.parametrize("number", range(1, ENTRIES))
def test_moved_entries_are_seen(full, number, raw):
    raw(
        full,
        *UNLOCKED,
        f"UPDATE entries SET number = -1 WHERE number = {number}",
        f"UPDATE entries SET number = {number} WHERE number = {number + 1}",
        f"UPDATE entries SET number = {number + 1} WHERE number = -1",
    )
    assert "does not verify" in broken(full)


def test_a_repeated_entry_is_seen(full, raw):
    again = "INSERT INTO entries SELECT 11, kind, payload, hash FROM entries WHERE number = 4"
    raw(full, again)
    assert "does not verify" in broken(full)
    raw(full, "UPDATE head SET number = 11")
    assert "does not verify" in broken(full)


def test_a_ledger_cut_off_with_matching_totals_is_seen_at_once(full, raw):
    """Somebody removes the last charge and everything that follows from it, and sets the head back."""
    before = raw(full, "SELECT spent_epsilon, spent_rho FROM accounts WHERE holder = 'bob'")
    assert before == [("1/10", "1/200")]
    raw(
        full,
        *UNLOCKED,
        "DELETE FROM payments WHERE number = 10",
        "DELETE FROM entries WHERE number = 10",
        "UPDATE accounts SET spent_epsilon = '0/1', spent_rho = '0/1' WHERE holder = 'bob'",
        "UPDATE accounts SET spent_epsilon = '1/5', spent_rho = '1/100' WHERE holder = ''",
        "UPDATE head SET number = 9",
    )
    ledger = SqliteLedger(full)
    for use in (ledger.verify, ledger.account, lambda: ledger.charge(asking("more"))):
        with pytest.raises(LedgerBroken, match="does not verify"):
            use()
    ledger.close()


def test_a_lowered_total_of_the_source_stops_the_next_charge(full, raw):
    raw(full, "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = ''")
    ledger = SqliteLedger(full)
    with pytest.raises(LedgerBroken, match="does not verify"):
        ledger.charge(asking("more"))
    ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = 'ana'",
        "UPDATE accounts SET spent_rho = '0/1' WHERE holder = 'ana'",
        "UPDATE accounts SET spent_delta = '1/1000000000' WHERE holder = 'ana'",
        "UPDATE accounts SET spent_epsilon = NULL WHERE holder = 'ana'",
        "UPDATE accounts SET spent_epsilon = 'much' WHERE holder = 'ana'",
        "UPDATE accounts SET spent_epsilon = '-1/1' WHERE holder = 'ana'",
        "UPDATE accounts SET epsilon = '1/1' WHERE holder = 'bob'",
        "UPDATE accounts SET rho = '1000/1' WHERE holder = ''",
        "DELETE FROM accounts WHERE holder = 'bob'",
        "INSERT INTO accounts VALUES ('eve', '1/1', '0/1', '0/1', '0/1', '1/1', '0/1', '0/1', '0/1')",
        "UPDATE payments SET attempts = 1 WHERE number = 7",
        "UPDATE payments SET steps = 1 WHERE number = 7",
        "UPDATE payments SET question = (SELECT question FROM payments WHERE number = 10) WHERE number = 5",
        "UPDATE payments SET same = (SELECT same FROM payments WHERE number = 10) WHERE number = 5",
        "UPDATE payments SET steps = 'many' WHERE number = 7",
        "DELETE FROM payments WHERE number = 10",
        "DELETE FROM steps WHERE payment = 5",
        "UPDATE steps SET step = 1 WHERE payment = 7",
        "UPDATE steps SET payment = 10 WHERE payment = 7",
        "DELETE FROM head",
    ],
)
def test_tables_that_are_not_the_sum_of_the_entries_are_seen(full, statement, raw):
    raw(full, statement)
    assert broken(full) != ""


def test_a_changed_answer_is_not_told(full, raw):
    ((payload,),) = raw(full, "SELECT payload FROM entries WHERE number = 6")
    raw(full, *UNLOCKED, ("UPDATE entries SET payload = ? WHERE number = 6", (payload.replace(b"ffff", b"fffe"),)))
    ledger = SqliteLedger(full)
    with pytest.raises(LedgerBroken, match="entry 6 "):
        ledger.recall(asking("one").question)
    assert ledger.recall(asking("two").question) == ()
    ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE steps SET entry = 9 WHERE payment = 5",  # the answer to another question
        "UPDATE steps SET entry = 99 WHERE payment = 5",
        "UPDATE steps SET entry = 2 WHERE payment = 5",
        "UPDATE steps SET entry = 1 WHERE payment = 5",  # nothing stands before it
        "UPDATE payments SET number = 2 WHERE number = 5",
    ],
)
def test_an_answer_that_was_put_in_place_of_another_is_not_told(full, statement, raw):
    raw(
        full,
        "DELETE FROM steps WHERE payment = 7",
        statement,
        "UPDATE steps SET payment = (SELECT MIN(number) FROM payments)",
    )
    ledger = SqliteLedger(full)
    with pytest.raises(LedgerBroken):
        ledger.recall(asking("one").question)
    ledger.close()


def test_the_ledger_of_another_key_is_not_taken_over(full, tmp_path):
    other = tmp_path / "other.db"
    SqliteLedger(other).close()
    full.write_bytes(other.read_bytes())
    with pytest.raises(LedgerBroken, match="not its key"):
        SqliteLedger(full)


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM steps"],
        ["DELETE FROM steps", "UPDATE payments SET attempts = 1"],
    ],
)
def test_an_answer_that_was_told_is_not_drawn_again(path, begun, raw, statements):
    """Without its row, a stored step would look like one that was never drawn: new noise for an old payment."""
    ledger = begun()
    receipt = ledger.charge(asking())
    ledger.store(receipt, 0, FIRST)
    ledger.close()
    for statement in statements:
        raw(path, statement)
    ledger = SqliteLedger(path)
    with pytest.raises(LedgerBroken):
        ledger.charge(asking())
    ledger.close()


def test_attempts_are_counted_where_nobody_can_change_them(path, begun, raw):
    ledger = begun()
    ledger.charge(asking())
    ledger.charge(asking())
    ledger.close()
    raw(path, "UPDATE payments SET attempts = 1")
    ledger = SqliteLedger(path)
    with pytest.raises(LedgerBroken):
        ledger.charge(asking())
    ledger.close()
