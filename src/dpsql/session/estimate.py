"""A released number away from its noise: what a client is told, and what a file keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A released number: `value`, off by at most `margin` at the confidence of its answer. A plain value: to calculate
    with margins, ask for the calculation in SQL."""

    value: int | float
    margin: int | float | None
    low: int | float | None
    high: int | float | None
    doubtful: bool = False
    """Hardly anybody may be behind it."""

    def __str__(self) -> str:
        return f"{self.value} ± {'?' if self.margin is None else self.margin}"
