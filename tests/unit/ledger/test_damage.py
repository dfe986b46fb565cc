"""What was changed behind the back of a ledger is seen.

The end of the ledger and the snapshot it seals: when it is opened, and by every transaction. An entry that is read to
pay, resume or repeat: by its own hash, before it is used. Any other entry: by `verify` and `audit`, which read all of
them, and no longer by opening.
"""

import json
from contextlib import closing
from fractions import Fraction

import pytest
from psycopg import DatabaseError

from dpsql.errors import DpsqlError, FrozenLedger, LedgerBroken
from dpsql.ledger.ledger import Conditions
from dpsql.ledger.sql_page import _by
from tests.kits.cases import cases
from tests.kits.ledger_cases import FIRST, TENTH, asking
from tests.kits.refusals import each_raises, raised

ENTRIES = 11
COLUMNS = "time, kind, analyst, question, same, receipt, hash, payload"


def refusal(store):
    """What opening says; "" where it is content."""
    return refused_by(store, lambda ledger: None)


def verdict(store):
    """What opening and `verify` say; "" where both are content. `audit` reads the same."""
    said = refused_by(store, lambda ledger: ledger.verify())
    assert (refused_by(store, lambda ledger: ledger.entries()) == "") == (said == "")
    return said


def refused_by(store, use):
    try:
        with closing(store.open(anchors=None)) as ledger:
            use(ledger)
    except LedgerBroken as error:
        return error.what
    return ""


def test_the_ledger_of_these_tests_is_whole(filled):
    kinds = [kind for (kind,) in filled.raw("SELECT kind FROM entries ORDER BY number")]
    assert " ".join(kinds) == "opened promise owners grant grant charge step charge retry step charge"
    with closing(filled.open()) as ledger:
        ledger.verify()


@cases(__file__, "statement=")
def test_entries_are_append_only(filled, statement):
    raised(filled.errors, lambda: filled.raw(statement), match="append-only")
    assert verdict(filled) == ""


def test_one_changed_byte_of_any_entry_is_seen(filled):
    for number in range(1, ENTRIES + 1):
        ((payload,),) = filled.raw(f"SELECT payload FROM entries WHERE number = {number}")
        for place in (0, len(payload) // 2, len(payload) - 1):
            changed = bytearray(payload)
            changed[place] ^= 1
            filled.unlocked(("UPDATE entries SET payload = ? WHERE number = ?", (bytes(changed), number)))
            assert f"entry {number} " in verdict(filled)
        filled.unlocked(("UPDATE entries SET payload = ? WHERE number = ?", (payload, number)))
        assert verdict(filled) == ""


@cases(__file__, "column", "change")
def test_a_changed_column_of_any_entry_is_seen(filled, column, change):
    for number in (1, 4, 6, 7, 11):
        ((before,),) = filled.raw(f"SELECT {column} FROM entries WHERE number = {number}")
        filled.unlocked(f"UPDATE entries SET {column} = {change} WHERE number = {number}")
        assert "does not verify" in verdict(filled)
        filled.unlocked((f"UPDATE entries SET {column} = ? WHERE number = ?", (before, number)))
        assert verdict(filled) == ""


@pytest.mark.parametrize("number", [1, 6, 10, 11])
def test_a_removed_entry_is_seen(filled, number):
    filled.unlocked(f"DELETE FROM entries WHERE number = {number}")
    assert "does not verify" in verdict(filled)
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
    assert "does not verify" in verdict(filled)


def test_a_repeated_entry_is_seen(filled):
    filled.raw(f"INSERT INTO entries SELECT 12, {COLUMNS} FROM entries WHERE number = 4")
    assert "does not verify" in refusal(filled)
    filled.raw("UPDATE head SET number = 12")
    assert "does not verify" in refusal(filled)


def test_a_ledger_cut_off_with_a_matching_snapshot_is_seen(filled):
    """Somebody removes the last charge, and writes the snapshot as it would be without it; only the seal is missing."""
    ((snapshot,),) = filled.raw("SELECT snapshot FROM head")
    before = json.loads(snapshot)
    assert before["accounts"]["bob"]["spent"]["epsilon"] == "1/10"
    before["accounts"]["bob"]["spent"] |= {"epsilon": "0/1", "rho": "0/1"}
    before["accounts"][""]["spent"] |= {"epsilon": "1/5", "rho": "1/100"}
    del before["open"]["11"]
    content = json.dumps(before, sort_keys=True, separators=(",", ":")).encode()
    filled.unlocked(("UPDATE head SET number = 10, snapshot = ?", (content,)), "DELETE FROM entries WHERE number = 11")
    assert "does not verify" in refusal(filled)


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["accounts"]["ana"]["spent"].update(epsilon="0/1"),
        lambda found: found["accounts"]["ana"]["spent"].update(epsilon=None),
        lambda found: found["accounts"]["bob"].update(epsilon="1/1"),
        lambda found: found["accounts"][""].update(rho="1000/1"),
        lambda found: found["accounts"].update(eve=found["accounts"].pop("bob")),
        lambda found: found["accounts"].pop("bob"),
        lambda found: found["open"].pop("8"),
        lambda found: found["open"]["8"].pop(),
        lambda found: found["open"].update({"6": [1, 1]}),
        lambda found: found["latest"].update({"grant bob": found["latest"]["grant ana"]}),
        lambda found: found["latest"].pop("owners 3"),
        lambda found: found.update(periods=1),
    ],
)
def test_a_changed_snapshot_is_seen_when_the_ledger_is_opened(filled, change):
    ((snapshot,),) = filled.raw("SELECT snapshot FROM head")
    found = json.loads(snapshot)
    change(found)
    content = json.dumps(found, sort_keys=True, separators=(",", ":")).encode()
    assert content != snapshot
    filled.unlocked(("UPDATE head SET snapshot = ?", (content,)))
    assert "does not verify" in refusal(filled)


CHANGES = [
    "DELETE FROM head",
    "UPDATE head SET number = 10",
    "UPDATE head SET seal = (SELECT hash FROM entries WHERE number = 1)",
    "UPDATE head SET snapshot = seal",
    "DELETE FROM entries WHERE number = 11",
    "DELETE FROM about",
    "UPDATE about SET schema = 3",
    "UPDATE about SET schema = 7",
    "UPDATE about SET id = 'another'",
    "UPDATE about SET key_check = (SELECT hash FROM entries WHERE number = 1)",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_a_changed_row_is_seen_when_the_ledger_is_opened(filled, statement):
    filled.unlocked(statement)
    assert refusal(filled) != ""


def rolled_back(table, before):
    """Statements that put the rows of a table back to what they were, proofs and all."""
    places = ", ".join("?" * len(before[0]))
    return [f"DELETE FROM {table}", *((f"INSERT INTO {table} VALUES ({places})", row) for row in before)]


def test_an_older_head_put_back_is_seen(filled):
    """It was true once, and shows that it was written."""
    before = filled.raw("SELECT * FROM head")
    with closing(filled.open()) as ledger:
        ledger.store(ledger.charge(asking("two", steps=2)), 1, FIRST)
        ledger.charge(asking("four"))
    assert verdict(filled) == ""
    filled.unlocked(*rolled_back("head", before))
    assert "does not verify" in refusal(filled)
    last = filled.raw("SELECT MAX(number) FROM entries")[0][0]
    filled.unlocked(f"UPDATE head SET number = {last}")
    assert "does not verify" in refusal(filled)


def test_a_grant_of_another_history_is_not_read(filled, tmp_path):
    """Two copies went on from one state under one key: an entry of the other verifies by its own hash and the hash
    before it, and is not the one this history has in force."""
    backup = filled.backup()
    with closing(filled.open(anchors=None)) as ledger:
        ledger.charge(asking("here"))
        ledger.grant("ana", epsilon=Fraction(1), conditions=Conditions(max_per_query=Fraction(1)))
    other = filled.raw("SELECT * FROM entries WHERE number IN (12, 13) ORDER BY number")
    filled.restore(backup)
    with closing(filled.open(anchors=None)) as ledger:
        ledger.charge(asking("there"))
        ledger.grant("ana", epsilon=Fraction(1), conditions=Conditions(max_per_query=TENTH))
        ledger.charge(asking("after"))
    places = ", ".join("?" * len(other[0]))
    for row in other:
        filled.unlocked(f"DELETE FROM entries WHERE number = {row[0]}", (f"INSERT INTO entries VALUES ({places})", row))
    with closing(filled.open(anchors=None)) as ledger, pytest.raises(LedgerBroken, match="entry 13 "):
        ledger.charge(asking("more"))


@pytest.mark.parametrize(
    "statement", ["UPDATE entries SET receipt = NULL WHERE number = 7", "DELETE FROM entries WHERE number = 7"]
)
def test_a_hidden_step_gives_no_second_draw(filled, statement):
    """The entry of a stored answer is not found, so that nothing is left to repeat: its question is paid again."""
    filled.unlocked(statement)
    with closing(filled.open(anchors=None)) as ledger:
        assert ledger.charge(asking("one")).paid
    assert "does not verify" in verdict(filled)


def test_attempts_of_an_open_payment_cannot_be_taken_away(filled):
    """They stand in the sealed snapshot, whatever is done to their entries."""
    filled.unlocked("UPDATE entries SET payload = (SELECT payload FROM entries WHERE number = 5) WHERE number = 9")
    with closing(filled.open(anchors=None)) as ledger:
        assert not ledger.charge(asking("two", steps=2)).paid  # the third attempt
        assert ledger.charge(asking("two", steps=2)).paid
    assert "does not verify" in verdict(filled)


LOOKS = {
    "the snapshot": ("UPDATE head SET snapshot = seal", lambda ledger: ledger.account("ana")),
    "the charge of an answer": (
        "UPDATE entries SET analyst = 'bob' WHERE number = 6",
        lambda ledger: ledger.charge(asking("one")),
    ),
    "the question of an answer": (
        "UPDATE entries SET question = (SELECT question FROM entries WHERE number = 11) WHERE number = 6",
        lambda ledger: ledger.recall(asking("three", analyst="bob").question),
    ),
    "who asked what": (
        "UPDATE entries SET same = (SELECT same FROM entries WHERE number = 11) WHERE number = 6",
        lambda ledger: ledger.charge(asking("three", analyst="bob")),
    ),
    "a step of another": (
        "UPDATE entries SET receipt = 6 WHERE number = 10",
        lambda ledger: ledger.recall(asking("one").question) or ledger.charge(asking("two", steps=2)),
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
    "a grant that is gone": ("DELETE FROM entries WHERE number = 4", lambda ledger: ledger.conditions("ana")),
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
        raised(LedgerBroken, lambda: look(ledger))
        for use in (ledger.verify, ledger.account, lambda: ledger.charge(asking("new"))):
            with pytest.raises(LedgerBroken):
                use()
    assert verdict(filled) != ""


def test_an_older_snapshot_is_not_charged_again(filled):
    before = filled.raw("SELECT * FROM head")
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
        filled.unlocked(*rolled_back("head", before))
        raised(LedgerBroken, lambda: ledger.charge(asking("five")), match="does not verify")


def test_text_or_a_number_in_the_place_of_bytes_is_damage(filled):
    """SQLite lets anybody write it; PostgreSQL does not."""
    with closing(filled.open()) as ledger:
        ledger.conditions("ana")
        try:
            filled.unlocked("UPDATE entries SET payload = 7 WHERE number = 4")
        except DatabaseError:
            return
        raised(LedgerBroken, lambda: ledger.conditions("ana"), match="entry 4 ")


@pytest.mark.parametrize("column", ["snapshot", "seal"])
def test_a_number_in_the_place_of_the_seal_or_what_it_seals_is_damage(filled, column):
    try:
        filled.unlocked(f"UPDATE head SET {column} = 7")
    except DatabaseError:
        return
    assert refusal(filled) != ""


def test_a_number_in_the_place_of_the_hash_that_was_seen_last_is_damage(filled):
    filled.open().close()
    with closing(filled.open(anchors=None)) as other:
        other.charge(asking("four"))
    try:
        filled.unlocked(f"UPDATE entries SET hash = 7 WHERE number = {ENTRIES}")
    except DatabaseError:
        return
    raised(LedgerBroken, filled.open)


def test_an_entry_that_an_index_leads_to_wrongly_is_not_taken(filled):
    """An index is covered by no hash: the entry says whose it is."""
    with closing(filled.open()) as ledger, ledger.reading() as page:
        rows = page._database.rows(_by("analyst", "kind"), "ana", "charge")
        assert page._found("analyst", "ana", rows) == [6, 8]
        raised(LedgerBroken, lambda: page._found("analyst", "bob", rows), match="entry 6 ")


def test_what_follows_nothing_that_was_seen_is_not_taken(filled):
    """No entry comes after the last, whose hash is another than this machine has seen."""
    with closing(filled.open()) as ledger, ledger.reading() as page:
        page.require_follows(*page.head())
        raised(LedgerBroken, lambda: page.require_follows(ENTRIES, bytes(32)), match="its last entry")


def test_what_another_process_has_written_is_seen_by_one_that_has_read_it_before(filled):
    with closing(filled.open()) as ledger, closing(filled.open()) as other:
        assert ledger.account("ana").spent.epsilon == ledger.account("ana").spent.epsilon == Fraction(2, 10)
        other.charge(asking("four"))
        other.freeze("looked into")
        assert ledger.account("ana").spent.epsilon == Fraction(3, 10)
        raised(FrozenLedger, lambda: ledger.charge(asking("five")))
        other.unfreeze("done")
        assert ledger.charge(asking("five")).number == other.head().number
        ledger.verify()


def test_a_refusal_does_not_end_the_ledger(filled):
    with closing(filled.open()) as ledger:
        each_raises(DpsqlError, lambda wrong: ledger.charge(asking(analyst=wrong)), ("", "nobody"))
        assert ledger.charge(asking("four")).paid
