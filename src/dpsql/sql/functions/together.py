"""Several values as one: what COUNT(DISTINCT (a, b)) counts. Nobody writes it anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.functions.conversions import counted
from dpsql.sql.functions.function import Argument, Function, Request
from dpsql.sql.scalars import Apply, Constant, Scalar


def together(parts: Sequence[Scalar], *, where: Scalar | None = None) -> Apply:
    """One value made of several, of which each may be NULL; NULL itself where the condition is not true."""
    condition = Constant(True, SqlType.BOOLEAN) if where is None else where
    return Apply(TOGETHER.name, (condition, *parts), SqlType.TEXT)


def parts_of(scalar: Scalar) -> tuple[Scalar, ...]:
    """What it is made of; itself where it is one value."""
    if isinstance(scalar, Apply) and scalar.function == TOGETHER.name:
        return scalar.arguments[1:]
    return (scalar,)


def _not_written(request: Request) -> Scalar:
    return request.result(counted(request, 2), SqlType.TEXT)


def _print_row(arguments: Sequence[Argument]) -> str:
    condition, *parts = (argument.text for argument in arguments)
    return f"CASE WHEN {condition} THEN row({', '.join(parts)}) END"


TOGETHER: Final = Function(
    name="together",
    usage="(a, b) inside COUNT(DISTINCT …)",
    summary="Several values as one. Nobody writes it.",
    typed=_not_written,
    forms={"duckdb": _print_row},
)
"""Its type is that of text, which is compared by its bytes: equal where all parts are, NULL beside NULL too."""
