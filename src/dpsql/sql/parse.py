"""Text to our own tree: the first stage of the pipeline, and the only one that sees the SQL parser.

`parse` refuses what no rule names. It is total: whatever the text, the result is a `Parsed` or a typed error, and the
verdict depends on the text alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from dpsql.errors import DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parsing.calls import CALLS
from dpsql.sql.parsing.grammar import require_well_formed
from dpsql.sql.parsing.membership import MEMBERSHIPS
from dpsql.sql.parsing.nameless import nameless
from dpsql.sql.parsing.operators import OPERATORS
from dpsql.sql.parsing.private import private_words
from dpsql.sql.parsing.reading import Reader
from dpsql.sql.parsing.refusals import misread
from dpsql.sql.parsing.select import QUERIES, query
from dpsql.sql.parsing.text import Prepared, compared, prepared, statements
from dpsql.sql.parsing.tokens import Tokens, tokens_of
from dpsql.sql.syntax import At, Parsed, Purpose, Query

__all__ = ["compared", "parse", "statements"]

MAX_DEPTH: Final = 150
"""Levels of the parser's tree: later stages walk ours by recursion. Chains of AND, of OR and of UNION count once."""

RULES: Final = {**OPERATORS, **CALLS, **MEMBERSHIPS, **QUERIES}
"""The expressions that can be asked, by the exact class of the parser's node."""


def parse(text: str, *, dialect: str) -> Parsed:
    """One statement as a tree, or an error that says what is wrong with it and where."""
    try:
        statement = prepared(text)
        tokens = tokens_of(statement, dialect=dialect)
        asked = _on_a_whole_stack(lambda: _query(statement, tokens, dialect))
    except DpsqlError as error:
        raise error.within(text) from None
    if tokens.options.rows is not None and statement.purpose is not Purpose.SIMULATE:
        raise _rows_of_nothing(tokens.options.rows.at).within(text)
    return Parsed(text=text, purpose=statement.purpose, query=asked, options=tokens.options)


def _rows_of_nothing(at: At) -> NotUnderstood:
    return NotUnderstood(
        "ROWS says how many rows SIMULATE invents, and this statement invents none",
        why="how many rows people really have is no choice",
        fix="put SIMULATE before the question, or leave ROWS out",
        at=at,
    )


def _on_a_whole_stack(read: Callable[[], Query]) -> Query:
    """The verdict must not depend on how deep the caller stands: if its stack is short, a thread has a fresh one."""
    try:
        return read()
    except RecursionError:
        pass
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(read).result()
    except RecursionError:
        raise _too_deep(None) from None


def _query(statement: Prepared, tokens: Tokens, dialect: str) -> Query:
    tree = _tree(statement, tokens, dialect)
    reader = Reader(rules=RULES, tokens=tokens, selects=tokens.selects())
    _require_shallow(reader, tree)
    asked = query(reader, tree)
    for unread in tokens.contributions.keys() - reader.bounded:
        raise misread(statement.text, tokens.contributions[unread].at, what="These bounds belong to no call")
    require_well_formed(tokens)
    return asked


def _tree(statement: Prepared, tokens: Tokens, dialect: str) -> exp.Expr:
    parser = Dialect.get_or_raise(dialect).parser(error_level=ErrorLevel.IMMEDIATE)
    private = private_words(tokens)
    known = [token for number, token in enumerate(tokens.tokens) if number not in private]
    try:
        trees = parser.parse(nameless(known, dialect=dialect), statement.plain)
    except ParseError as error:
        raise misread(statement.text, _where(error, tokens)) from None
    except (SqlglotError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise misread(statement.text, tokens.at(0, 0)) from None  # the parser stumbles over some broken texts
    if len(trees) != 1 or trees[0] is None:
        raise misread(statement.text, tokens.at(0, 0))
    return trees[0]


def _where(error: ParseError, tokens: Tokens) -> At:
    """The token the parser stopped at."""
    first = error.errors[0] if error.errors else {}
    for number, token in enumerate(tokens.tokens):
        if (token.line, token.col) == (first.get("line"), first.get("col")):
            return tokens.at(number, number)
    return tokens.at(len(tokens.tokens) - 1, len(tokens.tokens) - 1)


def _require_shallow(reader: Reader, tree: exp.Expr) -> None:
    left = [(tree, 0)]
    while left:
        node, depth = left.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(reader.place(tree))
        for child in node.iter_expressions():
            same = type(child) is type(node) and type(node) in (exp.And, exp.Or, exp.Union)
            left.append((child, depth + (0 if same else 1)))


def _too_deep(at: At) -> NotSupported:
    return NotSupported(
        "The question is nested too deeply, or a chain of operators is too long",
        why="a deeper text would keep the service from answering others",
        fix="name the inner parts in a WITH clause; a long chain of OR goes into x IN (…)",
        at=at,
    )
