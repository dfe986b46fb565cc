"""Aggregates of two values: a row counts where both are there."""

from __future__ import annotations

from dpsql.catalog.types import SqlType
from dpsql.sql.outputs import Aggregate
from dpsql.sql.scalars import Apply, Constant, Scalar


def paired(aggregate: Aggregate) -> tuple[Scalar, ...]:
    """Both arguments of an aggregate of pairs, each NULL where the other one is, or where FILTER leaves a row out."""
    one, two = aggregate.arguments
    return tuple(_where((*_filters(aggregate), _is_known(b)), a) for a, b in ((one, two), (two, one)))


def both_known(aggregate: Aggregate) -> Scalar:
    """1 where a pair counts."""
    conditions = (*_filters(aggregate), *map(_is_known, aggregate.arguments))
    return _where(conditions, Constant(1, SqlType.INTEGER))


def _filters(aggregate: Aggregate) -> tuple[Scalar, ...]:
    return () if aggregate.filter is None else (aggregate.filter,)


def _is_known(scalar: Scalar) -> Scalar:
    return Apply("is_not_null", (scalar,), SqlType.BOOLEAN)


def _where(conditions: tuple[Scalar, ...], then: Scalar) -> Scalar:
    """NULL where one of the conditions is not true."""
    condition = conditions[0] if len(conditions) == 1 else Apply("and", conditions, SqlType.BOOLEAN)
    return Apply("case", (condition, then, Constant(None, then.type)), then.type)
