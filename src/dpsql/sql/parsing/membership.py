"""IN (SELECT …) and EXISTS (SELECT …): the expressions that hold a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from dpsql.sql.parsing.operators import OPERATORS
from dpsql.sql.parsing.reading import Reader, Rule, hull
from dpsql.sql.parsing.refusals import construct
from dpsql.sql.parsing.select import query
from dpsql.sql.syntax import Among, Expression

_LIST: Final = OPERATORS[exp.In]


def _in(reader: Reader, node: exp.Expr) -> Expression:
    asked = node.args.get("query")
    if asked is None:
        return _LIST.convert(reader, node)
    if node.args.get("expressions"):
        raise construct("In", at=reader.place(node))
    operands = _operands(reader, node.this)
    inside = reader.require_kind(asked, exp.Subquery, "this").this
    if type(inside) is exp.Subquery:  # x IN ((SELECT …)) is a list with one value in some engines
        raise construct("Subquery", at=reader.place(inside))
    read = query(reader, inside)
    at = hull(*(operand.at for operand in operands), reader.tokens.balanced(read.at, enclosing=1))
    return Among(operands=operands, query=read, at=reader.tokens.balanced(at))


def _operands(reader: Reader, node: exp.Expr) -> tuple[Expression, ...]:
    """x, or (x, y)."""
    if type(node) is exp.Tuple:
        reader.require_only(node, ("expressions",))
        return tuple(reader.operand(each) for each in node.expressions)
    return (reader.operand(node),)


def _exists(reader: Reader, node: exp.Expr) -> Expression:
    read = query(reader, node.this)
    return Among(query=read, at=reader.tokens.balanced(read.at, enclosing=2))


MEMBERSHIPS: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.In: Rule(_in, ("this", "expressions", "query")),
    exp.Exists: Rule(_exists, ("this",)),
}
