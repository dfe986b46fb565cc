"""Check 14: a ledger that was changed is seen, nothing is answered from it, and an auditor gets a report.

A system fails where somebody who can write the file, and has no key, lowers what was spent, takes the last payment away
or puts yesterday's file back, and is not found out by the next command; or where they change an older entry and are not
found out by whatever uses that entry, by `ledger verify` and by `audit`. Opening reads no older entries.
"""

import shutil
import sqlite3
from contextlib import closing

import pytest
from persistent_clinic import made, question

import dpsql
from dpsql.cli.main import main

BROKEN = 9
LAST = "(SELECT MAX(number) FROM entries)"
CHANGES = {
    "what was spent is lowered": [
        """UPDATE head SET snapshot = CAST(replace(snapshot, '"spent":{', '"spent":{"was":"",') AS BLOB)"""
    ],
    "a question is another one": [
        "UPDATE entries SET payload = CAST(replace(payload, 'COUNT', 'C0UNT') AS BLOB) WHERE kind = 'charge'"
    ],
    "the last payment is gone": [
        f"DELETE FROM entries WHERE number = {LAST}",
        f"DELETE FROM entries WHERE number = {LAST}",
        f"UPDATE head SET number = {LAST}",
    ],
    "the whole file is of yesterday": [],
}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A clinic that was asked two questions, and its ledger after the first."""
    folder = tmp_path_factory.mktemp("clinic")
    policy = made(folder)
    ledger, yesterday = folder / "clinic.duckdb.ledger", folder / "yesterday"
    with dpsql.connect(policy, user="ana") as ana:
        ana.sql(question(1))
    shutil.copy(ledger, yesterday)
    with dpsql.connect(policy, user="ana") as ana:
        ana.sql(question(2))
    return policy, ledger, yesterday


@pytest.fixture(params=CHANGES)
def changed(clinic, request):
    """The same with a ledger that somebody has changed; put right again afterwards."""
    policy, ledger, yesterday = clinic
    before = ledger.read_bytes()
    if CHANGES[request.param]:
        change(ledger, CHANGES[request.param])
    else:
        shutil.copy(yesterday, ledger)
    yield policy
    ledger.write_bytes(before)


def change(ledger, statements):
    """What guards the tables inside the file is taken away, and put back: nobody shall be found out by that."""
    with closing(sqlite3.connect(ledger)) as file:
        guards = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for statement in (*(f"DROP TRIGGER {name}" for name, _ in guards), *statements, *(sql for _, sql in guards)):
            file.execute(statement)
        file.commit()


def said(capsys, *words):
    code = main([str(word) for word in words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_change_is_seen_and_nothing_is_told_from_then_on(changed, capsys):
    for words in (["ledger", "verify"], ["audit"]):
        code, _, err = said(capsys, *words, "--policy", changed)
        assert (code, "DP901" in err) == (BROKEN, True), words
    for number in (1, 3):  # one that is stored, and a new one
        code, out, err = said(capsys, changed, "-c", question(number), "--as", "ana")
        assert (code, out) == (BROKEN, ""), number
        assert "DP901" in err
        assert "Fix" in err


def test_an_older_entry_is_looked_at_where_it_is_used(clinic, capsys):
    """Opening reads the end of the ledger; the question that was changed is not repeated, and ends all answers."""
    policy, ledger, _ = clinic
    assert said(capsys, "ledger", "verify", "--policy", policy)[0] == 0
    before = ledger.read_bytes()
    change(ledger, CHANGES["a question is another one"])
    assert said(capsys, "budget", "show", "--policy", policy)[0] == 0
    for number in (1, 3):
        code, out, err = said(capsys, policy, "-c", question(number), "--as", "ana")
        assert (code, out, "DP901" in err) == (BROKEN, "", True), number
    ledger.write_bytes(before)
    assert said(capsys, "ledger", "verify", "--policy", policy)[0] == 0


def test_the_ledger_as_it_was_verifies(clinic, capsys):
    policy, _, _ = clinic
    code, out, _ = said(capsys, "ledger", "verify", "--policy", policy)
    assert code == 0
    assert "chain intact" in out
    assert said(capsys, policy, "-c", question(1), "--as", "ana")[0] == 0


@pytest.mark.parametrize("kind", ["md", "html"])
def test_an_auditor_gets_a_report_in_plain_words(clinic, capsys, tmp_path, kind):
    policy, _, _ = clinic
    file = tmp_path / f"report.{kind}"
    assert said(capsys, "audit", "--policy", policy, "--report", file)[0] == 0
    report = file.read_text(encoding="utf-8")
    for words in ("one patient", "50–50 guess", "chain intact", "2/2 prices derived again", "ana"):
        assert words in report, words
    assert "age &gt;= 1" not in report  # texts are the owner's to show
    assert "age >= 1" not in report
