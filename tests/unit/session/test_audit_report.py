"""A report says which ledger it is about, up to where, when it was made, and what its numbers mean; and everything that
an owner decides, of every kind of entry there is."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from math import exp
from typing import get_args

import pytest

import dpsql
from dpsql.accounting.triple import FREE
from dpsql.ledger import facts
from dpsql.ledger.facts import Granted
from dpsql.ledger.ledger import Charge, Conditions, GrantedBy, Head, Ownership, Role, User
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.promises import write_off
from dpsql.privacy.window import Window
from dpsql.session import entry_rows
from dpsql.session.auditing import Walk, audit
from dpsql.session.digits import shown_up
from tests.kits.owners import owner_of

OPENED = 1_790_000_000  # 2026-09-21 14:13:20 UTC


def promised(clock=lambda: OPENED, *, per=Window.FOREVER):
    ledger = MemoryLedger(clock=clock)
    ledger.promise(epsilon=Fraction(1), delta=Fraction(0), delta_prime=Fraction(0), per=per)
    return ledger


def test_a_report_says_what_it_is_about():
    ledger = promised()
    found = audit(ledger)
    head = ledger.head()
    for report in (str(found), found.html()):
        assert ledger.id in report
        assert f"by dpsql {dpsql.__version__}" in report
        assert "covers 2026-09-21 14:13 UTC to 2026-09-21 14:13 UTC" in report
        assert f"ends with entry {head.number}, hash {head.hash.hex()}" in report


def test_a_report_is_never_older_than_its_ledger():
    assert audit(promised(lambda: 4_000_000_000)).made.timestamp() == 4_000_000_000


def test_entries_that_came_meanwhile_are_named(monkeypatch):
    """Reading them and asking for the head are two transactions."""
    ledger = promised()
    entries = ledger.entries()
    ledger.freeze("meanwhile")
    monkeypatch.setattr(type(ledger), "entries", lambda self: entries)
    assert "ends with entry 3, of which the last 1 came while this was made and are not in it, hash" in str(
        audit(ledger)
    )


def percent(text):
    (found,) = re.findall(r"at most ([0-9.]+) %", text)
    return float(found)


def test_the_odds_are_those_of_everything_that_was_promised():
    assert "Whatever is asked, for ever" in str(audit(promised()))
    assert "renewed" not in str(audit(promised()))  # nor was it ever to be
    ledger = promised(per=Window.YEAR)
    once = str(audit(ledger))
    assert "Whatever is asked, until it is renewed" in once
    assert "none becomes more than e^ε times as likely" in once
    assert 0 <= percent(once) - 100 / (1 + exp(-1)) < 0.01
    ledger.renew()
    ledger.close_promise("new people")
    ledger.promise(epsilon=Fraction(2), delta=Fraction(0), delta_prime=Fraction(0), per=Window.FOREVER)
    whole = str(audit(ledger))
    assert "for ever" not in whole
    assert "All 3 promises and periods together" in whole
    assert "another renewal or promise adds to this" in whole
    assert 0 <= percent(whole) - 100 / (1 + exp(-4)) < 0.01  # 1 + 1 + 2


def test_a_report_names_whom_it_protects():
    for relation, words in (
        ("add_remove", "whether all rows of one patient are there or not"),
        ("change_one", "all rows of one patient as they are, or others in their place"),
    ):
        ledger = promised()
        ledger.own(Ownership(relation=relation, tables=(("towns", "public"), ("visits", 'person = "patient_id"'))))
        text = str(audit(ledger, person="patient"))
        assert f"Protects   one patient, {relation}: {words}\n" in text
        assert ' visits: person = "patient_id"\n' in text
        assert " towns: public\n" in text
    assert "Protects" not in str(audit(promised()))


def renewed_after(*days):
    """A promise for each month that was renewed after so many days, one after the other."""
    now = [OPENED]
    ledger = promised(lambda: now[0], per=Window.MONTH)
    for wait in days:
        now[0] += wait * 24 * 60 * 60
        ledger.renew()
    return audit(ledger)


def test_renewals_that_came_early_are_named_and_those_in_their_time_are_not():
    found = renewed_after(31, 5)
    assert [each.is_early for each in found.promises] == [False, False, True]
    text = str(found)
    assert text.count("begun sooner than each month") == 1
    assert "It was to be renewed each month, and has 3 periods by now" in text
    renewals = [each.what for each in found.deeds if each.kind == "renewal"]
    assert [what.endswith("; sooner than each month") for what in renewals] == [False, True]
    text = str(renewed_after(31, 30))
    assert "sooner" not in text
    assert "to be renewed" not in text


def test_the_first_period_is_numbered_where_there_are_more():
    assert "period" not in str(renewed_after())
    lines = str(renewed_after(31)).splitlines()
    assert [f", period {number} · kept" in line for number in (1, 2) for line in lines].count(True) == 2
    ledger = promised()
    ledger.close_promise("new people")
    ledger.promise(epsilon=Fraction(2), delta=Fraction(0), delta_prime=Fraction(0), per=Window.FOREVER)
    assert ", period" not in str(audit(ledger))


def test_freezes_are_counted_by_what_they_stopped():
    ledger = promised()
    for reason in ("a review", "a longer review"):
        ledger.freeze(reason)
    ledger.unfreeze("done")
    ledger.freeze("another review")
    found = audit(ledger)
    assert "freezes 2" in str(found)
    expected = ["frozen: a review", "frozen: a longer review", "unfrozen: done", "frozen: another review"]
    assert [each.what for each in found.deeds if each.kind == "freeze"] == expected


def test_a_token_made_anew_ends_the_earlier_one():
    ledger, eve = promised(), User(name="eve", role=Role.AUDITOR)
    for digest in (bytes(32), bytes([1] * 32)):
        ledger.issue(eve, digest)
    ledger.withdraw("eve")
    ledger.issue(eve, bytes([2] * 32))
    found = audit(ledger)
    assert [each.what for each in found.deeds if each.kind == "token"] == [
        "eve has one, as auditor",
        "eve has one, as auditor, made anew: the earlier one ended",
        "eve has none any more",
        "eve has one, as auditor",
    ]
    assert "## What was decided, and by whom" in found.markdown()


def test_a_report_that_does_not_know_its_place_says_how_to_name_it():
    for report in (audit(promised()).markdown(), audit(promised()).html()):
        assert "FILE says where it is" in report
        assert "dpsql ledger verify && dpsql audit" in report.replace("&amp;", "&")


# What a report adds up: payments to what is spent of the promise, and of every grant.

COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def owner():
    with owner_of(60, epsilon=2, delta=1e-3) as owner:
        yield owner


def row_of(report, receipt):
    """The cells of a payment in Markdown, without its escapes."""
    (line,) = (line for line in report.splitlines() if line.startswith(f"| {receipt} |"))
    return [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]


def test_payments_add_up_to_what_is_spent_where_their_costs_do_not(owner):
    ana = owner.grant("ana", budget=2)
    ana.sql(COUNT + " WHERE age < 50", epsilon=Fraction(1, 10), noise="gaussian")
    ana.sql(COUNT, epsilon=Fraction(1, 4), noise="laplace")
    found, account = owner.audit(), owner._ledger.account()
    costs, spent = sum(each.cost for each in found), found.promises[0].spent
    assert abs(costs - Fraction("0.35")) < Fraction(1, 10**4)
    assert found[1].of_promise == Fraction(1, 32) / account.rho * 2  # ε²/2 of ρ*, in ε = 2
    assert sum(each.of_promise for each in found) == spent
    assert sum(each.of_grant for each in found) == found.grants[0].spent
    assert spent != costs
    for report in (str(found), found.html()):
        assert f"told to cost {shown_up(costs)}" in report
        assert f"in one of the two, ρ, as shares of its limit: {shown_up(spent)}" in report


def test_nothing_is_explained_where_costs_add_up(owner):
    owner.grant("ana", budget=2).sql(COUNT, epsilon=1, noise="laplace")
    found = owner.audit()
    assert "told to cost" not in str(found)
    assert [each.of_promise for each in found] == [1]


def test_a_grant_that_was_used_up_is_not_shown_as_passed(owner):
    """What Gaussian noise is told to cost is rounded up."""
    bob = owner.grant("bob", budget=Fraction(3, 10))
    bob.sql(COUNT, epsilon=Fraction(3, 10), noise="gaussian")
    found = owner.audit()
    assert found.grants[0].spent <= Fraction(3, 10)
    assert "bob: ε ≤ 0.3 · kept: 0.3 spent" in str(found)
    assert "bob: 1 payment, 0.3 in all" in str(found)
    assert "| bob | 1 | 0.3 | 0.3 | yes |" in found.markdown().replace("\\", "")


def test_a_limit_below_what_is_spent_is_no_breach(owner):
    owner.grant("bob", budget=1).sql(COUNT, epsilon=1, noise="laplace")
    owner.grant("bob", budget=Fraction(1, 2))
    found = owner.audit()
    assert found.holds
    assert "bob: ε ≤ 0.5 · kept: 1, before the limit was lowered, spent" in str(found)


def test_a_payment_above_its_grant_is_found(owner):
    """The ledger itself does not verify then; what an audit adds up does not lean on that."""
    owner.grant("bob", budget=1).sql(COUNT, epsilon=1, noise="laplace")
    walk = Walk(since=None, texts=True)
    for entry in owner._ledger.entries():
        small = isinstance(entry.fact, Granted)
        walk.past(replace(entry, fact=replace(entry.fact, epsilon=Fraction(1, 2))) if small else entry)
    walk.end_period()
    ((grant,), promise) = walk.grants_told, walk.promises[-1]
    assert (grant.kept, grant.spent, promise.kept) == (False, 1, True)


def test_a_report_with_a_passed_grant_does_not_hold(owner):
    owner.grant("bob", budget=1).sql(COUNT, epsilon=1, noise="laplace")
    found = owner.audit()
    bad = replace(found, grants=tuple(replace(each, kept=False) for each in found.grants))
    assert (found.holds, bad.holds) == (True, False)
    assert "NOT KEPT: 1 spent" in str(bad)


def test_the_grants_of_every_period_are_told():
    with owner_of(60, epsilon=2, per="month") as owner:
        owner.grant("ana", budget=1).sql(COUNT, epsilon=1)
        owner.renew()
        found = owner.audit()
    assert [(each.period, each.spent) for each in found.grants] == [(1, 1), (2, 0)]
    assert [each.of_promise for each in found] == [1]


def test_payments_name_who_paid_and_what_they_are(owner):
    owner.grant("class", budget=2)
    owner.keeper.admit("mia", role="analyst", grant="class")
    mia = owner.analyst("mia")
    mia.sql(COUNT, epsilon=Fraction(1, 10), noise="gaussian")
    mia.sql(COUNT, epsilon=Fraction(2, 10), noise="gaussian")
    found = owner.audit()
    rows = [row_of(found.markdown(), each.receipt)[2:5] for each in found]
    assert rows == [["mia", "class", "fresh"], ["mia", "class", f"top-up of {found[0].receipt}"]]
    assert found.holds


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
