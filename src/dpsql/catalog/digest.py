"""One short text for everything declared about some tables: two policies with the same digest plan the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dpsql.catalog.key_lists import declared_list, key_texts, list_digest, value_of_text, value_text
from dpsql.catalog.model import Catalog, ColumnPolicy, PublicKeys
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
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
    return text_digest(_text(_deciding(catalog, tables, columns, keys=_named)))


def text_digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def declarations(catalog: Catalog, *, others: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Everything declared that a question can meet, with the types of the engine, as one JSON text; grants and the
    promise have entries of their own in a ledger. `others` are declared tables that are not in the catalogue."""
    defaults, person = catalog.policy.defaults, catalog.policy.person
    deciding = _deciding(catalog, catalog.policy.tables, None, keys=lambda keys: [*key_texts(keys.values)])
    return _text(
        deciding
        | {
            "tables": {**others, **deciding["tables"]},
            "cost_per_query": value_text(defaults.cost_per_query),
            "confidence": value_text(defaults.confidence),
            "person": {"name": person.name, "label": person.label, "group_size": person.group_size},
        }
    )


def deciding_type(engine_type: str) -> str:
    """What of a type of the engine decides a plan: its width proves ranges. The values of an ENUM decide nothing, and
    may have been copied from rows: a digest of them, which EXPLAIN shows, would confirm whoever guesses them."""
    before, found, _ = engine_type.partition("ENUM(")
    return f"{before}ENUM" if found else engine_type


def declared_keys(text: str) -> Iterator[PublicKeys]:
    """The lists of keys in a text of `declarations`."""
    for table in declared_tables(text).values():
        for column in table["columns"].values():
            if isinstance(column["keys"], list):
                yield PublicKeys(values=tuple(map(value_of_text, column["keys"])))


def declared_tables(text: str | None) -> dict[str, Any]:
    """The tables in a text of `declarations`, by name; none where there is no text."""
    return {} if text is None else dict(json.loads(text)["tables"])


_Told: TypeAlias = Callable[[PublicKeys], Json]
"""How a list of keys is told: whole, or by its digest."""


def _deciding(
    catalog: Catalog, tables: Iterable[str], columns: Set[tuple[str, str]] | None, *, keys: _Told
) -> dict[str, Any]:
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
        "tables": {name: _table(catalog, name, columns, keys) for name in sorted(_concerned(catalog, tables))},
    }


def _text(told: Json) -> str:
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _concerned(catalog: Catalog, tables: Iterable[str]) -> set[str]:
    """The tables, and those on their paths."""
    named = set(tables)
    unknown = named - set(catalog.policy.tables)
    if unknown:
        raise InternalError(f"no such tables in the catalogue: {', '.join(sorted(unknown))}")
    return named | {step.table for name in named for step in catalog.policy.tables[name].path}


def _table(catalog: Catalog, name: str, columns: Set[tuple[str, str]] | None, keys: _Told) -> Json:
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
            column: _column(policy, engine[column], keys)
            for column, policy in table.columns.items()
            if columns is None or (name, column) in columns
        },
    }


def _column(column: ColumnPolicy, engine_type: str, keys: _Told) -> Json:
    return {
        "type": _word(column.type),
        "engine_type": deciding_type(engine_type),
        "bounds": None if column.bounds is None else [value_text(column.bounds.low), value_text(column.bounds.high)],
        "keys": keys(column.keys) if isinstance(column.keys, PublicKeys) else _word(column.keys),
        "hidden": column.hidden,
        "not_null": column.not_null,
        "unique": column.unique,
    }


def _named(keys: PublicKeys) -> Json:
    """By the digest of the list that plans read: it is computed once."""
    return list_digest(declared_list(keys, SqlType.DATE))


def _word(member: Enum | None) -> str | None:
    return None if member is None else str(member.value)
