"""A page in memory: of ledgers that end with their process, and of the replay that checks the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dpsql.accounting.account import Account
from dpsql.ledger import hiding
from dpsql.ledger.chain import START, linked, salt_of
from dpsql.ledger.clock import time_after
from dpsql.ledger.entries import fact_to_entry
from dpsql.ledger.facts import Fact
from dpsql.ledger.page import F, Payment, Totals


class MemoryPage:
    """Dictionaries. The caller holds a lock."""

    def __init__(self, *, key: bytes, clock: Callable[[], int]) -> None:
        self._key = key
        self._clock = clock
        self._facts: list[Fact] = []
        self._kinds: dict[type, list[int]] = {}
        self._times: list[int] = []
        self._hashes: dict[int, bytes] = {0: START}
        self._latest: dict[str, int] = {}
        self._accounts: dict[str, Account] = {}
        self._payments: dict[int, Payment] = {}
        self._same: dict[bytes, list[int]] = {}
        self._questions: dict[bytes, list[int]] = {}
        self._analysts: dict[str, list[int]] = {}
        self._hidden: dict[tuple[int, int], bytes] = {}

    def append(self, fact: Fact) -> int:
        kind, payload = fact_to_entry(fact)  # refuses what a file would refuse
        number = self.keep_fact(fact)
        time = self._times[-1]
        previous = self._hashes[number - 1]
        self._hashes[number] = linked(
            self._key, number=number, time=time, kind=kind, payload=payload, previous=previous
        )
        return number

    def keep_fact(self, fact: Fact) -> int:
        """Add an entry that is known to be writable; its number."""
        self._times.append(self.now())
        self._facts.append(fact)
        self._kinds.setdefault(type(fact), []).append(len(self._facts))
        return len(self._facts)

    def now(self) -> int:
        return time_after(self._times[-1] if self._times else 0, clock=self._clock())

    def time_of(self, number: int) -> int | None:
        return self._times[number - 1]

    def times(self) -> Iterator[int | None]:
        return iter(self._times)

    def fact(self, number: int) -> Fact:
        return self._facts[number - 1]

    def facts(self) -> Iterator[Fact]:
        return iter(self._facts)

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        found = [(number, self.fact(number)) for number in self._kinds.get(kind, ())]
        return tuple((number, fact) for number, fact in found if isinstance(fact, kind))

    def head(self) -> tuple[int, bytes]:
        return len(self._facts), self._hashes.get(len(self._facts), START)

    def latest(self, what: str) -> int | None:
        return self._latest.get(what)

    def keep_latest(self, what: str, entry: int) -> None:
        self._latest[what] = entry

    def account(self, holder: str) -> Account | None:
        return self._accounts.get(holder)

    def keep_account(self, holder: str, account: Account) -> None:
        self._accounts[holder] = account

    def accounts(self) -> dict[str, Account]:
        return dict(self._accounts)

    def remove_accounts(self) -> None:
        self._accounts.clear()

    def payment(self, number: int) -> Payment | None:
        return self._payments.get(number)

    def keep_payment(self, payment: Payment) -> None:
        if payment.number not in self._payments:
            self._same.setdefault(payment.same, []).append(payment.number)
            self._questions.setdefault(payment.question, []).append(payment.number)
            self._analysts.setdefault(payment.analyst, []).append(payment.number)
        self._payments[payment.number] = payment

    def keep_step(self, payment: Payment, entry: int) -> None:
        self._payments[payment.number] = payment.with_step(entry)

    def payments_for(self, same: bytes) -> tuple[Payment, ...]:
        return tuple(self._payments[number] for number in self._same.get(same, ()))

    def payments_of(self, question: bytes) -> tuple[Payment, ...]:
        return tuple(self._payments[number] for number in self._questions.get(question, ()))

    def payments_by(self, analyst: str, *, last: int | None = None) -> tuple[Payment, ...]:
        numbers = self._analysts.get(analyst, [])
        return tuple(self._payments[number] for number in (numbers if last is None else numbers[-last:]))

    def hide(self, receipt: int, step: int, plain: bytes) -> None:
        entry = self._hashes[self._payments[receipt].stored[step]]
        self._hidden[receipt, step] = hiding.hidden(self._key, plain, receipt=receipt, step=step, entry=entry)

    def revealed(self, receipt: int, step: int, *, first: int | None = None) -> bytes | None:
        kept = self._hidden.get((receipt, step))
        if kept is None:
            return None
        entry = self._hashes[self._payments[receipt].stored[step]]
        return hiding.revealed(self._key, kept, receipt=receipt, step=step, entry=entry, first=first)

    def salt(self, number: int) -> int:
        return salt_of(self._key, number=number)

    def totals(self) -> Totals:
        return Totals(accounts=self.accounts(), payments=dict(self._payments), latest=dict(self._latest))
