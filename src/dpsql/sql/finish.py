"""What is done with released rows: free, because nothing private is read any more (post-processing)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dpsql.sql.scalars import Scalar, Sorted


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """SELECT [DISTINCT] outputs FROM released [HAVING] [ORDER BY] [LIMIT] [OFFSET].

    Expressions read the columns of the released table by their numbers: keys, then slots.
    """

    outputs: tuple[OutputColumn, ...]
    having: Scalar | None = None
    distinct: bool = False
    order_by: tuple[Sorted, ...] = ()
    limit: int | None = None
    offset: int = 0
