"""What reading the parser's tree needs everywhere: the table of rules, the places in the text, and the refusals.

A class without a rule is refused; so is every argument of a class that its rule does not name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sqlglot import exp

from dpsql.sql.parsing import literals
from dpsql.sql.parsing.refusals import MISSING_PARENTHESES, Lesson, clause, construct, misread, unsupported
from dpsql.sql.parsing.tokens import Tokens
from dpsql.sql.syntax import At, Call, Expression, Identifier

MAX_COPIES: Final = 10_000
"""BETWEEN and CASE x WHEN write their operand more than once; nested, that would multiply."""

LOOSE: Final = frozenset({exp.Not, exp.Escape, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE})
"""Operators that may not be operands without parentheses: NOT a = b + 1, a < b < c, a LIKE b ESCAPE c || d."""

_WORDS: Final = {"locks": "FOR"}
"""Arguments of nodes that are written with another word."""

_SHOWN: Final[Mapping[type[exp.Expr], str]] = {exp.Var: "", exp.Interval: "INTERVAL"}
"""Nodes without a place, found by a word: their own, or this one."""

Convert: TypeAlias = "Callable[[Reader, exp.Expr], Expression]"


@dataclass(frozen=True, slots=True)
class Rule:
    """How one class is read; `arguments` and the listed values of `flags` are all it may have."""

    convert: Convert
    arguments: tuple[str, ...] = ("this", "expression")
    flags: Mapping[str, tuple[object, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one statement."""

    rules: Mapping[type[exp.Expr], Rule]
    """The expressions that can be asked, by the exact class of the parser's node."""
    tokens: Tokens
    selects: Iterator[int]
    """The words SELECT that no query has taken yet; queries are read in the order they are written."""
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    """The named windows of the query being read."""
    copies: list[int] = field(default_factory=lambda: [0])
    bounded: set[int] = field(default_factory=set)
    """The calls whose own bounds were read, by the places of their names."""

    def expression(self, node: object) -> Expression:
        """One expression."""
        if not isinstance(node, exp.Expr):
            raise misread(self.tokens.text, None)
        rule = self.rules.get(type(node))
        if rule is None:
            raise construct(type(node).__name__, at=self.place(node))
        self.require_only(node, rule.arguments, rule.flags)
        return rule.convert(self, node)

    def operand(self, node: object) -> Expression:
        """An operand of an operator. Where engines disagree on how far an operator reaches, parentheses must say it."""
        if type(node) in LOOSE and isinstance(node, exp.Expr):
            raise unsupported(MISSING_PARENTHESES, at=self.place(node))
        return self.expression(node)

    def require_only(
        self, node: exp.Expr, arguments: tuple[str, ...], flags: Mapping[str, tuple[object, ...]] | None = None
    ) -> None:
        """Refuse every argument that is not named, unless it is empty."""
        for key, value in node.args.items():
            if key in arguments or value is None or value is False or value == []:
                continue
            if flags and (value.upper() if isinstance(value, str) else value) in flags.get(key, ()):
                continue
            first = value[0] if isinstance(value, list) else value
            at = (self.place(first) if isinstance(first, exp.Expr) else None) or self.tokens.word(_WORDS.get(key, key))
            at = at or (self.tokens.word(first) if isinstance(first, str) else None)
            raise clause(type(node).__name__, key, at=at or self.place(node))

    def require_kind(self, node: object, kind: type[exp.Expr], *arguments: str) -> exp.Expr:
        """The node, which must be of exactly this class and have no other arguments."""
        if type(node) is not kind or not isinstance(node, exp.Expr):
            raise construct(type(node).__name__, at=self.place(node) if isinstance(node, exp.Expr) else None)
        self.require_only(node, arguments)
        return node

    def name(self, node: object) -> Identifier:
        """A name, from the text."""
        found = self.require_kind(node, exp.Identifier, "this", "quoted")
        return literals.identifier(self.tokens.text, own_place(found))

    def place(self, node: exp.Expr) -> At:
        """Where a node stands: from the first to the last descendant that has a place."""
        hulled = hull(*(self._word(found) for found in node.walk()))
        at = self.tokens.balanced(hulled, enclosing=1 if isinstance(node, exp.Query | exp.SubqueryPredicate) else 0)
        return at or (self.tokens.word(_SHOWN.get(type(node)) or str(node.this)) if type(node) in _SHOWN else None)

    def _word(self, node: exp.Expr) -> At:
        """Where a node's own token stands; a call is shown with its parentheses."""
        at = own_place(node)
        return self.tokens.called(at[0]) if at is not None and type(node) is exp.Anonymous else at

    def around(self, *parts: Expression, enclosing: int = 0) -> At:
        """Where an expression of these parts stands."""
        return self.tokens.balanced(hull(*(part.at for part in parts)), enclosing=enclosing)

    def copied(self, operand: Expression, *, at: At) -> None:
        """Count what writing `operand` once more adds; refuse before it gets out of hand."""
        self.copies[0] += _size(operand)
        if self.copies[0] > MAX_COPIES:
            lesson = Lesson("An expression repeated this often", fix="name it in a subquery or a WITH clause")
            raise unsupported(lesson, at=at)


def own_place(node: exp.Expr) -> At:
    """Where the token stands that a node was made of."""
    meta = node.meta
    start, end = meta.get("start"), meta.get("end")
    return (start, end + 1) if isinstance(start, int) and isinstance(end, int) else None


def hull(*places: At) -> At:
    known = [at for at in places if at is not None]
    if len(known) < 2:
        return known[0] if known else None
    return min([start for start, _ in known]), max([end for _, end in known])


def _size(operand: Expression) -> int:
    """Number of nodes, as far as it matters."""
    count, left = 0, [operand]
    while left and count <= MAX_COPIES:
        node = left.pop()
        count += 1
        if isinstance(node, Call):
            left += node.arguments
    return count
