"""The settings as data; that they hold is tested where engines are opened."""

import subprocess
import sys

import duckdb
import polars as pl
import pytest

from dpsql.engines import hardening
from dpsql.engines.engine import Limits
from dpsql.engines.hardening import AFTERWARDS, AT_BIRTH, hardened
from tests.kits.refusals import raised


@pytest.fixture(scope="module")
def connection():
    made = hardened(":memory:", Limits(threads=1), read_only=False)
    yield made
    made.close()


@pytest.mark.parametrize("name", [*AT_BIRTH, *AFTERWARDS, "threads", "memory_limit", "allowed_paths"])
@pytest.mark.parametrize("words", ["SET {} = 'true'", "SET GLOBAL {} = 'true'", "SET SESSION {} = 'true'", "RESET {}"])
def test_no_setting_can_be_changed_any_more(connection, name, words):
    raised(duckdb.Error, lambda: connection.cursor().execute(words.format(name)))


def test_a_variable_of_the_process_is_no_table(connection):
    people = pl.DataFrame({"secret": [len(AT_BIRTH)]})
    with duckdb.connect() as careless:
        assert careless.execute("SELECT COUNT(*) FROM people").fetchall() == [(people.height,)]
    for where in (connection, connection.cursor()):
        with pytest.raises(duckdb.Error):
            where.execute("SELECT COUNT(*) FROM people")
    assert AT_BIRTH["python_enable_replacements"] == "false"


def test_no_file_is_reached(connection, tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    for sql in (
        f"FROM '{tmp_path / 'a.csv'}'",
        f"COPY (SELECT 1) TO '{tmp_path / 'b.csv'}'",
        f"ATTACH '{tmp_path / 'c.duckdb'}'",
        f"EXPORT DATABASE '{tmp_path / 'd'}'",
    ):
        with pytest.raises(duckdb.Error):
            connection.cursor().execute(sql)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_both_lists_name_different_settings():
    assert not set(AT_BIRTH) & set(AFTERWARDS)


PROGRESS = """
import sys, duckdb
from contextlib import suppress

import dpsql
from dpsql.demonstration import hospital
from dpsql.catalog.column_types import NOTHING_DECLARED
from dpsql.engines.duckdb_sources import opened_source

def is_drawn(connection):
    return connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]

opened, connect = [], duckdb.connect
duckdb.connect = lambda *values, **named: opened.append(connect(*values, **named)) or opened[-1]
fill = hospital._fill
hospital._fill = lambda source: print(is_drawn(source)) or fill(source)
assert is_drawn(connect())  # as in any shell that is started by python -c
dpsql.demo()
with opened_source("t", sys.argv[1], NOTHING_DECLARED):
    for each in opened:
        with suppress(duckdb.ConnectionException):  # closed
            print(is_drawn(each), is_drawn(each.cursor()))
"""


def test_no_progress_bar_is_drawn_over_a_terminal(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    told = subprocess.run(
        [sys.executable, "-c", PROGRESS, tmp_path / "a.csv"], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["False"] * 5  # the demo's rows, its engine, the file


def test_a_connection_that_did_not_take_the_settings_is_not_given_out(monkeypatch):
    monkeypatch.setattr(hardening, "_harden", lambda connection: None)
    assert hardening._connected(":memory:", False, {}) is None
