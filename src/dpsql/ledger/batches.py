"""The laws of batches: questions that were planned together are paid for together, once, at the price of the batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.ledger import laws
from dpsql.ledger.encoding import charge_digest
from dpsql.ledger.facts import Batched
from dpsql.ledger.grants import require_below_cap
from dpsql.ledger.ledger import Charge, Ownership, Receipt
from dpsql.ledger.page import Page
from dpsql.ledger.snapshot import MOST_OPEN, Payment
from dpsql.privacy.events import PlannedBatch
from dpsql.require import require_epsilon


def charge_together(
    page: Page, charges: Sequence[Charge], *, event: PlannedBatch, cost: Fraction, under: Ownership | None = None
) -> tuple[Receipt, ...]:
    """Tell again or continue what was paid for, or pay for all of it at once: both accounts must admit the event."""
    batched = _described(charges, event, cost)
    require_batch(batched, charges)
    begun = [page.payments_for(member_digest(batched, charge)) for charge in charges]
    for payments in zip(*begun, strict=False):  # the first time it was paid for, then the second
        if all(payment.complete or payment.can_run for payment in payments):
            laws.paying_accounts(page, batched, under=under)
            return tuple(_again(page, payment) for payment in payments)
    for charge in charges:
        require_below_cap(page, charge, together=True)
    number = pay(page, batched, under=under)
    return tuple(join(page, batched, replace(charge, batch=number)) for charge in charges)


def begun(page: Page, charges: Sequence[Charge]) -> tuple[int, ...]:
    """The places of those charges that make up a batch which was paid for and has not told all of it yet, in its order;
    none where there is no such batch. Questions that were stored when it was paid for are not among its own."""
    asked = {charge_digest(charge): place for place, charge in enumerate(charges)}
    payers = {(charge.analyst, charge.payer) for charge in charges}
    for number, batched in reversed(page.facts_of(Batched)):
        if (batched.analyst, batched.payer) not in payers or len(batched.event.events) > len(charges):
            continue
        own = range(number + 1, number + 1 + len(batched.event.events))
        payments = [payment for payment in map(page.payment, own) if payment is not None and not payment.complete]
        if not payments or not all(payment.can_run for payment in payments):
            continue
        members = [fact for fact in map(page.fact, own) if isinstance(fact, Charge)]
        places = [asked.get(charge_digest(member)) for member in members]
        found = tuple(place for place in places if place is not None)
        if len(found) == len(places):
            return found
    return ()


def _again(page: Page, payment: Payment) -> Receipt:
    return laws.told_receipt(page, payment) if payment.complete else laws.continued(page, payment)


def pay(page: Page, batched: Batched, *, under: Ownership | None = None) -> int:
    """The entry of the batch; both accounts are charged. Its questions follow at once."""
    accounts = laws.paying_accounts(page, batched, under=under)
    charged = {holder: known.charged(batched.event) for holder, known in accounts.items()}
    number = page.append(batched)
    for holder, known in charged.items():
        page.keep_account(holder, known)
    return number


def join(page: Page, batched: Batched, charge: Charge) -> Receipt:
    """A question of a batch that is paid for."""
    return laws.new_receipt(page, charge, same=member_digest(batched, charge))


def member_digest(batched: Batched, charge: Charge) -> bytes:
    """A question is continued in the batch it was paid in, not in another one and not by itself."""
    return hashlib.sha256(bytes.fromhex(batched.digest) + charge_digest(charge)).digest()


def batch_digest(charges: Sequence[Charge]) -> str:
    """Of the questions in their order, at their prices."""
    return hashlib.sha256(b"".join(map(charge_digest, charges))).hexdigest()


def _described(charges: Sequence[Charge], event: PlannedBatch, cost: Fraction) -> Batched:
    """The entry of a batch whose questions are in none yet."""
    if not charges or any(charge.batch is not None for charge in charges):
        raise _not_a_batch()
    first = charges[0]
    return Batched(analyst=first.analyst, payer=first.payer, event=event, cost=cost, digest=batch_digest(charges))


def require_batch(batched: Batched, charges: Sequence[Charge]) -> None:
    """A batch that can be written down and priced again, of exactly these questions."""
    for charge in charges:
        laws.require_charge(charge)
    require_epsilon(cost=batched.cost)
    payers = {(charge.analyst, charge.payer, charge.upon) for charge in charges}
    different = len(set(map(charge_digest, charges)))
    same_events = tuple(charge.event for charge in charges) == batched.event.events
    if payers != {(batched.analyst, batched.payer, None)} or not same_events or batched.digest != batch_digest(charges):
        raise _not_a_batch()
    if different != len(charges) or len(charges) > MOST_OPEN:
        raise _not_a_batch()


def _not_a_batch() -> InternalError:
    return InternalError(
        "these questions are not a batch",
        why="a batch is different questions of one analyst, priced by exactly the events it is charged for",
        fix="report this; nothing was charged",
    )
