"""The stages of a question without an engine, and schemas as CREATE TABLE writes them."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import Catalog, EngineColumn, EngineTable, Mode
from dpsql.catalog.types import SqlType
from dpsql.sql.bound import Bounded, Wishes, bound
from dpsql.sql.check import check
from dpsql.sql.parse import parse
from dpsql.sql.resolve import Resolved, resolve
from dpsql.sql.rewrite import Rewritten, rewrite

TYPES: Final = {"BIGINT": SqlType.INTEGER, "VARCHAR": SqlType.TEXT}
"""Names of the engine that are not those of dpsql."""
RANGES: Final = {"INTEGER": (-(2**31), 2**31 - 1), "BIGINT": (-(2**63), 2**63 - 1)}


def _column(written: str) -> EngineColumn:
    """`age INTEGER NOT NULL`; a type in small letters is one of dpsql, of which no engine says its range."""
    name, kind, *more = written.split()
    low, high = RANGES.get(kind, (None, None))
    type_ = TYPES.get(kind) or SqlType(kind.lower())
    return EngineColumn(name=name, type=type_, engine_type=kind, low=low, high=high, not_null=bool(more))


def declared(policy: str, tables: Mapping[str, str], **unique: tuple[tuple[str, ...], ...]) -> Catalog:
    """The catalogue of a policy over these tables, with the constraints that the engine enforces."""
    schema = {
        name: EngineTable(name=name, columns=tuple(map(_column, columns.split(", "))), unique=unique.get(name, ()))
        for name, columns in tables.items()
    }
    return checked(loads(policy, name="dpsql.toml"), schema)


def resolved(sql: str, catalog: Catalog, *, readable: frozenset[str] | None = None) -> Resolved:
    granted = frozenset(catalog.policy.tables) if readable is None else readable
    return resolve(parse(sql, dialect="duckdb"), catalog, readable=granted, today=date(2026, 1, 1))


def bounded(sql: str, catalog: Catalog, *, gaussian: bool = False, mode: Mode | None = None, **wishes: Any) -> Bounded:
    return bound(check(resolved(sql, catalog)), Wishes(**({"noise": None} | wishes), mode=mode, gaussian=gaussian))


def rewritten(sql: str, catalog: Catalog, **wishes: Any) -> Rewritten:
    return rewrite(bounded(sql, catalog, **wishes))
