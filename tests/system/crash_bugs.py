"""Bugs in the order of payment, engine, store and answer, planted in a process of their own: the crash tests see each.

They tell the points as if nothing were wrong, so that it is the ledger or the answer that gives them away.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpsql.accounting.triple import FREE
from dpsql.ledger import laws
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Refused
from dpsql.ledger.ledger import Charge, Receipt, ReleasedStep
from dpsql.ledger.page import SOURCE, Page, Payment
from dpsql.points import Point, reached
from dpsql.session import answer

PAYING = (Point.CHARGE_BEGUN, Point.CHARGE_WRITTEN, Point.COMMITTED, Point.CHARGED)
KEEPING = (Point.STORE_BEGUN, Point.STORE_WRITTEN, Point.COMMITTED, Point.STORED)


def charge_after_run() -> None:
    """The engine is asked first; the payment is written together with the answer."""
    pay, keep = Ledger.charge, Ledger.store
    owed: list[tuple[Charge, Any]] = []

    def charge(self: Ledger, charge: Charge, **given: Any) -> Receipt:
        owed.append((charge, given))
        for point in PAYING:
            reached(point)
        return Receipt(number=0, paid=True, salt=0)

    def store(self: Ledger, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        asked, given = owed.pop()
        return keep(self, pay(self, asked, **given), step, released)

    Ledger.charge, Ledger.store = charge, store  # type: ignore[method-assign]


def store_after_tell() -> None:
    """The answer is told first and kept when there is time, which never comes."""

    def store(self: Ledger, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        for point in KEEPING:
            reached(point)
        return released

    Ledger.store = store  # type: ignore[method-assign]


def tell_another_draw() -> None:
    """One draw is kept, and another one told."""
    keep = Ledger.store

    def store(self: Ledger, receipt: Receipt, step: int, released: ReleasedStep) -> ReleasedStep:
        kept = keep(self, receipt, step, released)
        return replace(kept, values=tuple(tuple(value + 1 for value in values) for values in kept.values))

    Ledger.store = store  # type: ignore[method-assign]


def refund_on_error() -> None:
    """Who did not get an answer gets the money back."""
    perform = answer.perform

    def refunding(*given: Any, ledger: Any, **named: Any) -> Any:
        try:
            return perform(*given, ledger=ledger, **named)
        except BaseException:
            with ledger.writing() as page:
                page.append(Refused(analyst="ana", code="DP601", sql=""))  # an entry: without one nothing is sealed
                for holder in ("ana", SOURCE):
                    account = page.account(holder)
                    page.keep_account(holder, replace(account, spent=FREE))
            raise

    answer.perform = refunding  # type: ignore[assignment]


def attempts_not_counted() -> None:
    """What was paid once may be run for ever."""

    def continued(page: Page, waiting: Payment) -> Receipt:
        return laws.told_receipt(page, waiting)

    laws.continued = continued


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__: bug
    for bug in (charge_after_run, store_after_tell, tell_another_draw, refund_on_error, attempts_not_counted)
}
