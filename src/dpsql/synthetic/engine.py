"""An engine that holds invented rows and nothing else: the very statements of a plan run on it."""

from __future__ import annotations

import os
import threading
from typing import Final

from dpsql.catalog.model import Catalog
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Engine, Limits
from dpsql.synthetic.tables import invented_tables

_LIMITS: Final = Limits(memory_limit="1GB", threads=1, timeout=30.0)
"""What is free must not keep the machine from those who pay."""

_filling: Final = threading.Lock()
_filled: Final[dict[int, tuple[Catalog, int | None, Engine]]] = {}
"""The one that was filled last, by process: a forked child must not use its parent's connection."""


def invented_engine(catalog: Catalog, *, rows: int | None = None) -> Engine:
    """Every declared table, with invented rows; no other engine is in its reach, and nothing can be written to it."""
    process = os.getpid()
    with _filling:
        known = _filled.get(process)
        if known is not None and known[0] is catalog and known[1] == rows:
            return known[2]
        engine = DuckdbEngine.in_memory(_LIMITS)
        for name, table in invented_tables(catalog, rows=rows).items():
            engine.add_rows(name, table)
        _filled[process] = (catalog, rows, engine)
    return engine
