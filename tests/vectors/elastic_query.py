"""Reads the counting questions of the golden vectors, a small dialect of SQL, into the algebra of elastic sensitivity.

    [SELECT …] [COUNT] FROM-list [WHERE condition AND …] [GROUP BY columns] [(remark)]

FROM-list: tables with aliases, JOIN … ON equality or USING(column), parentheses on either side, commas. After the
first equality of a join, further predicates only filter. `x [NOT] IN (SELECT y FROM …)` becomes a semi-join; EXISTS
and outer joins are refused.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dpsql.sensitivity.elastic.algebra import (
    LARGEST_QUERY,
    Attribute,
    Column,
    Count,
    GroupedCount,
    Join,
    Query,
    Relation,
    Select,
    SemiJoin,
    Table,
    attributes,
)

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)|(?P<sign><=|>=|<>|!=|[^\s\w])|(?P<other>\S))"
)
_CLAUSES: Final = frozenset(
    {"JOIN", "INNER", "ON", "USING", "WHERE", "GROUP", "FROM", "AND", "AS", "ORDER", "HAVING", "LIMIT"}
    | {"LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL", "UNION"}
)
_STOPS: Final = _CLAUSES - {"AND", "ON", "FROM", "AS"} | {")", ",", ";"}
_END: Final = ""

Frequencies = Mapping[str, Mapping[str, int]]


def read_query(text: str, tables: Frequencies, *, public: Collection[str] = ()) -> Query:
    """The question that `text` asks, over tables given by the largest frequency of each of their columns.

    Requires  a counting question as described above, and a frequency for every joined column.
    """
    if text.count("(") > LARGEST_QUERY:
        raise ValueError(f"the question has more than {LARGEST_QUERY} parentheses")
    return _Reader(_tokens(text), tables, frozenset(public)).query()


def _tokens(text: str) -> list[str]:
    return [match[0].strip() for match in _TOKEN.finditer(text)]


@dataclass
class _Reader:
    """A recursive descent over the tokens; `at` is the next one."""

    tokens: list[str]
    tables: Frequencies
    public: frozenset[str]
    at: int = 0

    def query(self) -> Query:
        relation, grouped = self.block()
        self.take(";")
        if self.peek() not in (_END, "("):  # a parenthesis behind the question is a remark
            raise ValueError(f"cannot read {self.peek()!r}")
        return Count(relation) if grouped is None else GroupedCount(relation, grouped)

    def block(self) -> tuple[Relation, tuple[Attribute, ...] | None]:
        """One SELECT, or a bare FROM-list; its relation and, if grouped, the grouping columns that are known."""
        self.skip_selection()
        sources, filters = [self.source()], []
        while self.take(","):
            sources.append(self.source())
        if self.take("WHERE"):
            filters = self.conditions()
        relation = self.joined(sources, filters)
        relation = self.filtered(relation, filters)
        if not self.take("GROUP"):
            return relation, None
        self.expect("BY")
        names = [self.next()]
        while self.take(","):
            names.append(self.next())
        known = [found for name in names if (found := _find(name, relation)) is not None]
        return relation, tuple(known)

    def skip_selection(self) -> None:
        """SELECT … FROM, or the word COUNT alone, or nothing."""
        if self.take("SELECT"):
            while self.peek() not in (_END, "FROM"):
                self.next()
            self.expect("FROM")
        elif self.take("COUNT"):
            self.take("FROM")

    def source(self) -> Relation:
        left = self.operand()
        while self.peek() in ("JOIN", "INNER"):
            self.take("INNER")
            self.expect("JOIN")
            right = self.operand()
            left = Join(left, right, self.join_keys(left, right))
        return left

    def operand(self) -> Relation:
        if self.take("("):
            if self.peek() == "SELECT":
                relation, grouped = self.block()
                relation = relation if grouped is None else GroupedCount(relation, grouped)
            else:
                relation = self.source()
            self.expect(")")
            return _renamed(relation, self.next()) if self.take("AS") or self.is_alias() else relation
        name = self.next()
        alias = self.next() if self.take("AS") or self.is_alias() else None
        if name not in self.tables:
            raise ValueError(f"table {name!r} has no frequencies")
        listed = self.tables[name]
        columns = tuple(Column(name=key, max_frequency=mf) for key, mf in listed.items() if not isinstance(mf, bool))
        public = name in self.public or listed.get("public") is True  # a flag among the columns
        return Table(name=name, columns=columns, alias=alias, public=public)

    def is_alias(self) -> bool:
        word = self.peek()
        return bool(re.fullmatch(r"[A-Za-z_]\w*", word)) and word.upper() not in _CLAUSES

    def join_keys(self, left: Relation, right: Relation) -> tuple[tuple[Attribute, Attribute], ...]:
        if self.take("USING"):
            self.expect("(")
            names = [self.next()]
            while self.take(","):
                names.append(self.next())
            self.expect(")")
            return (_shared(names[0], left, right),)
        if not self.take("ON"):
            names = sorted({a.column for a in attributes(left)} & {a.column for a in attributes(right)})
            return tuple(_shared(name, left, right) for name in names[:1])  # a natural join
        if self.is_single_name():
            return (_shared(self.next(), left, right),)
        pairs = [pair for words in self.conditions() if (pair := _equality(words, left, right)) is not None]
        if not pairs:
            raise ValueError("the join has no equality between its sides: one row could meet every row of the other")
        return (pairs[0],)

    def is_single_name(self) -> bool:
        """ON key, short for USING(key)."""
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else _END
        if self.peek() == "(":
            return False
        return following in (_END, "(", ")", ",") or following.upper() in _CLAUSES - {"AND"}

    def conditions(self) -> list[list[str]]:
        """The conjuncts of a condition, as tokens; parentheses are kept whole."""
        found: list[list[str]] = [[]]
        depth = 0
        while self.peek() != _END:
            word = self.peek()
            if depth == 0 and (word in _STOPS or self.at_remark(found)):
                break
            depth += (word == "(") - (word == ")")
            self.at += 1
            if word == "AND" and depth == 0:
                found.append([])
            else:
                found[-1].append(self.tokens[self.at - 1])
        return found

    def at_remark(self, found: list[list[str]]) -> bool:
        """A parenthesis that follows a complete equality is a remark to the reader."""
        return self.peek() == "(" and len(found[-1]) == 3 and found[-1][1] == "="

    def joined(self, sources: list[Relation], filters: list[list[str]]) -> Relation:
        """Comma-separated sources, joined from the left by the equalities of WHERE."""
        left = sources[0]
        for right in sources[1:]:
            pairs = [pair for words in filters if (pair := _equality(words, left, right)) is not None]
            left = Join(left, right, tuple(pairs[:1]))
        return left

    def filtered(self, relation: Relation, filters: list[list[str]]) -> Relation:
        for words in filters:
            upper = [word.upper() for word in words]
            if "SELECT" not in upper:
                relation = Select(relation, " ".join(words))
                continue
            negated = upper[1:3] == ["NOT", "IN"]
            start = 3 if negated else 2
            if upper[start - 1 : start + 2] != ["IN", "(", "SELECT"] or upper[-1] != ")":
                raise ValueError("a sub-query in a condition must be column [NOT] IN (SELECT column FROM …)")
            inside = words[start + 2 : -1]
            inner, _ = _Reader(["SELECT", *inside], self.tables, self.public).block()
            relation = SemiJoin(relation, inner, (_known(words[0], relation), _known(inside[0], inner)), negated)
        return relation

    def peek(self) -> str:
        """The next token; keywords in capitals."""
        if self.at >= len(self.tokens):
            return _END
        word = self.tokens[self.at]
        upper = word.upper()
        return upper if upper in _CLAUSES or upper in ("SELECT", "COUNT", "BY") else word

    def next(self) -> str:
        if self.at >= len(self.tokens):
            raise ValueError("the question ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, word: str) -> bool:
        found = self.peek() == word
        self.at += found
        return found

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise ValueError(f"expected {word!r}, found {self.peek()!r}")


def _renamed(relation: Relation, name: str) -> Relation:
    """A derived table under its own name. Columns drawn from several tables keep the names of those."""
    match relation:
        case Table():
            return replace(relation, alias=name)
        case Select():
            return replace(relation, relation=_renamed(relation.relation, name))
    return relation


def _find(name: str, relation: Relation) -> Attribute | None:
    """The column called `name` or `table.name`. Merged by USING, it may have several homes: all occur equally often."""
    table, _, column = name.rpartition(".")
    return min((a for a in attributes(relation) if a.column == column and table in ("", a.table)), default=None)


def _known(name: str, relation: Relation) -> Attribute:
    found = _find(name, relation)
    if found is None:
        raise ValueError(f"no table of the question has a column {name!r} with a frequency")
    return found


def _shared(name: str, left: Relation, right: Relation) -> tuple[Attribute, Attribute]:
    return _known(name, left), _known(name, right)


def _equality(words: list[str], left: Relation, right: Relation) -> tuple[Attribute, Attribute] | None:
    """The two sides of `a = b`, left side first, or None where the condition does not link the two relations."""
    while words[:1] == ["("] and words[-1] == ")":
        words = words[1:-1]
    if len(words) != 3 or words[1] != "=":
        return None
    for one, other in ((words[0], words[2]), (words[2], words[0])):
        first, second = _find(one, left), _find(other, right)
        if first is not None and second is not None:
            return first, second
    return None
