"""What an engine can do, as data: `sql` prints for a dialect, never for an engine object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    dialect: str
    """Which forms of `sql.functions` and `sql.emit` are printed."""


DUCKDB: Final = Capabilities(dialect="duckdb")
