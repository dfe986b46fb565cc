"""Two sources side by side: what the condition equates, and whether it ties the owners of both.

Then IN and EXISTS in WHERE: rows are kept or left out for what the same person has elsewhere, or for public tables.

    WHERE a AND x IN (SELECT …) AND NOT EXISTS (SELECT …)  ─▶  the rows where `a`  ─▶  with a partner  ─▶  without one

Which rows of a person are left must depend on that person alone, so a subquery about people has to be tied by the
person. Rows whose person is NULL are nobody's partner: NOT IN leaves nobody out for them, which SQL would do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dpsql.catalog.model import TablePolicy
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import PLAIN_NAME
from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, DpsqlError, NotSupported, TwoPeople
from dpsql.sql import functions, inner
from dpsql.sql.expressions import condition, row_expression
from dpsql.sql.notes import Meeting, Notes, Role
from dpsql.sql.relations import Column, Exists, Filter, Group, Join, Project, Relation, Scan, Total, Union, ref, refs
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts
from dpsql.sql.scans import Ids, Kept, Source, all_equal, require_few_reads
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import Among, At, Call, Expression, Identifier, Joined, JoinKind, Name, Query, Select
from dpsql.sql.unions import Branch, united

MOST_PRODUCTS: Final = 1
"""Joins without an equality pair every row with every other: one is n² of work, two are n³."""
Equality: TypeAlias = tuple[tuple[str, str], tuple[str, str]]
"""Two columns by (table, column) of the policy."""
Pair: TypeAlias = tuple[int, int]
"""A column of the left side and one of the right."""
Parts: TypeAlias = tuple[tuple[Scalar, At], ...]
"""What must all hold, each with its place in the text."""


# ---- pairs of rows --------------------------------------------------------------------------------------------------


def joined(item: Joined, left: Source, right: Source, notes: Notes) -> Source:
    """The pairs of rows for which the condition is true; where a side is kept, its rows without a partner too."""
    if item.kind is JoinKind.CROSS:
        raise NotSupported(
            "CROSS JOIN is not available here",
            why="no rule names it",
            fix="use JOIN … ON, or put the tables side by side and what ties them into WHERE",
            at=item.at,
        )
    _require_owner_kept(item, left, right)
    require_aliases(left.scope, right.scope, item.at)
    notes.multiplied = True
    scope = left.scope.using(item.using, right.scope)
    parts = _using(item.using, left.scope, right.scope, notes) if item.on is None else _on(item.on, scope, notes)
    pairs = _pairs(parts, left, right, notes, item.at)
    source = replace(_side_by_side(pairs, left, right), scope=scope)
    if item.kind is JoinKind.INNER:
        return source
    if item.kind is JoinKind.FULL:
        return both_kept(item, source, left, right, pairs.condition, notes)
    kept, other = (left, right) if item.kind is JoinKind.LEFT else (right, left)
    if other.private and not kept.private:
        return replace(source, kept=_kept_public(item, kept, other, parts))
    return _kept(source, pairs.condition, kept, other, notes)


def _require_owner_kept(item: Joined, left: Source, right: Source) -> None:
    """A row without a partner must be somebody's."""
    if item.kind is JoinKind.INNER:
        return
    if item.kind is JoinKind.FULL and left.private is not right.private:
        raise NotSupported(
            "a FULL JOIN that keeps public rows without anybody",
            why="a row that nobody is in has no owner, and whether it is there would tell about people",
            fix="use JOIN: groups by columns of a public table appear all the same, with a noisy 0 where nobody is; "
            "LEFT JOIN from the table of people keeps the rows of people",
            at=item.at,
        )
    if left.by_row or right.by_row:
        raise NotSupported(
            f"a {item.kind.value.upper()} JOIN of rows that are protected one by one",
            why="no rule names it",
            fix="use JOIN … ON, with a column of a public table whose values are all different",
            at=item.at,
        )
    if item.kind is JoinKind.RIGHT and item.using:
        raise NotSupported(
            "RIGHT JOIN with USING is not available",
            why="no rule names it",
            fix="write it as a LEFT JOIN, the two tables the other way round; or use ON",
            at=item.at,
        )


def require_aliases(left: Scope, right: Scope, at: At) -> None:
    twice = {table.alias for table in left.tables} & {table.alias for table in right.tables} - {""}
    if twice:
        raise BadName(
            f"{sorted(twice)[0]} names two tables",
            why="a column of one could be taken for a column of the other",
            fix="give one of them an alias: JOIN visits AS v2 ON …",
            at=at,
        )


def _on(on: Expression, scope: Scope, notes: Notes) -> Parts:
    return tuple((part, on.at) for part in conjuncts(condition(on, scope, notes)))


def _using(names: tuple[Identifier, ...], left: Scope, right: Scope, notes: Notes) -> Parts:
    parts = []
    for name in names:
        a, b = _sides(name, left, right)
        sides = (ref(a), ref(b))
        parts.append((functions.apply("eq", sides, proved=notes.proved, kept=notes.kept, at=name.at), name.at))
    return tuple(parts)


def _sides(name: Identifier, left: Scope, right: Scope) -> tuple[Column, Column]:
    asked = Name(parts=(name,), at=name.at)
    return left.column(asked), right.column(asked)


def met(parts: Parts, left: Source, right: Source, notes: Notes, at: At) -> Source:
    """The pairs of rows for which all parts of a condition are true; without parts, all pairs."""
    return _side_by_side(_pairs(parts, left, right, notes, at), left, right)


def _pairs(parts: Parts, left: Source, right: Source, notes: Notes, at: At) -> Join:
    for side in (left, right):
        if side.kept is not None:
            raise side.kept.elsewhere("joined again")
    scalar = all_parts([part for part, _ in parts])
    tied = tie(parts, left, right, notes, at)
    require_few_products(scalar, left, right, notes, at)
    if left.private and right.private:
        both = (left.tables[0], right.tables[0])
        written = None if tied else _written_tie(left, right, notes)
        rewrite = _on_person(parts, written, notes) if written and parts else None
        notes.meetings.append(
            Meeting(
                equal_owners=bool(tied), tables=both, at=at, on_person=rewrite, tie=written.text if written else None
            )
        )
    if tied:
        scalar = within_one_person(scalar, left, right)
    elif (left.by_row or right.by_row) and not (left.private and right.private):
        return met_once(scalar, left, right, notes, at)
    return Join(left=left.relation, right=right.relation, condition=scalar)


def _side_by_side(pairs: Join, left: Source, right: Source) -> Source:
    return Source(
        relation=pairs,
        scope=left.scope.using((), right.scope),
        private=left.private or right.private,
        owner=left.owner or right.owner,
        tables=(*left.tables, *right.tables),
    )


def require_few_products(scalar: Scalar, left: Source, right: Source, notes: Notes, at: At) -> None:
    """The engine finds partners by equality; of other conditions it tries each pair of rows."""
    mine, other = (frozenset(column.id for column in side.relation.columns) for side in (left, right))
    notes.products += not any(_equates(part, mine, other) for part in conjuncts(scalar))
    if notes.products > MOST_PRODUCTS:
        raise NotSupported(
            f"more than {MOST_PRODUCTS} join without an equality between its two sides",
            why="each pairs every row with every other, and the work would grow without limit",
            fix="join on equal columns, as in ON a.x = b.x AND a.y < b.y",
            at=at,
        )


def _equates(part: Scalar, left: frozenset[int], right: frozenset[int]) -> bool:
    """Something of one side equals something of the other."""
    match part:
        case Apply("eq" | "is_not_distinct", (a, b)):
            one, two = columns_of(a), columns_of(b)
            return bool(one and two) and ((one <= left and two <= right) or (one <= right and two <= left))
        case _:
            return False


def equated(scalar: Scalar, left: Source, right: Source) -> Pair | None:
    """The two columns of a plain equality across a join; a conversion on either side makes it something else."""
    match scalar:
        case Apply("eq", (ColumnRef(id=a), ColumnRef(id=b))) if _holds(left, a) and _holds(right, b):
            return a, b
        case Apply("eq", (ColumnRef(id=a), ColumnRef(id=b))) if _holds(left, b) and _holds(right, a):
            return b, a
        case _:
            return None


def _holds(source: Source, number: int) -> bool:
    return any(column.id == number for column in source.relation.columns)


def all_parts(parts: list[Scalar]) -> Scalar:
    """A condition that is true where all parts are."""
    if not parts:
        return inner.TRUE
    return parts[0] if len(parts) == 1 else Apply("and", tuple(parts), SqlType.BOOLEAN)


# ---- one person on both sides ---------------------------------------------------------------------------------------


def tie(parts: Parts, left: Source, right: Source, notes: Notes, at: At) -> frozenset[Pair]:
    """The equalities that make both rows one person's. What a condition is used for is noted, part by part."""
    scalar = all_parts([part for part, _ in parts])
    tied = _tied(scalar, left, right, notes)
    notes.use(Role.JOIN, scalar, at)
    for part, place in parts:
        if _filters(part, left, right, tied, notes):
            notes.use(Role.FILTER, part, place)
    return tied


def _filters(part: Scalar, left: Source, right: Source, tied: frozenset[Pair], notes: Notes) -> bool:
    """True where a part of the condition chooses rows by what they hold.

    A hidden column may be equated with its partner in the tie of two owners and with nothing else: equality with a
    public table, with a constant of a subquery or with another column of the same person asks for its value.
    """
    pair = equated(part, left, right)
    hidden = any(notes.columns[number].hidden for number in columns_of(part))
    return pair is None or (hidden and pair not in tied)


def _tied(scalar: Scalar, left: Source, right: Source, notes: Notes) -> frozenset[Pair]:
    """The equalities, column to column, by which both rows are of one person; none where the person is left open."""
    if not left.owner or not right.owner:
        return frozenset()
    pairs = [pair for part in conjuncts(scalar) if (pair := equated(part, left, right)) is not None]
    origins = {(a, b): (notes.columns[a].origin, notes.columns[b].origin) for a, b in pairs}
    tables = notes.catalog.policy.tables
    found = [tie for a in left.tables for b in right.tables for tie in ties(tables[a], tables[b])]
    complete = frozenset().union(*(tie for tie in found if tie <= set(origins.values())))
    return frozenset(pair for pair, equality in origins.items() if equality in complete)


def ties(a: TablePolicy, b: TablePolicy) -> Iterator[frozenset[Equality]]:
    """Each set of equalities that ties a row of `a` to the owner of a row of `b`; none for rows that are units."""
    if a.unit_row or b.unit_row:
        return
    if not a.path and not b.path:
        yield _equal(a, a.person, b, b.person)
    if a.path and a.path[0].table == b.name:  # `a` leads through a key of `b`
        yield _equal(a, a.path[0].columns, b, a.path[0].to_columns)
    if b.path and b.path[0].table == a.name:
        yield _equal(a, b.path[0].to_columns, b, b.path[0].columns)
    if a.path and a.path == b.path:  # the same owners lie ahead of the same key
        yield _equal(a, a.path[0].columns, b, b.path[0].columns)


def _equal(a: TablePolicy, left: tuple[str, ...], b: TablePolicy, right: tuple[str, ...]) -> frozenset[Equality]:
    return frozenset(((a.name, x), (b.name, y)) for x, y in zip(left, right, strict=True))


def tie_of(left: TablePolicy, right: TablePolicy) -> str | None:
    """A condition that makes both rows one person's, in columns of the two tables alone; None where there is none."""
    tie = next(ties(left, right), None)
    return None if tie is None else " AND ".join(f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in sorted(tie))


def within_one_person(scalar: Scalar, left: Source, right: Source) -> Scalar:
    """The condition, and the equality of raw owners.

    It changes nothing where the condition implies it, and the pairing stays inside one person whatever a declared but
    unenforced key turns out to hold.
    """
    return inner.all_of(scalar, all_equal(left.owner, right.owner))


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenTie:
    """What makes both rows one person's, as it may be written here."""

    text: str
    origins: frozenset[tuple[str, str]]


def _written_tie(left: Source, right: Source, notes: Notes) -> _WrittenTie | None:
    tables = notes.catalog.policy.tables
    for equal in (each for a in left.tables for b in right.tables for each in ties(tables[a], tables[b])):
        sides = [(_named(one, left.scope), _named(two, right.scope)) for one, two in sorted(equal)]
        if all(one and two for one, two in sides):
            text = " AND ".join(f"{one} = {two}" for one, two in sides)
            return _WrittenTie(text=text, origins=frozenset(origin for pair in equal for origin in pair))
    return None


def _on_person(parts: Parts, tie: _WrittenTie, notes: Notes) -> str | None:
    """The text with the tie beside the first condition. None where a condition compares people in another way: the
    question is then about two people."""
    place = parts[0][1]
    numbers = (number for scalar, _ in parts for number in columns_of(scalar))
    if place is None or any(notes.columns[number].origin in tie.origins for number in numbers):
        return None
    asked = notes.text[slice(*place)]
    asked = f"({asked})" if re.search(r"\bOR\b", asked, re.IGNORECASE) else asked
    return f"{notes.text[: place[0]]}{asked} AND {tie.text}{notes.text[place[1] :]}"


def _named(origin: tuple[str, str], scope: Scope) -> str | None:
    """An unchanged column of a declared table, as it may be written here."""
    numbers = (column.id for table in scope.tables for column in table.columns if column.origin == origin)
    return next((name for number in numbers if (name := _written(number, scope))), None)


def _written(number: int, scope: Scope) -> str | None:
    """A name for the column that needs no quotes."""
    for table in scope.tables:
        for column in table.columns:
            if column.id == number and PLAIN_NAME.fullmatch(table.alias) and PLAIN_NAME.fullmatch(column.name):
                return f"{table.alias}.{column.name}"
    return None


# ---- rows without a partner -----------------------------------------------------------------------------------------


def _kept(pairs: Source, met_where: Scalar, kept: Source, other: Source, notes: Notes) -> Source:
    """The pairs, and the rows of one side that have no partner. They belong to whom they belonged to before."""
    for column in other.relation.columns:
        known = notes.columns[column.id]
        # NULL where there is no partner: of a private table, the person that is named there is not the owner any more
        notes.know(replace(known, not_null=False, origin=None if other.private else known.origin))
    scope = replace(
        pairs.scope,
        tables=tuple(replace(table, columns=_renewed(table.columns, notes)) for table in pairs.scope.tables),
        merged=_renewed(pairs.scope.merged, notes),
    )
    relation = Join(left=kept.relation, right=other.relation, condition=met_where, outer=True)
    return replace(pairs, relation=relation, scope=scope, owner=kept.owner)


def _renewed(columns: tuple[Column, ...], notes: Notes) -> tuple[Column, ...]:
    """The same columns with what is known about them now, under the names they have here."""
    return tuple(replace(notes.columns[column.id], name=column.name) for column in columns)


def _kept_public(item: Joined, kept: Source, other: Source, parts: Parts) -> Kept:
    """Public rows without anybody are groups in which the aggregates of people are of nothing: the pairs are enough."""
    equal = [pair[1] for part, _ in parts if (pair := equated(part, kept, other)) is not None]
    return Kept(
        relation=kept.relation,
        missing=frozenset(column.id for column in other.relation.columns),
        counted=next((name for number in equal if (name := _written(number, other.scope))), None),
        at=item.at,
    )


def both_kept(item: Joined, pairs: Source, left: Source, right: Source, condition: Scalar, notes: Notes) -> Source:
    """FULL JOIN: the pairs and the rows of the left without a partner, then the rows of the right without one.

        left FULL JOIN right  =  left LEFT JOIN right  UNION ALL  right without a partner in left

    So each row has an owner: of the first branch the left one, of the second the right one. A column of USING is that
    of the side that is there, and the person where it is the person on both.
    """
    shared = {name.name: _sides(name, left.scope, right.scope) for name in item.using}
    columns = {column.id: column for scope in (left.scope, right.scope) for column in _visible(scope)}
    mine = {column.id for column in left.relation.columns}
    first: list[Scalar] = [*refs(columns.values()), *(ref(ours) for ours, _ in shared.values())]
    second: list[Scalar] = [
        *(Constant(None, column.type) if column.id in mine else ref(column) for column in columns.values()),
        *(ref(theirs) for _, theirs in shared.values()),
    ]
    with_partner = Join(left=left.relation, right=right.relation, condition=condition, outer=True)
    without = Exists(input=right.relation, among=left.relation, condition=condition, negated=True)
    relation, owner, shown = united(
        [
            Branch(relation=with_partner, owner=left.owner, shown=tuple(first)),
            Branch(relation=without, owner=right.owner, shown=tuple(second)),
        ],
        notes,
        item.at,
    )
    require_few_reads(relation, item.at)
    stands = {number: _may_be_missing(column, notes) for number, column in zip(columns, shown, strict=False)}
    merged = dict(zip(shared, shown[len(columns) :], strict=True))
    return replace(pairs, relation=relation, owner=owner, scope=_renumbered(pairs.scope, stands, merged))


def _visible(scope: Scope) -> tuple[Column, ...]:
    return (*(column for table in scope.tables for column in (*table.columns, *table.shared)), *scope.merged)


def _may_be_missing(column: Column, notes: Notes) -> Column:
    """NULL where its side has no row: a person that is named there is not the owner any more."""
    return notes.know(replace(column, not_null=False, origin=None))


def _renumbered(scope: Scope, stands: dict[int, Column], merged: dict[str, Column]) -> Scope:
    """The same names for the columns of the union. `*` shows a column of USING as either side has it."""

    def here(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(stands[column.id], name=column.name) for column in columns)

    tables = []
    left = set(merged)
    for table in scope.tables:
        names = {column.name for column in table.columns} - table.merged
        shared = {column.name: column for column in here(table.shared)}
        shared |= {name: replace(merged[name], name=name) for name in names & left}
        tables.append(replace(table, columns=here(table.columns), shared=tuple(shared.values())))
        left -= names
    once = tuple(replace(merged.get(column.name, stands[column.id]), name=column.name) for column in scope.merged)
    return Scope(tables=tuple(tables), merged=once)


# ---- rows protected one by one --------------------------------------------------------------------------------------


def met_once(scalar: Scalar, left: Source, right: Source, notes: Notes, at: At) -> Join:
    """The join, with the public side reduced to one row for each key that is equated and said to be unique.

    Where the engine enforces the key, or the owner is right about it, this changes nothing. Where there is no such key
    the meeting is noted, and `check` refuses it.
    """
    public = right.relation if left.by_row else left.relation
    if not _scans(public):
        raise TwoPeople(
            f"a row of {(left if left.by_row else right).tables[0]} is protected by itself and could meet any number "
            "of released rows",
            why="it would count as often as it finds a partner",
            fix="compare with one released number: PRIVATE (SELECT AVG(x) FROM t)",
            at=at,
        )
    pairs = [pair for part in conjuncts(scalar) if (pair := equated(part, left, right)) is not None]
    own = {theirs: mine for mine, theirs in (pairs if left.by_row else [(b, a) for a, b in pairs])}
    key = next(_keys(public, frozenset(own), notes), None)
    if key is None:
        tables = ((left if left.by_row else right).tables[0], _scans(public)[0].table)
        notes.meetings.append(Meeting(equal_owners=False, tables=tables, at=at))
        return Join(left=left.relation, right=right.relation, condition=scalar)
    condition = inner.all_of(scalar, all_equal(tuple(own[number] for number in key), key))
    reduced = _one_row_for_each(public, key)
    if left.by_row:
        return Join(left=left.relation, right=reduced, condition=condition)
    return Join(left=reduced, right=right.relation, condition=condition)


def _keys(public: Relation, matched: frozenset[int], notes: Notes) -> Iterator[Ids]:
    """Keys of the one public table below, all of whose columns are matched: enforced by the engine, or declared.

    Groups have what they are grouped by.
    """
    grouped = _group(public)
    if grouped is not None and grouped.by and matched.issuperset(grouped.by):
        yield grouped.by
    scans = _scans(public)
    if len(scans) != 1:
        return
    here = {column.origin[1]: column.id for column in scans[0].columns if column.origin and column.id in matched}
    policy = notes.catalog.policy.tables[scans[0].table]
    declared = [(name,) for name, column in policy.columns.items() if column.unique]
    for names in (*notes.catalog.schema[policy.name].unique, *declared):
        if names and here.keys() >= set(map(folded, names)):
            yield tuple(here[folded(name)] for name in names)


def _scans(relation: Relation) -> list[Scan]:
    match relation:
        case Scan():
            return [relation]
        case Filter() | Project() | Group() | Exists():
            return _scans(relation.input)
        case Join():
            return [*_scans(relation.left), *_scans(relation.right)]
        case Union():
            return [scan for branch in relation.branches for scan in _scans(branch)]
        case _:
            return []


def _group(relation: Relation) -> Group | None:
    """The groups that the rows are, perhaps filtered and computed with."""
    while isinstance(relation, Filter | Project):
        relation = relation.input
    return relation if isinstance(relation, Group) else None


def _one_row_for_each(public: Relation, key: Ids) -> Group:
    """The smallest value of every other column: the only one, if the key is what it is said to be."""
    columns = {column.id: column for column in public.columns}
    others = [column for column in public.columns if column.id not in key]
    return Group(
        input=public,
        by=key,
        columns=(*(columns[number] for number in key), *others),
        totals=tuple(Total(function="min", argument=ref(column)) for column in others),
    )


# ---- IN and EXISTS --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A condition of WHERE that holds a query; `negated` where NOT stands before it."""

    among: Among
    negated: bool

    @property
    def word(self) -> str:
        return f"{'NOT ' * self.negated}{'IN' if self.among.operands else 'EXISTS'}"


def taken_out(where: Expression | None) -> tuple[Expression | None, tuple[Membership, ...]]:
    """WHERE without those of its conditions that hold a query, and these."""
    parts = [] if where is None else list(_conjuncts(where))
    found = [_membership(part) for part in parts]
    if where is None or not any(found):
        return where, ()
    rest = [part for part, membership in zip(parts, found, strict=True) if membership is None]
    return _together(rest, where), tuple(membership for membership in found if membership is not None)


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from _conjuncts(argument)
    else:
        yield expression


def _together(parts: list[Expression], where: Expression) -> Expression | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Call(function="and", arguments=tuple(parts), at=where.at)


def _membership(expression: Expression) -> Membership | None:
    negated = False
    while isinstance(expression, Call) and expression.function == "not":
        expression, negated = expression.arguments[0], not negated
    return Membership(among=expression, negated=negated) if isinstance(expression, Among) else None


def correlated(where: Expression | None, scope: Scope, around: Source, notes: Notes) -> tuple[Expression | None, Parts]:
    """WHERE of a subquery without those of its conditions that speak of the row around it, and these."""
    if where is None:
        return None, ()
    both = replace(scope, outer=around.scope)
    outside = frozenset(column.id for column in around.relation.columns)
    own: list[Expression] = []
    apart: list[tuple[Scalar, tuple[int, int] | None]] = []
    for part in _conjuncts(where):
        scalar = condition(part, both, notes)
        if columns_of(scalar) & outside:
            apart.append((scalar, part.at))
        else:
            own.append(part)
    return (_together(own, where) if apart else where), tuple(apart)


def rows_alone(query: Query) -> Query:
    """Whether there is such a row does not depend on how often: DISTINCT changes nothing."""
    if isinstance(query, Select) and not query.group_by:
        return replace(query, distinct=False)
    return query


def chosen(membership: Membership, source: Source, others: Source, apart: Parts, notes: Notes) -> Source:
    """The rows of a source that have a partner in a subquery, or have none; `apart` are its conditions on both."""
    among = membership.among
    if source.kept is not None:
        raise source.kept.elsewhere("kept or left out by a subquery")
    if others.private and not source.private:
        raise NotSupported(
            f"{membership.word} keeps or leaves out public rows for what people have",
            why="a row that nobody is in has no owner, and whether it is there would tell about people",
            fix="JOIN the table of people and GROUP BY the public column: groups without anybody show a noisy 0",
            at=among.at,
        )
    compared = _compared(among, source, others, notes)
    parts = (*compared, *apart)
    tied = tie(parts, source, others, notes, among.at)
    if others.private and not tied:
        raise _somebody_else(membership, source, others, notes)
    notes.multiplied = True
    relation = source.relation
    for choice in _choices(membership, [part for part, _ in compared], source, others, tied):
        scalar = all_parts([*choice, *(part for part, _ in apart)])
        read = columns_of(scalar)  # of one side alone the engine need not try each pair of rows
        if all(read & {column.id for column in side.relation.columns} for side in (source, others)):
            require_few_products(scalar, source, others, notes, among.at)
        if others.private:
            scalar = within_one_person(scalar, source, others)
        relation = Exists(input=relation, among=others.relation, condition=scalar, negated=membership.negated)
    require_few_reads(relation, among.at)
    return replace(source, relation=relation)


def _choices(
    membership: Membership, compared: list[Scalar], source: Source, others: Source, tied: frozenset[Pair]
) -> list[list[Scalar]]:
    """What makes a row of the subquery a partner: one of these, each with all its parts.

    x NOT IN (…) needs one without an equal value, without NULL, and empty where x is NULL: three questions that an
    engine answers without trying each pair of rows.
    """
    if not membership.negated:
        return [compared]
    match compared:
        case [Apply("eq", (mine, theirs))] if not tied:
            missing: list[Scalar] = [Apply("is_null", (side,), SqlType.BOOLEAN) for side in (theirs, mine)]
            return [compared, *([each] for each in missing)]
        case _:
            return [[_not_different(part, source, others, tied) for part in compared]]


def _compared(among: Among, source: Source, others: Source, notes: Notes) -> Parts:
    """Each operand equals the column in its place."""
    (table,) = others.scope.tables
    if not among.operands:
        return ()
    if len(among.operands) != len(table.columns):
        raise BadName(
            f"IN compares {len(among.operands)} of this row with {len(table.columns)} of the subquery",
            why="each value is compared with the column in its place",
            fix="select as many columns inside as stand before IN, in the same order",
            at=among.at,
        )
    parts = []
    for operand, column in zip(among.operands, table.columns, strict=True):
        sides = (row_expression(operand, source.scope, notes), ref(column))
        parts.append((functions.apply("eq", sides, proved=notes.proved, kept=notes.kept, at=operand.at), operand.at))
    return tuple(parts)


def _not_different(part: Scalar, source: Source, others: Source, tied: frozenset[Pair]) -> Scalar:
    """x NOT IN (…, NULL) is not true, and neither is NULL NOT IN (…). Of the person, NULL is nobody."""
    if equated(part, source, others) in tied:
        return part
    different = Apply("is_false", (part,), SqlType.BOOLEAN)
    return Apply("not", (different,), SqlType.BOOLEAN)


def _somebody_else(membership: Membership, source: Source, others: Source, notes: Notes) -> DpsqlError:
    person, tables = notes.catalog.policy.person.name, notes.catalog.policy.tables
    one, other = tables[source.tables[0]], tables[others.tables[0]]
    mine, theirs = (", ".join(table.person) for table in (one, other))
    plain = mine and theirs and not one.path and not other.path
    equal = f"({mine}) IN (SELECT {theirs} FROM …)" if plain else tie_of(one, other)
    how = f", as in {equal}" if equal else ""
    return TwoPeople(
        f"{membership.word} can keep or leave out rows for what another {person} has",
        why=f"removing one {person} could then change the rows of any number of others",
        fix=f"compare the {person} itself, without a conversion{how}; a subquery that reads public tables only may "
        "compare anything",
        at=membership.among.at,
    )
