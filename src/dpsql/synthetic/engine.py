"""An engine that holds invented rows and nothing else: the very statements of a plan run on it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from dpsql.catalog.model import Catalog
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Engine, Limits
from dpsql.synthetic.tables import invented_tables, with_paths

_LIMITS: Final = Limits(memory_limit="1GB", threads=1, timeout=30.0)
"""What is free must not keep the machine from those who pay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filled:
    """An engine, and which tables it has."""

    catalog: Catalog
    rows: int | None
    engine: DuckdbEngine
    tables: frozenset[str] = frozenset()

    def is_of(self, catalog: Catalog, rows: int | None) -> bool:
        return self.catalog is catalog and self.rows == rows


_filling: Final = threading.Lock()
_filled: Final[dict[int, _Filled]] = {}
"""The one that was filled last, by process: a forked child must not use its parent's connection."""


def invented_engine(catalog: Catalog, tables: Iterable[str], *, rows: int | None = None) -> Engine:
    """These declared tables and those on their paths, with invented rows; no other engine is in its reach, and nothing
    can be written to it. What is there already is not made again, and nobody waits for what others have made."""
    process, wanted = os.getpid(), with_paths(catalog, tables)
    known = _filled.get(process)
    if known is not None and known.is_of(catalog, rows) and wanted <= known.tables:
        return known.engine
    with _filling:
        known = _filled.get(process)
        if known is None or not known.is_of(catalog, rows):
            known = _Filled(catalog=catalog, rows=rows, engine=DuckdbEngine.in_memory(_LIMITS))
        return _fill(process, known, wanted)


def _fill(process: int, known: _Filled, wanted: frozenset[str]) -> Engine:
    made = invented_tables(known.catalog, wanted - known.tables, rows=known.rows)
    _filled[process] = known  # while it is filled already, so that it can be interrupted
    try:
        for source, table in made.items():
            known.engine.add_rows(source, table)
    except BaseException:
        _filled.pop(process, None)  # with half of a table in it
        raise
    _filled[process] = replace(known, tables=known.tables | wanted)
    return known.engine


def interrupt_invented() -> None:
    """Stops every statement that runs on invented rows in this process; each ends as EngineFailed."""
    known = _filled.get(os.getpid())
    if known is not None:
        known.engine.interrupt()
