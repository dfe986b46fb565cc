"""emit: the text of a relation for one dialect. Columns get fresh names in the order they are met.

Nothing the analyst wrote reaches the engine but literals, re-quoted, and the names of declared tables and columns.
What makes two questions the same is read off the relations themselves: dpsql.plan.question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from dpsql.catalog.model import Cells, KeyRange, Parameter, Value
from dpsql.catalog.spelling import ENGINE_TYPES, quoted
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.sql import functions, inner, relations
from dpsql.sql.relations import Column, Relation
from dpsql.sql.rewrite import Statement
from dpsql.sql.scalars import Apply, Constant, Scalar, Windowed, columns_of
from dpsql.sql.words import PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineText:
    """What an engine is sent."""

    sql: str
    lists: Mapping[str, Cells]
    """The parameters $list1, $list2, …: one for each column of literal rows, however often it is read."""
    salted: bool
    """It has the parameter $salt, the salt of the receipt."""

    def parameters(self, *, salt: int | None = None) -> dict[str, Parameter]:
        """What is bound to the text, by name."""
        if self.salted and salt is None:
            raise InternalError("a choice by hash without a salt")
        return {**self.lists, **({"salt": salt} if self.salted and salt is not None else {})}


def statement_text(statement: Statement, *, dialect: str) -> str:
    """The text of `engine_text`, for people and digests."""
    return engine_text(statement, dialect=dialect).sql


def engine_text(statement: Statement, *, dialect: str) -> EngineText:
    """The statement as the engine will get it: keys, then integers."""
    printer = _Printer(dialect=dialect)
    printer.name_shared(statement.relation)
    body = printer.table(statement.relation, {column.id for column in statement.columns})
    shown = ", ".join(printer.name(column.id) for column in statement.columns)
    common = ", ".join(f"{name} AS MATERIALIZED ({text})" for name, text in printer.common)
    sql = f"{f'WITH {common} ' if common else ''}SELECT {shown} FROM {body}"
    return EngineText(sql=sql, lists=printer.lists, salted=printer.salted)


_TOTALS: Final[Mapping[str, str]] = {
    "count": "count(*)",
    "count_of": "count({})",
    "count_distinct": "count(DISTINCT {})",
    "sum": "sum({})",
    "sum_distinct": "sum(DISTINCT {})",
    "own_sum": "sum({})",
    "own_min": "min({})",
    "own_max": "max({})",
    "avg": "avg({})",
    "avg_distinct": "avg(DISTINCT {})",
    "min": "min({})",
    "max": "max({})",
    "median": "median({})",
    "var_pop": "var_pop({})",
    "var_samp": "var_samp({})",
    "stddev_pop": "stddev_pop({})",
    "stddev_samp": "stddev_samp({})",
    **{name: name + "({})" for name in sorted(PAIRS)},
}


LONGEST: Final = 4_000
"""Characters of an expression with all computed columns in it written out; beyond, what is below is computed first."""
_NAME: Final = re.compile(r"\bc[0-9]+\b")


@dataclass(slots=True)
class _Printer:
    dialect: str
    names: dict[int, str] = field(default_factory=dict)
    shared: dict[int, str] = field(default_factory=dict)
    common: list[tuple[str, str]] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    """How long the text of a computed column is, with the columns it reads written out."""
    tables: int = 0
    salted: bool = False
    lists: dict[str, Cells] = field(default_factory=dict)
    _bound: dict[tuple[int, SqlType], str] = field(default_factory=dict)
    """The parameter of a list of keys, by its identity and type: what is read twice is bound once."""

    def name(self, number: int) -> str:
        return self.names.setdefault(number, f"c{len(self.names) + 1}")

    def name_shared(self, relation: Relation) -> None:
        """What is grouped or ranked once and read twice is computed once."""
        readers = Counter(id(below) for each in _each(relation) for below in relations.inputs(each))
        for each in _each(relation):
            if readers[id(each)] > 1 and _is_work(each):
                text = self._select(each, {column.id for column in each.columns})
                self.shared[id(each)] = name = f"s{len(self.shared) + 1}"
                self.common.append((name, text))

    def table(self, relation: Relation, needed: set[int]) -> str:
        """The relation as an entry of FROM."""
        if id(relation) in self.shared:
            return self.shared[id(relation)]
        self.tables += 1
        number = self.tables
        return f"({self._select(relation, needed)}) AS t{number}"

    def _select(self, relation: Relation, needed: set[int]) -> str:
        match relation:
            case relations.Scan():
                return self._scan(relation, needed)
            case relations.ListedKeys():
                return self._listed_keys(relation)
            case relations.Listed():
                return self._listed(relation)
            case relations.AwaitedRows():  # the canonical text of what is not known yet; never sent to an engine
                names = ", ".join(self.name(column.id) for column in relation.columns)
                return f"SELECT * FROM (VALUES :released{relation.question}) AS v({names})"
            case relations.Filter():
                below = needed | columns_of(relation.condition)
                source, condition = self.table(relation.input, below), self.scalar(relation.condition)
                return f"SELECT {self._plain(relation.columns, needed)} FROM {source} WHERE {condition}"
            case relations.Project():
                return self._project(relation, needed)
            case relations.Join():
                return self._join(relation, needed)
            case relations.Group():
                return self._group(relation)
            case relations.Rank():
                return self._rank(relation, needed)
            case relations.Union():
                return self._union(relation, needed)
            case relations.Exists():
                return self._exists(relation, needed)
            case relations.Window():
                return self._window(relation, needed)

    def _plain(self, columns: Iterable[Column], needed: set[int]) -> str:
        once = dict.fromkeys(column.id for column in columns if column.id in needed)
        return ", ".join(map(self.name, once)) or "1"

    def _scan(self, scan: relations.Scan, needed: set[int]) -> str:
        pairs = zip(scan.columns, scan.sources, strict=True)
        wanted = [(column, source) for column, source in pairs if column.id in needed]
        columns = [f"{self._read(scan, column, source)} AS {self.name(column.id)}" for column, source in wanted]
        return f"SELECT {', '.join(columns) or '1'} FROM {'.'.join(map(quoted, scan.source.split('.')))}"

    def _read(self, scan: relations.Scan, column: Column, source: str) -> str:
        """A declared column as one of our types; a person as the engine holds it."""
        if column.id in scan.raw:
            return quoted(source)
        read = functions.clean(relations.ref(column))
        return functions.print_scalar(read, dialect=self.dialect, column=lambda _: quoted(source))

    def _listed_keys(self, relation: relations.ListedKeys) -> str:
        ((column,), keys) = (relation.columns, relation.keys)
        if isinstance(keys, KeyRange):
            return f"SELECT {_member(keys, column.type)} AS {self.name(column.id)} FROM range({keys.count}) AS r(n)"
        known = id(keys), column.type
        if known not in self._bound:
            self._bound[known] = self._bind(keys.values, column.type)
        return f"SELECT unnest({self._bound[known]}) AS {self.name(column.id)}"

    def _listed(self, listed: relations.Listed) -> str:
        names = [self.name(column.id) for column in listed.columns]
        if listed.from_step is not None and not listed.rows:
            # the canonical text of keys that are not known yet; never sent to an engine
            return f"SELECT * FROM (VALUES :released) AS v({', '.join(names)})"
        cells = zip(*listed.rows, strict=True) if listed.rows else ((),) * len(names)
        lists = [self._bind(values, column.type) for values, column in zip(cells, listed.columns, strict=True)]
        return f"SELECT {', '.join(f'unnest({each}) AS {name}' for each, name in zip(lists, names, strict=True))}"

    def _bind(self, values: Sequence[Value], type_: SqlType) -> str:
        """A column of literal rows as one array."""
        name = f"list{len(self.lists) + 1}"
        self.lists[name] = functions.bound_values(values, type_)
        return f"CAST(${name} AS {ENGINE_TYPES[type_]}[])"

    def _project(self, project: relations.Project, needed: set[int]) -> str:
        pairs = {
            column.id: scalar
            for column, scalar in zip(project.columns, project.expressions, strict=True)
            if column.id in needed
        }
        below = set().union(*map(columns_of, pairs.values())) if pairs else set()
        source = self.table(project.input, below)
        texts = {number: self.scalar(scalar) for number, scalar in pairs.items()}
        if max(map(self._written_out, texts.values()), default=0) > LONGEST:
            source = self._set_aside(source, below)
        self.sizes.update({number: self._written_out(text) for number, text in texts.items()})
        columns = [f"{text} AS {self.name(number)}" for number, text in texts.items()]
        return f"SELECT {', '.join(columns) or '1'} FROM {source}"

    def _written_out(self, text: str) -> int:
        named = {name: number for number, name in self.names.items()}
        return len(text) + sum(self.sizes.get(named.get(name, 0), 1) for name in _NAME.findall(text))

    def _set_aside(self, source: str, columns: set[int]) -> str:
        """The rows computed once, before anything above them: an engine that moves a filter down writes out every
        column below it, and columns that are read several times at each of many levels would never end."""
        name = f"m{len(self.common) + 1}"
        self.common.append((name, f"SELECT * FROM {source}"))
        self.sizes.update(dict.fromkeys(columns, 1))
        return name

    def _join(self, join: relations.Join, needed: set[int]) -> str:
        below = needed | columns_of(join.condition)
        left = self.table(join.left, below & {column.id for column in join.left.columns})
        right = self.table(join.right, below & {column.id for column in join.right.columns})
        kind = "LEFT JOIN" if join.outer else "JOIN"
        return f"SELECT {self._plain(join.columns, needed)} FROM {left} {kind} {right} ON {self.scalar(join.condition)}"

    def _group(self, group: relations.Group) -> str:
        inside = [scalar for total in group.totals for scalar in (total.argument, total.filter) if scalar is not None]
        source = self.table(group.input, set(group.by).union(*map(columns_of, inside)))
        totals = zip(group.columns[len(group.by) :], group.totals, strict=True)
        columns = [
            *map(self.name, group.by),
            *(f"{self._total(total)} AS {self.name(column.id)}" for column, total in totals),
        ]
        by = f" GROUP BY {', '.join(map(self.name, group.by))}" if group.by else ""
        return f"SELECT {', '.join(columns) or '1'} FROM {source}{by}"

    def _total(self, total: relations.Total) -> str:
        argument = "" if total.argument is None else self.scalar(total.argument)
        text = _TOTALS[total.function].format(argument)
        return text if total.filter is None else f"{text} FILTER (WHERE {self.scalar(total.filter)})"

    def _rank(self, rank: relations.Rank, needed: set[int]) -> str:
        below = needed.union(rank.partition, *map(columns_of, rank.order)) - {rank.column.id}
        source = self.table(rank.input, below)
        order = ", ".join(map(self.scalar, rank.order))
        partition = ", ".join(map(self.name, rank.partition))
        window = f"row_number() OVER (PARTITION BY {partition} ORDER BY {order}) AS {self.name(rank.column.id)}"
        return f"SELECT {self._plain(rank.input.columns, needed)}, {window} FROM {source}"

    def _union(self, union: relations.Union, needed: set[int]) -> str:
        """Each branch by position, under the names of the whole."""
        places = [place for place, column in enumerate(union.columns) if column.id in needed]
        selects = []
        for branch in union.branches:
            pairs = [(branch.columns[place].id, union.columns[place].id) for place in places]
            source = self.table(branch, {number for number, _ in pairs})
            for number, whole in pairs:
                self.sizes[whole] = max(self.sizes.get(whole, 1), self.sizes.get(number, 1))
            columns = ", ".join(f"{self.name(number)} AS {self.name(whole)}" for number, whole in pairs)
            selects.append(f"SELECT {columns or '1'} FROM {source}")
        return " UNION ALL ".join(selects)

    def _exists(self, exists: relations.Exists, needed: set[int]) -> str:
        below = needed | columns_of(exists.condition)
        source = self.table(exists.input, below & {column.id for column in exists.input.columns})
        others = self.table(exists.among, below & {column.id for column in exists.among.columns})
        word = "NOT EXISTS" if exists.negated else "EXISTS"
        inside = f"SELECT 1 FROM {others} WHERE {self.scalar(exists.condition)}"
        return f"SELECT {self._plain(exists.columns, needed)} FROM {source} WHERE {word} ({inside})"

    def _window(self, window: relations.Window, needed: set[int]) -> str:
        calls = {
            column.id: call for column, call in zip(window.added, window.calls, strict=True) if column.id in needed
        }
        below = (needed - calls.keys()).union(*map(columns_of, calls.values()))
        source = self.table(window.input, below)
        columns = [f"{self._over(call)} AS {self.name(number)}" for number, call in calls.items()]
        return f"SELECT {', '.join((self._plain(window.input.columns, needed), *columns))} FROM {source}"

    def _over(self, call: Windowed) -> str:
        arguments, partition, order = (
            [self.scalar(part) for part in parts]
            for parts in (call.arguments, call.partition_by, [key.by for key in call.order_by])
        )
        return functions.print_window(call, arguments, partition, order)

    def scalar(self, scalar: Scalar) -> str:
        """An expression; the inner functions are printed here, all others by the allow-list."""
        if isinstance(scalar, Apply):
            self.salted |= scalar == inner.SALT
            form = inner.FORMS[self.dialect].get(scalar.function)
            if form is not None:
                return form([self.scalar(argument) for argument in scalar.arguments])
        if isinstance(scalar, Constant) and type(scalar.value) is int:
            return str(scalar.value)  # the squared radius of a ball needs more than 64 bits
        return functions.print_scalar(scalar, dialect=self.dialect, column=self.name)


def _each(relation: Relation) -> tuple[Relation, ...]:
    """Every relation once, lower ones first."""
    found: dict[int, Relation] = {}

    def visit(each: Relation) -> None:
        if id(each) not in found:
            for below in relations.inputs(each):
                visit(below)
            found[id(each)] = each

    visit(relation)
    return tuple(found.values())


def _is_work(relation: Relation) -> bool:
    """Reading a table again is cheaper than keeping a copy; grouping it again, or unnesting a list, is not."""
    return isinstance(
        relation, relations.Group | relations.Rank | relations.Window | relations.ListedKeys | relations.Listed
    ) or any(map(_is_work, relations.inputs(relation)))


def _member(keys: KeyRange, type_: SqlType) -> str:
    """The key at place `n` of a range."""
    first = functions.print_constant(Constant(keys.first, type_))
    if keys.count:
        functions.print_constant(Constant(keys.value(keys.count - 1), type_))  # refuses what leaves the type
    match keys.first:
        case datetime() if keys.microseconds:
            return f"{first} + to_microseconds(n * {keys.microseconds})"
        case datetime():
            return f"{first} + to_months(CAST(n * {keys.months} AS INTEGER))"
        case date():
            return f"{first} + CAST(n AS INTEGER)"
        case _:
            return f"{first} + n"
