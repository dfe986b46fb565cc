"""What was changed behind the back of a ledger is seen: when it is opened, and where it is read, at once."""

from contextlib import closing
from fractions import Fraction

import pytest
from psycopg import DatabaseError

from dpsql.errors import DpsqlError, FrozenLedger, LedgerBroken
from dpsql.testing.ledger_cases import FIRST, asking

ENTRIES = 11


def refusal(store):
    """What opening says; "" where it is content."""
    try:
        store.open().close()
    except LedgerBroken as error:
        return error.what
    return ""


def test_the_ledger_of_these_tests_is_whole(filled):
    kinds = [kind for (kind,) in filled.raw("SELECT kind FROM entries ORDER BY number")]
    assert " ".join(kinds) == "opened promise owners grant grant charge step charge retry step charge"
    with closing(filled.open()) as ledger:
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET kind = 'grant' WHERE number = 3",
        "DELETE FROM entries WHERE number = 11",
        "INSERT INTO entries SELECT number + 20, kind, payload, hash, time FROM entries WHERE number = 3",
    ],
)
def test_entries_are_append_only(filled, statement):
    with pytest.raises(filled.errors, match="append-only"):
        filled.raw(statement)
    assert refusal(filled) == ""


def test_one_changed_byte_of_any_entry_is_seen(filled):
    for number in range(1, ENTRIES + 1):
        ((payload,),) = filled.raw(f"SELECT payload FROM entries WHERE number = {number}")
        for place in (0, len(payload) // 2, len(payload) - 1):
            changed = bytearray(payload)
            changed[place] ^= 1
            filled.unlocked(("UPDATE entries SET payload = ? WHERE number = ?", (bytes(changed), number)))
            assert f"entry {number} " in refusal(filled)
        filled.unlocked(("UPDATE entries SET payload = ? WHERE number = ?", (payload, number)))
        assert refusal(filled) == ""


def test_a_changed_word_time_or_hash_of_any_entry_is_seen(filled):
    for number in range(1, ENTRIES + 1):
        ((kind, link),) = filled.raw(f"SELECT kind, hash FROM entries WHERE number = {number}")
        for change, back in (
            ("kind = 'x' || kind", ("kind = ?", kind)),
            ("time = time - 1", None),
            ("time = time + 1", ("time = time - ?", 1)),
        ):
            filled.unlocked(f"UPDATE entries SET {change} WHERE number = {number}")
            assert f"entry {number} " in refusal(filled)
            if back is not None:
                filled.unlocked((f"UPDATE entries SET {back[0]} WHERE number = ?", (back[1], number)))
            else:
                filled.unlocked(f"UPDATE entries SET time = time + 1 WHERE number = {number}")
        filled.unlocked(("UPDATE entries SET hash = ? WHERE number = ?", (bytes(32), number)))
        assert "does not verify" in refusal(filled)
        filled.unlocked(("UPDATE entries SET hash = ? WHERE number = ?", (link, number)))
        assert refusal(filled) == ""
    filled.unlocked("UPDATE entries SET time = NULL WHERE number = 4")
    assert "entry 4 " in refusal(filled)


@pytest.mark.parametrize("number", [1, 6, 10, 11])
def test_a_removed_entry_is_seen(filled, number):
    filled.unlocked(f"DELETE FROM entries WHERE number = {number}")
    assert "does not verify" in refusal(filled)
    for later in range(number + 1, ENTRIES + 1):  # nor does closing the gap help
        filled.unlocked(f"UPDATE entries SET number = {later - 1} WHERE number = {later}")
    filled.unlocked(f"UPDATE head SET number = {ENTRIES - 1}")
    assert "does not verify" in refusal(filled)


@pytest.mark.parametrize("number", [1, 4, 10])
def test_moved_entries_are_seen(filled, number):
    filled.unlocked(
        f"UPDATE entries SET number = -1 WHERE number = {number}",
        f"UPDATE entries SET number = {number} WHERE number = {number + 1}",
        f"UPDATE entries SET number = {number + 1} WHERE number = -1",
    )
    assert "does not verify" in refusal(filled)


def test_a_repeated_entry_is_seen(filled):
    filled.raw("INSERT INTO entries SELECT 12, kind, payload, hash, time FROM entries WHERE number = 4")
    assert "does not verify" in refusal(filled)
    filled.raw("UPDATE head SET number = 12")
    assert "does not verify" in refusal(filled)


def test_a_ledger_cut_off_with_matching_totals_is_seen(filled):
    """Somebody removes the last charge and everything that follows from it, and sets the head back."""
    before = filled.raw("SELECT spent_epsilon, spent_rho FROM accounts WHERE holder = 'bob'")
    assert before == [("1/10", "1/200")]
    filled.unlocked(
        "DELETE FROM payments WHERE number = 11",
        "DELETE FROM entries WHERE number = 11",
        "UPDATE accounts SET spent_epsilon = '0/1', spent_rho = '0/1' WHERE holder = 'bob'",
        "UPDATE accounts SET spent_epsilon = '1/5', spent_rho = '1/100' WHERE holder = ''",
        "UPDATE head SET number = 10",
    )
    assert "does not verify" in refusal(filled)


CHANGES = [
    "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = 'ana'",
    "UPDATE accounts SET spent_rho = '0/1' WHERE holder = 'ana'",
    "UPDATE accounts SET spent_delta = '1/1000000000' WHERE holder = 'ana'",
    "UPDATE accounts SET spent_epsilon = NULL WHERE holder = 'ana'",
    "UPDATE accounts SET spent_epsilon = 'much' WHERE holder = 'ana'",
    "UPDATE accounts SET epsilon = '1/1' WHERE holder = 'bob'",
    "UPDATE accounts SET rho = '1000/1' WHERE holder = ''",
    "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = ''",
    "UPDATE accounts SET holder = 'eve' WHERE holder = 'bob'",
    "DELETE FROM accounts WHERE holder = 'bob'",
    "INSERT INTO accounts VALUES ('eve', '1/1', '0/1', '0/1', '0/1', '1/1', '0/1', '0/1', '0/1', '')",
    "UPDATE payments SET attempts = 1 WHERE number = 8",
    "UPDATE payments SET steps = 1 WHERE number = 8",
    "UPDATE payments SET stored = 0 WHERE number = 6",
    "UPDATE payments SET analyst = 'bob' WHERE number = 6",
    "UPDATE payments SET question = (SELECT question FROM payments WHERE number = 11) WHERE number = 6",
    "UPDATE payments SET same = (SELECT same FROM payments WHERE number = 11) WHERE number = 6",
    "DELETE FROM payments WHERE number = 11",
    "DELETE FROM steps WHERE payment = 6",
    "UPDATE steps SET step = 1 WHERE payment = 8",
    "UPDATE steps SET payment = 11 WHERE payment = 8",
    "UPDATE latest SET entry = 4 WHERE what = 'grant bob'",
    "DELETE FROM latest WHERE what = 'grant bob'",
    "DELETE FROM head",
    "UPDATE head SET number = 10",
    "UPDATE head SET seal = (SELECT hash FROM entries WHERE number = 1)",
    "UPDATE head SET total = seal",
    "DELETE FROM about",
    "UPDATE about SET schema = 1",
    "UPDATE about SET schema = 3",
    "UPDATE about SET id = 'another'",
    "UPDATE about SET key_check = (SELECT hash FROM entries WHERE number = 1)",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_a_changed_row_is_seen_when_the_ledger_is_opened(filled, statement):
    filled.unlocked(statement)
    assert refusal(filled) != ""


SWAPS = {
    "accounts": ("holder", "'ana'", "'bob'", "spent_epsilon, spent_rho, epsilon, rho, mac"),
    "payments": ("number", "6", "11", "same, question, analyst, stored, mac"),
    "steps": ("payment", "6", "8", "entry, mac"),
}


@pytest.mark.parametrize("table", SWAPS)
def test_swapped_rows_are_seen(filled, table):
    key, one, other, columns = SWAPS[table]
    rows = {name: filled.raw(f"SELECT {columns} FROM {table} WHERE {key} = {name}")[0] for name in (one, other)}
    places = ", ".join(f"{column} = ?" for column in columns.split(", "))
    loose = "UPDATE steps SET entry = -1 WHERE payment = 6" if table == "steps" else "SELECT 1"  # entries are unique
    filled.unlocked(
        loose,
        (f"UPDATE {table} SET {places} WHERE {key} = {other}", rows[one]),
        (f"UPDATE {table} SET {places} WHERE {key} = {one}", rows[other]),
    )
    assert refusal(filled) != ""


def rolled_back(store, table, before):
    """Statements that put the rows of a table back to what they were, proofs and all."""
    places = ", ".join("?" * len(before[0])) if before else ""
    return [f"DELETE FROM {table}", *((f"INSERT INTO {table} VALUES ({places})", row) for row in before)]


@pytest.mark.parametrize("table", ["accounts", "payments", "steps", "head"])
def test_older_rows_put_back_are_seen(filled, table):
    """Each of them was true once, and shows that it was written."""
    before = filled.raw(f"SELECT * FROM {table}")
    with closing(filled.open()) as ledger:
        ledger.store(ledger.charge(asking("two", steps=2)), 1, FIRST)
        ledger.charge(asking("four"))
    assert refusal(filled) == ""
    filled.unlocked(*rolled_back(filled, table, before))
    assert "does not verify" in refusal(filled)


LOOKS = {
    "the account of the analyst": (
        "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = 'ana'",
        lambda ledger: ledger.account("ana"),
    ),
    "the account of the source": (
        "UPDATE accounts SET spent_epsilon = '0/1' WHERE holder = ''",
        lambda ledger: ledger.charge(asking("more")),
    ),
    "attempts": (
        "UPDATE payments SET attempts = 1 WHERE number = 8",
        lambda ledger: ledger.charge(asking("two", steps=2)),
    ),
    "a step": ("DELETE FROM steps WHERE payment = 6", lambda ledger: ledger.charge(asking("one"))),
    "a step of another": (
        "UPDATE steps SET payment = 11 WHERE payment = 6",
        lambda ledger: ledger.recall(asking("three", analyst="bob").question) or ledger.recall(asking("one").question),
    ),
    "a step that is none": (
        "UPDATE steps SET entry = 2 WHERE payment = 6",
        lambda ledger: ledger.recall(asking("one").question),
    ),
    "an answer": (
        "UPDATE entries SET payload = (SELECT payload FROM entries WHERE number = 10) WHERE number = 7",
        lambda ledger: ledger.recall(asking("one").question),
    ),
    "what a grant says": (
        "UPDATE entries SET payload = (SELECT payload FROM entries WHERE number = 5) WHERE number = 4",
        lambda ledger: ledger.conditions("ana"),
    ),
    "the hash before what a grant says": (
        "UPDATE entries SET hash = (SELECT hash FROM entries WHERE number = 1) WHERE number = 3",
        lambda ledger: ledger.conditions("ana"),
    ),
    "which grant holds": (
        "UPDATE latest SET entry = 5 WHERE what = 'grant ana'",
        lambda ledger: ledger.charge(asking("more")),
    ),
    "the head": ("UPDATE head SET number = 10", lambda ledger: ledger.account()),
    "the last entry": ("DELETE FROM entries WHERE number = 11", lambda ledger: ledger.account()),
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_changed_row_is_seen_where_it_is_read_and_ends_the_ledger(filled, what):
    """The ledger was opened while all was well, and has seen the row as it was. Afterwards it refuses what it could
    still read, too."""
    statement, look = LOOKS[what]
    with closing(filled.open()) as ledger:
        for name in ("ana", "bob"):
            ledger.conditions(name)
        for name in ("one", "two", "three"):
            ledger.recall(asking(name).question)
        filled.unlocked(statement)
        with pytest.raises(LedgerBroken):
            look(ledger)
        for use in (ledger.verify, ledger.account, lambda: ledger.charge(asking("new"))):
            with pytest.raises(LedgerBroken):
                use()
    assert refusal(filled) != ""


def test_an_older_account_of_the_source_is_not_charged_again(filled):
    before = filled.raw("SELECT * FROM accounts")
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
        filled.unlocked(*rolled_back(filled, "accounts", before))
        with pytest.raises(LedgerBroken, match="does not verify"):
            ledger.charge(asking("five"))


def test_text_or_a_number_in_the_place_of_bytes_is_damage(filled):
    """SQLite lets anybody write it; PostgreSQL does not."""
    with closing(filled.open()) as ledger:
        ledger.conditions("ana")
        try:
            filled.unlocked("UPDATE entries SET payload = 7 WHERE number = 4")
        except DatabaseError:
            return
        with pytest.raises(LedgerBroken, match="entry 4 "):
            ledger.conditions("ana")


def test_what_another_process_has_written_is_seen_by_one_that_has_read_it_before(filled):
    with closing(filled.open()) as ledger, closing(filled.open()) as other:
        assert ledger.account("ana").spent.epsilon == ledger.account("ana").spent.epsilon == Fraction(2, 10)
        other.charge(asking("four"))
        other.freeze("looked into")
        assert ledger.account("ana").spent.epsilon == Fraction(3, 10)
        with pytest.raises(FrozenLedger):
            ledger.charge(asking("five"))
        other.unfreeze("done")
        assert ledger.charge(asking("five")).number == other.head().number
        ledger.verify()


def test_a_refusal_does_not_end_the_ledger(filled):
    with closing(filled.open()) as ledger:
        for wrong in ("", "nobody"):
            with pytest.raises(DpsqlError):
                ledger.charge(asking(analyst=wrong))
        assert ledger.charge(asking("four")).paid
