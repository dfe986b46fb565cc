"""Groups that are refused: more than an answer may have, or such that nobody has said how they become known.

Finding groups privately costs delta and hides the rare ones. Nothing is found so unless the owner has said
`keys = "private"`, or the expression is made of listed keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpsql.catalog.model import KeyKind, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.errors import BadKey
from dpsql.sql.check import count_people_instead
from dpsql.sql.injective import keys_of_people
from dpsql.sql.instead import EXAMPLES, of_listed_groups, per_person, with_key
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Column
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, Constant, Scalar, columns_of
from dpsql.sql.stretches import stretch_of
from dpsql.sql.syntax import At


def require_private(key: GroupKey, spelled: Scalar, query: Resolved, *, max_keys: int) -> None:
    """Some column has private keys, or all keys come from lists. `spelled`: the key over the columns of tables."""
    read = [query.findings.columns[number] for number in sorted(columns_of(spelled))]
    alone = next(keys_of_people([spelled], query.findings, query.catalog), None)
    if alone is not None:
        raise _of_one_person(key, alone, query)
    if any(column.keys is KeyKind.PRIVATE for column in read):
        return
    unlisted = [column for column in read if not column.public and not isinstance(column.keys, PublicKeys)]
    for column in unlisted:
        if not column.declared.bounded and column.type is not SqlType.BOOLEAN:
            raise _undeclared(key, column, query)
    if not unlisted:
        return
    stretch = stretch_of(_moved(key.expression), query.findings)
    if stretch is not None:
        raise too_many_keys(stretch.count, max_keys, of=key.text, column=unlisted[0], at=key.at)
    if key.expression.type is SqlType.TIMESTAMP:
        raise _moments(key, query, max_keys=max_keys)
    raise BadKey(
        f"the groups of {key.text} are not declared",
        why=f"they follow from no list, and the groups of {_listed(unlisted)} are not declared private",
        fix=f'group by {_listed(unlisted)}. The owner can declare keys = "private" to have groups found with noise',
        at=key.at,
    )


def _moved(scalar: Scalar) -> Scalar:
    """What is shifted or spread by constants: there are as many of it."""
    match scalar:
        case Apply("add" | "sub" | "mul", (inner, Constant()) | (Constant(), inner), SqlType.INTEGER):
            return _moved(inner)
        case _:
            return scalar


def _listed(columns: list[Column]) -> str:
    return ", ".join(dict.fromkeys(column.name for column in columns))


def too_many_keys(
    number: object, max_keys: int, *, of: str = "", column: Column | None = None, at: At = None
) -> BadKey:
    """More public groups than the owner allows in one answer."""
    name = column.name if column is not None and column.name else "x"
    return BadKey(
        f"the answer would have {number} groups{' of ' + of if of else ''}, and at most {max_keys} are allowed",
        why="every public group appears in the answer, also with nobody in it, and each takes its share of "
        "memory and time",
        fix=f"group by something coarser, or ask for fewer: WHERE {name} BETWEEN … AND …. "
        'The owner can declare keys = "private" for the column to have the groups found with noise, or raise max_keys',
        at=at,
    )


def too_many_numbers(groups: int, slots: int, most: int, *, at: At = None) -> BadKey:
    """More noisy numbers than one answer may hold."""
    return BadKey(
        f"the answer would hold {groups * slots} noisy numbers, {slots} for each of {groups} groups, and at most "
        f"{most} are allowed",
        why="every public group appears in the answer, and each of its numbers takes memory of whoever computes it",
        fix="ask for fewer columns at once, or for fewer groups",
        at=at,
    )


def _moments(key: GroupKey, query: Resolved, *, max_keys: int) -> BadKey:
    """Timestamps have no list; their days, months and years have."""
    day = f"CAST({key.text} AS DATE)"
    days = stretch_of(
        Apply("date_trunc", (Constant("day", SqlType.TEXT), key.expression), SqlType.TIMESTAMP), query.findings
    )
    fits = days is not None and days.count <= max_keys
    return BadKey(
        f"the moments of {key.text} cannot be groups",
        why="hardly two people share one, so a list of them would be a list of people",
        fix=f"group by the day, {day}, or by something longer: DATE_TRUNC('month', {key.text})",
        try_sql=with_key(key, day, query) if fits else None,
        at=key.at,
    )


def require_shared(keys: Sequence[GroupKey], spelled: Sequence[Scalar], query: Resolved) -> None:
    """No combination of these keys belongs to one person by declaration. `spelled`: the keys over columns of tables."""
    together = next(keys_of_people(spelled, query.findings, query.catalog), None)
    if together is not None:
        raise _of_one_person(keys[-1], together, query)


def _of_one_person(key: GroupKey, columns: tuple[Column, ...], query: Resolved) -> BadKey:
    person, names = query.catalog.policy.person.name, _listed(list(columns))
    is_person = all(map(query.is_person, columns))
    counted = names if len(columns) == 1 else f"({names})"
    return BadKey(
        f"each group of {names or key.text} would {'be' if is_person else 'belong to'} one {person}",
        why="a list of groups would be a list of people, and a group of one is no statistic",
        fix=count_people_instead(columns[0], query)
        if is_person
        else f"group by something that several {person}s share; COUNT(DISTINCT {counted}) counts without a group",
        try_sql=per_person(key, query) if is_person else None,
        at=key.at,
    )


def _undeclared(key: GroupKey, column: Column, query: Resolved) -> BadKey:
    name = column.name or key.text
    groups = f"the groups of {name}" if name == key.text else f"the groups of {key.text}, and those of {name},"
    if query.is_person(column):
        return _of_one_person(key, (column,), query)
    return BadKey(
        f"{groups} are not declared",
        why="a group that only one person has would reveal that person just by being listed",
        fix=f"say which you want: WHERE {name} {EXAMPLES[column.type]}. The owner can declare bounds or "
        'keys = [...] for the column, or keys = "private" to have them found with noise',
        try_sql=of_listed_groups(key, query),
        at=key.at,
    )
