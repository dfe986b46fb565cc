"""FROM and WHERE: declared tables, joins and subqueries become one relation whose rows carry their owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Bounds, EngineColumn, PathStep, TablePolicy
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NobodyLeft, NotSupported
from dpsql.sql import functions, inner
from dpsql.sql.expressions import condition, row_expression
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.relations import Column, Filter, Group, Join, Project, Relation, Scan
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts
from dpsql.sql.scope import Scope, Table, unknown_name
from dpsql.sql.syntax import (
    At,
    Call,
    CommonTable,
    Derived,
    Expression,
    From,
    Identifier,
    Item,
    Joined,
    JoinKind,
    Name,
    Select,
    Star,
    TableName,
)
from dpsql.sql.uses import Meeting, Notes, Role
from dpsql.sql.words import AGGREGATES, RAW_AGGREGATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A relation, what may be named in it, and who owns its rows."""

    relation: Relation
    scope: Scope
    private: bool
    owner: tuple[int, ...] = ()
    """Columns that hold the person. Empty for public rows, and for rows protected one by one."""
    tables: tuple[str, ...] = ()
    """The declared private tables it reads."""

    @property
    def by_row(self) -> bool:
        return self.private and not self.owner


@dataclass(frozen=True, slots=True)
class Known:
    """Common tables in sight: each with those that were in sight where it was written."""

    tables: Mapping[str, tuple[CommonTable, Known]]

    def with_(self, common: CommonTable) -> Known:
        return Known({**self.tables, common.name.name: (common, self)})


NOTHING: Final = Known({})
MOST_SCANS: Final = 10
"""Every table that is joined may multiply the rows, and common tables are read wherever they are named."""
MOST_PRODUCTS: Final = 1
"""Joins without an equality pair every row with every other: one is n² of work, two are n³."""


def source_of(query: Select, known: Known, notes: Notes) -> Source:
    """FROM and WHERE of one SELECT."""
    if query.from_ is None:
        raise NotSupported(
            "a query without FROM",
            why="it asks nothing about the data",
            fix="name a table",
            at=query.at,
        )
    for common in query.with_:
        known = known.with_(common)
    return _filtered(_from(query.from_, known, notes), query.where, notes)


def _from(item: From, known: Known, notes: Notes) -> Source:
    match item:
        case TableName():
            return _table(item, known, notes)
        case Derived():
            return _subquery(item.query, known, item.columns, item.alias, notes)
        case Joined():
            return _joined(item, known, notes)


def _table(item: TableName, known: Known, notes: Notes) -> Source:
    name = item.name[-1]
    if len(item.name) == 1 and name.name in known.tables:
        common, before = known.tables[name.name]
        return _subquery(common.query, before, common.columns, item.alias or name, notes)
    tables = notes.catalog.policy.tables
    if len(item.name) > 1 or name.name not in tables:
        written = ".".join(part.written for part in item.name)
        raise unknown_name(f"there is no table {written}", name.name, (*tables, *known.tables), item.at)
    source = scanned(tables[name.name], notes, at=item.at)
    alias = item.alias.name if item.alias else name.name
    (table,) = source.scope.tables
    return replace(source, scope=Scope(tables=(replace(table, alias=alias),)))


def scanned(table: TablePolicy, notes: Notes, *, at: At = None) -> Source:
    """A declared table with its owner: in the table itself, or at the end of its path."""
    notes.tables[table.name] = notes.named[table.name] = None
    notes.scans += 1
    if notes.scans > MOST_SCANS:
        raise NotSupported(
            f"the query reads tables more than {MOST_SCANS} times",
            why="its work would grow without limit",
            fix="join fewer tables, or name a common table fewer times",
            at=at,
        )
    scan, visible = _scan(table, notes, owned=not table.path)
    source = Source(
        relation=scan,
        scope=Scope(tables=(Table(alias=table.name, columns=visible),)),
        private=not table.public,
        owner=scan.owner,
        tables=() if table.public else (table.name,),
    )
    return _led_to_person(source, scan, table, notes) if table.path else source


def _scan(table: TablePolicy, notes: Notes, *, owned: bool) -> tuple[Scan, tuple[Column, ...]]:
    """The columns that may be named; then, raw, the person and the first step of the path."""
    engine = {folded(column.name): column for column in notes.catalog.schema[table.name].columns}
    visible = tuple(
        notes.know(_declared_column(table, name, engine[name], notes))
        for name in table.columns
        if engine[name].type is not None
    )
    raw = table.person if owned else table.path[0].columns if table.path else ()
    hidden = tuple(notes.know(_raw_column(engine[folded(name)], notes)) for name in raw)
    scan = Scan(
        table=table.name,
        source=table.source,
        columns=(*visible, *hidden),
        sources=(*(engine[column.name].name for column in visible), *(engine[folded(name)].name for name in raw)),
        owner=tuple(column.id for column in hidden) if owned else (),
        raw=tuple(column.id for column in hidden),
        private=not table.public,
    )
    return scan, visible


def _declared_column(table: TablePolicy, name: str, engine: EngineColumn, notes: Notes) -> Column:
    policy = table.columns[name]
    type_ = policy.type or engine.type or SqlType.TEXT
    return Column(
        id=notes.numbers.fresh(),
        name=name,
        type=type_,
        proved=_of_type(type_, engine),
        kept=_of_type(type_, engine),
        declared=_of_bounds(policy.bounds, type_) if policy.bounds else _of_type(type_, engine, declared=True),
        keys=policy.keys,
        hidden=policy.hidden,
        not_null=engine.not_null,
        public=table.public,
        origin=(table.name, name),
    )


def _raw_column(engine: EngineColumn, notes: Notes) -> Column:
    """A person or a key of a path, as the engine holds it: a conversion could make two people one, or one two."""
    return Column(id=notes.numbers.fresh(), name="", type=engine.type or SqlType.TEXT, hidden=True)


def _of_type(type_: SqlType, engine: EngineColumn, *, declared: bool = False) -> Interval:
    if type_ is SqlType.BOOLEAN:
        return Interval(Fraction(0), Fraction(1))
    if type_ is SqlType.INTEGER and not declared and engine.low is not None and engine.high is not None:
        return Interval(Fraction(engine.low), Fraction(engine.high))
    return EVERYTHING


def _of_bounds(bounds: Bounds, type_: SqlType) -> Interval:
    return functions.interval_between(Constant(bounds.low, type_), Constant(bounds.high, type_))


def _led_to_person(source: Source, scan: Scan, table: TablePolicy, notes: Notes) -> Source:
    """The path's joins: one row per owner, each once, however often the key leads to them."""
    relation: Relation = scan
    here = scan.raw
    owner: tuple[int, ...] = ()
    for position, step in enumerate(table.path):
        last = position == len(table.path) - 1
        following = table.person if last else table.path[position + 1].columns
        lookup, keys, ahead = _lookup(step, following, notes)
        relation = Join(left=relation, right=lookup, condition=_all_equal(here, keys))
        here = owner = ahead
    notes.multiplied = True
    return replace(source, relation=relation, owner=owner)


def _lookup(
    step: PathStep, following: tuple[str, ...], notes: Notes
) -> tuple[Relation, tuple[int, ...], tuple[int, ...]]:
    """The table a step leads to, as distinct pairs (its key, what is needed of it)."""
    policy = notes.catalog.policy.tables[step.table]
    notes.tables[policy.name] = None
    engine = {folded(column.name): column for column in notes.catalog.schema[policy.name].columns}
    names = (*step.to_columns, *following)
    columns = tuple(notes.know(_raw_column(engine[folded(name)], notes)) for name in names)
    ids = tuple(column.id for column in columns)
    ahead = ids[len(step.to_columns) :]
    scan = Scan(
        table=policy.name,
        source=policy.source,
        columns=columns,
        sources=tuple(engine[folded(name)].name for name in names),
        owner=ahead if set(following) == set(policy.person) and not policy.path else (),
        raw=ids,
        private=not policy.public,
    )
    return Group(input=scan, by=ids, columns=columns, totals=()), ids[: len(step.to_columns)], ahead


def _all_equal(left: tuple[int, ...], right: tuple[int, ...]) -> Scalar:
    """Raw columns, as the engine holds them."""
    pairs = zip(left, right, strict=True)
    return inner.all_of(*(inner.same(ColumnRef(a, SqlType.TEXT), ColumnRef(b, SqlType.TEXT)) for a, b in pairs))


def _filtered(source: Source, where: Expression | None, notes: Notes) -> Source:
    if where is None:
        return source
    scalar = condition(where, source.scope, notes)
    notes.use(Role.FILTER, scalar, where.at)
    notes.multiplied = True
    return replace(source, relation=_filter(source.relation, scalar, notes))


def _filter(relation: Relation, scalar: Scalar, notes: Notes) -> Filter:
    """What the condition says holds for every row above it.

    It proves nothing about an expression above: an engine may compute that first, on rows the filter then drops.
    """
    kept = functions.refined(scalar, lambda number: notes.columns[number].kept)
    declared = functions.refined(scalar, lambda number: notes.columns[number].declared)
    for number, interval in kept.items():
        notes.know(replace(notes.columns[number], kept=interval, declared=declared.get(number, interval)))
    columns = tuple(notes.columns[column.id] for column in relation.columns)
    return Filter(input=relation, condition=scalar, columns=columns)


def _subquery(
    query: Select, known: Known, names: tuple[Identifier, ...], alias: Identifier | None, notes: Notes
) -> Source:
    """A subquery that filters and projects: rows stay rows of the same people."""
    _require_rows(query)
    source = source_of(query, known, notes)
    columns: list[Column] = []
    computed: list[tuple[Column, Scalar]] = []
    for item in query.items:
        columns += _projected(item, source.scope, notes, computed)
    if names:
        if len(names) != len(columns):
            raise BadName(
                f"{len(names)} names for {len(columns)} columns",
                why="each column of a subquery has one name",
                fix="name all of them, or none",
                at=names[0].at,
            )
        columns = [replace(column, name=name.name) for column, name in zip(columns, names, strict=True)]
    relation = source.relation
    if computed:
        passed = relation.columns
        relation = Project(
            input=relation,
            columns=(*passed, *(column for column, _ in computed)),
            expressions=(
                *(ColumnRef(column.id, column.type) for column in passed),
                *(scalar for _, scalar in computed),
            ),
        )
    table = Table(alias=alias.name if alias else "", columns=tuple(columns))
    return replace(source, relation=relation, scope=Scope(tables=(table,)))


def _projected(item: Item, scope: Scope, notes: Notes, computed: list[tuple[Column, Scalar]]) -> list[Column]:
    if isinstance(item.expression, Star):
        return list(scope.star(item.expression))
    scalar = row_expression(item.expression, scope, notes)
    name = item.alias.name if item.alias else _own_name(item)
    if isinstance(scalar, ColumnRef):
        return [replace(notes.columns[scalar.id], name=name)]
    column = notes.computed(name, scalar)
    computed.append((column, scalar))
    return [column]


def _own_name(item: Item) -> str:
    return item.expression.parts[-1].name if isinstance(item.expression, Name) else folded(item.text)


def _require_rows(query: Select) -> None:
    """Grouping, sorting and cutting inside a subquery would mix rows of several people."""
    if query.group_by or query.having is not None or any(map(_aggregates, (item.expression for item in query.items))):
        raise NobodyLeft(
            "the result of the inner query has no person in it any more",
            why="after the inner GROUP BY a row is a group, touched by many people",
            fix="aggregate once, in the outer query; filter and compute inside",
            at=query.at,
        )
    if query.distinct or query.limit is not None or query.offset:
        raise NobodyLeft(
            "DISTINCT, LIMIT and OFFSET are not available inside a subquery",
            why="which rows are left would depend on the rows of other people",
            fix="filter by a condition on the row itself, or cut the released result in the outer query",
            at=query.at,
        )


def _aggregates(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    own = expression.over is None and expression.function in AGGREGATES | RAW_AGGREGATES
    return own or any(map(_aggregates, expression.arguments))


def _joined(item: Joined, known: Known, notes: Notes) -> Source:
    if item.kind is not JoinKind.INNER:
        raise NotSupported(
            f"{item.kind.value.upper()} JOIN is not available",
            why="rows without a partner have an owner only under rules of their own",
            fix="use JOIN … ON, which keeps the rows that have a partner",
            at=item.at,
        )
    left, right = _from(item.left, known, notes), _from(item.right, known, notes)
    _require_aliases(left.scope, right.scope, item.at)
    notes.multiplied = True
    scope = Scope(tables=(*left.scope.tables, *right.scope.tables), merged=left.scope.merged)
    scalar = _using(item.using, left.scope, right.scope, notes) if item.using else _on(item, scope, notes)
    notes.use(Role.JOIN, scalar, item.at)
    for part in conjuncts(scalar):
        if _equated(part, left, right) is None or _computed_of_hidden(part, notes):  # a filter that stands after ON
            notes.use(Role.FILTER, part, item.on.at if item.on is not None else item.at)
    _require_few_products(scalar, left, right, notes, item.at)
    owner = left.owner or right.owner
    if left.private and right.private:
        scalar = _met(left, right, scalar, notes, item.at)
    merged = tuple(left.scope.column(Name(parts=(name,), at=name.at)) for name in item.using)
    return Source(
        relation=Join(left=left.relation, right=right.relation, condition=scalar),
        scope=replace(scope, merged=(*scope.merged, *merged)),
        private=left.private or right.private,
        owner=owner,
        tables=(*left.tables, *right.tables),
    )


def _require_few_products(scalar: Scalar, left: Source, right: Source, notes: Notes, at: At) -> None:
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


def _require_aliases(left: Scope, right: Scope, at: At) -> None:
    twice = {table.alias for table in left.tables} & {table.alias for table in right.tables} - {""}
    if twice:
        raise BadName(
            f"{sorted(twice)[0]} names two tables",
            why="a column of one could be taken for a column of the other",
            fix="give one of them an alias: JOIN visits AS v2 ON …",
            at=at,
        )


def _on(item: Joined, scope: Scope, notes: Notes) -> Scalar:
    if item.on is None:
        raise NotSupported(
            "a join without a condition",
            why="every row would meet every other",
            fix="say JOIN … ON a.x = b.x, or USING (x)",
            at=item.at,
        )
    return condition(item.on, scope, notes)


def _using(names: tuple[Identifier, ...], left: Scope, right: Scope, notes: Notes) -> Scalar:
    pairs = []
    for name in names:
        a, b = (scope.column(Name(parts=(name,), at=name.at)) for scope in (left, right))
        sides = (ColumnRef(a.id, a.type), ColumnRef(b.id, b.type))
        pairs.append(functions.apply("eq", sides, proved=notes.proved, kept=notes.kept, at=name.at))
    return pairs[0] if len(pairs) == 1 else Apply("and", tuple(pairs), SqlType.BOOLEAN)


def _met(left: Source, right: Source, scalar: Scalar, notes: Notes, at: At) -> Scalar:
    """Two private sides: note whether the condition ties their owners, and tie them in the engine too.

    The equality of raw owners changes nothing where the condition implies it, and the pairing stays inside one
    person whatever a declared but unenforced key turns out to hold.
    """
    by_row = left.by_row or right.by_row
    tied = not by_row and implies_equal_owners(scalar, left, right, notes)
    notes.meetings.append(Meeting(equal_owners=tied, tables=(left.tables[0], right.tables[0]), at=at))
    return inner.all_of(scalar, _all_equal(left.owner, right.owner)) if tied else scalar


def implies_equal_owners(scalar: Scalar, left: Source, right: Source, notes: Notes) -> bool:
    """True where every part of the person, or every part of a path to it, is equated, column to column."""
    pairs = [pair for part in conjuncts(scalar) if (pair := _equated(part, left, right)) is not None]
    origins = {(notes.columns[a].origin, notes.columns[b].origin) for a, b in pairs}
    origins |= {(b, a) for a, b in origins}
    tables = notes.catalog.policy.tables
    return any(
        _person_tied(tables[a], tables[b], origins)
        or _path_tied(tables[a], tables[b], origins)
        or _path_tied(tables[b], tables[a], origins)
        or _same_path_tied(tables[a], tables[b], origins)
        for a in left.tables
        for b in right.tables
    )


_Origins = set[tuple[tuple[str, str] | None, tuple[str, str] | None]]


def _person_tied(a: TablePolicy, b: TablePolicy, origins: _Origins) -> bool:
    """Both hold the person, and it is equated."""
    return (
        not a.path
        and not b.path
        and all(((a.name, x), (b.name, y)) in origins for x, y in zip(a.person, b.person, strict=True))
    )


def _path_tied(a: TablePolicy, b: TablePolicy, origins: _Origins) -> bool:
    """`a` leads through a key of `b`, and that very key is equated."""
    return (
        bool(a.path)
        and a.path[0].table == b.name
        and all(
            ((a.name, x), (b.name, y)) in origins for x, y in zip(a.path[0].columns, a.path[0].to_columns, strict=True)
        )
    )


def _same_path_tied(a: TablePolicy, b: TablePolicy, origins: _Origins) -> bool:
    """Both lead through the same key, and it is equated: the same owners lie ahead of it."""
    return (
        bool(a.path)
        and a.path == b.path
        and all(
            ((a.name, x), (b.name, y)) in origins for x, y in zip(a.path[0].columns, b.path[0].columns, strict=True)
        )
    )


def _equated(scalar: Scalar, left: Source, right: Source) -> tuple[int, int] | None:
    """The two columns of a plain equality across a join; a conversion on either side makes it something else."""
    match scalar:
        case Apply("eq", (ColumnRef(id=a), ColumnRef(id=b))) if (_holds(left, a) and _holds(right, b)) or (
            _holds(left, b) and _holds(right, a)
        ):
            return a, b
        case _:
            return None


def _computed_of_hidden(scalar: Scalar, notes: Notes) -> bool:
    """Hidden columns may be joined on as they are, not after something was made of them."""
    columns = [notes.columns[number] for number in columns_of(scalar)]
    return any(column.hidden and column.origin is None for column in columns)


def _holds(source: Source, number: int) -> bool:
    return any(column.id == number for column in source.relation.columns)
