"""Metadata of CSVW-EO: JSON of the W3C's CSV on the Web, with words for people, limits and public keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from dpsql.catalog.names import folded
from dpsql.catalog.toml_spelling import toml
from dpsql.errors import BadParameter
from dpsql.suggest.imported import ImportedTable
from dpsql.suggest.numbers import plain
from dpsql.suggest.proposal import Line

_CARRIED: Final = frozenset(
    {
        *("@context", "@type", "@id", "url", "name", "title", "titles", "tableSchema", "maxContributions", "length"),
        *("additionalInformation", "columnGroups", "privacyUnit"),
    }
)
_COLUMN_CARRIED: Final = frozenset(
    {
        *("@type", "@id", "name", "titles", "title", "description", "datatype", "required", "privacyId", "minimum"),
        *("maximum", "keys", "keyValues", "publicKeysValues", "partitions", "publicPartitions", "maxGroupsPerUnit"),
    }
)
_KEYS: Final = ("publicKeysValues", "keyValues", "keys")
_PARTITIONS: Final = ("publicPartitions", "partitions")


def csvw_tables(text: str, file: str) -> Iterator[ImportedTable]:
    """The table of the file, or each of its `tables`."""
    try:
        top = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable(file) from None
    tables = _local(top).get("tables", [top]) if isinstance(top, dict) else None
    if not isinstance(tables, list):
        raise _unreadable(file)
    for table in tables:
        if not isinstance(table, dict) or not isinstance(_local(table).get("tableSchema"), dict):
            raise _unreadable(file)
        yield _table(_local(table), _Lines(text=text, file=file))


def _unreadable(file: str) -> BadParameter:
    return BadParameter(
        f"{file}: not metadata of CSVW-EO",
        why="a file that is half understood could leave out who is protected",
        fix='give a JSON file with "tableSchema": {"columns": […]}',
    )


def _local(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Keys without the prefix of their vocabulary: csvw-eo:privacyId and privacyId are the same."""
    return {key if key.startswith("@") else re.split(r"[:#/]", key)[-1]: value for key, value in entries.items()}


class _Lines:
    """Where a name stands in the file, as far as its text tells."""

    def __init__(self, *, text: str, file: str) -> None:
        self._text, self.file = text, file

    def place(self, name: str | None) -> str:
        match = None if name is None else re.search(rf'"name"\s*:\s*{re.escape(json.dumps(name))}', self._text)
        return self.file if match is None else f"{self.file}:{self._text.count(chr(10), 0, match.start()) + 1}"


def _table(said: Mapping[str, Any], lines: _Lines) -> ImportedTable:
    columns = [_local(column) for column in _local(said["tableSchema"]).get("columns", []) if isinstance(column, dict)]
    named = [column for column in columns if isinstance(column.get("name"), str)]
    people = [folded(column["name"]) for column in named if column.get("privacyId") is True]
    found = {folded(column["name"]): _column(column, lines) for column in named}
    return ImportedTable(
        names=tuple(_names(said)),
        place=lines.file,
        person=tuple(people),
        person_place=lines.place(next((column["name"] for column in named if folded(column["name"]) in people), None)),
        lines=dict(_caps(said, named, lines)),
        columns={name: line for name, line in found.items() if line is not None},
        remarks=tuple(_remarks(said, named, lines)),
    )


def _names(said: Mapping[str, Any]) -> Iterator[str]:
    for key in ("name", "url", "@id"):
        if isinstance(said.get(key), str):
            yield PurePosixPath(said[key]).stem


def _caps(said: Mapping[str, Any], columns: list[dict[str, Any]], lines: _Lines) -> Iterator[tuple[str, Line]]:
    most = said.get("maxContributions")
    if _is_count(most):
        yield "rows_per_person", Line(key="rows_per_person", value=str(most), reason=f"from {lines.file}")
    groups = [column["maxGroupsPerUnit"] for column in columns if _is_count(column.get("maxGroupsPerUnit"))]
    if groups:
        reason = f"from {lines.file}: the largest of its columns"
        yield "groups_per_person", Line(key="groups_per_person", value=str(max(groups)), reason=reason)
    if _is_count(said.get("length")):
        reason = f"from {lines.file}: may everybody know about how many rows there are?"
        yield "rows", Line(key="rows", value=toml(f"about {said['length']}"), reason=reason)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _column(column: Mapping[str, Any], lines: _Lines) -> Line | None:
    """Public keys, or bounds; nothing where the file knows neither."""
    reason = f"from {lines.place(column['name'])}"
    keys = _keys(column)
    if keys:
        return Line(key=column["name"], value=f"{{ keys = {toml(keys)} }}", reason=reason)
    low, high = plain(column.get("minimum")), plain(column.get("maximum"))
    if low is None or high is None:
        return None
    return Line(key=column["name"], value=f"{{ bounds = {toml((low, high))} }}", reason=reason)


def _keys(column: Mapping[str, Any]) -> tuple[str | int | bool, ...]:
    """Listed values, or the values of partitions; ranges are no keys."""
    listed = next((column[key] for key in _KEYS if isinstance(column.get(key), list)), None)
    if listed is None:
        parts: list[object] = next((column[key] for key in _PARTITIONS if isinstance(column.get(key), list)), [])
        listed = [_partition_value(part) for part in parts]
    found = tuple(value for value in listed if isinstance(value, str | int))
    return tuple(dict.fromkeys(found)) if found and len(found) == len(listed) else ()


def _partition_value(part: object) -> object:
    if not isinstance(part, dict):
        return None
    said = _local(part)
    inner = said.get("predicate")
    return (_local(inner) if isinstance(inner, dict) else said).get("partitionValue")


def _remarks(said: Mapping[str, Any], columns: list[dict[str, Any]], lines: _Lines) -> Iterator[str]:
    for key in said:
        if key not in _CARRIED or key in ("additionalInformation", "columnGroups"):
            yield f"{lines.file}: {key} does not carry over: nothing here needs it"
    for column in columns:
        lost = [key for key in column if key not in _COLUMN_CARRIED]
        if lost:
            yield f"{lines.place(column['name'])}: {', '.join(lost)} of {column['name']} does not carry over"
