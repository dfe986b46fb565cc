"""The laws of the ledger, for every store: who may pay, what one payment buys, what is told again.

Each law looks first and writes last, inside the one transaction its page is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, triple
from dpsql.errors import BadParameter, BadPolicy, InternalError, NotPermitted
from dpsql.ledger.encoding import charge_digest, question_digest, unreadable
from dpsql.ledger.facts import Granted, Promised, Retried, Stored, Versioned
from dpsql.ledger.ledger import FIRST_VERSION, PUBLIC_WAY, Charge, Ownership, Question, Receipt, Release, ReleasedStep
from dpsql.ledger.page import SOURCE, Page, Payment
from dpsql.require import require_count, require_epsilon

ATTEMPTS: Final = 3
"""How often one payment may be run in all."""
MOST_STEPS: Final = 10_000
LONGEST_NAME: Final = 200


def promise(page: Page, account: Account) -> None:
    """Open the account of the source."""
    known = page.account(SOURCE)
    if known is None:
        page.append(Promised(account=account))
        page.keep_account(SOURCE, account)
    elif any(getattr(known, name) != getattr(account, name) for name in ("epsilon", "delta", "delta_prime")):
        raise BadParameter(
            "this ledger already holds another promise",
            why="people were promised the first one; a second would add up with it, not replace it",
            fix="keep the promise as it is, or open a new ledger and tell people the sum of both",
        )


def own(page: Page, said: Ownership) -> None:
    """Keep whom the promise is about; the same again is nothing, and tables nobody spoke of are added.

    A mistake can be corrected as long as it has told nobody anything: nothing was charged, and no exact answer can have
    come from a table that never was public.
    """
    unspent = _promised(page).spent == FREE
    facts = page.facts_of(Ownership)
    public = {table for fact in facts for table, way in fact.tables if way == PUBLIC_WAY}
    known = _known(facts)
    wrong = [each for each in _changed(known, said) if not (unspent and each[0] in _tables(said, without=public))]
    if wrong:
        raise _owned_otherwise(wrong)
    added = tuple(sorted((table, way) for table, way in said.tables if known.get(_word(table)) != way))
    if added or not known:
        page.append(Ownership(relation=said.relation, tables=added))


def require_owned(page: Page, said: Ownership) -> None:
    """Nobody has said others since: an older declaration must not be charged under a newer one."""
    changed = _changed(_known(page.facts_of(Ownership)), said)
    if changed:
        raise _owned_otherwise(changed)


def _known(facts: Sequence[Ownership]) -> dict[str, str]:
    """What holds: the last word about each table."""
    return {what: way for fact in facts for what, way in _owners(fact).items()}


def _changed(known: Mapping[str, str], said: Ownership) -> list[tuple[str, str, str]]:
    return [(what, known[what], now) for what, now in _owners(said).items() if known.get(what, now) != now]


def _tables(said: Ownership, *, without: set[str]) -> set[str]:
    return {_word(table) for table, _ in said.tables if table not in without}


def _word(table: str) -> str:
    return f"table {table}"


def _owners(said: Ownership) -> dict[str, str]:
    return {"the relation": said.relation, **{_word(table): way for table, way in said.tables}}


def _owned_otherwise(changed: Sequence[tuple[str, str, str]]) -> BadPolicy:
    told = "; ".join(f"{what} was `{before}` and is now `{now}`" for what, before, now in changed)
    return BadPolicy(
        f"the promise of this ledger is about other people: {told}",
        why="what was spent so far protects people as they were declared then; declared otherwise, nobody could say"
        " what one person was promised",
        fix="put it back as it was, or close this ledger and open a new one: people are then promised the sum of both",
    )


def data_version(page: Page, label: str | None) -> str:
    """Keep the label of the data; the same again is nothing."""
    known = page.facts_of(Versioned)
    now = known[-1].label if known else FIRST_VERSION
    if label is None or label == now:
        return now
    page.append(Versioned(label=_readable(label, "a data version", "stored answers are told again by this label")))
    return label


def grant(page: Page, analyst: str, *, epsilon: Fraction) -> None:
    """Set the budget of an analyst; what was spent stays spent."""
    require_name(analyst)
    source = _promised(page)
    granted = source.grant(epsilon=epsilon)
    known = page.account(analyst)
    if known is None or known.epsilon != granted.epsilon:
        page.append(Granted(analyst=analyst, epsilon=granted.epsilon))
        page.keep_account(analyst, granted if known is None else replace(granted, spent=known.spent))


def _promised(page: Page) -> Account:
    source = page.account(SOURCE)
    if source is None:
        raise BadParameter(
            "a grant was made before the promise",
            why="a grant is a spending limit under the promise of the source, and there is none yet",
            fix="make the promise first: (ε, δ) for every person, over the life of the ledger",
        )
    return source


def account(page: Page, analyst: str | None) -> Account:
    """The account of the source, or of an analyst, as it stands."""
    found = page.account(SOURCE if analyst is None else require_name(analyst))
    if found is not None:
        return found
    if analyst is None:
        raise NotPermitted(
            "no promise was made for this source",
            why="without a promise to people there is nothing that could be spent",
            fix="have the owner of the data state (ε, δ)",
        )
    raise NotPermitted(
        "this analyst has no grant",
        why="every answer tells a little about people; the owner decides who may ask",
        fix="have the owner of the data grant a budget",
    )


def charge(page: Page, asked: Charge) -> Receipt:
    """Tell again or continue what was paid for, or pay: the grant and the promise must both admit the event."""
    require_charge(asked)
    promised, granted = account(page, None), account(page, asked.analyst)
    same = charge_digest(asked)
    paid = page.payments_for(same)
    for payment in paid:
        if payment.complete:
            return _receipt(page, payment)
    for payment in paid:
        if payment.attempts < ATTEMPTS:
            return _continued(page, payment)
    granted, promised = granted.charged(asked.event), promised.charged(asked.event)
    number = page.append(asked)
    page.keep_account(asked.analyst, granted)
    page.keep_account(SOURCE, promised)
    page.keep_payment(
        Payment(number=number, same=same, question=question_digest(asked.question), steps=asked.steps, attempts=1)
    )
    return Receipt(number=number, paid=True, salt=page.salt(number))


def _continued(page: Page, waiting: Payment) -> Receipt:
    """One attempt more. What was tried and told so far is counted in the chain, which nobody can shorten unseen."""
    tried = 1 + sum(fact.receipt == waiting.number for fact in page.facts_of(Retried))
    told = sum(fact.receipt == waiting.number for fact in page.facts_of(Stored))
    if (tried, told) != (waiting.attempts, len(waiting.stored)):
        raise unreadable()
    again = replace(waiting, attempts=waiting.attempts + 1)
    receipt = _receipt(page, again)
    page.append(Retried(receipt=waiting.number))
    page.keep_payment(again)
    return receipt


def _receipt(page: Page, payment: Payment) -> Receipt:
    return Receipt(
        number=payment.number,
        paid=False,
        salt=page.salt(payment.number),
        stored=released_steps(page, payment),
    )


def store(page: Page, *, receipt: int, step: int, released: ReleasedStep) -> ReleasedStep:
    """Keep what a step tells, the next one of its receipt, once; what is kept of it.

    One payment buys one answer: a second one, with other noise, would tell more than was paid for.
    """
    payment = page.payment(receipt)
    if payment is None or not 0 <= step < payment.steps or step > len(payment.stored):
        raise InternalError(
            "a step was to be stored that no receipt has paid for",
            why="an answer without its payment would be free, and one out of order cannot be continued",
            fix="report this; nothing was told",
        )
    if step < len(payment.stored):
        return released_steps(page, payment)[step]
    page.keep_step(payment, page.append(Stored(receipt=receipt, step=step, released=released)))
    return released


def recall(page: Page, question: Question) -> tuple[Release, ...]:
    """Complete releases that answer the question, oldest first."""
    return tuple(_release(page, payment) for payment in page.payments_of(question_digest(question)) if payment.complete)


def _release(page: Page, payment: Payment) -> Release:
    paid = page.fact(payment.number)
    if not isinstance(paid, Charge):
        raise unreadable()
    return Release(
        receipt=payment.number,
        analyst=paid.analyst,
        record=paid.record,
        steps=released_steps(page, payment),
    )


def released_steps(page: Page, payment: Payment) -> tuple[ReleasedStep, ...]:
    """What the steps of a payment told so far."""
    found = []
    for step, entry in enumerate(payment.stored):
        fact = page.fact(entry)
        if not isinstance(fact, Stored) or (fact.receipt, fact.step) != (payment.number, step):
            raise unreadable()
        found.append(fact.released)
    return tuple(found)


def require_name(analyst: str) -> str:
    """The name of an analyst, checked: text that looks the same to everybody who reads it."""
    return _readable(
        analyst, "the name of an analyst", "spending is kept by name; an empty or invisible one could stand for anybody"
    )


def _readable(text: str, what: str, why: str) -> str:
    if isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable():
        return text
    raise BadParameter(
        f"{what} must be printable text of 1 to {LONGEST_NAME} characters",
        why=why,
        fix="choose a short word without line breaks",
    )


def require_charge(asked: Charge) -> None:
    """A charge that can be written down and is not for nothing."""
    require_name(asked.analyst)
    require_epsilon(cost=asked.cost)
    require_count(steps=asked.steps, at_most=MOST_STEPS)
    for field in fields(asked.question):
        if not getattr(asked.question, field.name):
            raise InternalError(
                "a question without its plan, policy or data version was to be charged",
                why="it could be taken for another question, and its answer told in place of the other's",
                fix="report this; nothing was charged",
            )
    if triple(asked.event) == FREE:
        raise InternalError(
            "an answer about people was to be charged at no price",
            why="only an answer that does not depend on anybody is free, and that one needs no charge",
            fix="report this; nothing was charged",
        )
