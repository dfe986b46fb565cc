"""Which column a name means: the tables of one FROM clause, in order, and what of them may be named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from dpsql.catalog.names import did_you_mean, nearest
from dpsql.errors import BadName
from dpsql.sql.parsing.cursor import spelled
from dpsql.sql.relations import Column
from dpsql.sql.syntax import At, Identifier, Name, Star


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One entry of FROM: its alias and the columns that can be named through it."""

    alias: str
    columns: tuple[Column, ...]
    merged: frozenset[str] = frozenset()
    """Names that USING made one with a column of an earlier table: `*` leaves them out, `t.*` and `t.x` do not."""
    shared: tuple[Column, ...] = ()
    """Columns of a FULL JOIN's USING, as either table has them: `*` shows them instead of this table's own."""
    name: str = ""
    """Of a declared table, whatever it is called here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is in sight. `merged` are the columns of USING: the bare name means the first table's."""

    tables: tuple[Table, ...] = ()
    merged: tuple[Column, ...] = ()
    outer: Scope | None = None
    """What is in sight around a subquery of WHERE: a name that is none inside is looked up there."""

    def column(self, name: Name) -> Column:
        """The one column that is meant."""
        if len(name.parts) == 1:
            return self._bare(name.parts[0], name.at)
        if len(name.parts) == 2:
            return self._qualified(name.parts[0], name.parts[1], name.at)
        raise BadName(
            f"{'.'.join(part.written for part in name.parts)} has too many parts",
            why="tables are named as the policy declares them, without a database or a schema",
            fix="write table.column or column",
            at=name.at,
        )

    def star(self, star: Star) -> tuple[Column, ...]:
        """What `*` or `t.*` stands for, in order; a column of USING once, where its first table has it."""
        return tuple(column for _, column in self._starred(star))

    def star_names(self, star: Star) -> tuple[Name, ...]:
        """The same, as names."""
        return tuple(
            Name(
                parts=tuple(
                    Identifier(name=part, written=part, quoted=True) for part in (table.alias, column.name) if part
                ),
                at=star.at,
            )
            for table, column in self._starred(star)
        )

    def _starred(self, star: Star) -> Iterator[tuple[Table, Column]]:
        if star.table is not None:
            table = self._table(star.table)
            yield from ((table, column) for column in table.columns)
            return
        for table in self.tables:
            shared = {column.name: column for column in table.shared}
            for column in table.columns:
                if column.name in shared and column.name not in table.merged:
                    yield Table(alias="", columns=()), shared[column.name]
                elif column.name not in table.merged:
                    yield table, column

    def using(self, names: tuple[Identifier, ...], right: Scope) -> Scope:
        """Both in sight, where each of the names is one column from now on."""
        once = frozenset(name.name for name in names)
        known = {column.name for column in self.merged}
        merged = [self.column(Name(parts=(name,), at=name.at)) for name in names if name.name not in known]
        return Scope(
            tables=(*self.tables, *(replace(table, merged=table.merged | once) for table in right.tables)),
            merged=(*self.merged, *dict.fromkeys(merged), *(each for each in right.merged if each.name not in once)),
        )

    def has(self, name: str) -> bool:
        """True where some column in sight is called so."""
        return any(column.name == name for table in self.tables for column in table.columns)

    def _bare(self, name: Identifier, at: At) -> Column:
        merged = [column for column in self.merged if column.name == name.name]
        found = merged or [column for table in self.tables for column in table.columns if column.name == name.name]
        if len(found) > 1:
            tables = [table.alias for table in self.tables if any(c.name == name.name for c in table.columns)]
            raise BadName(
                f"{name.written} could be a column of {', '.join(tables)}",
                why="a number about the wrong column would look just as good",
                fix=f"say which: {tables[0]}.{name.written}",
                at=at,
            ).instead_of(f"{tables[0]}.{{}}")
        if not found and self.outer is not None and self.outer.has(name.name):
            return self.outer._bare(name, at)
        return found[0] if found else self._unknown(name, self.tables, at)

    def _qualified(self, table: Identifier, name: Identifier, at: At) -> Column:
        own, around = ({entry.alias for entry in scope.tables} for scope in (self, self.outer or self))
        if self.outer is not None and table.name in around - own:
            return self.outer._qualified(table, name, at)
        entry = self._table(table)
        found = [column for column in entry.columns if column.name == name.name]
        return found[0] if found else self._unknown(name, (entry,), at)

    def _table(self, table: Identifier) -> Table:
        found = [entry for entry in self.tables if entry.alias == table.name]
        if len(found) != 1:
            names = [entry.alias for entry in self.tables]
            error = unknown_name(f"no table here is called {table.written}", table.name, names, table.at)
            called = [entry.alias for entry in self.tables if entry.name == table.name and entry.alias.isidentifier()]
            raise error.instead_of(called[0] if len(called) == 1 else None)  # no other table would be the one meant
        return found[0]

    def _unknown(self, name: Identifier, tables: tuple[Table, ...], at: At) -> Column:
        where = " or ".join(entry.alias for entry in tables) or "this query"
        # Hidden columns are not offered. They can be counted, and the join on the person may need one; DP303 names it
        # there. A list of names is for what can be grouped, filtered and added up, and tells nobody what is hidden.
        names = (column.name for table in tables for column in table.columns if not column.hidden)
        error = unknown_name(f"there is no column {name.written} in {where}", name.name, names, at)
        error.fix += _OWNER_DECLARES
        raise error


_OWNER_DECLARES: Final = ". A column of the engine can be queried once the owner declares it under [table.….columns]"


def unknown_name(what: str, name: str, known: Iterable[str], at: At) -> BadName:
    """The error for a name nobody declared; what was meant is guessed from declared names alone."""
    names = sorted(set(known) - {""})
    error = BadName(
        what[:120] + did_you_mean(name, names),
        why="what the owner has not declared cannot be queried",
        fix=f"use one of: {', '.join(map(spelled, names[:12]))}" if names else "declare it in the policy",
        at=at,
    )
    near = nearest(name, names, alike=0.75)  # a hint may be wrong, a rewrite should not be
    error.meant = None if near is None else spelled(near)
    return error


def named(columns: tuple[Column, ...], names: tuple[Identifier, ...]) -> tuple[Column, ...]:
    """The columns under the names that are given to them, if any are."""
    if not names:
        return columns
    if len(names) != len(columns):
        raise BadName(
            f"{len(names)} names for {len(columns)} columns",
            why="each column of a subquery has one name",
            fix="name all of them, or none",
            at=names[0].at,
        )
    return tuple(replace(column, name=name.name) for column, name in zip(columns, names, strict=True))
