"""Finer levels are kept with their release, stand in no entry, and are told under a receipt that has paid for them."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.accounting.batch import planned_batch
from dpsql.errors import FrozenLedger, InternalError, NothingStored, NotPermitted
from dpsql.ledger import hiding
from dpsql.ledger.backup import back_up, restore
from dpsql.ledger.encoding import released_to_bytes
from dpsql.ledger.ledger import Charge, Question, ReleasedStep
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.events import Composed, Pure, Refined
from dpsql.privacy.window import Window
from dpsql.testing.ledger_cases import promised

KEY = bytes(range(32))
ENTRY = bytes(range(32, 64))
QUESTION = Question(plan="p", policy="q", data_version="1")


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request, tmp_path):
    ledger = MemoryLedger() if request.param == "memory" else SqliteLedger(tmp_path / "ledger.db")
    promised(ledger, epsilon=Fraction(10), delta=Fraction(0), per=Window.MONTH)
    ledger.grant("ana", epsilon=Fraction(5))
    yield ledger
    ledger.close()


def charge(event=None, *, upon=None, steps=1):
    return Charge(
        analyst="ana",
        question=QUESTION,
        event=event or Composed((Pure(epsilon=Fraction(1, 10)),)),
        cost=Fraction(1, 10),
        steps=steps,
        sql="SELECT 1",
        record="{}",
        upon=upon,
    )


FINER = Composed((Refined(epsilon=Fraction(1, 10)),))
KEYS = (("a",), ("b",))
TOLD, FIRST, SECOND = (ReleasedStep(keys=KEYS, values=((n,), (-n,))) for n in (123456789, 1020304050, 987654321))


def bought(ledger):
    receipt = ledger.charge(charge())
    ledger.store(receipt, 0, TOLD, (FIRST, SECOND))
    return receipt


def test_a_level_is_told_under_the_receipt_that_paid_for_it(ledger):
    first = bought(ledger)
    finer = ledger.charge(charge(FINER, upon=first.number))
    assert ledger.reveal(finer, 0, level=1) == SECOND
    assert [release.steps for release in ledger.recall(QUESTION)] == [(TOLD,), (SECOND,)]
    assert [release.hidden for release in ledger.recall(QUESTION)] == [2, 0]
    ledger.verify()
    assert ledger.account("ana").spent.epsilon == Fraction(1, 5)
    assert ledger.account().spent.rho is None  # never counted in ρ


def test_a_level_is_told_in_the_period_of_its_answer_only(ledger):
    """Its price is a difference: by itself, in another period, it would cost more."""
    first = bought(ledger)
    ledger.renew()
    assert [release.hidden for release in ledger.recall(QUESTION)] == [0]
    with pytest.raises(NotPermitted):
        ledger.charge(charge(FINER, upon=first.number))
    assert ledger.charge(charge(upon=first.number)).paid  # a second measurement has its own price in any period
    ledger.verify()


def test_a_level_is_charged_upon_its_first_answer_only(ledger):
    bought(ledger)
    with pytest.raises(InternalError):
        ledger.charge(charge(FINER))


def test_no_level_is_charged_upon_a_question_of_a_batch(ledger):
    """The price of a batch holds for releases that keep their own prices; a level and its first answer do so together
    alone."""
    event = planned_batch([charge().event], delta=Fraction(0), by="basic")
    (receipt,) = ledger.charge_together([charge()], event=event, cost=event.epsilon)
    ledger.store(receipt, 0, TOLD, (FIRST, SECOND))
    assert [release.hidden for release in ledger.recall(QUESTION)] == [0]
    spent = ledger.account().spent
    with pytest.raises(InternalError):
        ledger.charge(charge(FINER, upon=receipt.number))
    assert ledger.account().spent == spent
    assert ledger.charge(charge(upon=receipt.number)).paid  # a second measurement has its own price


def test_no_level_is_charged_where_rho_is_added_up_as_well():
    ledger = MemoryLedger()
    promised(ledger, epsilon=Fraction(10), delta=Fraction(1, 1000))
    ledger.grant("ana", epsilon=Fraction(5))
    first = bought(ledger)
    with pytest.raises(InternalError):
        ledger.charge(charge(FINER, upon=first.number))
    assert ledger.charge(charge(upon=first.number)).paid


def test_a_level_is_told_once_and_then_told_again(ledger):
    first = bought(ledger)
    finer = ledger.charge(charge(FINER, upon=first.number))
    assert ledger.reveal(finer, 0, level=0) == FIRST
    assert ledger.reveal(finer, 0, level=1) == FIRST  # one payment buys one answer


def test_what_nobody_paid_for_is_not_told(ledger):
    first = bought(ledger)
    with pytest.raises(InternalError):
        ledger.reveal(first, 0, level=0)
    with pytest.raises(InternalError):
        ledger.reveal(replace(first, number=first.number + 40), 0, level=0)


@pytest.mark.parametrize("level", [-1, 2, 99])
def test_there_are_as_many_levels_as_were_drawn(ledger, level):
    finer = ledger.charge(charge(FINER, upon=bought(ledger).number))
    with pytest.raises(NothingStored):
        ledger.reveal(finer, 0, level=level)


def test_a_release_without_levels_has_none_to_tell(ledger):
    receipt = ledger.charge(charge())
    ledger.store(receipt, 0, TOLD)
    assert [release.hidden for release in ledger.recall(QUESTION)] == [0]
    spent = ledger.account().spent
    with pytest.raises(NothingStored, match="nothing was charged"):
        ledger.charge(charge(FINER, upon=receipt.number))
    assert ledger.account().spent == spent
    assert ledger.charge(charge(steps=2)).paid  # others go on
    ledger.verify()


def test_another_attempt_does_not_change_what_is_hidden(ledger):
    first = bought(ledger)
    assert ledger.store(first, 0, SECOND, (TOLD, TOLD)) == TOLD
    finer = ledger.charge(charge(FINER, upon=first.number))
    assert ledger.reveal(finer, 0, level=0) == FIRST


def test_no_level_can_be_read_in_the_file(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.db")
    promised(ledger, epsilon=Fraction(10), delta=Fraction(0))
    ledger.grant("ana", epsilon=Fraction(5))
    bought(ledger)
    ledger.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for step in (FIRST, SECOND):
        for (number,) in step.values:
            assert number.to_bytes(24, "big", signed=True).hex().encode() not in content
    assert TOLD.values[0][0].to_bytes(24, "big", signed=True).hex().encode() in content  # the search can find


def test_a_backup_has_no_levels_and_verifies(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.db")
    promised(ledger, epsilon=Fraction(10), delta=Fraction(0))
    ledger.grant("ana", epsilon=Fraction(5))
    receipt = ledger.charge(charge())
    ledger.store(receipt, 0, TOLD, (FIRST,) * 300)
    ledger.close()
    back_up(tmp_path / "ledger.db", tmp_path / "copy.db", with_key=True)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as file:
        ((content,),) = file.execute("SELECT content FROM hidden").fetchall()
    assert content[5000:5100] in b"".join(path.read_bytes() for path in tmp_path.glob("ledger.db*"))
    assert content[5000:5100] not in (tmp_path / "copy.db").read_bytes()
    copy = SqliteLedger(tmp_path / "copy.db")
    copy.verify()
    assert [release.hidden for release in copy.recall(QUESTION)] == [0]
    copy.close()


def test_levels_that_a_backup_has_not_kept_stop_nobody(tmp_path):
    """A finer level was paid for and not told yet when the ledger was lost."""
    path = tmp_path / "ledger.db"
    with closing(SqliteLedger(path)) as ledger:
        promised(ledger, epsilon=Fraction(10), delta=Fraction(0))
        ledger.grant("ana", epsilon=Fraction(5))
        first = bought(ledger)
        ledger.charge(charge(FINER, upon=first.number))
    back_up(path, tmp_path / "copy.db", with_key=False)
    restore(tmp_path / "copy.db", path, replace=True)
    with closing(SqliteLedger(path)) as ledger, closing(SqliteLedger(path)) as other:
        with pytest.raises(NothingStored):
            ledger.reveal(ledger.charge(charge(FINER, upon=first.number)), 0, level=1)
        for each in (ledger, other):
            assert [release.hidden for release in each.recall(QUESTION)] == [False]  # and so it is priced
        assert other.charge(charge(steps=2)).paid
        ledger.verify()


def test_a_level_of_another_history_is_not_told_under_the_same_receipt(tmp_path, monkeypatch):
    """A copy from before the answer is gone on with: receipts come again, and the file of the lost history is there."""
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    ledger = SqliteLedger(path)
    promised(ledger, epsilon=Fraction(10), delta=Fraction(0))
    ledger.grant("ana", epsilon=Fraction(5))
    receipt = ledger.charge(charge())
    ledger.close()
    back_up(path, copy, with_key=True)
    for file, told in ((path, TOLD), (copy, FIRST)):
        monkeypatch.setenv("DPSQL_STATE", str(tmp_path / f"seen by {told.values}"))
        ledger = SqliteLedger(file)
        ledger.store(receipt, 0, told, (FIRST, SECOND))
        ledger.close()
    with closing(sqlite3.connect(path)) as file:
        ((content,),) = file.execute("SELECT content FROM hidden").fetchall()
    with closing(sqlite3.connect(copy)) as file, file:
        file.execute("UPDATE hidden SET content = ?", (content,))
    ledger = SqliteLedger(copy)
    assert [release.hidden for release in ledger.recall(QUESTION)] == [0]
    with pytest.raises(NothingStored, match="nothing was charged"):
        ledger.charge(charge(FINER, upon=receipt.number))
    ledger.close()


DAMAGES = {
    "a byte": "UPDATE hidden SET content = CAST(zeroblob(1) || substr(content, 2) AS BLOB)",
    "zeros": "UPDATE hidden SET content = zeroblob(length(content))",
    "too short": "UPDATE hidden SET content = x'00'",
    "text": "UPDATE hidden SET content = 'text'",
    "no text": "UPDATE hidden SET content = CAST(x'ff00' AS TEXT)",
    "a number": "UPDATE hidden SET content = 7",
    "gone": "DELETE FROM hidden",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_levels_are_absent_and_break_no_ledger(tmp_path, damage):
    """Known before the price; and where they are damaged after it, an error of that question alone."""
    ledger = SqliteLedger(tmp_path / "ledger.db")
    promised(ledger, epsilon=Fraction(10), delta=Fraction(0))
    ledger.grant("ana", epsilon=Fraction(5))
    first = bought(ledger)
    finer = ledger.charge(charge(FINER, upon=first.number))
    assert [release.hidden for release in ledger.recall(QUESTION)] == [2]
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as file, file:
        file.execute(DAMAGES[damage])
    assert [release.hidden for release in ledger.recall(QUESTION)] == [0]
    with pytest.raises(NothingStored):
        ledger.reveal(finer, 0, level=0)
    spent = ledger.account().spent
    with pytest.raises(NothingStored, match="nothing was charged"):
        ledger.charge(charge(Composed((Refined(epsilon=Fraction(1, 5)),)), upon=first.number))
    assert ledger.account().spent == spent
    ledger.freeze("look")
    with pytest.raises(FrozenLedger):  # who may not pay at all is told that
        ledger.charge(charge(Composed((Refined(epsilon=Fraction(1, 5)),)), upon=first.number))
    ledger.unfreeze("looked")
    ledger.verify()
    assert ledger.charge(charge(upon=first.number, steps=2)).paid
    ledger.close()
    SqliteLedger(tmp_path / "ledger.db").close()  # no other process takes it for broken


# ---- hiding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [b"", b"x", bytes(32), b"abc" * 5000])
def test_what_was_hidden_is_revealed(plain):
    kept = hiding.hidden(KEY, plain, receipt=7, step=1, entry=ENTRY)
    assert len(kept) == len(plain) + 56
    assert hiding.revealed(KEY, kept, receipt=7, step=1, entry=ENTRY) == plain


def test_the_same_is_hidden_differently_each_time():
    assert len({hiding.hidden(KEY, b"same", receipt=7, step=1, entry=ENTRY) for _ in range(20)}) == 20


def test_nothing_but_what_was_hidden_is_revealed():
    kept = hiding.hidden(KEY, released_to_bytes(FIRST), receipt=7, step=1, entry=ENTRY)
    for place in range(0, len(kept), 997):
        changed = kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :]
        assert hiding.revealed(KEY, changed, receipt=7, step=1, entry=ENTRY) is None
    others = (bytes(32), 7, 1, ENTRY), (KEY, 8, 1, ENTRY), (KEY, 7, 0, ENTRY), (KEY, 71, 1, ENTRY), (KEY, 7, 1, KEY)
    for key, receipt, step, entry in others:
        assert hiding.revealed(key, kept, receipt=receipt, step=step, entry=entry) is None
    for short in (b"", kept[:55], kept[:-1]):
        assert hiding.revealed(KEY, short, receipt=7, step=1, entry=ENTRY) is None
