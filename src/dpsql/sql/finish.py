"""What is done with released rows: free, because nothing private is read any more (post-processing)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final

from dpsql.sql.scalars import ColumnRef, Scalar, Sorted, columns_of

SEEN_AT_ONCE: Final = 24
"""So many rows are seen in every picture and on every screen; longer answers are cut there."""


class Part(Enum):
    """What of a number with a margin is shown."""

    LOW = "low"
    HIGH = "high"
    MARGIN = "margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    name: str
    expression: Scalar
    possible: Scalar | None = None
    """What holds for released columns that rows can be behind: no variance is negative. None: always."""
    part: Part | None = None
    """Only this of the number, as a plain one; NULL where there is no margin."""
    interval: bool = True
    """False: it is calculated with what another question released, whose noise is not in the margin of this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """SELECT [DISTINCT] outputs FROM released [HAVING] [QUALIFY] [ORDER BY] [LIMIT] [OFFSET].

    Expressions read the columns of the released table by their numbers: keys, then slots.
    """

    outputs: tuple[OutputColumn, ...]
    having: Scalar | None = None
    distinct: bool = False
    order_by: tuple[Sorted, ...] = ()
    limit: int | None = None
    offset: int = 0
    qualify: Scalar | None = None

    def deciding(self, keys: Collection[int], *, groups: int) -> frozenset[int]:
        """The columns of the released table that decide which of its rows are shown. LIMIT leaves none of at most so
        many `groups` out, and DISTINCT none of rows that show all `keys`. Of a long answer the first rows are seen."""
        conditions = [condition for condition in (self.having, self.qualify) if condition is not None]
        seen = SEEN_AT_ONCE if self.limit is None else min(self.limit, SEEN_AT_ONCE)
        cut = [key.by for key in self.order_by] if self.offset or seen < groups else []
        shown = {output.expression.id for output in self.outputs if isinstance(output.expression, ColumnRef)}
        merged = [output.expression for output in self.outputs] if self.distinct and not shown.issuperset(keys) else []
        return frozenset().union(*map(columns_of, (*conditions, *cut, *merged)))
