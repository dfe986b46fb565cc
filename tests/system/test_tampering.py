"""Somebody with the file and without the key changes the ledger: it is seen, and nothing is answered from then on."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from dpsql.cli.serve import verified_daily
from dpsql.errors import LedgerBroken

from crashing import STATEMENTS, opened, written

STORED, OTHER = STATEMENTS["one step"].sql, STATEMENTS["two steps"].sql
NEW = "SELECT COUNT(*) FROM people WHERE age > 50"

LAST = "(SELECT MAX(number) FROM entries)"

CHANGES = {
    "a flipped byte": ["UPDATE entries SET payload = CAST('[' || substr(payload, 2) AS BLOB) WHERE kind = 'step'"],
    "a flipped byte of what was asked": [
        "UPDATE entries SET payload = CAST(replace(payload, 'COUNT', 'C0UNT') AS BLOB) WHERE kind = 'charge'"
    ],
    "a removed entry": [
        "DELETE FROM entries WHERE number = 5",
        "UPDATE entries SET number = number - 1 WHERE number > 5",
    ],
    "a reordered entry": [
        "UPDATE entries SET number = -1 WHERE number = 5",
        "UPDATE entries SET number = 5 WHERE number = 6",
        "UPDATE entries SET number = 6 WHERE number = -1",
    ],
    "a truncated tail": [
        f"DELETE FROM entries WHERE number = {LAST}",
        f"DELETE FROM entries WHERE number = {LAST}",
        f"UPDATE head SET number = {LAST}",
    ],
    "a total set back": [
        """UPDATE head SET snapshot = CAST(replace(snapshot, '"spent":{', '"spent":{"was":"",') AS BLOB)"""
    ],
    "an answer that is not found": ["UPDATE entries SET receipt = NULL WHERE kind = 'step'"],
}
"""What is done to the tables. The triggers that keep entries as they are have been taken away, and are put back."""

SEEN_AT_ONCE = {"a removed entry", "a truncated tail", "a total set back"}
"""By opening, and by every transaction: the end of the ledger, and the snapshot it seals. Older entries are looked at
where they are used, by an audit and by `verify`, and not by opening."""


def change(folder: Path, statements: list[str]) -> None:
    with closing(sqlite3.connect(folder / "people.duckdb.ledger")) as database:
        triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
        for _, sql in triggers:
            database.execute(sql)
        database.commit()


@pytest.fixture
def folder(tmp_path):
    """A source whose ledger holds two answers."""
    folder = written(tmp_path / "source")
    with opened(folder) as owner:
        analyst = owner.analyst("ana")
        analyst.sql(STORED)
        analyst.sql(OTHER)
    return folder


def require_refused(*asking) -> None:
    """Each of them is refused, and the code says why."""
    for ask in asking:
        with pytest.raises(LedgerBroken) as refusal:
            ask()
        assert refusal.value.code == "DP901"


@pytest.mark.parametrize("name", CHANGES)
def test_an_open_session_answers_nothing_more(folder, name):
    with opened(folder) as owner:
        analyst = owner.analyst("ana")
        change(folder, CHANGES[name])
        if name not in SEEN_AT_ONCE:
            require_refused(owner.audit)
        require_refused(
            lambda: analyst.sql(STORED),
            lambda: analyst.sql(NEW),
            lambda: analyst.sql(f"EXPLAIN PRIVACY {NEW}"),
            lambda: analyst.sql("SELECT * FROM dp.budget"),
            lambda: analyst.budget,
            owner.audit,
        )


def test_a_server_verifies_again_while_it_runs(folder):
    """An older entry that no question reads: the check of the server finds it, and nothing is answered afterwards."""
    with opened(folder) as owner:
        analyst = owner.analyst("ana")
        change(folder, CHANGES["a flipped byte of what was asked"])
        assert analyst.sql(NEW).cost.epsilon > 0
        with verified_daily(str(folder / "dpsql.toml"), every=0.01):
            until = time.monotonic() + 20
            while time.monotonic() < until:
                try:
                    assert analyst.budget
                except LedgerBroken:
                    break
                time.sleep(0.05)
            require_refused(lambda: analyst.sql(f"{NEW} AND age < 90"))
