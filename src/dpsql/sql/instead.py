"""What to ask instead: rewrites of questions that are refused, in the words of whoever asked.

They are made of the text, the resolved names and the policy; whether one has a plan is seen before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dpsql.catalog.model import ColumnPolicy, PublicKeys
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import PLAIN_NAME, quoted
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.sql.clauses import clauses_of
from dpsql.sql.notes import Role, Use
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Column
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import ColumnRef

_OVER: Final = re.compile(r"\bOVER\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?:\w+\.)?(\w+)", re.ASCII)
EXAMPLES: Final[Mapping[SqlType, str]] = {
    SqlType.BOOLEAN: "IN (TRUE, FALSE)",
    SqlType.INTEGER: "BETWEEN 0 AND 99",
    SqlType.DOUBLE: "BETWEEN 0 AND 99",
    SqlType.TEXT: "IN ('a', 'b')",
    SqlType.DATE: "BETWEEN '2024-01-01' AND '2024-12-31'",
    SqlType.TIMESTAMP: "BETWEEN '2024-01-01' AND '2024-12-31'",
}
"""Groups that somebody might want; whoever asks puts in their own."""


def statistics_of_rows(query: Resolved) -> Iterator[str]:
    """Statistics of the rows that would be shown: numbers averaged, by the columns whose groups are declared, or rows
    counted. Of a window over them no statistic is near."""
    shown = [use for use in query.uses if use.role is Role.OUTPUT]
    listed = [column for use in shown for column in use.columns if isinstance(column.keys, PublicKeys)]
    written = clauses_of(query.text, query.at)
    if written is None or written.having or _OVER.search(written.items):
        return
    keys, numbers = _written_columns(shown, query)
    keys = keys or ([_spelled(listed[0].name)] if listed and not numbers else [])
    asked = [f"AVG({name})" for name in numbers] or ["COUNT(*)"]
    yield written.asking(", ".join([*keys, *asked]), group_by=", ".join(keys))
    yield written.asking("COUNT(*)")


def _written_columns(shown: Sequence[Use], query: Resolved) -> tuple[list[str], list[str]]:
    """Of the columns that are named one by one: those with declared groups, and the other numbers that have bounds."""
    keys, numbers = [], []
    for use in shown:
        name = query.text[slice(*use.at)] if use.at else ""
        found = _NAME.fullmatch(name)
        if found is None or len(use.columns) != 1 or folded(found[1]) != use.columns[0].name or use.columns[0].hidden:
            continue
        column = use.columns[0]
        if column.keys is not None:
            keys.append(name)
        elif column.type in NUMERIC and column.declared.bounded:
            numbers.append(name)
    return list(dict.fromkeys(keys)), list(dict.fromkeys(numbers))


def public_groups(table: str, query: Resolved) -> list[str]:
    """The columns of a table whose groups everybody may know, each with how many there are."""
    columns = query.catalog.policy.tables[table].columns
    return [
        f"{name} ({len(policy.keys.values)})"
        for name, policy in columns.items()
        if isinstance(policy.keys, PublicKeys) and not policy.hidden
    ]


def without_hidden(use: Use, column: Column, query: Resolved) -> Iterator[str]:
    """Groups that the owner has published, for rows that a hidden column would group or show. What filters by it, or
    computes with it, is another question without it."""
    table = column.origin[0] if column.origin else query.private_tables[0]
    policies = query.catalog.policy.tables[table].columns
    key = next((_spelled(name) for name, policy in policies.items() if _is_listed(policy)), None)
    written = clauses_of(query.text, query.at)
    if key is None or written is None or written.having:
        return
    if use.role is Role.OUTPUT and not query.grouped:
        yield written.asking(f"{key}, COUNT(*)", group_by=key)
    if use.role is Role.GROUP and len(query.keys) == 1 and _NAME.fullmatch(query.keys[0].text):
        hidden = query.keys[0].text
        before, point, _ = hidden.rpartition(".")
        name = re.compile(rf'(?<![\w.]){re.escape(hidden)}(?![\w.(])(?:\s+AS\s+(?:\w+|"[^"]+"))?', re.IGNORECASE)
        yield written.with_groups(name, f"{before}{point}{key}").text


def _spelled(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) else quoted(name)


def _is_listed(column: ColumnPolicy) -> bool:
    return isinstance(column.keys, PublicKeys) and not column.hidden


def of_listed_groups(key: GroupKey, query: Resolved) -> str | None:
    """The same question about some groups that are named in it."""
    written = clauses_of(query.text, query.at)
    name = key.text
    if written is None or not name:
        return None
    return written.also_where(f"{name} {EXAMPLES[key.expression.type]}").text


def with_key(key: GroupKey, written: str, query: Resolved) -> str | None:
    """The same question with a group written in another way."""
    clauses = clauses_of(query.text, query.at)
    if clauses is None or not key.text:
        return None
    name = re.compile(rf"(?<![\w.\"'(]){re.escape(key.text)}(?![\w.(\"'])", re.IGNORECASE)
    return clauses.with_groups(name, written).text


def per_person(key: GroupKey, query: Resolved) -> str | None:
    """For a row per person: the average over all of them, or their number. HAVING says which people are counted."""
    written = clauses_of(query.text, query.at)
    if written is None or not key.text or len(query.keys) != 1:
        return None
    alone = replace(written, before="", order="", tail="", after="")
    if written.having:
        people = replace(alone, items=key.text).text
        return replace(written, source=f"({people}) AS t", where="").asking("COUNT(*)")
    one_row = len(query.tables) == 1 and query.catalog.policy.tables[query.tables[0]].unique
    if not query.aggregates or (one_row and all(not each.arguments for each in query.aggregates)):
        return written.asking(f"COUNT(DISTINCT {key.text})")
    first = query.aggregates[0]
    names = {column.expression: column.name for column in query.finish.outputs}
    name = names.get(ColumnRef(first.column.id, first.column.type), "")
    name = name if name.isidentifier() else "n"
    inner = alone.asking(f"{key.text}, {first.text} AS {name}", group_by=key.text)
    return replace(written, source=f"({inner}) AS t", where="").asking(f"AVG({name})")
