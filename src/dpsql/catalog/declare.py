"""A table declared from Python: the same declarations as in the policy file, by the same rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from dpsql.catalog import rules, values
from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import TablePolicy
from dpsql.catalog.names import folded
from dpsql.catalog.sections import Section
from dpsql.catalog.tables import table_of
from dpsql.catalog.types import SqlType


def declared(
    name: str,
    *,
    person: str | Sequence[str] | None = None,
    person_via: str | None = None,
    public: bool = False,
    unit: Literal["person", "row"] | None = None,
    bounds: Mapping[str, Sequence[object]] | None = None,
    keys: Mapping[str, Sequence[object] | str] | None = None,
    hidden: Iterable[str] = (),
    types: Mapping[str, str | SqlType] | None = None,
    columns: Iterable[str] | Literal["all"] | None = None,
    engine_columns: Iterable[str] = (),
    unique: bool | Iterable[str] = False,
    rows: int | str | None = None,
    rows_public: bool = False,
    rows_per_person: int | None = None,
    rows_per_group: int | None = None,
    groups_per_person: int | None = None,
    nulls: Mapping[str, str] | None = None,
) -> TablePolicy:
    """The declaration of one table; BadPolicy where it is wrong.

    Columns named anywhere here are declared; no other column can be queried. `columns` names further ones; "all" is
    the wish to declare every column in `engine_columns`, the names in the engine's schema. `unique=True` says that a
    person has one row; of a public table, `unique` names columns whose values are all different.
    """
    said = {
        "person": person,
        "person_via": person_via,
        "public": public,
        "unit": unit,
        "unique": unique if isinstance(unique, (bool, str)) else None,
        "rows": rows,
        "rows_public": rows_public,
        "rows_per_person": rows_per_person,
        "rows_per_group": rows_per_group,
        "groups_per_person": groups_per_person,
    }
    by_column = {"bounds": bounds, "keys": keys, "type": types, "nulls": nulls}
    flags = {"hidden": hidden, "unique": () if isinstance(unique, (bool, str)) else unique}
    try:
        spelled = values.text(name)
        try:
            more = _every(engine_columns) if columns == "all" else columns
            return _table(spelled, said, _columns(by_column, flags, more=more))
        except Mistake as mistake:
            raise mistake.under(folded(spelled)) from None
    except Mistake as mistake:
        raise mistake.under("table").as_error(None) from None


def _table(name: str, said: Mapping[str, object], columns: Mapping[str, Mapping[str, object]]) -> TablePolicy:
    """The declaration as the policy file would hold it, read by the same reader and held to the same rules."""
    given = {key: value for key, value in said.items() if value is not None}
    table = table_of(folded(name), Section(data={**given, "columns": columns}), source=name)
    for mistake in rules.table_mistakes(table):
        raise mistake
    return table


def _columns(
    by_column: Mapping[str, object], flags: Mapping[str, object], *, more: object
) -> dict[str, dict[str, object]]:
    """What was said kind by kind, turned into what is said column by column."""
    columns: dict[str, dict[str, object]] = {}
    for key, given in by_column.items():
        for name, value in _items(key, given):
            said = columns.setdefault(name, {})
            if key in said:
                raise Mistake(
                    "named twice: upper and lower case do not differ",
                    why="only one of the two could hold",
                    fix="name it once",
                    key=("columns", name, key),
                )
            said[key] = value
    for key, given in flags.items():
        for name in _names(key, given):
            columns.setdefault(name, {})[key] = True
    for name in _names("columns", more):
        columns.setdefault(name, {})
    return columns


def _every(engine_columns: Iterable[str]) -> Iterable[str]:
    """All columns of the engine's table: the owner asks for it in so many words, and the names are known."""
    names = list(engine_columns)
    if not names:
        raise Mistake(
            "all columns are meant, but the engine's are not known",
            why="a column is declared by its name",
            fix='name the columns, for example columns=["age", "city"]',
            key=("columns",),
        )
    return names


def _items(key: str, given: object) -> Iterable[tuple[str, object]]:
    """(folded name, what was said) for each column."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise Mistake(
            f"{values.quoted(given)} is {values.kind_of(given)}",
            why="it is said column by column",
            fix=f'pass {key}={{"column": …}}',
            key=(key,),
        )
    return [(_name(key, name), value) for name, value in given.items()]


def _names(key: str, given: object) -> Iterable[str]:
    """Names in any collection, or one name."""
    if given is None:
        return []
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):
        raise Mistake(
            f"{values.quoted(given)} is no list of names", why="names are meant", fix='pass ["a", "b"]', key=(key,)
        )
    return [_name(key, name) for name in given]


def _name(key: str, name: object) -> str:
    try:
        return values.name(name)
    except Mistake as mistake:
        raise mistake.under(key) from None
