"""Queries: SELECT with its clauses, tables and joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from dpsql.sql.parsing import literals
from dpsql.sql.parsing.calls import sort_keys, star
from dpsql.sql.parsing.private import private_at
from dpsql.sql.parsing.reading import Reader, Rule, hull
from dpsql.sql.parsing.refusals import CLAUSES, NO_RULE, Lesson, construct, misread, unsupported
from dpsql.sql.syntax import (
    CommonTable,
    Derived,
    Expression,
    From,
    Identifier,
    Item,
    Joined,
    JoinKind,
    PrivateValue,
    Query,
    Select,
    SortKey,
    TableName,
    UnionAll,
)

_CLAUSES: Final = (
    "with_",
    "distinct",
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "windows",
    "qualify",
    "order",
    "limit",
    "offset",
)


def query(reader: Reader, node: object) -> Query:
    """One query. Its parts are read in the order they are written, so that each finds its own word SELECT."""
    while type(node) is exp.Subquery:
        node = reader.require_kind(node, exp.Subquery, "this").this
    return _union_all(reader, node) if isinstance(node, exp.Union) else _select(reader, node)


def _union_all(reader: Reader, node: exp.Expr) -> UnionAll:
    """a UNION ALL b UNION ALL c is one: the parser nests as deeply as the chain is long."""
    whole = node
    common = _common_tables(reader, whole.args.get("with_"))
    branches: list[object] = []
    while type(node) is exp.Union:
        around = ("with_", "order", "limit", "offset") if node is whole else ()
        reader.require_kind(node, exp.Union, "this", "expression", *around)
        if node.args.get("distinct") is not False:
            raise construct("Union", at=reader.tokens.word("UNION"))
        branches.append(node.args["expression"])
        node = node.this
    read = tuple(query(reader, branch) for branch in (node, *reversed(branches)))
    return UnionAll(
        with_=common,
        branches=read,
        order_by=_order_by(reader, whole.args.get("order")),
        limit=_limit(reader, whole.args.get("limit")),
        offset=_offset(reader, whole.args.get("offset")),
        at=reader.tokens.balanced(hull(*(branch.at for branch in read))),
    )


def _select(reader: Reader, node: object) -> Select:
    found = reader.require_kind(node, exp.Select, *_CLAUSES)
    common = _common_tables(reader, found.args.get("with_"))
    own = next(reader.selects, None)
    if own is None:
        raise misread(reader.tokens.text, reader.place(found))
    reader = replace(reader, windows=_windows(reader, found.args.get("windows") or []))
    return Select(
        with_=common,
        distinct=_distinct(reader, found.args.get("distinct")),
        items=_items(reader, found.expressions, own),
        from_=_from(reader, found.args.get("from_"), found.args.get("joins") or []),
        where=_condition(reader, found.args.get("where"), exp.Where),
        group_by=_group_by(reader, found.args.get("group")),
        having=_condition(reader, found.args.get("having"), exp.Having),
        qualify=_condition(reader, found.args.get("qualify"), exp.Qualify),
        order_by=_order_by(reader, found.args.get("order")),
        limit=_limit(reader, found.args.get("limit")),
        offset=_offset(reader, found.args.get("offset")),
        at=reader.tokens.query_at(own),
    )


def _common_tables(reader: Reader, node: object) -> tuple[CommonTable, ...]:
    if node is None:
        return ()
    tables = []
    for one in reader.require_kind(node, exp.With, "expressions").expressions:
        reader.require_only(one, ("this", "alias"), {"materialized": (True,)})
        name, columns = _alias(reader, one.args.get("alias"), with_columns=True)
        if name is None:
            raise construct("CTE", at=reader.place(one))
        asked = query(reader, one.this)
        private = private_at(reader.tokens, asked.at) is not None
        tables.append(CommonTable(name=name, columns=columns, query=asked, private=private))
    return tuple(tables)


def _private_value(reader: Reader, node: exp.Expr) -> Expression:
    """A query where one value belongs: a question of its own."""
    inside = reader.place(node)
    asked = query(reader, node)
    place = reader.tokens.balanced(asked.at, enclosing=1)
    at = private_at(reader.tokens, asked.at)
    if place is None or inside is None or not place[0] <= inside[0] < inside[1] <= place[1]:
        raise misread(reader.tokens.text, inside)  # it took the word SELECT of another query
    return PrivateValue(query=asked, said=at is not None, at=at or place)


QUERIES: Final[Mapping[type[exp.Expr], Rule]] = {exp.Subquery: Rule(_private_value, ("this",))}
"""Queries among expressions."""


def _windows(reader: Reader, nodes: list[exp.Expr]) -> Mapping[str, exp.Expr]:
    """WINDOW w AS (…): each is written out where it is used."""
    found = {}
    for node in nodes:
        window = reader.require_kind(node, exp.Window, "this", "partition_by", "order", "spec")
        found[reader.name(window.this).name] = window
    return found


def _distinct(reader: Reader, node: object) -> bool:
    if node is None:
        return False
    reader.require_kind(node, exp.Distinct)
    return True


# ---- the SELECT list ------------------------------------------------------------------------------------------------


def _items(reader: Reader, nodes: list[exp.Expr], own: int) -> tuple[Item, ...]:
    written = reader.tokens.items(own)
    if not nodes or len(written) != len(nodes):
        raise misread(reader.tokens.text, reader.tokens.query_at(own), what="This list of columns cannot be read")
    return tuple(_item(reader, node, *place) for node, place in zip(nodes, written, strict=True))


def _item(reader: Reader, node: exp.Expr, first: int, last: int) -> Item:
    alias = None
    if type(node) is exp.Alias:
        alias = reader.name(reader.require_kind(node, exp.Alias, "this", "alias").args["alias"])
        last -= 1
        if reader.tokens.tokens[last].text.upper() == "AS" and last > first:
            last -= 1
        node = node.this
    start, end = reader.tokens.at(first, max(first, last))
    expression = star(reader, node) or reader.expression(node)
    return Item(expression=expression, alias=alias, text=reader.tokens.text[start:end])


# ---- tables and joins -----------------------------------------------------------------------------------------------


def _from(reader: Reader, node: object, joins: list[exp.Expr]) -> From | None:
    if node is None:
        if joins:
            raise construct("Join", at=reader.place(joins[0]))
        return None
    return _joined(reader, reader.require_kind(node, exp.From, "this").this, joins)


def _joined(reader: Reader, first: object, joins: list[exp.Expr]) -> From:
    """A comma binds less than JOIN: what follows it is a table with joins of its own."""
    factors = [_table(reader, first)]
    for node in joins:
        join = reader.require_kind(node, exp.Join, "this", "side", "kind", "on", "using")
        right = _table(reader, join.this)
        kind = _join_kind(reader, join)
        if kind is None:
            factors.append(right)
            continue
        left = factors[-1]
        on = join.args.get("on")
        using = tuple(reader.name(column) for column in join.args.get("using") or ())
        condition = reader.expression(on) if on is not None else None
        at = reader.tokens.balanced(
            hull(left.at, right.at, condition.at if condition else None, *(c.at for c in using))
        )
        factors[-1] = Joined(kind=kind, left=left, right=right, on=condition, using=using, at=at)
    tree = factors[0]
    for factor in factors[1:]:
        tree = Joined(kind=JoinKind.CROSS, left=tree, right=factor, at=hull(tree.at, factor.at))
    return tree


_JOIN_KINDS: Final[Mapping[tuple[object, object], JoinKind]] = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.CROSS,
    **{(side.name, kind): side for side in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL) for kind in ("", "OUTER")},
}


def _join_kind(reader: Reader, join: exp.Expr) -> JoinKind | None:
    """None for a comma."""
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    conditions = sum(join.args.get(key) is not None for key in ("on", "using"))
    if not side and not kind and not conditions:
        return None
    found = _JOIN_KINDS.get((side, kind))
    if found is None:
        raise unsupported(CLAUSES["Join", "kind"], at=reader.place(join))
    if conditions != (0 if found is JoinKind.CROSS else 1):
        raise misread(reader.tokens.text, reader.place(join), what="A join has one condition, a CROSS JOIN has none")
    return found


def _table(reader: Reader, node: object) -> From:
    if type(node) is exp.Subquery:
        return _derived(reader, node)
    table = reader.require_kind(node, exp.Table, "this", "db", "catalog", "alias")
    parts = [table.args[key] for key in ("catalog", "db", "this") if table.args.get(key) is not None]
    name = tuple(reader.name(part) for part in parts)
    alias, _ = _alias(reader, table.args.get("alias"), with_columns=False)
    return TableName(name=name, alias=alias, at=hull(*(part.at for part in name), alias.at if alias else None))


def _derived(reader: Reader, node: exp.Expr) -> From:
    """A query in parentheses; a table or a join in parentheses only where nothing renames it."""
    alias, columns = _alias(reader, node.args.get("alias"), with_columns=True)
    reader.require_only(node, ("this", "alias"))
    inner = node.this
    if type(inner) is exp.Table:
        if alias is not None:
            raise unsupported(
                Lesson("A name for a join", NO_RULE, "use a subquery: (SELECT … FROM …) AS t"), at=alias.at
            )
        joins = inner.args.get("joins") or []
        bare = inner.copy()
        bare.set("joins", None)
        return _joined(reader, bare, joins)
    asked = query(reader, inner)
    at = reader.tokens.balanced(asked.at, enclosing=1)
    private = private_at(reader.tokens, asked.at)
    at = hull(private or at, alias.at if alias else None)
    return Derived(query=asked, alias=alias, columns=columns, private=private is not None, at=at)


def _alias(reader: Reader, node: object, *, with_columns: bool) -> tuple[Identifier | None, tuple[Identifier, ...]]:
    if node is None:
        return None, ()
    alias = reader.require_kind(node, exp.TableAlias, "this", *(("columns",) if with_columns else ()))
    columns = tuple(reader.name(column) for column in alias.args.get("columns") or ())
    return reader.name(alias.this), columns


# ---- the other clauses ----------------------------------------------------------------------------------------------


def _condition(reader: Reader, node: object, kind: type[exp.Expr]) -> Expression | None:
    return None if node is None else reader.expression(reader.require_kind(node, kind, "this").this)


def _group_by(reader: Reader, node: object) -> tuple[Expression, ...]:
    if node is None:
        return ()
    group = reader.require_kind(node, exp.Group, "expressions")
    return tuple(reader.expression(key) for key in group.expressions)


def _order_by(reader: Reader, node: object) -> tuple[SortKey, ...]:
    return () if node is None else sort_keys(reader, reader.require_kind(node, exp.Order, "expressions"))


def _limit(reader: Reader, node: object) -> int | None:
    if node is None:
        return None
    if type(node) is exp.Fetch:
        return _rows(reader, _fetched(reader, node))
    return _rows(reader, reader.require_kind(node, exp.Limit, "expression").args["expression"])


def _fetched(reader: Reader, node: exp.Expr) -> object:
    """FETCH FIRST n ROWS ONLY."""
    reader.require_only(node, ("count", "limit_options"), {"direction": ("FIRST", "NEXT")})
    options = node.args.get("limit_options")
    if options is not None:
        if type(options) is not exp.LimitOptions or any(options.args.get(key) for key in ("percent", "with_ties")):
            raise unsupported(CLAUSES["Fetch", "limit_options"], at=reader.place(node))
        reader.require_only(options, ("percent", "with_ties", "rows"))
    return node.args.get("count")


def _offset(reader: Reader, node: object) -> int:
    return 0 if node is None else _rows(reader, reader.require_kind(node, exp.Offset, "expression").args["expression"])


def _rows(reader: Reader, node: object) -> int:
    """A number of rows, written as one."""
    if type(node) is exp.Literal and not node.args["is_string"]:
        value = literals.number(str(node.this), at=reader.place(node)).value
        if isinstance(value, int):
            return value
    at = reader.place(node) if isinstance(node, exp.Expr) else None
    raise unsupported(
        Lesson(
            "A computed number of rows",
            "how many rows are shown is to be seen in the question",
            "write a whole number: LIMIT 10",
        ),
        at=at,
    )
