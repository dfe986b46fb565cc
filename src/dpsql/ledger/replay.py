"""The entries lived through again from the first: every charge must have been admitted, every total comes out anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import repeat as always
from typing import Any, Final

from dpsql.errors import DpsqlError, LedgerBroken
from dpsql.ledger import batches, grants, laws, owners, promises, sayings
from dpsql.ledger.clock import LATEST
from dpsql.ledger.facts import (
    Adopted,
    Batched,
    Closed,
    Fact,
    Frozen,
    Granted,
    Issued,
    Opened,
    Promised,
    Refused,
    Renewed,
    Retried,
    Revoked,
    Stored,
    Unfrozen,
    Versioned,
    Withdrawn,
    WrittenOff,
)
from dpsql.ledger.ledger import Charge, Head, Ownership, ReleasedStep
from dpsql.ledger.memory_page import MemoryPage
from dpsql.ledger.page import Totals
from dpsql.ledger.unusable import AFTER_DAMAGE


def broken_at(number: int) -> LedgerBroken:
    """What is raised where the ledger does not verify."""
    return LedgerBroken(
        f"the ledger does not verify: entry {number} was changed, removed, added or moved",
        why="the answers given so far can no longer be shown to fit what people were promised",
        fix=AFTER_DAMAGE,
    )


def totals_broken() -> LedgerBroken:
    """What is raised where the entries are right and what was added up from them is not."""
    return LedgerBroken(
        "the ledger does not verify: its totals are not the sum of its entries",
        why="a total that is too small would let more be asked than people were promised",
        fix=AFTER_DAMAGE,
    )


class _ReplayPage(MemoryPage):
    """Remembers the last entry whole, and of older steps only that they were there. It is as late as it is said."""

    written: tuple[int, Fact] | None = None
    batch: tuple[int, Batched] | None = None
    """The batch whose questions must come next."""
    joined: tuple[Charge, ...] = ()
    """Those that have come."""
    time: int = 0

    def __init__(self) -> None:
        super().__init__(key=b"", clock=lambda: self.time)  # salts are told to no one here

    def now(self) -> int:
        """When the entry was written, by whatever clock."""
        return max(self.time, self._times[-1] if self._times else 0)

    def append(self, fact: Fact) -> int:
        number = self.keep_fact(replace(fact, released=_NOTHING) if isinstance(fact, Stored) else fact)
        self.written = number, fact
        return number


_NOTHING: Final = ReleasedStep(keys=(), values=())


def replayed(facts: Iterable[Fact], times: Iterable[int | None] = always(None)) -> Totals:
    """The totals that follow from the entries by the laws; LedgerBroken where a law forbids one of them.

    Requires  entries in order, from the first, and when each was added; None: before times were kept.
    """
    page = _ReplayPage()
    number = 0
    for number, (fact, time) in enumerate(zip(facts, times, strict=False), start=1):
        page.time = time or 0
        repeat = _FIRST if number == 1 else _LATER
        try:
            if page.time > LATEST or (page.batch is not None and not isinstance(fact, Charge)):
                raise LookupError
            repeat[type(fact)](page, fact)
            repeated = page.written == (number, fact)
        except (DpsqlError, LookupError):
            raise broken_at(number) from None
        if not repeated:
            raise broken_at(number)
    if not number:
        raise broken_at(1)
    if page.batch is not None:
        raise broken_at(number + 1)
    return page.totals()


def _retry(page: _ReplayPage, fact: Retried) -> None:
    paid, payment = page.fact(fact.receipt), page.payment(fact.receipt)
    if not isinstance(paid, Charge) or payment is None:
        raise LookupError
    if paid.batch is None:
        laws.charge(page, paid)
    elif payment.complete or payment.attempts >= laws.ATTEMPTS:
        raise LookupError
    else:
        laws.paying_accounts(page, paid)
        laws.continued(page, payment)


def _batch(page: _ReplayPage, fact: Batched) -> None:
    page.batch, page.joined = (batches.pay(page, fact), fact), ()


def _charge(page: _ReplayPage, fact: Charge) -> None:
    if page.batch is None:
        laws.charge(page, fact)
        return
    number, batched = page.batch
    events = batched.event.events
    expected = (number, batched.analyst, batched.payer, events[len(page.joined)])
    if (fact.batch, fact.analyst, fact.payer, fact.event) != expected:
        raise LookupError
    grants.require_below_cap(page, fact)  # by its share: what it is worth alone was not asked before schema 2
    batches.join(page, batched, fact)
    page.joined = (*page.joined, fact)
    if len(page.joined) == len(events):
        page.batch = None
        batches.require_batch(batched, page.joined)


def _grant(page: _ReplayPage, fact: Granted) -> None:
    grants.grant(page, fact.analyst, epsilon=fact.epsilon, conditions=fact.conditions, by=fact.by)


def _renew(page: _ReplayPage, fact: Renewed) -> None:
    """Before windows were kept in the ledger, the policy alone said whether a promise may be renewed."""
    (promises.begin_period if promises.window(page) is None else promises.renew)(page)


def _write_off(page: _ReplayPage, fact: WrittenOff) -> None:
    promises.write_off(page, Head(number=fact.number, hash=b"", spent=fact.spent), periods=fact.periods)


_FIRST: Final[Mapping[type, Callable[[_ReplayPage, Any], object]]] = {Opened: lambda page, fact: page.append(fact)}
_LATER: Final[Mapping[type, Callable[[_ReplayPage, Any], object]]] = {
    Promised: lambda page, fact: promises.promise(page, fact.account, per=fact.per),
    Renewed: _renew,
    Closed: lambda page, fact: promises.close(page, fact.reason),
    WrittenOff: _write_off,
    Ownership: owners.own,
    Granted: _grant,
    Revoked: lambda page, fact: grants.revoke(page, fact.analyst, by_file=fact.by_file),
    Frozen: lambda page, fact: grants.freeze(page, fact.reason, by=fact.by),
    Unfrozen: lambda page, fact: grants.unfreeze(page, fact.reason, by=fact.by),
    Versioned: lambda page, fact: sayings.keep_version(page, fact.label),
    Adopted: lambda page, fact: sayings.adopt(page, fact.digest, fact.text),
    Refused: lambda page, fact: sayings.refuse(page, fact.analyst, code=fact.code, sql=fact.sql),
    Issued: lambda page, fact: sayings.issue(page, fact.user, fact.digest),
    Withdrawn: lambda page, fact: sayings.withdraw(page, fact.name),
    Batched: _batch,
    Charge: _charge,
    Retried: _retry,
    Stored: lambda page, fact: laws.store(page, receipt=fact.receipt, step=fact.step, released=fact.released),
}
