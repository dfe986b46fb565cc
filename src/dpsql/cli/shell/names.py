"""The names that can be completed: from the views of the policy, which are free and hold nothing of any row."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dpsql import DpsqlError
from dpsql.cli.shell.asker import Asker, free

_COLUMNS: Final = "SELECT table_name, column_name, type, low, high, keys, is_person, is_hidden FROM dp.columns"
_KEYS: Final = "SELECT table_name, column_name, key FROM dp.keys"
_QUOTED: Final = frozenset({"text", "date", "timestamp"})
VIEWS: Final = ("dp.budget", "dp.columns", "dp.keys", "dp.ledger", "dp.policy", "dp.releases")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNote:
    """What the policy says of a column."""

    name: str
    type: str
    low: str | None
    high: str | None
    keys: str | None
    """`public`, `private`, `calendar`, or None."""
    is_person: bool
    is_hidden: bool
    listed: tuple[str | None, ...]
    """The keys that everybody may know."""

    @property
    def is_quoted(self) -> bool:
        """Its values are written between quotes."""
        return self.type in _QUOTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Tables and their columns."""

    tables: Mapping[str, tuple[ColumnNote, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def table(self, name: str) -> tuple[str, tuple[ColumnNote, ...]] | None:
        """The table of this name, however it is spelled."""
        return next(((each, notes) for each, notes in self.tables.items() if each.lower() == name.lower()), None)


def names_of(asker: Asker) -> Names:
    """What may be asked about; raises where nothing may be asked now."""
    listed: dict[tuple[object, object], list[str | None]] = {}
    for table, column, key in free(asker, _KEYS):
        listed.setdefault((table, column), []).append(None if key is None else str(key))
    tables: dict[str, tuple[ColumnNote, ...]] = {}
    for table, column, type_, low, high, keys, is_person, is_hidden in free(asker, _COLUMNS):
        note = ColumnNote(
            name=str(column),
            type="?" if type_ is None else str(type_),
            low=None if low is None else str(low),
            high=None if high is None else str(high),
            keys=None if keys is None else str(keys),
            is_person=bool(is_person),
            is_hidden=bool(is_hidden),
            listed=tuple(listed.get((table, column), ())),
        )
        tables[str(table)] = (*tables.get(str(table), ()), note)
    return Names(tables=tables)


def names_or_none(asker: Asker) -> Names:
    """For completion: where nothing may be asked, nothing is proposed."""
    with suppress(DpsqlError):
        return names_of(asker)
    return Names()
