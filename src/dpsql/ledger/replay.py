"""The entries lived through again from the first: every charge must have been admitted, every total comes out anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from dpsql.errors import DpsqlError, LedgerBroken
from dpsql.ledger import laws
from dpsql.ledger.facts import Fact, Granted, Opened, Promised, Retried, Stored, Versioned
from dpsql.ledger.ledger import Charge, Ownership, ReleasedStep
from dpsql.ledger.memory_page import MemoryPage
from dpsql.ledger.page import Totals


def broken_at(number: int) -> LedgerBroken:
    """What is raised where the ledger does not verify."""
    return LedgerBroken(
        f"the ledger does not verify: entry {number} was changed, removed, added or moved",
        why="the answers given so far can no longer be shown to fit what people were promised",
        fix="stop answering, restore a backup that verifies, and tell the owner of the data",
    )


def totals_broken() -> LedgerBroken:
    """What is raised where the entries are right and what was added up from them is not."""
    return LedgerBroken(
        "the ledger does not verify: its totals are not the sum of its entries",
        why="a total that is too small would let more be asked than people were promised",
        fix="stop answering, restore a backup that verifies, and tell the owner of the data",
    )


class _ReplayPage(MemoryPage):
    """Remembers the latest entry whole, and of older steps only that they were there."""

    latest: tuple[int, Fact] | None = None

    def append(self, fact: Fact) -> int:
        number = self.keep_fact(replace(fact, released=_NOTHING) if isinstance(fact, Stored) else fact)
        self.latest = number, fact
        return number


_NOTHING: Final = ReleasedStep(keys=(), values=())


def replayed(facts: Iterable[Fact]) -> Totals:
    """The totals that follow from the entries by the laws; LedgerBroken where a law forbids one of them.

    Requires  entries in order, from the first.
    """
    page = _ReplayPage(key=b"")  # salts are told to no one here
    number = 0
    for number, fact in enumerate(facts, start=1):
        repeat = _FIRST if number == 1 else _LATER
        try:
            repeat[type(fact)](page, fact)
            repeated = page.latest == (number, fact)
        except (DpsqlError, LookupError):
            raise broken_at(number) from None
        if not repeated:
            raise broken_at(number)
    if not number:
        raise broken_at(1)
    return page.totals()


def _retry(page: MemoryPage, fact: Retried) -> None:
    paid = page.fact(fact.receipt)
    if not isinstance(paid, Charge):
        raise LookupError
    laws.charge(page, paid)


_FIRST: Final[Mapping[type, Callable[[MemoryPage, Any], object]]] = {Opened: lambda page, fact: page.append(fact)}
_LATER: Final[Mapping[type, Callable[[MemoryPage, Any], object]]] = {
    Promised: lambda page, fact: laws.promise(page, fact.account),
    Ownership: laws.own,
    Versioned: lambda page, fact: laws.data_version(page, fact.label),
    Granted: lambda page, fact: laws.grant(page, fact.analyst, epsilon=fact.epsilon),
    Charge: laws.charge,
    Retried: _retry,
    Stored: lambda page, fact: laws.store(page, receipt=fact.receipt, step=fact.step, released=fact.released),
}
