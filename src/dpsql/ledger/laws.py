"""The laws of payments: what one payment buys, and what is told again.

Each law of the ledger looks first and writes last, inside the one transaction its page is. Who may pay: grants.py.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Final

from dpsql.accounting.account import price_of
from dpsql.accounting.triple import Triple
from dpsql.errors import BadParameter, InternalError, NotPermitted
from dpsql.ledger import owners
from dpsql.ledger.encoding import charge_digest, question_digest, unreadable
from dpsql.ledger.facts import Entry, Granted, Refused, Retried, Revoked, Stored
from dpsql.ledger.grants import conditions_for, require_below_cap
from dpsql.ledger.ledger import Charge, Ownership, Paid, Question, Receipt, Release, ReleasedStep
from dpsql.ledger.page import SOURCE, Foreseen, Page, WholePage, about_grant, require_name
from dpsql.ledger.promises import account
from dpsql.ledger.snapshot import MOST_OPEN, Payment, pin_of
from dpsql.require import require_count, require_epsilon

MOST_STEPS: Final = 10_000


def foreseen(asked: Charge) -> Foreseen:
    """What a charge will look at. What has no word in a ledger is refused, and so is a name that no database should be
    asked for."""
    subjects = ("close", "freeze", about_grant(require_name(asked.grant)))
    return Foreseen(subjects=subjects, under=(owners.SUBJECT,), same=charge_digest(asked))


def charge(page: Page, asked: Charge, *, under: Ownership | None = None, same: bytes | None = None) -> Receipt:
    """Tell again or continue what was paid for, or pay: the grant and the promise must both admit the event. Raises
    where the owner lets nobody pay, or not this analyst, or where the promise is about others than those it is asked
    `under`; before it is said whom it is about, nobody pays. `same`: the digest of the charge, where it is known."""
    price = require_charge(asked)
    _require_upon(page, asked)
    source, own = account(page, None), account(page, asked.grant)
    conditions = conditions_for(page, asked.analyst, grant=asked.grant)
    owners.require_owned(page, under)
    same = charge_digest(asked) if same is None else same
    paid = page.payments_for(same)
    for payment in paid:
        if payment.complete:
            return told_receipt(page, payment)
    for payment in paid:
        if payment.can_run:
            return continued(page, payment)
    require_below_cap(conditions, asked)
    own, source = own.paying(price), source.paying(price)
    receipt = new_receipt(page, asked, same=same)
    page.keep_account(asked.grant, own)
    page.keep_account(SOURCE, source)
    return receipt


def charge_together(page: Page, charges: Sequence[Charge], *, under: Iterable[Ownership] = ()) -> tuple[Receipt, ...]:
    """`charge` for each: where one of them is refused, the page keeps none."""
    for protected in under:
        owners.require_owned(page, protected)
    fits = len(charges) <= MOST_OPEN
    receipts = tuple(charge(page, asked) for asked in charges) if fits else ()
    if not fits or not all(_may_run(page.payment(receipt.number)) for receipt in receipts):
        raise BadParameter(
            f"a batch of {len(charges)} questions, and at most {MOST_OPEN} may wait for an answer",
            why="the oldest charge without an answer is closed by one more, so that it would be paid for and not told",
            fix="ask them in several batches; nothing was charged",
        )
    return receipts


def _may_run(payment: Payment | None) -> bool:
    return payment is not None and (payment.is_open or payment.complete)


def _require_upon(page: Page, asked: Charge) -> None:
    """What is made finer is a complete release of the same question, which itself makes nothing finer."""
    if asked.upon is None:
        return
    first = page.payment(asked.upon)
    complete = first is not None and first.complete
    if first is None or not complete or not _is_first(_paid(page, first), asked):
        raise InternalError("a release was to be made finer that is not there")


def _is_first(paid: Charge, asked: Charge) -> bool:
    return paid.question == asked.question and paid.upon is None


def new_receipt(page: Page, asked: Charge, *, same: bytes) -> Receipt:
    """What is paid for is written down."""
    number = page.append(asked, same=same)
    page.keep_payment(Payment(number=number, pin=pin_of(page.head()[1]), steps=asked.steps, attempts=1))
    return Receipt(number=number, paid=True, salt=_salt(page, number, asked))


def continued(page: Page, waiting: Payment) -> Receipt:
    """One attempt more."""
    again = replace(waiting, attempts=waiting.attempts + 1)
    receipt = told_receipt(page, again)
    page.append(Retried(receipt=waiting.number))
    page.keep_payment(again)
    return receipt


def told_receipt(page: Page, payment: Payment) -> Receipt:
    """The receipt of what was paid before, with what it told so far."""
    salt = _salt(page, payment.number, _paid(page, payment))
    return Receipt(number=payment.number, paid=False, salt=salt, stored=released_steps(page, payment))


def _salt(page: Page, number: int, paid: Charge) -> int:
    """What makes a release finer keeps the groups that were kept for it."""
    return page.salt(number if paid.upon is None else paid.upon)


def store(page: Page, *, receipt: int, step: int, released: ReleasedStep) -> ReleasedStep:
    """Keep what a step tells, the next one of its receipt, once; what is kept of it.

    One payment buys one answer: a second one, with other noise, would tell more than was paid for.
    """
    payment = page.payment(receipt)
    if payment is None or not 0 <= step < payment.steps or step > len(payment.stored):
        raise InternalError("a step was to be stored that no receipt has paid for")
    if step < len(payment.stored):
        return released_steps(page, payment)[step]
    if not payment.is_open:
        raise NotPermitted(
            "too many questions were charged after this one and are not answered yet",
            why=f"the {MOST_OPEN} newest charges without an answer may run; this one is closed and stays charged",
            fix="ask again: it is charged again",
        )
    _require_a_table(released)
    entry = page.append(Stored(receipt=receipt, step=step, released=released))
    stored = (*payment.stored, entry)
    page.keep_payment(
        Payment(number=receipt, pin=payment.pin, steps=payment.steps, attempts=payment.attempts, stored=stored)
    )
    return released


def _require_a_table(released: ReleasedStep) -> None:
    """One row for each key, and as many numbers in each: a second row would be a second noise for one payment."""
    keys, values = released.keys, released.values
    if len(keys) == 1 == len(values):  # most answers
        return
    shapes = {len(key) for key in keys}, {len(row) for row in values}
    if len(set(keys)) != len(keys) or len(values) not in (0, len(keys)) or any(len(shape) > 1 for shape in shapes):
        raise InternalError("a step was to be stored that is no table")


def recall(page: WholePage, question: Question, *, told: Container[int] | None = None) -> tuple[Release, ...]:
    """Complete releases that answer this question, oldest first. `told`: the receipts whose steps are needed; of others
    they are not read, and left empty. None: all are needed."""
    return tuple(
        _release(page, payment, steps=released_steps(page, payment) if told is None or payment.number in told else ())
        for payment in page.payments_of(question_digest(question))
        if payment.complete
    )


def paid_by(page: WholePage, analyst: str, *, last: int | None = None) -> tuple[Paid, ...]:
    """What this analyst has paid for, oldest first; only the last ones where a number is given. In a ledger of any
    length this reads no more than that."""
    if last is not None:
        require_count(last=last)
    return tuple(
        Paid(receipt=payment.number, charge=_paid(page, payment), complete=payment.complete)
        for payment in page.payments_by(require_name(analyst), last=last)
    )


def entries_about(page: WholePage, analyst: str) -> tuple[Entry, ...]:
    """What this analyst has paid for and was refused, and the grants of this name, oldest first. Entries of others are
    not lived through for it, so that whoever asks often costs little."""
    paid = page.numbers_by(require_name(analyst), Charge)
    words: list[tuple[int, Granted | Revoked]] = [*page.facts_of(Granted), *page.facts_of(Revoked)]
    granted = {number for number, fact in words if fact.analyst == analyst}
    return tuple(
        Entry(number=number, fact=page.fact(number), time=page.time_of(number))
        for number in sorted({*paid, *granted, *page.numbers_by(analyst, Refused)})
    )


def _paid(page: Page, payment: Payment) -> Charge:
    paid = page.fact(payment.number)
    if not isinstance(paid, Charge):
        raise unreadable()
    return paid


def _release(page: Page, payment: Payment, *, steps: tuple[ReleasedStep, ...]) -> Release:
    paid = _paid(page, payment)
    return Release(receipt=payment.number, analyst=paid.analyst, record=paid.record, steps=steps)


def released_steps(page: Page, payment: Payment) -> tuple[ReleasedStep, ...]:
    """What the steps of a payment told so far."""
    found = []
    for step, entry in enumerate(payment.stored):
        fact = page.fact(entry)
        if not isinstance(fact, Stored) or (fact.receipt, fact.step) != (payment.number, step):
            raise unreadable()
        found.append(fact.released)
    return tuple(found)


def require_charge(asked: Charge) -> Triple:
    """The price of a charge that can be written down and is not free."""
    require_name(asked.analyst)
    require_name(asked.grant)
    require_epsilon(cost=asked.cost)
    require_count(steps=asked.steps, at_most=MOST_STEPS)
    question = asked.question
    if not (question.plan and question.policy and question.data_version):
        raise InternalError("a question without its plan, policy or data version was to be charged")
    price = price_of(asked.event)
    if price.is_free:
        raise InternalError("an answer about people was to be charged at no price")
    return price
