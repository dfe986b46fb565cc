"""One short text for everything declared about some tables: two policies with the same digest plan the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dpsql.catalog.model import Bounds, Catalog, ColumnPolicy, KeyKind, Keys, Value
from dpsql.catalog.names import folded
from dpsql.errors import InternalError

Json: TypeAlias = bool | int | str | list["Json"] | dict[str, "Json"] | None

_FORM: Final = "dpsql policy 1"
"""Changes when the encoding does, so that old and new digests never agree by accident."""


def digest(catalog: Catalog, tables: Iterable[str], *, columns: Set[tuple[str, str]] | None = None) -> str:
    """SHA-256 of the declarations that decide a plan over these tables, in a form without order.

    `columns` are those the plan reads, as (table, column): what is declared about others decides nothing. None: all.

    In it: the tables and those their paths lead through, the relation, and the defaults that change plans. Not in it:
    grants, prices, confidence, words for people, sizes that only previews use. Numbers are compared by value.
    """
    return text_digest(_text(_deciding(catalog, tables, columns)))


def text_digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def declarations(catalog: Catalog, *, others: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Everything declared that a question can meet, with the types of the engine, as one JSON text; grants and the
    promise have entries of their own in a ledger. `others` are declared tables that are not in the catalogue."""
    defaults, person = catalog.policy.defaults, catalog.policy.person
    deciding = _deciding(catalog, catalog.policy.tables, None)
    return _text(
        deciding
        | {
            "tables": {**others, **deciding["tables"]},
            "cost_per_query": value_text(defaults.cost_per_query),
            "confidence": value_text(defaults.confidence),
            "person": {"name": person.name, "label": person.label, "group_size": person.group_size},
        }
    )


def declared_tables(text: str | None) -> dict[str, Any]:
    """The tables in a text of `declarations`, by name; none where there is no text."""
    return {} if text is None else dict(json.loads(text)["tables"])


def _deciding(catalog: Catalog, tables: Iterable[str], columns: Set[tuple[str, str]] | None) -> dict[str, Any]:
    """What decides a plan over these tables."""
    defaults = catalog.policy.defaults
    return {
        "form": _FORM,
        "relation": catalog.policy.person.relation.value,
        "selection_share": value_text(defaults.selection_share),
        "delta_per_query": value_text(defaults.delta_per_query),
        "max_keys": defaults.max_keys,
        "mode": _word(defaults.mode),
        "noise": _word(defaults.noise),
        "tables": {name: _table(catalog, name, columns) for name in sorted(_concerned(catalog, tables))},
    }


def _text(told: Json) -> str:
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _concerned(catalog: Catalog, tables: Iterable[str]) -> set[str]:
    """The tables, and those on their paths."""
    named = set(tables)
    unknown = named - set(catalog.policy.tables)
    if unknown:
        raise InternalError(
            f"no such tables in the catalogue: {', '.join(sorted(unknown))}",
            why="a plan names tables that were never declared",
            fix="report this with the SQL text; nothing was run",
        )
    return named | {step.table for name in named for step in catalog.policy.tables[name].path}


def _table(catalog: Catalog, name: str, columns: Set[tuple[str, str]] | None) -> Json:
    table = catalog.policy.tables[name]
    engine = {folded(column.name): column.engine_type for column in catalog.schema[name].columns}
    return {
        "source": table.source,
        "public": table.public,
        "unit_row": table.unit_row,
        "person": list(table.person),
        "path": [[list(step.columns), step.table, list(step.to_columns)] for step in table.path],
        "unique": table.unique,
        "rows_public": table.rows_public,
        **({"rows": table.rows} if table.rows_public else {}),  # then it is a number of the answer
        "rows_per_person": table.rows_per_person,
        "rows_per_group": table.rows_per_group,
        "groups_per_person": table.groups_per_person,
        "columns": {
            column: _column(policy, engine[column])
            for column, policy in table.columns.items()
            if columns is None or (name, column) in columns
        },
    }


def _column(column: ColumnPolicy, engine_type: str) -> Json:
    return {
        "type": _word(column.type),
        "engine_type": engine_type,  # its width proves ranges
        "bounds": _bounds(column.bounds),
        "keys": _keys(column.keys),
        "hidden": column.hidden,
        "not_null": column.not_null,
        "unique": column.unique,
    }


def _bounds(bounds: Bounds | None) -> Json:
    return None if bounds is None else [value_text(bounds.low), value_text(bounds.high)]


def _keys(keys: Keys | None) -> Json:
    """Released keys are sorted, so the order of a list means nothing."""
    if keys is None or isinstance(keys, KeyKind):
        return _word(keys)
    return sorted((value_text(value) for value in keys.values), key=str)


def _word(member: Enum | None) -> str | None:
    return None if member is None else str(member.value)


def value_text(value: Value) -> str | None:
    """A value with its kind, so that 1, "1" and true stay apart; 2000 and 2000.0 do not."""
    if value is None:
        return None
    if isinstance(value, bool):
        return f"boolean {value}"
    if isinstance(value, (int, Fraction)):
        exact = Fraction(value)
        return f"number {exact.numerator}/{exact.denominator}"
    if isinstance(value, datetime):
        return f"timestamp {value.isoformat()}"
    return f"date {value.isoformat()}" if isinstance(value, date) else f"text {value}"
