"""Finer levels of a release: drawn with it, kept under the ledger's key, and told when they are paid for.

They are no entries: exports, backups and audits have none of them, and a ledger without them verifies as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpsql.errors import InternalError
from dpsql.ledger import laws
from dpsql.ledger.encoding import released_from_bytes, released_to_bytes, unreadable
from dpsql.ledger.facts import Stored
from dpsql.ledger.ledger import Charge, ReleasedStep
from dpsql.ledger.page import Page
from dpsql.ledger.unusable import Unusable


def store_with(
    page: Page, *, receipt: int, step: int, released: ReleasedStep, hidden: Sequence[ReleasedStep]
) -> ReleasedStep:
    """Keep a step with the finer levels that were drawn with it; where another attempt was faster, nothing of this."""
    before = page.payment(receipt)
    kept = laws.store(page, receipt=receipt, step=step, released=released)
    if hidden and before is not None and len(before.stored) == step:
        page.hide(receipt, step, b"".join([len(hidden).to_bytes(4, "big"), *map(released_to_bytes, hidden)]))
    return kept


def reveal(page: Page, *, receipt: int, step: int, level: int) -> ReleasedStep:
    """Tell a level of the release that a paid receipt makes finer: it is that receipt's step from then on."""
    payment = page.payment(receipt)
    paid = None if payment is None else page.fact(payment.number)
    first = None if not isinstance(paid, Charge) or paid.upon is None else page.payment(paid.upon)
    if payment is None or first is None or not first.complete:
        raise InternalError(
            "a finer level was to be told that no receipt has paid for",
            why="an answer without its payment would be free",
            fix="report this; nothing was told",
        )
    if not page.is_hidden(first.number, first.steps - 1):
        raise Unusable(
            "the finer levels of this answer are not kept any more",
            why="backups of a ledger are made without them, and this one was restored",
            fix="ask again: the question is priced anew, without them",
        )
    found = _levels(page, first.number, first.steps - 1)
    if not 0 <= level < len(found):
        raise unreadable()
    told = page.fact(first.stored[-1])
    if not isinstance(told, Stored) or told.released.keys != found[level].keys:
        raise unreadable()
    return laws.store(page, receipt=receipt, step=step, released=found[level])


def _levels(page: Page, receipt: int, step: int) -> list[ReleasedStep]:
    """The levels of a step, the coarsest first: all of one length."""
    whole = page.revealed(receipt, step)
    count, rest = int.from_bytes(whole[:4], "big"), whole[4:]
    if not count or len(rest) % count:
        raise unreadable()
    size = len(rest) // count
    return [released_from_bytes(rest[place * size : (place + 1) * size]) for place in range(count)]
