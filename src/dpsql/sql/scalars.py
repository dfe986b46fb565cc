"""Typed expressions: three nodes are enough. Every function is an entry of `sql.functions`; its name is the meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.sql.intervals import EVERYTHING, Interval


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of the relation below, by its number."""

    id: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. `type` says what NULL is a NULL of."""

    value: bool | int | Fraction | str | date | datetime | None
    type: SqlType


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the allow-list, applied to arguments of the types it wants."""

    function: str
    arguments: tuple[Scalar, ...]
    type: SqlType


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    by: Scalar
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """A window function: over released rows, or as a call of `relations.Window` over rows of one person."""

    function: str
    arguments: tuple[Scalar, ...]
    partition_by: tuple[Scalar, ...]
    order_by: tuple[Sorted, ...]
    frame: str
    """Ready to print, from a closed list; empty: the default frame."""
    type: SqlType


@dataclass(frozen=True, slots=True)
class AwaitedValue:
    """What an earlier question of the statement will have released: a constant, once it has. No engine sees it."""

    question: int
    type: SqlType
    range: Interval = EVERYTHING
    noisy: bool = True


Scalar: TypeAlias = ColumnRef | Constant | Apply | Windowed | AwaitedValue


def children(scalar: Scalar) -> tuple[Scalar, ...]:
    """The expressions directly inside."""
    match scalar:
        case Apply():
            return scalar.arguments
        case Windowed():
            return (*scalar.arguments, *scalar.partition_by, *(key.by for key in scalar.order_by))
        case _:
            return ()


def walk(scalar: Scalar) -> Iterator[Scalar]:
    """The expression and everything inside it, outermost first."""
    left = [scalar]
    while left:
        node = left.pop()
        yield node
        left += reversed(children(node))


def columns_of(scalar: Scalar) -> frozenset[int]:
    """The numbers of the columns it reads."""
    found, left = set(), [scalar]
    while left:
        node = left.pop()
        if isinstance(node, ColumnRef):
            found.add(node.id)
        elif not isinstance(node, Constant):
            left += children(node)
    return frozenset(found)


def substituted(scalar: Scalar, by: Mapping[int, Scalar]) -> Scalar:
    """The expression with columns replaced."""
    if isinstance(scalar, ColumnRef):
        return by.get(scalar.id, scalar)
    return rebuilt(scalar, lambda child: substituted(child, by))


def rebuilt(scalar: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """The same node around changed children; the node itself where none has changed."""
    match scalar:
        case Apply():
            arguments = tuple(map(change, scalar.arguments))
            same = all(new is old for new, old in zip(arguments, scalar.arguments, strict=True))
            return scalar if same else Apply(scalar.function, arguments, scalar.type)
        case Windowed():
            return rebuilt_call(scalar, change)
        case _:
            return scalar


def rebuilt_call(call: Windowed, change: Callable[[Scalar], Scalar]) -> Windowed:
    """The same window around changed children."""
    return replace(
        call,
        arguments=tuple(map(change, call.arguments)),
        partition_by=tuple(map(change, call.partition_by)),
        order_by=tuple(replace(key, by=change(key.by)) for key in call.order_by),
    )


def conjuncts(scalar: Scalar) -> Iterator[Scalar]:
    """The parts that all hold where the condition is true: a AND b AND c taken apart, ours and the analyst's."""
    return taken_apart(scalar, ("and", "all"))


def taken_apart(scalar: Scalar, functions: Collection[str]) -> Iterator[Scalar]:
    """Of a AND (b AND c): a, b and c."""
    if isinstance(scalar, Apply) and scalar.function in functions:
        for argument in scalar.arguments:
            yield from taken_apart(argument, functions)
    else:
        yield scalar
