"""The questions elastic sensitivity can answer: tables, equal-key joins, filters, projections and counts.

Everything else has no node here, so it cannot be asked. Columns are named by the alias of their table, and every
node checks its own names when it is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Final, TypeAlias

from dpsql.errors import BadParameter
from dpsql.require import require_count, require_that, unmet

LARGEST_QUERY: Final = 64
"""Operators in one question. The analysis is recursive, and its polynomial has one degree per join."""


@dataclass(frozen=True, slots=True, order=True)
class Attribute:
    """A column as a question names it: the alias of its table, then its own name."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that may be joined on, with the frequency of its most common value.

    `unique` alone is a remark: a key that nothing enforces can be broken by the next row. With `enforced` the
    system keeps every neighbouring database unique too, and only then the frequency is 1 at every distance.
    A measured frequency is private: it is not printed. None stands for "not measured yet".
    """

    name: str
    max_frequency: int | None = field(default=None, repr=False)
    unique: bool = False
    enforced: bool = False

    def __post_init__(self) -> None:
        value = self.max_frequency
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            # the value itself comes from private rows and stays out of the message
            raise unmet(f"the max frequency of column {self.name!r} must be a whole number, 0 or above")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A base table under an alias. A public table is the same in all neighbouring databases.

    `rows` states a public row count, which exists under change-one neighbours only; no value is then more frequent.
    """

    name: str
    columns: tuple[Column, ...] = ()
    public: bool = False
    alias: str | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        require_that(len(set(names)) == len(names), f"table {self.name!r} has two columns of one name")
        if self.rows is not None:
            require_count(at_least=0, rows=self.rows)

    @property
    def label(self) -> str:
        """The name under which its columns are known in the question."""
        return self.alias or self.name

    def column(self, name: str) -> Column:
        """The column called `name`."""
        for column in self.columns:
            if column.name == name:
                return column
        raise _unknown(Attribute(self.label, name), self)


@dataclass(frozen=True, slots=True)
class Join:
    """Inner join on equal keys. Of several pairs all must agree; NULL equals nothing."""

    left: Relation
    right: Relation
    on: tuple[tuple[Attribute, Attribute], ...]

    def __post_init__(self) -> None:
        _require_known((left for left, _ in self.on), self.left)
        _require_known((right for _, right in self.on), self.right)
        require_that(self.on, "a join needs at least one pair of equal keys")
        both = _labels(self.left) & _labels(self.right)
        if both:
            raise unmet(f"both sides of a join call a table {min(both)!r}")
        _require_consistent(self)


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """Rows of `outer` whose key occurs in `inner` (IN, EXISTS), or with `negated` does not occur (NOT EXISTS).

    NULL keys must have been removed on both sides: SQL's NOT IN over a list with one NULL is empty, a change that
    no frequency bounds.
    """

    outer: Relation
    inner: Relation
    on: tuple[Attribute, Attribute]
    negated: bool = False

    def __post_init__(self) -> None:
        _require_known(self.on[:1], self.outer)
        _require_known(self.on[1:], self.inner)
        _require_consistent(self)


@dataclass(frozen=True, slots=True)
class Select:
    """Rows that meet a condition on themselves alone; the text is a remark and is never evaluated."""

    relation: Relation
    condition: str = ""

    def __post_init__(self) -> None:
        _require_small(self)


@dataclass(frozen=True, slots=True)
class Project:
    """Some columns of every row; duplicates stay."""

    relation: Relation
    columns: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        _require_known(self.columns, self.relation)
        _require_small(self)


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT(*): one row that holds one number."""

    relation: Relation

    def __post_init__(self) -> None:
        _require_small(self)


@dataclass(frozen=True, slots=True)
class GroupedCount:
    """COUNT(*) per group. As a question its labels must be public or selected privately, at their own price."""

    relation: Relation
    keys: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        _require_known(self.keys, self.relation)
        _require_small(self)


Relation: TypeAlias = "Table | Join | SemiJoin | Select | Project | Count | GroupedCount"
Query: TypeAlias = Count | GroupedCount


@singledispatch
def children(relation: Relation) -> tuple[Relation, ...]:
    """The relations a node reads directly, left before right."""
    raise unmet(f"{type(relation).__name__} is not a relation of this algebra")


children.register(Table, lambda relation: ())
children.register(Join, lambda relation: (relation.left, relation.right))
children.register(SemiJoin, lambda relation: (relation.outer, relation.inner))
for _unary in (Select, Project, Count, GroupedCount):
    children.register(_unary, lambda relation: (relation.relation,))


def nodes(relation: Relation) -> Iterator[Relation]:
    """Every node of the tree, without recursion; refuses trees of more than LARGEST_QUERY nodes."""
    waiting, seen = [relation], 0
    while waiting:
        seen += 1
        if seen > LARGEST_QUERY:
            raise unmet(f"the question has more than {LARGEST_QUERY} operators")
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def ancestors(relation: Relation) -> frozenset[str]:
    """The private tables a relation is computed from. Two sides that share one move together: a self-join.

    Theorem   Johnson, Near, Song (2018), A(r). A public table is no ancestor: it is the same in all neighbours.
    """
    return frozenset(node.name for node in nodes(relation) if isinstance(node, Table) and not node.public)


def join_count(relation: Relation) -> int:
    """How many joins and semi-joins a relation holds: the degree of its stability in the distance."""
    return sum(isinstance(node, (Join, SemiJoin)) for node in nodes(relation))


def counts_inside(relation: Relation) -> bool:
    """True where a relation holds a count: one added row then replaces a row, which both vanishes and appears."""
    return any(isinstance(node, (Count, GroupedCount)) for node in nodes(relation))


@singledispatch
def attributes(relation: Relation) -> frozenset[Attribute]:
    """The columns by which a relation can be joined, grouped or projected."""
    return frozenset().union(*map(attributes, children(relation)))


@attributes.register
def _(relation: Table) -> frozenset[Attribute]:
    return frozenset(Attribute(relation.label, column.name) for column in relation.columns)


@attributes.register
def _(relation: SemiJoin) -> frozenset[Attribute]:
    return attributes(relation.outer)


@attributes.register
def _(relation: Project) -> frozenset[Attribute]:
    return frozenset(relation.columns)


@attributes.register
def _(relation: Count) -> frozenset[Attribute]:
    return frozenset()


@attributes.register
def _(relation: GroupedCount) -> frozenset[Attribute]:
    return frozenset(relation.keys)


def joined_columns(relation: Relation) -> frozenset[tuple[str, str]]:
    """The (table, column) pairs whose largest frequency the analysis reads: both keys of joins, outer keys of IN."""
    found: set[tuple[str, str]] = set()
    for node in nodes(relation):
        if isinstance(node, Join):
            found |= {_home(left, node.left) for left, _ in node.on} | {
                _home(right, node.right) for _, right in node.on
            }
        elif isinstance(node, SemiJoin):
            found.add(_home(node.on[0], node.outer))
    return frozenset(found)


def _home(attribute: Attribute, relation: Relation) -> tuple[str, str]:
    """The base table and column behind an attribute."""
    while not isinstance(relation, Table):
        relation = next(side for side in _visible(relation) if attribute.table in _labels(side))
    return relation.name, attribute.column


@singledispatch
def with_frequencies(relation: Relation, frequencies: Mapping[tuple[str, str], int]) -> Relation:
    """The same question with measured frequencies, by (table name, column name), put into its tables."""
    raise unmet(f"{type(relation).__name__} is not a relation of this algebra")


@with_frequencies.register
def _(relation: Table, frequencies: Mapping[tuple[str, str], int]) -> Table:
    columns = tuple(
        replace(column, max_frequency=frequencies.get((relation.name, column.name), column.max_frequency))
        for column in relation.columns
    )
    return replace(relation, columns=columns)


@with_frequencies.register
def _(relation: Join, frequencies: Mapping[tuple[str, str], int]) -> Join:
    left, right = (with_frequencies(side, frequencies) for side in (relation.left, relation.right))
    return replace(relation, left=left, right=right)


@with_frequencies.register
def _(relation: SemiJoin, frequencies: Mapping[tuple[str, str], int]) -> SemiJoin:
    outer, inner = (with_frequencies(side, frequencies) for side in (relation.outer, relation.inner))
    return replace(relation, outer=outer, inner=inner)


@with_frequencies.register(Select)
@with_frequencies.register(Project)
@with_frequencies.register(Count)
@with_frequencies.register(GroupedCount)
def _(
    relation: Select | Project | Count | GroupedCount, frequencies: Mapping[tuple[str, str], int]
) -> Select | Project | Count | GroupedCount:
    return replace(relation, relation=with_frequencies(relation.relation, frequencies))


def _visible(relation: Relation) -> tuple[Relation, ...]:
    """The relations whose columns can be named from outside; those inside an IN list cannot."""
    return children(relation)[:1] if isinstance(relation, SemiJoin) else children(relation)


def _labels(relation: Relation) -> frozenset[str]:
    """The aliases a relation's columns go by."""
    if isinstance(relation, Table):
        return frozenset({relation.label})
    return frozenset().union(*map(_labels, _visible(relation)))


def _require_known(wanted: Iterator[Attribute] | tuple[Attribute, ...], relation: Relation) -> None:
    _require_small(relation)
    known = attributes(relation)
    for attribute in wanted:
        if attribute not in known:
            raise _unknown(attribute, relation)


def _unknown(attribute: Attribute, relation: Relation) -> BadParameter:
    return unmet(f"{type(relation).__name__} has no column {attribute}")


def _require_small(relation: Relation) -> None:
    for _ in nodes(relation):
        pass


def _require_consistent(relation: Relation) -> None:
    """Two copies of a table must be declared alike: a copy that claims to be public would hide the other."""
    seen: dict[str, Table] = {}
    for node in nodes(relation):
        if isinstance(node, Table) and replace(seen.setdefault(node.name, node), alias=None) != replace(
            node, alias=None
        ):
            raise unmet(f"table {node.name!r} is declared in two ways within one question")
