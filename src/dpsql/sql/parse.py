"""Text to our own tree: the first stage of the pipeline.

What the grammar in `parsing` does not name cannot be asked. `parse` is total: whatever the text, the result is a
`Parsed` or a typed error, and the verdict depends on the text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from dpsql.errors import BadParameter, DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parsing.dp_clauses import hinted_options
from dpsql.sql.parsing.option_values import require_once
from dpsql.sql.parsing.queries import Queries
from dpsql.sql.parsing.refusals import INTERVAL, ROW, unsupported
from dpsql.sql.parsing.text import Prepared, compared, lexed, prepared, purpose, statements
from dpsql.sql.syntax import (
    Among,
    At,
    Call,
    CommonTable,
    Derived,
    Item,
    Joined,
    Over,
    Parsed,
    PrivateValue,
    Purpose,
    Query,
    Select,
    SortKey,
    UnionAll,
)

__all__ = ["compared", "parse", "purpose", "statements"]

DIALECTS: Final = frozenset({"duckdb"})
MAX_DEPTH: Final = 150
"""Levels of the tree: later stages walk it by recursion."""


def parse(text: str, *, dialect: str) -> Parsed:
    """One statement as a tree, or an error that says what is wrong with it and where."""
    if dialect not in DIALECTS:
        raise BadParameter(
            f"dialect={dialect!r} is not one of {', '.join(sorted(DIALECTS))}",
            why="a text is read by the rules of one dialect",
            fix="name the dialect of the engine",
        )
    try:
        statement = prepared(text)
        return _on_a_whole_stack(lambda: _read(statement))
    except DpsqlError as error:
        raise error.within(text) from None


def _read(statement: Prepared) -> Parsed:
    tokens = lexed(statement)
    queries = Queries(lexed=tokens, symbols=tokens.symbols)
    asked = queries.statement()
    _require_shallow(asked)
    require_once(queries.foreign, queries.said)
    options = queries.foreign.over(queries.said).over(hinted_options(tokens, statement.hints))
    if options.rows is not None and statement.purpose is not Purpose.SIMULATE:
        raise NotUnderstood(
            "ROWS says how many rows SIMULATE invents, and this statement invents none",
            why="how many rows people really have is no choice",
            fix="put SIMULATE before the question, or leave ROWS out",
            at=options.rows.at,
        )
    return Parsed(text=statement.text, purpose=statement.purpose, query=asked, options=options)


def _on_a_whole_stack(read_: Callable[[], Parsed]) -> Parsed:
    """The verdict must not depend on how deep the caller stands: if its stack is short, a thread has a fresh one."""
    try:
        return read_()
    except RecursionError:
        pass
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(read_).result()
    except RecursionError:
        raise _too_deep(None) from None


def _require_shallow(query: Query) -> None:
    """Also that no interval and no row of values is left where no rule reads it."""
    left: list[tuple[object, int]] = [(query, 0)]
    while left:
        node, depth = left.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(query.at)
        if isinstance(node, Call) and node.function in _LEFT_OVER:
            raise unsupported(_LEFT_OVER[node.function], at=node.at)
        if type(node) in _INSIDE:
            left += [(part, depth + 1) for part in reversed(_INSIDE[type(node)](node)) if part is not None]


_LEFT_OVER: Final = {"interval": INTERVAL, "row": ROW}
_INSIDE: Final[Mapping[type, Callable[[Any], tuple[object, ...]]]] = {
    Call: lambda node: (*node.arguments, node.filter, node.over),
    Over: lambda node: (*node.partition_by, *node.order_by),
    SortKey: lambda node: (node.expression,),
    Among: lambda node: (*node.operands, node.query),
    PrivateValue: lambda node: (node.query,),
    Item: lambda node: (node.expression,),
    Derived: lambda node: (node.query,),
    Joined: lambda node: (node.left, node.right, node.on),
    CommonTable: lambda node: (node.query,),
    Select: lambda node: (
        *(*node.with_, *node.items, node.from_, node.where),
        *(*node.group_by, node.having, node.qualify, *node.order_by),
    ),
    UnionAll: lambda node: (*node.with_, *node.branches, *node.order_by),
}
"""What stands inside of each node."""


def _too_deep(at: At) -> NotSupported:
    return NotSupported(
        "The question is nested too deeply, or a chain of operators is too long",
        why="a deeper text would keep the service from answering others",
        fix="name the inner parts in a WITH clause; a long chain of OR goes into x IN (…)",
        at=at,
    )
