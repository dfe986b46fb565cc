"""The settings as data; that they hold is tested where engines are opened."""

import duckdb
import polars as pl
import pytest

from dpsql.engines.engine import Limits
from dpsql.engines.hardening import AFTERWARDS, AT_BIRTH, hardened


@pytest.fixture
def connection():
    made = hardened(":memory:", Limits(threads=1), read_only=False)
    yield made
    made.close()


@pytest.mark.parametrize("name", [*AT_BIRTH, *AFTERWARDS, "threads", "memory_limit", "allowed_paths"])
@pytest.mark.parametrize("words", ["SET {} = 'true'", "SET GLOBAL {} = 'true'", "SET SESSION {} = 'true'", "RESET {}"])
def test_no_setting_can_be_changed_any_more(connection, name, words):
    with pytest.raises(duckdb.Error):
        connection.cursor().execute(words.format(name))


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
