"""The entries lived through again from the first: every charge must have been admitted, every total comes out anew."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final

from dpsql.errors import DpsqlError, LedgerBroken
from dpsql.ledger import facts, grants, laws, owners, promises, sayings
from dpsql.ledger.clock import LATEST
from dpsql.ledger.encoding import Link
from dpsql.ledger.facts import Fact, of_every_kind
from dpsql.ledger.ledger import Charge, Head, Ownership
from dpsql.ledger.page import F, Page, WholePage
from dpsql.ledger.snapshot import Payment, Snapshot


def broken_at(number: int) -> LedgerBroken:
    """What is raised where the ledger does not verify."""
    return LedgerBroken(f"the ledger does not verify: entry {number} was changed, removed, added or moved")


class _ReplayPage(Page):
    """A snapshot that is derived anew while the entries of another page go by. It holds what the laws look at: the
    entries of owners, and the charges of open payments. Anything older is looked up in the other page."""

    def __init__(self, source: WholePage) -> None:
        super().__init__(Snapshot())
        self._source = source
        self._kept: dict[int, Fact] = {}
        self._same: dict[bytes, list[int]] = {}
        self._digests: dict[int, bytes] = {}
        self.link: Link
        """The entry whose turn it is."""
        self.written: Fact | None = None
        """What a law has written at the place of the entry."""

    def turn(self, link: Link) -> None:
        """Go on to the next entry."""
        self.link, self.written = link, None

    def append(self, fact: Fact, *, same: bytes | None = None) -> int:
        if self.written is not None:
            raise LookupError
        self.written = fact
        if not isinstance(fact, _PASSING):
            self._kept[self.link.number] = fact
        return self.link.number

    def now(self) -> int:
        """When the entry was written, by whatever clock."""
        return self.link.time

    def head(self) -> tuple[int, bytes]:
        return self.link.number, self.link.hash

    def fact(self, number: int) -> Fact:
        found = self._kept.get(number)
        if found is None and number < self.link.number:
            found = self._source.fact(number)
        if found is None:
            raise LookupError(number)
        return found

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        return tuple((number, fact) for number, fact in self._kept.items() if isinstance(fact, kind))

    def keep_payment(self, payment: Payment) -> None:
        """Only open payments are found by their digest: of closed ones none is continued."""
        if payment.number == self.link.number and self.link.same is not None:
            self._same.setdefault(self.link.same, []).append(payment.number)
            self._digests[payment.number] = self.link.same
        for number in self.snapshot.keep_payment(payment):
            self._kept.pop(number, None)
            same = self._digests.pop(number, None)
            if same is not None:
                self._same[same].remove(number)
                if not self._same[same]:
                    del self._same[same]

    def digest_of(self, number: int) -> bytes:
        """What an open payment is continued by."""
        return self._digests[number]

    def _charges_for(self, same: bytes) -> Sequence[int]:
        return self._same.get(same, ())

    def _steps_of(self, receipt: int) -> Sequence[int]:
        return [number for number in self._source._steps_of(receipt) if number < self.link.number]

    def salt(self, number: int) -> int:
        """Salts are of no use here."""
        return 0


_PASSING: Final = (facts.Stored, facts.Refused, facts.Retried)
"""Entries that no law reads again."""


def replay(page: WholePage, *, until: int | None = None) -> Snapshot:
    """The snapshot that follows from the entries by the laws, up to the entry of this number; LedgerBroken where a law
    forbids one of them, or the chain does not verify."""
    entries = replaying(page, until=until)
    while True:
        try:
            next(entries)
        except StopIteration as ended:
            snapshot: Snapshot = ended.value
            return snapshot


def replaying(page: WholePage, *, until: int | None = None) -> Generator[Link, None, Snapshot]:
    """The same entry by entry: each is given out once its law has admitted it."""
    replayed = _ReplayPage(page)
    number = 0
    for link in page.chained():
        number = link.number
        replayed.turn(link)
        fact = link.fact
        try:
            if link.time > LATEST or isinstance(fact, facts.Opened) != (number == 1):
                raise LookupError
            _LAWS[type(fact)](replayed, fact)
        except (DpsqlError, LookupError):
            raise broken_at(number) from None
        if replayed.written is not fact and replayed.written != fact:
            raise broken_at(number)
        yield link
        if number == until:
            break
    if not number:
        raise broken_at(1)
    return replayed.snapshot


def _retry(page: _ReplayPage, fact: facts.Retried) -> None:
    paid, payment = page.fact(fact.receipt), page.payment(fact.receipt)
    if not isinstance(paid, Charge) or payment is None:
        raise LookupError
    laws.charge(page, paid, same=page.digest_of(payment.number))


def _grant(page: _ReplayPage, fact: facts.Granted) -> None:
    grants.grant(page, fact.analyst, epsilon=fact.epsilon, conditions=fact.conditions, by=fact.by)


def _write_off(page: _ReplayPage, fact: facts.WrittenOff) -> None:
    promises.write_off(page, Head(number=fact.number, hash=b"", spent=fact.spent), periods=fact.periods)


_LAWS: Final[Mapping[type, Callable[[_ReplayPage, Any], object]]] = of_every_kind(
    {
        facts.Opened: lambda page, fact: page.append(fact),
        facts.Promised: lambda page, fact: promises.promise(page, fact.account, per=fact.per),
        facts.Renewed: lambda page, fact: promises.renew(page),
        facts.Closed: lambda page, fact: promises.close(page, fact.reason),
        facts.WrittenOff: _write_off,
        Ownership: owners.own,
        facts.Granted: _grant,
        facts.Revoked: lambda page, fact: grants.revoke(page, fact.analyst, by_file=fact.by_file),
        facts.Frozen: lambda page, fact: grants.freeze(page, fact.reason, by=fact.by),
        facts.Unfrozen: lambda page, fact: grants.unfreeze(page, fact.reason, by=fact.by),
        facts.Versioned: lambda page, fact: sayings.say_version(page, fact.label),
        facts.Adopted: lambda page, fact: sayings.adopt(page, fact.digest, fact.text),
        facts.Refused: lambda page, fact: sayings.refuse(page, fact.analyst, code=fact.code, sql=fact.sql),
        facts.Issued: lambda page, fact: sayings.issue(page, fact.user, fact.digest),
        facts.Withdrawn: lambda page, fact: sayings.withdraw(page, fact.name),
        Charge: lambda page, fact: laws.charge(page, fact, same=page.link.same),
        facts.Retried: _retry,
        facts.Stored: lambda page, fact: laws.store(page, receipt=fact.receipt, step=fact.step, released=fact.released),
    }
)
"""The law of each kind of entries."""
