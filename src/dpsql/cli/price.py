"""What a question would cost, in lines: told before anything is read or spent."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dpsql import Told


ASK_ABOVE: Final = Fraction(1, 5)
"""A price above this share of what is left is asked about first."""
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


def is_dear(cost: Fraction, left: Fraction, *, above: Fraction = ASK_ABOVE, looked_for: bool) -> bool:
    """Whether to ask before it is paid: a price that was looked for, as by WITHIN, or that takes much of what is left.
    What does not fit is not asked about: it is refused, with what would fit."""
    return 0 < cost <= left and (looked_for or cost > above * left)


def shown_up(cost: Fraction) -> str:
    """A price: two places at least, never below what it is."""
    places = next((each for each in range(2, 12) if (cost * 10**each).denominator == 1), 6)
    return f"{ceil(cost * 10**places) / 10**places:.{places}f}"


def shown_down(left: Fraction) -> str:
    """What is left, to a hundredth: never above what it is."""
    return f"{floor(100 * left) / 100:.2f}"
