"""Which engine reads which address. Adding an engine is one file, one line here, one row in docs/guide/engines.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from dpsql.engines.engine import NO_LIMITS, Engine, Limits, OnFailure
from dpsql.errors import MissingExtra, NoSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where an engine lives. Its class has `of_address`; its module is imported on first use."""

    where: str
    """module:Class"""
    example: str
    extra: str | None = None
    """The optional dependency that brings the driver."""
    file: bool = False
    """What stands behind the two strokes is the path of a file."""


IN_MEMORY: Final = "memory:"
"""The address of an empty database, into which tables are registered."""
ENGINES: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "duckdb": Entry(where="dpsql.engines.duckdb:DuckdbEngine", example="duckdb:///srv/hospital.duckdb", file=True),
        "memory": Entry(where="dpsql.engines.duckdb:DuckdbEngine", example=IN_MEMORY),
    }
)
"""By what an address begins with."""


def open_source(address: str, /, *, limits: Limits = NO_LIMITS, on_failure: OnFailure | None = None) -> Engine:
    """The engine at an address such as `duckdb:///srv/hospital.duckdb` or `memory:`, opened read-only."""
    scheme, entry = _entry(address)
    module, _, name = entry.where.partition(":")
    try:
        opener = getattr(import_module(module), name)
    except ImportError:
        opener = None
    if opener is None:
        raise MissingExtra(
            f"the engine {scheme} needs a driver that is not installed",
            why="drivers are installed only where they are used",
            fix=f"pip install {entry.extra or scheme}",
        )
    engine: Engine = opener.of_address(address, limits, on_failure=on_failure)
    return engine


def located(address: str, *, folder: Path) -> str:
    """The address with its path seen from `folder`, where it has a relative one."""
    scheme, entry = _entry(address)
    return f"{scheme}://{folder.absolute() / address.partition('://')[2]}" if entry.file else address


def file_of(address: str) -> Path | None:
    """The file behind an address; None: the source is no file."""
    _, entry = _entry(address)
    return Path(address.partition("://")[2]) if entry.file else None


def _entry(address: str) -> tuple[str, Entry]:
    """How the address begins, and the engine that reads it."""
    scheme = address.partition(":")[0] if isinstance(address, str) else ""
    entry = ENGINES.get(scheme)
    if entry is None or not _well_formed(address, entry):
        raise NoSource(
            # The address is not repeated: it may hold a password.
            f"no engine reads an address that begins with {scheme!r}" if entry is None else "the address is incomplete",
            why=f"known are {', '.join(known.example for known in ENGINES.values())}",
            fix="write the address like one of these; other engines are not read yet",
        )
    return scheme, entry


def _well_formed(address: str, entry: Entry) -> bool:
    """An address that is a word alone, or a word, two strokes and something behind them, as the example is."""
    _, strokes, rest = address.partition("://")
    return bool(strokes and rest) if "://" in entry.example else address == entry.example
