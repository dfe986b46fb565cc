"""The page of every ledger in a database: the tables of schema.py, inside a transaction of the caller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from dpsql.accounting.account import Account
from dpsql.errors import LedgerBroken
from dpsql.ledger import chain, hiding
from dpsql.ledger.clock import time_after
from dpsql.ledger.encoding import account_from_json, account_to_json, unreadable
from dpsql.ledger.entries import fact_from_entry, fact_to_entry, word_of
from dpsql.ledger.facts import Fact
from dpsql.ledger.page import SOURCE, F, Payment, Totals
from dpsql.ledger.replay import broken_at
from dpsql.ledger.schema import ACCOUNTS, LATEST, PAYMENTS, SIDE_TABLES, STEPS, SideTable

_LIMITS: Final = ("epsilon", "delta", "delta_prime", "rho", "granted_from")
_SPENT: Final = ("epsilon", "delta", "rho")
_ENTRY: Final = "SELECT number, time, kind, payload, hash FROM entries"

_HIDDEN: Final = "SELECT content FROM hidden WHERE payment = ? AND step = ? AND content >= ?"
"""Not less than no bytes are bytes alone: where SQLite was given text or a number, nothing is found."""

_ALL: Final = "1 = 1"
_SMALL: Final = 4096

Row = tuple[Any, ...]
K = TypeVar("K")
V = TypeVar("V")


class Database(Protocol):
    """One connection inside one transaction. `?` stands for a value."""

    def run(self, sql: str, *values: object) -> None: ...

    def rows(self, sql: str, *values: object) -> list[Row]: ...

    def stream(self, sql: str) -> Iterator[Row]:
        """The rows, never all of them in memory."""
        ...


def head_broken() -> LedgerBroken:
    """What is raised where the end of the ledger, or a row that was added up, is not the one that was sealed."""
    return LedgerBroken(
        "the ledger does not verify: its last entry, or what was added up so far, is not what was sealed",
        why="what is missing at the end of a ledger was spent, and would be spent again",
        fix="stop answering, restore a backup that verifies, and tell the owner of the data",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What rows and entries say that were read before. A row is still read and checked each time, then not decoded."""

    accounts: dict[Row, Account] = field(default_factory=dict)
    facts: dict[bytes, Fact] = field(default_factory=dict)
    """By the hash of the entry."""


_REMEMBERED: Final = 256


def _remember(known: dict[K, V], key: K, value: V) -> V:
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = value
    return value


class SqlPage:
    """Every row is checked when it is read, and every change goes into the sum that the head seals."""

    def __init__(
        self, database: Database, *, key: bytes, clock: Callable[[], int], memory: Memory | None = None
    ) -> None:
        self._database = database
        self._memory = Memory() if memory is None else memory
        self._key = key
        self._clock = clock
        self._last = (0, chain.START)
        self._time = 0
        self._total = 0
        self._known: dict[str, tuple[Account, Row]] = {}
        self._said: dict[str, int | None] = {}
        self._read: dict[int, Fact] = {}
        self._covers: dict[tuple[str, Row], tuple[bytes, int]] = {}
        self.appended = False

    def _rows(self, types: tuple[tuple[type, ...], ...], sql: str, *values: object) -> list[Row]:
        """The rows; SQLite lets anybody write text where a number was, so types are looked at."""
        found = self._database.rows(sql, *values)
        if any(type(value) not in kinds for row in found for value, kinds in zip(row, types, strict=True)):
            raise unreadable()
        return found

    # The head

    def open_head(self) -> None:
        """Find where the next entry goes; LedgerBroken where the end of the ledger is not what was sealed."""
        found = self._rows(
            ((int,), (bytes,), (int, type(None)), (bytes,), (bytes,)),
            "SELECT entries.number, entries.hash, entries.time, head.total, head.seal"
            " FROM head JOIN entries ON entries.number = head.number"
            " WHERE head.number = (SELECT MAX(number) FROM entries)",
        )
        if len(found) != 1:
            raise head_broken()
        ((number, last, time, total, seal),) = found
        self._last, self._time = (number, last), time or 0
        if not chain.equal(seal, self._seal(total)):
            raise head_broken()
        self._total = chain.sum_of(self._key, total, number=number)

    def _seal(self, total: bytes) -> bytes:
        number, last = self._last
        source = self._source_mac()
        return chain.sealed(self._key, number=number, last=last, rows=total, source=source)

    def _source_mac(self) -> bytes:
        """Of the account of the source as it is: no older one can be put in its place, not even for a moment."""
        return b"" if self.account(SOURCE) is None else self._cover(ACCOUNTS, self._known[SOURCE][1])[0]

    def close_head(self) -> None:
        """Seal what was appended."""
        if self.appended:
            total = chain.summed(self._key, self._total, number=self._last[0])
            self._database.run(
                "INSERT INTO head (one, number, total, seal) VALUES (1, ?, ?, ?) ON CONFLICT (one) DO UPDATE"
                " SET number = excluded.number, total = excluded.total, seal = excluded.seal",
                *(self._last[0], total, self._seal(total)),
            )

    def head(self) -> tuple[int, bytes]:
        return self._last

    def hash_of(self, number: int) -> bytes | None:
        """Of an entry; None where there is none."""
        found = self._rows(((bytes,),), "SELECT hash FROM entries WHERE number = ?", number)
        return found[0][0] if found else None

    def check(self) -> None:
        """Every hash of the chain and every row beside it; LedgerBroken. What the entries say is not read."""
        ends = deque(self._chained(), maxlen=1)
        if [link for _, _, _, link in ends] != [self._last[1]]:
            raise head_broken()
        total = 0
        for table in SIDE_TABLES:
            for row in self._database.stream(table.read):
                total += self._part(table, row)
        if (total - self._total) % 2**256:
            raise head_broken()

    def cover(self, totals: Totals) -> None:
        """Begin to seal: what was added up from the entries that exist, in tables that are empty."""
        for number, (_, _, _, link) in enumerate(self._chained(), start=1):
            self._last = number, link
        for holder, account in totals.accounts.items():
            self.keep_account(holder, account)
        for payment in totals.payments.values():
            self._keep_payment(payment, before=None)
            for step, entry in enumerate(payment.stored):
                self._keep(STEPS, (payment.number, step, entry), before=None)
        for what, entry in totals.latest.items():
            self._keep(LATEST, (what, entry), before=None)
        self.appended = True
        self.close_head()

    # Entries

    def now(self) -> int:
        return time_after(self._time, clock=self._clock())

    def time_of(self, number: int) -> int | None:
        return self._entry(number)[0]

    def times(self) -> Iterator[int | None]:
        return (time for (time,) in self._database.stream("SELECT time FROM entries ORDER BY number"))

    def append(self, fact: Fact) -> int:
        kind, payload = fact_to_entry(fact)
        number, previous = self._last
        number, time = number + 1, self.now()
        link = chain.linked(self._key, number=number, time=time, kind=kind, payload=payload, previous=previous)
        self._database.run(
            "INSERT INTO entries (number, time, kind, payload, hash) VALUES (?, ?, ?, ?, ?)",
            *(number, time, kind, payload, link),
        )
        self._last, self._time, self.appended = (number, link), time, True
        return number

    def fact(self, number: int) -> Fact:
        if number not in self._read:
            _, kind, payload, link = self._entry(number)
            known = self._memory.facts.get(link)
            if known is None:
                known = fact_from_entry(kind, payload)
                if len(payload) <= _SMALL:
                    _remember(self._memory.facts, link, known)
            self._read[number] = known
        return self._read[number]

    def _entry(self, number: int) -> tuple[int | None, str, bytes, bytes]:
        found = self._database.rows(f"{_ENTRY} WHERE number = ?", number)
        previous = chain.START if number == 1 else self.hash_of(number - 1)
        if not found or previous is None:
            raise broken_at(number)
        return self._checked(found[0], number=number, previous=previous)

    def facts(self) -> Iterator[Fact]:
        for _, kind, payload, _ in self._chained():
            yield fact_from_entry(kind, payload)

    def _chained(self) -> Iterator[tuple[int | None, str, bytes, bytes]]:
        """Time, word, payload and hash of every entry, in order."""
        previous, before = chain.START, 0
        for number, entry in enumerate(self._database.stream(f"{_ENTRY} ORDER BY number"), start=1):
            found = self._checked(entry, number=number, previous=previous)
            time, previous = found[0], found[3]
            if (time or 0) < before:
                raise broken_at(number)
            before = time or 0
            yield found

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        found = self._rows(((int,),), "SELECT number FROM entries WHERE kind = ? ORDER BY number", word_of(kind))
        facts = [(number, self.fact(number)) for (number,) in found]
        return tuple((number, fact) for number, fact in facts if isinstance(fact, kind))

    def count_of(self, *kinds: type[Fact]) -> int:
        """How many entries are of one of these kinds."""
        words, places = map(word_of, kinds), ", ".join("?" * len(kinds))
        ((count,),) = self._rows(((int,),), f"SELECT COUNT(*) FROM entries WHERE kind IN ({places})", *words)
        return int(count)

    def latest(self, what: str) -> int | None:
        if what not in self._said:
            found = self._found(LATEST, LATEST.matched, what)
            self._said[what] = found[0][1] if found else None
        return self._said[what]

    def keep_latest(self, what: str, entry: int) -> None:
        before = self.latest(what)
        self._keep(LATEST, (what, entry), before=None if before is None else (what, before))
        self._said[what] = entry

    def _checked(self, entry: Row, *, number: int, previous: bytes) -> tuple[int | None, str, bytes, bytes]:
        """An entry that stands where it was written, as it was written."""
        found, time, kind, payload, link = entry
        if [found, *map(type, (found, kind, payload, link))] != [number, int, str, bytes, bytes]:
            raise broken_at(number)
        if time is not None and type(time) is not int:
            raise broken_at(number)
        expected = chain.linked(self._key, number=number, time=time, kind=kind, payload=payload, previous=previous)
        if not chain.equal(link, expected):
            raise broken_at(number)
        return time, kind, payload, link

    # Rows that are added up

    def _part(self, table: SideTable, row: Row) -> int:
        """The part of a row in the sum; LedgerBroken where nobody with the key wrote it."""
        if any(type(value) not in kinds for value, kinds in zip(row, table.types, strict=True)):
            raise unreadable()
        expected, part = self._cover(table, row[:-1])
        if not chain.equal(row[-1], expected):
            raise head_broken()
        return part

    def _cover(self, table: SideTable, row: Row) -> tuple[bytes, int]:
        """The proof of a row and its part in the sum."""
        known = self._covers.get((table.name, row))
        if known is None:
            known = chain.covered(self._key, table.name, row)
            if len(self._covers) < _REMEMBERED:
                self._covers[table.name, row] = known
        return known

    def _found(self, table: SideTable, where: str, *values: object) -> list[Row]:
        found = self._database.rows(f"{table.read} WHERE {where}", *values)
        for row in found:
            self._part(table, row)
        return [row[:-1] for row in found]

    def _keep(self, table: SideTable, row: Row, *, before: Row | None) -> None:
        """Write a row, in place of the one that was there before."""
        mac, part = self._cover(table, row)
        self._total += part - (0 if before is None else self._cover(table, before)[1])
        self._database.run(table.kept, *row, mac)

    # Accounts

    def account(self, holder: str) -> Account | None:
        if holder not in self._known:
            found = self._found(ACCOUNTS, ACCOUNTS.matched, holder)
            if not found:
                return None
            known = self._memory.accounts.get(found[0])
            if known is None:
                known = _remember(self._memory.accounts, found[0], account_of(found[0]))
            self._known[holder] = known, found[0]
        return self._known[holder][0]

    def keep_account(self, holder: str, account: Account) -> None:
        before = None if self.account(holder) is None else self._known[holder][1]
        value: dict[str, Any] = account_to_json(account)
        limits, spent = [value[name] for name in _LIMITS], [value["spent"][name] for name in _SPENT]
        row = (holder, *limits, *spent)
        self._keep(ACCOUNTS, row, before=before)
        self._known[holder] = _remember(self._memory.accounts, row, account), row

    def accounts(self) -> dict[str, Account]:
        return {row[0]: account_of(row) for row in self._found(ACCOUNTS, _ALL)}

    def remove_accounts(self) -> None:
        for row in self._found(ACCOUNTS, _ALL):
            self._total -= self._cover(ACCOUNTS, row)[1]
        self._database.run("DELETE FROM accounts")
        self._known.clear()

    # Payments

    def payment(self, number: int) -> Payment | None:
        found = self._payments(PAYMENTS.matched, number)
        return found[0] if found else None

    def payments_for(self, same: bytes) -> tuple[Payment, ...]:
        return self._payments("same = ? ORDER BY number", same)

    def payments_of(self, question: bytes) -> tuple[Payment, ...]:
        return self._payments("question = ? ORDER BY number", question)

    def payments_by(self, analyst: str, *, last: int | None = None) -> tuple[Payment, ...]:
        if last is None:
            return self._payments("analyst = ? ORDER BY number", analyst)
        return self._payments("analyst = ? ORDER BY number DESC LIMIT ?", analyst, last)[::-1]

    def _payments(self, where: str, *values: object) -> tuple[Payment, ...]:
        return tuple(
            Payment(
                number=number,
                analyst=analyst,
                same=same,
                question=question,
                steps=steps,
                attempts=attempts,
                stored=self._stored(number, count),
            )
            for number, analyst, same, question, steps, attempts, count in self._found(PAYMENTS, where, *values)
        )

    def _stored(self, payment: int, count: int) -> tuple[int, ...]:
        found = self._found(STEPS, "payment = ? ORDER BY step", payment) if count else ()
        if [step for _, step, _ in found] != list(range(count)):
            raise head_broken()
        return tuple(entry for _, _, entry in found)

    def keep_payment(self, payment: Payment) -> None:
        self._keep_payment(payment, before=self.payment(payment.number))

    def _keep_payment(self, payment: Payment, *, before: Payment | None) -> None:
        self._keep(PAYMENTS, _row(payment), before=None if before is None else _row(before))

    def keep_step(self, payment: Payment, entry: int) -> None:
        step = len(payment.stored)
        self._keep(STEPS, (payment.number, step, entry), before=None)
        self._keep_payment(payment.with_step(entry), before=payment)

    # Finer levels of a release: no rows that are added up

    def hide(self, receipt: int, step: int, plain: bytes) -> None:
        kept = hiding.hidden(self._key, plain, receipt=receipt, step=step, entry=self._told_in(receipt, step))
        self._database.run("INSERT INTO hidden (payment, step, content) VALUES (?, ?, ?)", receipt, step, kept)

    def revealed(self, receipt: int, step: int, *, first: int | None = None) -> bytes | None:
        found = self._database.rows(_HIDDEN, receipt, step, b"")
        if not found:
            return None
        entry = self._told_in(receipt, step)
        return hiding.revealed(self._key, found[0][0], receipt=receipt, step=step, entry=entry, first=first)

    def _told_in(self, receipt: int, step: int) -> bytes:
        """The hash of the entry that tells a stored step."""
        payment = self.payment(receipt)
        if payment is None or step >= len(payment.stored):
            raise unreadable()
        return self._entry(payment.stored[step])[3]

    def salt(self, number: int) -> int:
        return chain.salt_of(self._key, number=number)

    def totals(self) -> Totals:
        return Totals(
            accounts=self.accounts(),
            payments={payment.number: payment for payment in self._payments(_ALL)},
            latest=dict(self._found(LATEST, _ALL)),
        )


def account_of(row: Row) -> Account:
    """What a row of the accounts says."""
    limits, spent = dict(zip(_LIMITS, row[1:6], strict=True)), dict(zip(_SPENT, row[6:], strict=True))
    return account_from_json({**limits, "spent": spent})


def _row(payment: Payment) -> Row:
    counts = payment.steps, payment.attempts, len(payment.stored)
    return (payment.number, payment.analyst, payment.same, payment.question, *counts)
