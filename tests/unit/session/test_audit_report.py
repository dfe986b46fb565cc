"""A report says which ledger it is about, up to where, when it was made, and what its numbers mean."""

import re
from fractions import Fraction
from math import exp

import dpsql
from dpsql.ledger.ledger import Ownership, Role, User
from dpsql.ledger.memory import MemoryLedger
from dpsql.privacy.window import Window
from dpsql.session.auditing import audit

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
    (found,) = re.findall(r"at most ([0-9.]+)%", text)
    return float(found)


def test_the_odds_are_those_of_everything_that_was_promised():
    assert "Whatever is asked, for ever" in str(audit(promised()))
    assert "renewed" not in str(audit(promised()))  # nor was it ever to be
    ledger = promised(per=Window.YEAR)
    once = str(audit(ledger))
    assert "Whatever is asked, until it is renewed" in once
    assert "none becomes more than e^ε times as likely" in once
    assert 0 <= percent(once) - 100 / (1 + exp(-1)) < 0.1
    ledger.renew()
    ledger.close_promise("new people")
    ledger.promise(epsilon=Fraction(2), delta=Fraction(0), delta_prime=Fraction(0), per=Window.FOREVER)
    whole = str(audit(ledger))
    assert "for ever" not in whole
    assert "All 3 promises and periods together" in whole
    assert "another renewal or promise adds to this" in whole
    assert 0 <= percent(whole) - 100 / (1 + exp(-4)) < 0.1  # 1 + 1 + 2


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
