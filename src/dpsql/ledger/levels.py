"""Finer levels of a release: drawn with it, kept under the ledger's key, and told when they are paid for.

They are no entries: exports, backups and audits have none of them, and a ledger without them verifies as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpsql.accounting.history import releases
from dpsql.errors import InternalError, NothingStored
from dpsql.ledger import laws
from dpsql.ledger.encoding import charge_digest, released_from_bytes, released_to_bytes, unreadable
from dpsql.ledger.facts import Stored
from dpsql.ledger.ledger import Charge, ReleasedStep
from dpsql.ledger.page import Page
from dpsql.privacy.events import Refined


def store_with(
    page: Page, *, receipt: int, step: int, released: ReleasedStep, hidden: Sequence[ReleasedStep]
) -> ReleasedStep:
    """Keep a step with the finer levels that were drawn with it; where another attempt was faster, nothing of this."""
    before = page.payment(receipt)
    kept = laws.store(page, receipt=receipt, step=step, released=released)
    if hidden and before is not None and len(before.stored) == step:
        count = len(hidden).to_bytes(laws.LEVEL_COUNT, "big")
        page.hide(receipt, step, b"".join([count, *map(released_to_bytes, hidden)]))
    return kept


def require_kept(page: Page, asked: Charge) -> None:
    """Before a finer level is charged: there is one to tell, in this very transaction. What was paid for before is told
    again or continued for nothing, and entries that are lived through again have no levels beside them."""
    if asked.upon is None or not any(isinstance(part, Refined) for part in releases(asked.event)):
        return
    before = page.payments_for(charge_digest(asked))
    if any(payment.complete or payment.can_run for payment in before):
        return
    first = page.payment(asked.upon)
    if first is not None and first.complete and not _levels(page, first.number, first.steps - 1):
        laws.paying_accounts(page, asked)  # who may not pay at all is told that
        raise NothingStored(
            "the finer level that was priced is not there any more",
            why="what was kept of it was changed or lost since the price was told; nothing was charged",
            fix="ask again: the question is priced anew, without it; tell the owner of the data",
        )


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
    found = _levels(page, first.number, first.steps - 1)
    if not 0 <= level < len(found):
        raise _lost()
    told = page.fact(first.stored[-1])
    if not isinstance(told, Stored):
        raise unreadable()
    if told.released.keys != found[level].keys:
        raise _lost()
    return laws.store(page, receipt=receipt, step=step, released=found[level])


def _levels(page: Page, receipt: int, step: int) -> list[ReleasedStep]:
    """The levels of a step, the coarsest first: all of one length."""
    whole = page.revealed(receipt, step)
    if whole is None:
        return []
    count, rest = int.from_bytes(whole[: laws.LEVEL_COUNT], "big"), whole[laws.LEVEL_COUNT :]
    if not count or len(rest) % count:
        return []
    size = len(rest) // count
    return [released_from_bytes(rest[place * size : (place + 1) * size]) for place in range(count)]


def _lost() -> NothingStored:
    """An error of this question alone: every entry of the ledger may be whole, and levels are none of them."""
    return NothingStored(
        "the finer level that was paid for is not there any more",
        why="what was kept of it was changed or lost between the price and the answer, and only what was drawn with"
        " the first answer may be told for the difference",
        fix="ask again: the question is priced anew, without it; tell the owner of the data",
    )
