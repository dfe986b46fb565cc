"""What a question would cost, in lines: told before anything is read or spent."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import floor
from typing import Final

from dpsql import Told

_MARGIN: Final = "margin of "
_NOTHING: Final = "   (nothing was spent, no data was read)"


def price_lines(priced: Told, left: Fraction) -> Iterator[str]:
    """The lines of an answer to DRY RUN."""
    rows = [(str(what), str(value)) for what, value in priced.rows]
    said = dict(rows)
    if said["already stored"] == "yes":
        yield f"would cost   nothing: it is stored, and told again for nothing{_NOTHING}"
    else:
        yield f"would cost   {said['cost']} of {shown_down(left)} left{_NOTHING}"
    if said["allowed"] != "yes":
        yield f"refused      {said['allowed'].removeprefix('no: ')}"
    for what, value in rows:
        if what.startswith(_MARGIN):
            yield f"margin       {what.removeprefix(_MARGIN)} {value}"
        elif what not in ("cost", "delta", "allowed", "already stored"):
            yield f"{what:<12} {value}"


def shown_down(left: Fraction) -> str:
    """What is left, to a hundredth: never above what it is."""
    return f"{floor(100 * left) / 100:.2f}"
