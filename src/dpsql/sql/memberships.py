"""IN and EXISTS in WHERE: rows are kept or left out for what the same person has elsewhere, or for public tables.

    WHERE a AND x IN (SELECT …) AND NOT EXISTS (SELECT …)  ─▶  the rows where `a`  ─▶  with a partner  ─▶  without one

Which rows of a person are left must depend on that person alone, so a subquery about people has to be tied by the
person. Rows whose person is NULL are nobody's partner: NOT IN leaves nobody out for them, which SQL would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, DpsqlError, NotSupported, TwoPeople
from dpsql.sql import functions
from dpsql.sql.expressions import condition, row_expression
from dpsql.sql.joins import Parts, all_parts, require_few_products, tie, tie_of, within_one_person
from dpsql.sql.lookups import Pair, equated
from dpsql.sql.notes import Notes
from dpsql.sql.relations import Exists
from dpsql.sql.scalars import Apply, ColumnRef, Scalar, columns_of
from dpsql.sql.scans import Source, require_few_reads
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import Among, Call, Expression, Query, Select


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
        if _compares(scalar, source, others):
            require_few_products(scalar, source, others, notes, among.at)
        if others.private:
            scalar = within_one_person(scalar, source, others)
        relation = Exists(input=relation, among=others.relation, condition=scalar, negated=membership.negated)
    require_few_reads(relation, among.at)
    return replace(source, relation=relation)


def _compares(scalar: Scalar, source: Source, others: Source) -> bool:
    """It reads both sides; of one side alone the engine need not try each pair of rows."""
    read = columns_of(scalar)
    return all(read & {column.id for column in side.relation.columns} for side in (source, others))


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
        sides = (row_expression(operand, source.scope, notes), ColumnRef(column.id, column.type))
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
