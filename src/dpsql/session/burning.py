"""The burn-down of a budget: what was left after each payment. Made of the ledger, which holds no released value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import accumulate
from typing import Final

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.charts.figure import Axis, Lines, Mark, Point, Series, Shape
from dpsql.charts.picture import Picture
from dpsql.ledger import facts
from dpsql.ledger.facts import Entry
from dpsql.ledger.ledger import Charge
from dpsql.session.digits import shown_amount, shown_down
from dpsql.session.entry_rows import moment_of

_MOST_TICKS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What one entry took from an account."""

    at: datetime
    spent: Triple


def payments_of(entries: Iterable[Entry], *, holder: str | None = None) -> list[Payment]:
    """The payments since the promise was made or renewed last, from one account or, without a holder, from all."""
    found: list[Payment] = []
    for entry in entries:
        match entry.fact:
            case facts.Promised() | facts.Renewed():
                found = []
            case Charge() as paid if holder in (None, paid.grant):
                found.append(Payment(at=moment_of(entry), spent=triple(paid.event)))
            case _:
                pass
    return found


def burn_down(account: Account, payments: Sequence[Payment], *, whose: str, outlook: str = "") -> Picture:
    """What was left of the account after each payment, and what is left now where others paid from it too. `outlook`:
    how far that goes, in words."""
    fresh = replace(account, spent=FREE)
    after = accumulate((payment.spent for payment in payments), initial=FREE)
    levels = [_left(replace(fresh, spent=spent)) for spent in after]
    labels = ["start", *(_label(number, payment) for number, payment in enumerate(payments, start=1))]
    now = _left(account)
    if levels[-1] != now:
        levels, labels = [*levels, now], [*labels, "now"]
    points = [_point(number, level, label) for number, (level, label) in enumerate(zip(levels, labels, strict=True))]
    others = ["the last step: what others paid from the same budget"] if labels[-1] == "now" else []
    last = _point(len(points), now, "today")  # the last step has a width too
    return Picture(
        chart=Lines(
            title=f"Budget of {whose}: {shown_down(now)} of {shown_amount(account.epsilon)} left",
            across=Axis(name=_period(payments), ticks=_ticks(labels)),
            along=Axis(name="left (ε)"),
            series=(Series(name="left", points=(*points, last), shape=Shape.STEPS),),
            notes=(*others, *filter(None, [outlook])),
        )
    )


def _left(account: Account) -> Fraction:
    return max(Fraction(0), account.epsilon - account.spent_epsilon)


def _point(number: int, level: Fraction, label: str) -> Point:
    size = float(level)
    return Point(at=number, mark=Mark(label=label, value=size, low=size, high=size, text=f"{shown_down(level)} left"))


def _label(number: int, payment: Payment) -> str:
    return f"{number} · {payment.at:%Y-%m-%d %H:%M}"


def _period(payments: Sequence[Payment]) -> str:
    days = [f"{payment.at:%Y-%m-%d}" for payment in payments]
    first_and_last = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
    return f"payments, {first_and_last}" if days else "payments"


def _ticks(labels: Sequence[str]) -> tuple[tuple[float, str], ...]:
    """The numbers of some payments."""
    step = max(1, -(-len(labels) // _MOST_TICKS))
    return tuple((float(number), labels[number].partition(" ")[0]) for number in range(0, len(labels), step))
