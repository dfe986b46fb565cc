"""Metadata of SmartNoise SQL: YAML, by collection, schema and table; columns stand beside the settings of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dpsql.catalog.names import folded
from dpsql.catalog.toml_spelling import toml
from dpsql.errors import BadParameter, MissingExtra
from dpsql.suggest.imported import ImportedTable
from dpsql.suggest.numbers import plain
from dpsql.suggest.proposal import Line

_MOST_ROWS: Final = ("max_ids", "max_contributions", "max_contrib")
_NOT_CARRIED: Final[Mapping[str, str]] = {
    "censor_dims": "rare groups stay hidden wherever keys are private; listed keys are all shown",
    "clamp_counts": "negative counts are shown as they are; GREATEST(n, 0) in a question costs nothing",
    "clamp_columns": "values beyond the bounds always count as the bound",
    "sample_max_ids": "rows beyond rows_per_person never count; there is no switch for it",
    "use_dpsu": "private keys are found by one way",
}
_KNOWN: Final = frozenset({"row_privacy", "rows", *_MOST_ROWS, *_NOT_CARRIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A value of the file and its line; of a mapping, its entries."""

    value: Any
    line: int
    entries: Mapping[str, _Placed] | None = None


def smartnoise_tables(text: str, file: str) -> Iterator[ImportedTable]:
    """Every table of the file."""
    found = [
        (schema, name, table)
        for collection in _entries(_parsed(text, file)).values()
        for schema, tables in _entries(collection).items()
        for name, table in _entries(tables).items()
        if table.entries is not None
    ]
    if not any(column.entries is not None for *_, table in found for column in _entries(table).values()):
        raise BadParameter(
            f"{file}: not metadata of SmartNoise: no table with columns stands in it",
            why="a file that is half understood could leave out who is protected",
            fix="give a YAML file with collection: {schema: {table: {column: {type: int}}}}",
        )
    for schema, name, table in found:
        yield _table(schema, name, table, file)


def _entries(placed: _Placed) -> Mapping[str, _Placed]:
    return placed.entries or {}


def _table(schema: str, name: str, table: _Placed, file: str) -> ImportedTable:
    said = _entries(table)
    columns = {folded(key): placed for key, placed in said.items() if placed.entries is not None}
    people = [key for key, placed in columns.items() if _is_true(_entries(placed).get("private_id"))]
    return ImportedTable(
        names=(f"{schema}.{name}", name),
        place=f"{file}:{table.line}",
        person=tuple(people),
        person_place=f"{file}:{columns[people[0]].line}" if people else "",
        unit_row=_is_true(said.get("row_privacy")),
        lines=dict(_lines(said, file)),
        columns={key: line for key, placed in columns.items() if (line := _column(key, placed, file)) is not None},
        remarks=tuple(_remarks(said, columns, file)),
    )


def _is_true(placed: _Placed | None) -> bool:
    return placed is not None and placed.value is True


def _lines(said: Mapping[str, _Placed], file: str) -> Iterator[tuple[str, Line]]:
    rows = said.get("rows")
    if rows is not None and isinstance(rows.value, int) and rows.value > 0:
        reason = f"from {file}:{rows.line}: may everybody know about how many rows there are?"
        yield "rows", Line(key="rows", value=toml(f"about {rows.value}"), reason=reason)
    most = next((said[key] for key in _MOST_ROWS if key in said), None)
    if most is not None and isinstance(most.value, int) and most.value > 0:
        for key in ("rows_per_person", "groups_per_person"):
            yield key, Line(key=key, value=str(most.value), reason=f"from {file}:{most.line}")


def _column(name: str, placed: _Placed, file: str) -> Line | None:
    """Its bounds; nothing where the file knows none."""
    said = _entries(placed)
    low, high = said.get("lower"), said.get("upper")
    if low is None or high is None:
        return None
    ends = plain(low.value), plain(high.value)
    if ends[0] is None or ends[1] is None:
        return None
    bounds = toml((ends[0], ends[1]))
    return Line(key=name, value=f"{{ bounds = {bounds} }}", reason=f"from {file}:{low.line}")


def _remarks(said: Mapping[str, _Placed], columns: Mapping[str, _Placed], file: str) -> Iterator[str]:
    for key, why in _NOT_CARRIED.items():
        if key in said:
            yield f"{file}:{said[key].line}: {key} does not carry over: {why}"
    for key, placed in said.items():
        if placed.entries is None and key not in _KNOWN:
            yield f"{file}:{placed.line}: {key} does not carry over: it is not known here"
    for key, placed in columns.items():
        if "sensitivity" in _entries(placed):
            yield f"{file}:{placed.line}: sensitivity of {key} does not carry over: it follows from bounds and caps"


def _parsed(text: str, file: str) -> _Placed:
    try:
        import yaml
    except ImportError:
        raise MissingExtra(
            "reading YAML needs a library that is not installed",
            why="it is used for metadata of SmartNoise alone",
            fix="pip install pyyaml",
        ) from None
    try:
        loader = yaml.SafeLoader(text)
        return _placed(loader.get_single_node(), loader, set())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise BadParameter(
            f"{file}{'' if mark is None else f':{mark.line + 1}'}: not metadata in YAML",
            why="a file that is half understood could leave out who is protected",
            fix="give the file that smartnoise-sql reads, without anchors",
        ) from None


def _placed(node: Any, loader: Any, seen: set[int]) -> _Placed:
    """What a node says. One that is named twice is refused: a short file could stand for an endless one."""
    if node is None:
        return _Placed(value=None, line=1)
    if id(node) in seen:
        raise ValueError
    seen.add(id(node))
    line = node.start_mark.line + 1
    if node.id == "mapping":
        entries = {
            str(key.value): replace(_placed(value, loader, seen), line=key.start_mark.line + 1)
            for key, value in node.value
        }
        return _Placed(value=None, line=line, entries=entries)
    return _Placed(value=loader.construct_object(node, deep=True) if node.id == "scalar" else None, line=line)
