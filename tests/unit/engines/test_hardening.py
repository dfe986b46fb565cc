"""The settings as data; that they hold is tested where engines are opened."""

import duckdb
import pytest

from dpsql.engines.hardening import AFTERWARDS, AT_BIRTH, hardened


@pytest.fixture
def connection():
    made = hardened(":memory:", read_only=False, memory_limit=None, threads=1)
    yield made
    made.close()


@pytest.mark.parametrize("name", [*AT_BIRTH, *AFTERWARDS, "threads", "memory_limit", "allowed_paths"])
@pytest.mark.parametrize("words", ["SET {} = 'true'", "SET GLOBAL {} = 'true'", "SET SESSION {} = 'true'", "RESET {}"])
def test_no_setting_can_be_changed_any_more(connection, name, words):
    with pytest.raises(duckdb.Error):
        connection.cursor().execute(words.format(name))


def test_both_lists_name_different_settings():
    assert not set(AT_BIRTH) & set(AFTERWARDS)
