"""How every DuckDB of dpsql is set before it sees a row: the settings as data, and the door that applies them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

import duckdb

from dpsql.engines.engine import Limits
from dpsql.errors import BadParameter, NoSource
from dpsql.require import require_count
from dpsql.written import size_in_bytes

AT_BIRTH: Final[Mapping[str, str]] = MappingProxyType(
    {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",  # a name in a statement is never a variable of this process
        "default_null_order": "nulls_last",
        "default_collation": "",  # texts are compared by their bytes
    }
)
"""Given when the database is opened. Another connection of this process that opened it otherwise is an error."""

AFTERWARDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "temp_directory": "",  # rows are never spilled to a disk
        "TimeZone": "UTC",
        # rewriting expressions by what columns hold: where one failed, whether there was an answer told of a person
        "disabled_optimizers": "statistics_propagation,compressed_materialization",
        "enable_external_access": "false",  # no files, no network, no extensions, no other databases
        "lock_configuration": "true",
    }
)
"""Set in this order: each of the last two forbids changing those before it."""

LOADER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "arrow_lossless_conversion": "true",  # 128-bit integers and UUIDs travel as they are
    }
)
"""For the short-lived database that may read files: it runs our own statement over one file and no question."""

_GROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


def hardened(path: str, limits: Limits, /, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """A DuckDB that reaches no file, network, extension or variable, and whose settings cannot be changed any more."""
    size = f"{half_the_memory() // 1000}KB" if limits.memory_limit is None else limits.memory_limit
    if not size_in_bytes(size):
        raise BadParameter(
            f"memory_limit={size!r} must be a size",
            why="it bounds what statements may use",
            fix='write a number and a unit, as in "4GB"',
        )
    bounds = {"memory_limit": size}
    if limits.threads is not None:
        require_count(threads=limits.threads, at_most=1024)
        bounds["threads"] = str(limits.threads)
    connection = _connected(path, read_only, bounds)
    if connection is None:
        raise NoSource(
            f"{path} cannot be opened as a DuckDB database, hardened and read-only",
            why="dpsql opens nothing that it cannot lock first",
            fix="check that it is a DuckDB file of this or an older version, and that nothing else has it open",
        )
    return connection


def quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Without a progress bar, which DuckDB draws over the terminal of `python -c` and of a notebook. It belongs to this
    connection: its cursors have none."""
    with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets, where DuckDB draws none
        connection.execute("SET enable_progress_bar = false")
    return connection


def half_the_memory() -> int:
    """Half the bytes that this process may use: of the machine, or of its control group where that has fewer."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no control group, or one without a limit
        memory = min(memory, int(_GROUP_LIMIT.read_text(encoding="ascii")))
    return memory // 2


def _connected(path: str, read_only: bool, bounds: Mapping[str, str]) -> duckdb.DuckDBPyConnection | None:
    with suppress(duckdb.Error):
        connection = duckdb.connect(path, read_only=read_only, config={**AT_BIRTH, **bounds})
        with suppress(duckdb.Error):
            _harden(connection)
            now = _settings(connection.cursor())  # statements run on cursors
            if all(now.get(name, value).lower() == value.lower() for name, value in {**AT_BIRTH, **AFTERWARDS}.items()):
                return connection
        connection.close()
    return None


def _harden(connection: duckdb.DuckDBPyConnection) -> None:
    known = _settings(connection)
    if known["lock_configuration"] == "true":
        return  # a second engine on one file shares the first one's instance, which can only be checked
    quiet(connection)
    for name, value in AFTERWARDS.items():
        if name in known:  # TimeZone comes with an extension that a build may lack
            connection.execute(f"SET GLOBAL {name} = '{value}'")  # a cursor does not inherit what is set for one


def _settings(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, COALESCE(value, '') FROM system.main.duckdb_settings()").fetchall())
