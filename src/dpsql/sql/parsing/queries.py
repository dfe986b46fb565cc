"""The grammar of queries: WITH, UNION ALL, SELECT with its clauses, tables and joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from dpsql.sql.parsing import literals, refusals
from dpsql.sql.parsing.cursor import ONLY_AFTER_AS
from dpsql.sql.parsing.dp_clauses import DpClauses
from dpsql.sql.parsing.expressions import OPERATOR_WORDS, Windows
from dpsql.sql.parsing.refusals import Lesson, misread, unsupported
from dpsql.sql.parsing.text import END, NUMBER, STRING
from dpsql.sql.syntax import (
    CommonTable,
    Derived,
    Expression,
    From,
    Identifier,
    Item,
    Joined,
    JoinKind,
    Query,
    Select,
    SortKey,
    Star,
    TableName,
    UnionAll,
)

_AFTER_ITEMS: Final = frozenset(
    {"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", ")", END}
)
_JOINS: Final[Mapping[str, JoinKind]] = {
    "JOIN": JoinKind.INNER,
    "INNER": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
    "CROSS": JoinKind.CROSS,
}
_OTHER_JOINS: Final = {
    **dict.fromkeys(("NATURAL", "ASOF", "POSITIONAL"), refusals.JOIN_METHOD),
    **dict.fromkeys(("SEMI", "ANTI"), refusals.SEMI_JOIN),
}
_GROUPINGS: Final = frozenset({"ROLLUP", "CUBE", "GROUPING"})
_COMPUTED: Final = Lesson(
    "A computed number of rows",
    "how many rows are shown is to be seen in the question",
    "write a whole number: LIMIT 10",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class Queries(DpClauses):
    def statement(self) -> Query:
        """One query, from the first token to the last."""
        word = self.next()
        if word not in ("SELECT", "WITH", "("):
            if word in refusals.STATEMENTS:
                raise unsupported(refusals.STATEMENTS[word], at=self.here())
            raise misread(self.lexed.text, self.here(), what="A statement begins with SELECT or WITH")
        found = self.query()
        self.end_clauses()
        return found

    # ---- queries ----------------------------------------------------------------------------------------------------

    def query(self) -> Query:
        outer, self.of_people = self.of_people, False
        common = self._common_tables()
        first, in_parentheses = self.position, self.next() == "("
        branches = [self._branch()]
        while self.next() in ("UNION", "INTERSECT", "EXCEPT"):
            if self.next() != "UNION" or self.next(1) != "ALL":
                raise unsupported(refusals.SET_OPERATION, at=self.here())
            self.position += 2
            if self.next() == "BY":
                raise unsupported(refusals.BY_NAME, at=self.here(2))
            branches.append(self._branch())
        after = self.position
        self.windows.append(Windows(select=after, known={}))  # those of a SELECT are known inside of it alone
        tail = self._tail()
        self.windows.pop()
        self.of_people = outer
        if len(branches) > 1:
            return UnionAll(
                with_=common,
                branches=tuple(branches),
                order_by=tail.order_by,
                limit=tail.limit,
                offset=tail.offset,
                at=self.at(first),
            )
        (found,) = branches
        if not in_parentheses:
            return replace(
                found,
                with_=common,
                order_by=tail.order_by,
                limit=tail.limit,
                offset=tail.offset,
                at=self.at(first),
            )
        if common or self.position > after:
            raise unsupported(_AROUND_PARENTHESES, at=self.lexed.at(after if not common else first, self.position - 1))
        return found

    def _common_tables(self) -> tuple[CommonTable, ...]:
        if not self.take("WITH"):
            return ()
        if self.next() == "RECURSIVE" and self.next(1) not in ("AS", "("):
            raise unsupported(refusals.RECURSIVE, at=self.here())
        self.require_no_options()
        return self.several(self._common_table)

    def _common_table(self) -> CommonTable:
        name = self.name()
        columns = self._names() if self.next() == "(" else ()
        self.expect("AS")
        private = False
        if self.take("NOT"):
            self.expect("MATERIALIZED")
        elif not self.take("MATERIALIZED"):
            private = bool(self.take("PRIVATE"))
        return CommonTable(name=name, columns=columns, query=self.wrapped(self.inner_query), private=private)

    def _names(self) -> tuple[Identifier, ...]:
        return self.wrapped(lambda: self.several(self.name))

    def _branch(self) -> Query:
        return self.wrapped(self.inner_query) if self.next() == "(" else self._select()

    def inner_query(self) -> Query:
        if self.next() in refusals.STATEMENTS:
            raise unsupported(refusals.STATEMENTS[self.next()], at=self.here())
        return self.query()

    def _select(self) -> Select:
        first = self.position
        if self.next() in refusals.STATEMENTS:
            raise unsupported(refusals.STATEMENTS[self.next()], at=self.here())
        self.expect("SELECT")
        self.begin_select()
        self.windows.append(Windows(select=first))
        distinct = self._distinct()
        items = self._items()
        from_ = self._from() if self.take("FROM") else None
        where = self.expression() if self.take("WHERE") else None
        group_by = self._group_by()
        having = self.expression() if self.take("HAVING") else None
        self.keys_clause()
        if self.take("WINDOW"):
            self.named_windows()
        qualify = self.expression() if self.take("QUALIFY") else None
        self.keys_clause()
        self.windows.pop()
        return Select(
            distinct=distinct,
            items=items,
            from_=from_,
            where=where,
            group_by=group_by,
            having=having,
            qualify=qualify,
            at=self.at(first),
        )

    def _distinct(self) -> bool:
        if not self.take("DISTINCT"):
            self.take("ALL")
            return False
        if self.next() == "ON" and self.next(1) == "(":
            raise unsupported(refusals.DISTINCT_ON, at=self.lexed.at(self.position - 1, self.position))
        return True

    def _group_by(self) -> tuple[Expression, ...]:
        if not self.take("GROUP"):
            return ()
        self.expect("BY")
        if self.next() == "ALL":
            raise unsupported(refusals.GROUP_BY_ALL, at=self.here())
        self.grouped = self.grouped or self.depth == 0
        found = self.several(self._group)
        self.keys_clause()
        return found

    def _group(self) -> Expression:
        if self.next() in _GROUPINGS and self.next(1) in ("(", "SETS"):
            raise unsupported(refusals.GROUPING, at=self.here())
        return self.key()

    def _tail(self) -> _Tail:
        order_by = self.order_by() if self.next() == "ORDER" else ()
        self.keys_clause()
        limit: int | None = None
        offset: int | None = None
        while self.next() in ("LIMIT", "OFFSET", "FETCH") and not self.begins_clause():
            word = self.next()
            if (offset if word == "OFFSET" else limit) is not None:
                raise misread(self.lexed.text, self.here(), what="How many rows is said twice")
            self.position += 1
            if word == "OFFSET":
                offset = self._rows()
            else:
                limit = self._fetched() if word == "FETCH" else self._rows(limit=True)
            self.keys_clause()
        return _Tail(order_by=order_by, limit=limit, offset=offset or 0)

    def _fetched(self) -> int:
        """FETCH FIRST n ROWS ONLY."""
        first = self.position - 1
        self.expect("FIRST", "NEXT")
        count = self._rows()
        if not self.take("ONLY"):
            raise unsupported(refusals.FETCH, at=self.at(first))
        return count

    def _rows(self, *, limit: bool = False) -> int:
        """A number of rows, written as one; behind LIMIT without the word ROWS."""
        first = self.position
        if self.next() == NUMBER and self.next(1) not in ("+", "-", "*", "/", "::", "||"):
            value = self.number().value
            if self.next() in ("%", "PERCENT") or (self.next() == "WITH" and self.next(1) == "TIES"):
                raise unsupported(refusals.SHARE_OF_ROWS, at=self.at(first))
            if isinstance(value, int):
                if not limit and self.next() in ("ROW", "ROWS") and not self.begins_clause():
                    self.position += 1
                return value
        elif self.next() not in (END, ")"):
            self.expression()
        else:
            self.fail()
        raise unsupported(_COMPUTED, at=self.at(first))

    # ---- the SELECT list --------------------------------------------------------------------------------------------

    def _items(self) -> tuple[Item, ...]:
        found = [self._item()]
        while self.take(",") and self.next() not in _AFTER_ITEMS:
            found.append(self._item())
        return tuple(found)

    def _item(self) -> Item:
        first = self.position
        star = self._star()
        expression = star or self.expression()
        start, end = self.at(first)
        alias = None
        if self.next() in ONLY_AFTER_AS and not self.begins_clause():
            raise misread(self.lexed.text, self.here(), what=f"{self.next()} names a column only after AS")
        if star is None and (self.take("AS") or self._is_alias()):
            alias = self.label()
        return Item(expression=expression, alias=alias, text=self.lexed.text[start:end])

    def _star(self) -> Star | None:
        """* or t.*"""
        first, table = self.position, None
        if self.is_name() and self.next(1) == "." and self.next(2) == "*":
            table = self.name()
            self.position += 1
        if not self.take("*"):
            return None
        if self.next() in refusals.STARRED:
            raise unsupported(refusals.STARRED[self.next()], at=self.here())
        return Star(table=table, at=self.at(first))

    def _is_alias(self) -> bool:
        return self.is_name() and self.next() not in OPERATOR_WORDS and not self.begins_clause()

    # ---- tables and joins -------------------------------------------------------------------------------------------

    def _from(self) -> From:
        """A comma binds less than JOIN: what follows it is a table with joins of its own."""
        first, found = self.position, self._joined()
        while self.take(","):
            found = Joined(kind=JoinKind.CROSS, left=found, right=self._joined(), at=self.at(first))
        return found

    def _joined(self) -> From:
        first, found = self.position, self._table()
        while True:
            word = self.next()
            if word in _OTHER_JOINS:
                last = next((n for n in range(1, 4) if self.next(n) == "JOIN"), None)
                if last is not None:
                    raise unsupported(_OTHER_JOINS[word], at=self.here(last + 1))
            if word not in _JOINS:
                return found
            found = self._join(found, first)

    def _join(self, left: From, first: int) -> From:
        begun, word = self.position, self.take(*_JOINS)
        if word in ("LEFT", "RIGHT", "FULL"):
            self.take("OUTER")
        if self.next() in _OTHER_JOINS:
            raise unsupported(_OTHER_JOINS[self.next()], at=self.lexed.at(begun, self.position + 1))
        if word != "JOIN":
            self.expect("JOIN")
        join = self.position - 1
        right = self._table()
        if word == "CROSS":
            return Joined(kind=JoinKind.CROSS, left=left, right=right, at=self.at(first))
        if self.take("ON"):
            condition = self.expression()
            return Joined(kind=_JOINS[word], left=left, right=right, on=condition, at=self.at(first))
        if not self.take("USING"):
            raise unsupported(refusals.UNCONDITIONAL_JOIN, at=self.lexed.at(join, join))
        return Joined(kind=_JOINS[word], left=left, right=right, using=self._names(), at=self.at(first))

    def _table(self) -> From:
        first = self.position
        private = self.next() == "PRIVATE" and self.next(1) == "(" and self.holds_query(1)
        self.position += private
        if self.next() != "(":
            return self._table_name()
        if private or self.holds_query():
            asked = self.wrapped(self.inner_query)
            alias, columns = self._alias()
            return Derived(query=asked, alias=alias, columns=columns, private=private, at=self.at(first))
        if self.next(1) in refusals.STATEMENTS:
            raise unsupported(refusals.STATEMENTS[self.next(1)], at=self.lexed.at(first + 1, first + 1))
        found = self.wrapped(self._joined)
        named, _ = self._alias()
        if named is not None:
            raise unsupported(
                Lesson("A name for a join", refusals.NO_RULE, "use a subquery: (SELECT … FROM …) AS t"), at=named.at
            )
        return found

    def _table_name(self) -> TableName:
        first = self.position
        if self.next() == STRING:
            literals.identifier(self.lexed.text, self.here())
        if self.next() == "LATERAL":
            raise unsupported(refusals.LATERAL, at=self.here())
        if self.next() == "VALUES":
            raise unsupported(refusals.STATEMENTS["VALUES"], at=self.here())
        parts = self.path() if self.next(1) != "(" else (self.label(),)
        if self.next() == "(":
            raise unsupported(refusals.TABLE_FUNCTION, at=self.lexed.at(first, self.lexed.closing[self.position]))
        if len(parts) > 3:
            raise unsupported(refusals.NAMING, at=self.at(first))
        if self.next() == "USING" and self.next(1) == "SAMPLE":
            raise unsupported(refusals.SAMPLE, at=self.here(2))
        if self.next() == "AT" and self.next(1) == "(":
            raise unsupported(refusals.AS_OF, at=self.here())
        alias, columns = self._alias()
        if columns:
            raise unsupported(refusals.RENAMED_COLUMNS, at=columns[0].at)
        return TableName(name=parts, alias=alias, at=self.at(first))

    def _alias(self) -> tuple[Identifier | None, tuple[Identifier, ...]]:
        if not self.take("AS") and not self._is_alias():
            return None, ()
        alias = self.name()
        return alias, self._names() if self.next() == "(" else ()


_AROUND_PARENTHESES: Final = Lesson(
    "WITH, ORDER BY or LIMIT around a query in parentheses", refusals.NO_RULE, "put it inside the parentheses"
)
