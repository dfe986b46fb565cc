"""One table of the policy: what the owner says about it and its columns, from TOML and from Python alike."""

from __future__ import annotations

from typing import Final

from dpsql.catalog import values
from dpsql.catalog.model import ColumnPolicy, Keys, PublicKeys, TablePolicy
from dpsql.catalog.names import Mistake
from dpsql.catalog.ownership import Way, named_by, way
from dpsql.catalog.sections import Section

TABLE_KEYS: Final = (
    "public",
    "person",
    "person_via",
    "unit",
    "unique",
    "rows",
    "rows_public",
    "rows_per_person",
    "rows_per_group",
    "groups_per_person",
    "source",
    "confirmed",
    "columns",
)
COLUMN_KEYS: Final = ("type", "bounds", "keys", "null_key", "hidden", "nulls", "unique")


def table_of(name: str, section: Section, *, source: str) -> TablePolicy:
    """The declaration in a section; `name` is folded, `source` is the name in the engine unless the section has one."""
    section.only(TABLE_KEYS)
    owned = _way(name, section)
    rows_public = section.optional("rows_public", values.flag, False)
    columns = {column: _column(column, part) for column, _, part in section.section("columns").named()}
    return TablePolicy(
        name=name,
        source=section.optional("source", values.text, source),
        public=owned.public,
        unit_row=owned.unit_row,
        person=owned.person,
        path=owned.path,
        unique=section.optional("unique", values.flag, False),
        rows=section.optional("rows", values.count if rows_public else values.size, None),  # a public size is exact
        rows_public=rows_public,
        rows_per_person=section.optional("rows_per_person", values.count, None),
        rows_per_group=section.optional("rows_per_group", values.count, None),
        groups_per_person=section.optional("groups_per_person", values.count, None),
        columns={**_declared_by(owned), **columns},
    )


def declares_all(table: TablePolicy) -> bool:
    """A public table that names no column declares all that can be read."""
    return table.public and not table.columns


def _way(name: str, section: Section) -> Way:
    public = section.optional("public", values.flag, False)
    unit = section.optional("unit", values.unit, None)
    person = section.optional("person", values.names, None)
    person_via = section.optional("person_via", values.text, None)
    try:
        return way(table=name, public=public, unit=unit, person=person, person_via=person_via)
    except Mistake as mistake:
        raise mistake.under(*section.key) from None


def _declared_by(owned: Way) -> dict[str, ColumnPolicy]:
    """The columns of this table that the way to its person names: naming one declares it."""
    return {name: ColumnPolicy(name=name, type=None) for name in named_by(owned)}


def _column(name: str, section: Section) -> ColumnPolicy:
    section.only(COLUMN_KEYS)
    return ColumnPolicy(
        name=name,
        type=section.optional("type", values.sql_type, None),
        bounds=section.optional("bounds", values.bounds, None),
        keys=_keys(section),
        hidden=section.optional("hidden", values.flag, False),
        not_null=section.optional("nulls", values.nulls, False),
        unique=section.optional("unique", values.flag, False),
    )


def _keys(section: Section) -> Keys | None:
    """The keys, with NULL at the end where `null_key` asks for it: TOML has no word for it."""
    keys = section.optional("keys", values.keys, None)
    if not section.optional("null_key", values.flag, False):
        return keys
    if not isinstance(keys, PublicKeys):
        raise Mistake(
            "needs a list of keys",
            why="it adds one more key, for rows without a value, to a public list",
            fix='write keys = ["a", "b"], null_key = true',
            key=(*section.key, "null_key"),
        )
    return PublicKeys(values=(*keys.values, None))
