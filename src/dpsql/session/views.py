"""dp.budget, dp.ledger, dp.releases, dp.policy, dp.columns, dp.keys: one's own standing and the policy, as tables.

They are made of the policy and the ledger, hold nothing of private rows and nothing of other analysts, and are asked
like any public table: exact, free, and never by the engine that holds the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account, remaining
from dpsql.catalog.model import (
    Catalog,
    ColumnPolicy,
    EngineColumn,
    EngineTable,
    Grant,
    KeyKind,
    Parameter,
    Policy,
    PublicKeys,
    TablePolicy,
)
from dpsql.catalog.names import RESERVED_SCHEMA
from dpsql.catalog.spelling import ENGINE_TYPES
from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk, DeskTable, DeskType
from dpsql.engines.engine import DUCKDB, NO_PARAMETERS, Rows
from dpsql.ledger.book import Ledger
from dpsql.session.budget import outlook
from dpsql.session.digits import shown_amount
from dpsql.sql.scope import unknown_name
from dpsql.sql.syntax import Parsed, Select, TableName

_SOURCE: Final = "dp:"

Cells = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the views are made of."""

    catalog: Catalog
    readable: frozenset[str]
    grant: Grant
    analyst: str
    accounts: tuple[Account, ...]
    ledger: Ledger


def _budget(standing: Standing) -> list[Cells]:
    own = standing.accounts[-1]
    usual = standing.catalog.policy.defaults.cost_per_query
    more, note = outlook(standing.ledger, standing.analyst, standing.accounts, usual) or (None, None)
    return [
        (standing.analyst, own.epsilon, own.spent_epsilon, remaining(standing.accounts), own.counted_in, more, note)
    ]


def _ledger(standing: Standing) -> list[Cells]:
    return [
        (paid.receipt, paid.charge.cost, paid.complete, paid.charge.question.data_version, paid.charge.sql)
        for paid in standing.ledger.paid_by(standing.analyst)
    ]


def _releases(standing: Standing) -> list[Cells]:
    return [(number, cost, version, sql) for number, cost, stored, version, sql in _ledger(standing) if stored]


def _policy(standing: Standing) -> list[Cells]:
    policy, grant, promise = standing.catalog.policy, standing.grant, standing.accounts[0]
    defaults = policy.defaults
    said: list[tuple[str, object]] = [
        ("person", policy.person.name),
        ("relation", policy.person.relation.value),
        ("promise.epsilon", promise.epsilon),
        ("promise.delta", promise.delta),
        ("defaults.cost_per_query", defaults.cost_per_query),
        ("defaults.confidence", defaults.confidence),
        ("defaults.selection_share", defaults.selection_share),
        ("defaults.delta_per_query", defaults.delta_per_query),
        ("defaults.max_keys", defaults.max_keys),
        ("defaults.mode", defaults.mode and defaults.mode.value),
        ("defaults.noise", defaults.noise and defaults.noise.value),
        ("grant.budget", grant.budget),
        ("grant.max_per_query", grant.max_per_query),
        ("grant.expires", grant.expires),
    ]
    return [(name, _shown(value)) for name, value in said]


def _columns(standing: Standing) -> list[Cells]:
    tables = standing.catalog.policy.tables
    return [
        (name, *_column(column, tables[name], standing.catalog.schema[name]))
        for name in sorted(standing.readable)
        for column in tables[name].columns.values()
    ]


def _keys(standing: Standing) -> list[Cells]:
    """The groups everybody may know, because the owner has listed them; those that are found privately are not here."""
    tables = standing.catalog.policy.tables
    return [
        (name, column.name, None if key is None else str(key).lower() if isinstance(key, bool) else str(key))
        for name in sorted(standing.readable)
        for column in tables[name].columns.values()
        if isinstance(column.keys, PublicKeys)
        for key in column.keys.values
    ]


def _column(column: ColumnPolicy, table: TablePolicy, engine: EngineTable) -> Cells:
    known = next((each.type for each in engine.columns if each.name.lower() == column.name.lower()), None)
    type_ = column.type or known
    keys = column.keys.value if isinstance(column.keys, KeyKind) else None if column.keys is None else "public"
    low, high = (None, None) if column.bounds is None else (column.bounds.low, column.bounds.high)
    person = not table.path and column.name in table.person
    return (column.name, None if type_ is None else type_.value, _shown(low), _shown(high), keys, person, column.hidden)


def _shown(value: object) -> str | None:
    if value is None:
        return None
    return shown_amount(Fraction(value)) if isinstance(value, Fraction | int) else str(value)


_INTEGER, _DOUBLE, _TEXT, _BOOLEAN = SqlType.INTEGER, SqlType.DOUBLE, SqlType.TEXT, SqlType.BOOLEAN
VIEWS: Final[Mapping[str, tuple[Mapping[str, SqlType], Callable[[Standing], list[Cells]]]]] = {
    "budget": (
        {
            "analyst": _TEXT,
            "total": _DOUBLE,
            "spent": _DOUBLE,
            "remaining": _DOUBLE,
            "counted_in": _TEXT,
            "queries_remaining": _INTEGER,
            "note": _TEXT,
        },
        _budget,
    ),
    "ledger": (
        {"number": _INTEGER, "cost": _DOUBLE, "stored": _BOOLEAN, "data_version": _TEXT, "sql": _TEXT},
        _ledger,
    ),
    "releases": ({"number": _INTEGER, "cost": _DOUBLE, "data_version": _TEXT, "sql": _TEXT}, _releases),
    "policy": ({"name": _TEXT, "value": _TEXT}, _policy),
    "columns": (
        {
            "table_name": _TEXT,
            "column_name": _TEXT,
            "type": _TEXT,
            "low": _TEXT,
            "high": _TEXT,
            "keys": _TEXT,
            "is_person": _BOOLEAN,
            "is_hidden": _BOOLEAN,
        },
        _columns,
    ),
    "keys": ({"table_name": _TEXT, "column_name": _TEXT, "key": _TEXT}, _keys),
}
"""The columns of each view, and how its rows are made."""


def about_a_view(parsed: Parsed) -> Parsed | None:
    """The question with the bare name of the view, where it asks about one and about nothing else."""
    query = parsed.query
    if not isinstance(query, Select) or not isinstance(query.from_, TableName):
        return None
    asked = query.from_
    if len(asked.name) != 2 or asked.name[0].name != RESERVED_SCHEMA:
        return None
    view = asked.name[1]
    if view.name not in VIEWS:
        raise unknown_name(f"there is no view {RESERVED_SCHEMA}.{view.written}", view.name, tuple(VIEWS), asked.at)
    return replace(parsed, query=replace(query, from_=replace(asked, name=(view,))))


def views_under(policy: Policy) -> Catalog:
    """The views as public tables, under the defaults of the policy."""
    columns = {
        name: {column: ColumnPolicy(name=column, type=type_) for column, type_ in types.items()}
        for name, (types, _) in VIEWS.items()
    }
    schema = {
        name: EngineTable(
            name=name,
            columns=tuple(
                EngineColumn(name=column, type=type_, engine_type=ENGINE_TYPES[type_])
                for column, type_ in types.items()
            ),
        )
        for name, (types, _) in VIEWS.items()
    }
    tables = {name: TablePolicy(name=name, source=name, public=True, columns=columns[name]) for name in VIEWS}
    return Catalog(policy=replace(policy, source=_SOURCE, tables=tables, grants=()), schema=schema)


def is_of_views(catalog: Catalog) -> bool:
    """Whether a question is about views: then the engine with the data is not asked."""
    return catalog.policy.source == _SOURCE


class ViewDesk:
    """Runs statements over the views; nothing else is in its reach."""

    def __init__(self, standing: Standing, views: Iterable[str]) -> None:
        self._standing, self._views = standing, tuple(views)
        self.capabilities = DUCKDB

    def run_public(self, sql: str, /, *, parameters: Mapping[str, Parameter] = NO_PARAMETERS) -> Rows:
        made = ((name, *VIEWS[name]) for name in self._views)
        tables = {name: _laid_out(types, rows(self._standing)) for name, types, rows in made}
        return Desk().query(sql, tables, parameters=parameters)


def _laid_out(types: Mapping[str, SqlType], rows: Sequence[Cells]) -> DeskTable:
    columns: tuple[tuple[str, DeskType], ...] = tuple(types.items())
    return DeskTable(columns=columns, rows=rows)
