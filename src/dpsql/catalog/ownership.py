"""Whose a row is: reading `person`, `person_via` and `unit`, and following paths through the declared tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dpsql.catalog.model import PathStep, TablePolicy
from dpsql.catalog.names import Mistake, did_you_mean, folded, listed
from dpsql.catalog.spelling import quoted

Part: TypeAlias = tuple[str | None, tuple[str, ...]]
"""What stands between two arrows: a table, where one is named, and its columns."""

_TOKEN: Final = re.compile(r'\s*(?:(?P<mark>->|[.(),])|(?P<bare>[^\W\d]\w*)|"(?P<quoted>(?:[^"]|"")+)")\s*')
_BARE: Final = re.compile(r"[^\W\d]\w*")
_PERSON_WHY: Final = "we must know whose rows belong together to protect a whole person and not just one row"
_PERSON_FIX: Final = (
    'person = "user_id", or derive it: person_via = "session_id -> sessions.session_id", or unit = "row" where each '
    "row is a person of its own, or public = true if nobody is in this table"
)
_PATH_WHY: Final = "the path leads from a row to the person who owns it"
_PATH_FIX: Final = (
    'write person_via = "bed_id -> beds.bed_id -> patient_id": a column here, the key of another table, a column '
    'there, …; several columns as "(a, b) -> t.(a, b) -> person"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a table is owned: the four fields of a TablePolicy that say so."""

    public: bool = False
    unit_row: bool = False
    person: tuple[str, ...] = ()
    path: tuple[PathStep, ...] = ()


def named_by(owned: Way | TablePolicy) -> tuple[str, ...]:
    """The columns of the table itself that hold its person or are the first step to it."""
    return owned.path[0].columns if owned.path else owned.person


def way(*, table: str, public: bool, unit: str | None, person: tuple[str, ...] | None, person_via: str | None) -> Way:
    """The one way to a person that the owner declared; a Mistake where there is none or more than one."""
    chosen = [
        word
        for word, given in (
            ("public = true", public),
            ('unit = "row"', unit == "row"),
            ("person", person is not None),
            ("person_via", person_via is not None),
        )
        if given
    ]
    if not chosen:
        raise Mistake("no person column", why=_PERSON_WHY, fix=_PERSON_FIX)
    if len(chosen) > 1:
        raise Mistake(f"{' and '.join(chosen)} exclude each other", why=_PERSON_WHY, fix="keep one of them")
    if public and unit is not None:
        raise Mistake(
            "a public table has no unit", why=_PERSON_WHY, fix="leave out unit, or public = true", key=("unit",)
        )
    if person_via is not None:
        path, end = read_path(person_via, table=table)
        return Way(path=path, person=end)
    return Way(public=public, unit_row=unit == "row", person=person or ())


def read_path(written: str, *, table: str) -> tuple[tuple[PathStep, ...], tuple[str, ...]]:
    """The steps of `a -> t.b -> c -> u.d -> person`, and the person columns: () where the path ends at a key.

    A path that ends at a key takes the person of that key's table.
    """
    parts = list(_parts(written))
    if len(parts) < 2:
        raise _bad_path(written, "it has no step to another table")
    steps = []
    here = table
    for index in range(0, len(parts) - 1, 2):
        (place, columns), (there, keys) = parts[index], parts[index + 1]
        if place not in (None, here):
            raise _bad_path(written, f"{place}.{columns[0]} is not a column of {here}")
        if there is None:
            raise _bad_path(written, f"{listed(keys)} is a key of which table?")
        if len(columns) != len(keys):
            raise _bad_path(written, f"{len(columns)} columns lead to {len(keys)}")
        steps.append(PathStep(columns=columns, table=there, to_columns=keys))
        here = there
    place, person = parts[-1] if len(parts) % 2 else (None, ())
    if place not in (None, here):
        raise _bad_path(written, f"{place}.{person[0]} is not a column of {here}")
    return tuple(steps), person


def _parts(written: str) -> Iterator[Part]:
    """What stands between the arrows."""
    tokens = list(_tokens(written))
    while tokens:
        yield _part(tokens, written)
        if tokens and (tokens.pop(0) != "->" or not tokens):
            raise _bad_path(written, "two names without an arrow between them, or an arrow without a name")


def _tokens(written: str) -> Iterator[str]:
    """Marks as they are, names with a leading blank so that no name is taken for a mark."""
    position = 0
    while position < len(written):
        match = _TOKEN.match(written, position)
        if match is None:
            raise _bad_path(written, f"a name or an arrow is expected at {written[position : position + 20]!r}")
        position = match.end()
        inside = match["quoted"]
        yield match["mark"] or " " + folded(inside.replace('""', '"') if inside else match["bare"])


def _part(tokens: list[str], written: str) -> Part:
    """`a`, `t.a`, `(a, b)` or `t.(a, b)`."""
    place = None
    if tokens[0] != "(":
        first = _name(tokens, written)
        if tokens[:1] != ["."]:
            return None, (first,)
        tokens.pop(0)
        place = first
        if tokens[:1] != ["("]:
            return place, (_name(tokens, written),)
    tokens.pop(0)
    columns = [_name(tokens, written)]
    while tokens[:1] == [","]:
        tokens.pop(0)
        columns.append(_name(tokens, written))
    if tokens[:1] != [")"]:
        raise _bad_path(written, "a parenthesis is not closed")
    tokens.pop(0)
    if len(set(columns)) != len(columns):
        raise _bad_path(written, "a column is named twice")
    return place, tuple(columns)


def _name(tokens: list[str], written: str) -> str:
    if not tokens or not tokens[0].startswith(" "):
        raise _bad_path(written, "a name is missing")
    return tokens.pop(0)[1:]


def _bad_path(written: str, what: str) -> Mistake:
    shown = written if len(written) <= 80 else f"{written[:77]}…"
    return Mistake(f'"{shown}": {what}', why=_PATH_WHY, fix=_PATH_FIX, key=("person_via",))


def shown_way(table: TablePolicy) -> str:
    """A way to a person, in the words of the policy file."""
    return " -> ".join([*map(spelled_step, table.path), _columns(table.person)])


def declared_ways(tables: Mapping[str, TablePolicy]) -> tuple[tuple[str, str], ...]:
    """(name in the engine, way to its person) of every table, sorted: whom a promise over these tables is about.

    Tables are called as the engine calls them: under another name in the policy, a table is still the same.
    """
    names = {name: folded(table.source) for name, table in tables.items()}
    return tuple(sorted((names[name], _declared_way(table, names)) for name, table in tables.items()))


def _declared_way(table: TablePolicy, names: Mapping[str, str]) -> str:
    if table.public:
        return "public = true"
    if table.unit_row:
        return 'unit = "row"'
    path = tuple(replace(step, table=names.get(step.table, step.table)) for step in table.path)
    return f'{"person_via" if path else "person"} = "{shown_way(replace(table, path=path))}"'


def _columns(names: tuple[str, ...]) -> str:
    return _spelled(names[0]) if len(names) == 1 else f"({', '.join(map(_spelled, names))})"


def _spelled(name: str) -> str:
    """A name as a path spells it: in quotes where it could be read as something else."""
    return name if _BARE.fullmatch(name) else quoted(name)


def settled(tables: Mapping[str, TablePolicy]) -> tuple[dict[str, TablePolicy], tuple[Mistake, ...]]:
    """The tables with every path followed to its person, and what is wrong with the paths.

    A path must agree with the declarations of the tables it leads through: rows of an intermediate table vanish with
    the owner declared there, so any other end would let a second person move the rows.
    """
    done: dict[str, TablePolicy] = {}
    wrong: list[Mistake] = []
    for name, table in tables.items():
        try:
            done[name] = _followed(table, tables, seen=(name,))
        except Mistake as mistake:
            done[name] = table
            wrong.append(mistake.under("table", name))
    return done, tuple(wrong)


def _followed(table: TablePolicy, tables: Mapping[str, TablePolicy], seen: tuple[str, ...]) -> TablePolicy:
    if not table.path:
        return table
    first, *rest = table.path
    if first.table in seen:
        raise Mistake(
            f"the path goes in a circle: {' -> '.join((*seen, first.table))}",
            why="it never arrives at a person",
            fix="let the last table of the path hold the person column",
            key=("person_via",),
        )
    following = _next(first, tables)
    onward = _followed(following, tables, (*seen, first.table))
    given = tuple(rest)
    if onward.path[: len(given)] != given or (table.person and (onward.path, onward.person) != (given, table.person)):
        raise Mistake(
            f"the path does not follow the person of {first.table}, which is {shown_way(onward)}",
            why=f"rows of {first.table} vanish with the person declared there, and these rows with them",
            fix=f'end the path at the key: person_via = "{spelled_step(first)}" takes the person of {first.table}',
            key=("person_via",),
        )
    return replace(table, path=(first, *onward.path), person=onward.person)


def spelled_step(step: PathStep) -> str:
    """One step as a path spells it."""
    return f"{_columns(step.columns)} -> {_spelled(step.table)}.{_columns(step.to_columns)}"


def _next(step: PathStep, tables: Mapping[str, TablePolicy]) -> TablePolicy:
    """The private table a step leads to."""
    if step.table not in tables:
        raise Mistake(
            f"the path leads to {step.table}, which is not declared{did_you_mean(step.table, tables)}",
            why=_PATH_WHY,
            fix=f"declare [table.{step.table}] with its person",
            key=("person_via",),
        )
    table = tables[step.table]
    if table.public or table.unit_row:
        what = "public" if table.public else "protected row by row"
        raise Mistake(
            f"the path leads to {step.table}, which is {what}",
            why="a table on the way to a person is about people, and its rows are protected with that person",
            fix=f"declare the person of [table.{step.table}], or choose another path",
            key=("person_via",),
        )
    return table
