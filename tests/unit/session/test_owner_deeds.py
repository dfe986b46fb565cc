"""Everything an owner decides is told, of every kind of entry there is."""

from datetime import UTC, date, datetime
from fractions import Fraction
from typing import get_args

from dpsql.accounting.triple import FREE
from dpsql.ledger import facts
from dpsql.ledger.ledger import Charge, Conditions, GrantedBy, Head, Ownership, Role, User
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.promises import write_off
from dpsql.privacy.window import Window
from dpsql.session import entry_rows
from dpsql.session.auditing import audit

OF_ANALYSTS = {Charge, facts.Retried, facts.Stored, facts.Refused}
TOLD_ELSEWHERE = {facts.Opened, facts.Adopted}


LOST = "what was lost up to entry 99 counts as spent, with 2 whole periods of the promise"
LIMITS = ("at most 0.1 a question", "tables a b", "until 2027-01-02", "sees what others were told")


def test_every_kind_of_entry_is_a_deed_of_the_owner_or_of_an_analyst():
    kinds = set(get_args(facts.Fact))
    deeds = {kind for kind in kinds if entry_rows._KINDS[kind].decided is not None}
    assert deeds == kinds - OF_ANALYSTS - TOLD_ELSEWHERE


def decided():
    ledger = MemoryLedger(clock=lambda: 1_790_000_000)  # 2026-09-21
    limits = {"epsilon": Fraction(2), "delta": Fraction(1, 1000), "delta_prime": Fraction(1, 2000)}
    ledger.promise(**limits, per=Window.MONTH)
    ledger.own(Ownership(relation="add_remove", tables=(("people", 'person = "who"'),)))
    ledger.data_version("2026-10")
    conditions = Conditions(
        max_per_query=Fraction(1, 10), tables=("a", "b"), expires=date(2027, 1, 2), sees_releases=True
    )
    ledger.grant("class", epsilon=Fraction(1), conditions=conditions, by=GrantedBy.FILE)
    ledger.revoke("class")
    ledger.issue(User(name="olga", role=Role.OWNER), bytes(32))
    ledger.issue(User(name="mia", role=Role.ANALYST, grant="class"), b"m" * 32)
    ledger.withdraw("olga")
    ledger.freeze("DPIA review", by="dominik")
    ledger.unfreeze("done")
    ledger.renew()
    with ledger.writing() as page:
        write_off(page, Head(number=99, hash=b"", spent=FREE), periods=2)
    ledger.close_promise("new people")
    return ledger


def test_every_decision_is_told_with_where_it_was_said():
    found = audit(decided())
    told = [(each.kind, each.what, each.by) for each in found.deeds]
    assert told == [
        ("promise", "ε = 2, δ = 0.001 for everybody, to be renewed each month", ""),
        ("owners", 'add_remove; people: person = "who"', ""),
        ("data", "version 2026-10", ""),
        ("grant", f"class: ε = 1 in all, {', '.join(LIMITS)}", "the policy file"),
        ("revoke", "class", ""),
        ("token", "olga has one, as owner", ""),
        ("token", "mia has one, as analyst under the grant of class", ""),
        ("token", "olga has none any more", ""),
        ("freeze", "frozen: DPIA review", "dominik"),
        ("freeze", "unfrozen: done", ""),
        ("renewal", "period 2 begins: people are promised one ε more; sooner than each month", ""),
        ("write-off", f"{LOST}; ε = 0 more than the payments that are left", ""),
        ("close", "the promise has ended: new people", ""),
    ]
    assert [each.what for each in found.freezes] == ["frozen: DPIA review", "unfrozen: done"]
    for report in (found.markdown(), found.html()):
        assert report.count("DPIA review") == 1
        assert "olga" in report


def test_what_was_before_is_left_out():
    assert audit(decided(), since=datetime(9000, 1, 1, tzinfo=UTC)).deeds == ()
