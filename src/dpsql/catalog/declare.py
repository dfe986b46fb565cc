"""A table declared from Python: the same declarations as in the policy file, by the same rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Literal, TypedDict, Unpack

from dpsql.catalog import rules, values
from dpsql.catalog.column_types import ColumnDeclarations, Decided, implied_type
from dpsql.catalog.model import TablePolicy
from dpsql.catalog.names import Mistake, folded
from dpsql.catalog.ownership import named_by
from dpsql.catalog.sections import Section
from dpsql.catalog.tables import declares_all, table_of
from dpsql.catalog.types import SqlType


class TableWords(TypedDict, total=False):
    """What can be said about a table. What is left out, or None, is not said."""

    person: str | Sequence[str] | None
    person_via: str | None
    public: bool
    unit: Literal["person", "row"] | None
    unique: bool | Iterable[str]
    rows: int | str | None
    rows_public: bool
    rows_per_person: int | None
    rows_per_group: int | None
    groups_per_person: int | None
    bounds: Mapping[str, Sequence[object]] | None
    keys: Mapping[str, Sequence[object] | str] | None
    types: Mapping[str, str | SqlType] | None
    nulls: Mapping[str, str] | None
    hidden: Iterable[str]
    columns: Iterable[str] | Literal["all"] | None


_BY_COLUMN: Final[Mapping[str, str]] = {"bounds": "bounds", "keys": "keys", "types": "type", "nulls": "nulls"}
"""Words that are said column by column, and the key each is in the policy file."""
_NAMES: Final = ("hidden", "columns")
_KNOWN: Final = tuple(TableWords.__annotations__)


def declared(name: str, *, engine_columns: Iterable[str] = (), **words: Unpack[TableWords]) -> TablePolicy:
    """The declaration of one table; BadPolicy where it is wrong.

    Columns named anywhere here are declared; no other column can be queried. `columns` names further ones; "all" is
    the wish to declare every column in `engine_columns`, the names in the engine's schema. `unique=True` says that a
    person has one row; of a public table, `unique` names columns whose values are all different.
    """
    with _of_table(name):
        said = Section(data=words).only(_KNOWN).data
        more = _every(engine_columns) if said.get("columns") == "all" else said.get("columns")
        by_column = {key: said.get(word) for word, key in _BY_COLUMN.items()}
        about = {word: value for word, value in said.items() if word not in (*_BY_COLUMN, *_NAMES)}
        flags = {"hidden": said.get("hidden")}
        if not isinstance(said.get("unique"), bool | str):
            flags["unique"] = about.pop("unique", None)
        return _table(name, about, _columns(by_column, flags, more=more))


def column_declarations(name: str, words: TableWords, *, known: Mapping[str, SqlType]) -> ColumnDeclarations:
    """What the words say about the types of columns; `known` is what the ledger says. BadPolicy where it is wrong."""
    table = _named(name, words)
    columns = table.columns.values()
    implied = {column.name: implied_type(column) for column in columns}
    return ColumnDeclarations(
        types={column.name: column.type for column in columns if column.type is not None},
        implied={column: kind for column, kind in implied.items() if kind is not None},
        known=known,
        persons=frozenset(named_by(table)),
        named=None if words.get("columns") == "all" or declares_all(table) else tuple(_as_written(table, words)),
        public=table.public,
    )


def with_types(table: TablePolicy, decided: Mapping[str, Decided]) -> TablePolicy:
    """The declaration with the types that were decided for it; a schema of the data stays with the engine."""
    cast = {folded(name): each for name, each in decided.items() if each.is_cast}
    columns = {
        name: replace(column, type=cast[name].type, is_rounded=cast[name].is_rounded) if name in cast else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def _as_written(table: TablePolicy, words: TableWords) -> Iterator[str]:
    """The declared columns as the words spell them: JSON lines are searched for these very names."""
    given = [words.get(word) for word in ("person", "unique", *_NAMES, *_BY_COLUMN)]
    lists = [[each] if isinstance(each, str) else each for each in given if isinstance(each, str | Iterable)]
    spelled = {folded(each): each for names in lists for each in names if isinstance(each, str)}
    yield from (spelled.get(column, column) for column in table.columns)


def _named(name: str, words: TableWords) -> TablePolicy:
    """The declaration with the columns it names one by one."""
    one_by_one = words.copy()
    if one_by_one.get("columns") == "all":
        one_by_one["columns"] = None
    return declared(name, **one_by_one)


@contextmanager
def _of_table(name: str) -> Iterator[None]:
    """A mistake made inside is told as one of this table."""
    try:
        spelled = values.text(name)
        try:
            yield
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
    """(folded name, what is declared) for each column."""
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
