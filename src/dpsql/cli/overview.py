"""The questions of some files with their prices as a table: what all of them cost together, and whether that fits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql.require import shown

if TYPE_CHECKING:
    from dpsql import Verdict

_LONGEST: Final = 40


def overview(listed: Sequence[tuple[str, Verdict]], *, promised: Fraction, plain: bool) -> str:
    """A line for each statement of a file, and the sum below."""
    told = dpsql.Answer(
        columns=("file", "question", "cost", "margin"),
        rows=tuple((name, _short(verdict.sql), _cost(verdict), _margins(verdict, plain)) for name, verdict in listed),
        cost=dpsql.Cost(epsilon=Fraction(0)),
        release=None,
        confidence=Fraction(19, 20),
    )
    total = sum((verdict.cost for _, verdict in listed if verdict.cost is not None), Fraction(0))
    refused = sum(verdict.error is not None for _, verdict in listed)
    fits = "fits" if total <= promised else "does not fit"
    lines = [f"{len(listed)} questions · total {shown(total)} of {shown(promised)} promised: {fits}"]
    lines += [f'{refused} refused: dpsql cost "SQL" says why'] if refused else []
    text = str(dpsql.formatted(told, "table", plain=plain))
    below = "".join(f"{line}\n" for line in lines)
    return text + (dpsql.without_symbols(below) if plain else below)


def _short(sql: str) -> str:
    one_line = " ".join(sql.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[: _LONGEST - 3]}..."


def _cost(verdict: Verdict) -> str:
    if verdict.error is not None:
        return f"refused {verdict.error.code}"
    return shown(verdict.cost)


def _margins(verdict: Verdict, plain: bool) -> str:
    """What is known before: of an average the margin depends on how many there are."""
    text = ", ".join(
        f"{name} {'?' if margin is None else f'± {float(margin):.4g}'}" for name, margin in verdict.margins.items()
    )
    return dpsql.without_symbols(text) if plain else text
