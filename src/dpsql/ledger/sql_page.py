"""The page of every ledger in a database: the tables of schema.py, inside a transaction of the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from dpsql.accounting.account import Account
from dpsql.ledger import chain, hiding
from dpsql.ledger.encoding import account_from_json, account_to_json, unreadable
from dpsql.ledger.page import NOTHING_FORESEEN, SOURCE, Foreseen, Payment, Totals
from dpsql.ledger.schema import ACCOUNTS, LATEST, PAYMENTS, STEPS
from dpsql.ledger.sql_entries import SqlEntries
from dpsql.ledger.sql_rows import REMEMBERED, CoveredRows, Database, Look, Memory, Row, among, head_broken, remember

_LIMITS: Final = ("epsilon", "delta", "delta_prime", "rho", "granted_from")
_SPENT: Final = ("epsilon", "delta", "rho")

_HEAD: Final = (
    "SELECT entries.number, entries.hash, entries.time, head.total, head.seal,"
    " (SELECT seen.hash FROM entries AS seen WHERE seen.number = ?)"
    " FROM head JOIN entries ON entries.number = head.number"
    " WHERE head.number = (SELECT MAX(number) FROM entries)"
)
_HEAD_TYPES: Final = frozenset({(int, bytes, int, bytes, bytes), (int, bytes, type(None), bytes, bytes)})
_KEEP_HEAD: Final = (
    "INSERT INTO head (one, number, total, seal) VALUES (1, ?, ?, ?) ON CONFLICT (one) DO UPDATE"
    " SET number = excluded.number, total = excluded.total, seal = excluded.seal"
)

_HIDDEN: Final = "SELECT content FROM hidden WHERE payment = ? AND step = ? AND content >= ?"
"""Not less than no bytes are bytes alone: where SQLite was given text or a number, nothing is found."""

_ALL: Final = "1 = 1"
_SAME: Final = "same = ? ORDER BY number"


class SqlPage(SqlEntries):
    """Every row is checked when it is read, and every change goes into the sum that the head seals."""

    def __init__(
        self, database: Database, *, key: bytes, clock: Callable[[], int], memory: Memory | None = None
    ) -> None:
        memory = Memory() if memory is None else memory
        super().__init__(database, key=key, clock=clock, memory=memory)
        self._beside = CoveredRows(database, key=key, memory=memory)
        self._accounts: dict[str, Row | None] = {}
        self._said: dict[str, int | None] = {}
        self._same: dict[bytes, tuple[Payment, ...]] = {}
        self._paid: dict[int, Payment | None] = {}

    # The head

    def open_head(self, foreseen: Foreseen = NOTHING_FORESEEN, *, seen: int = 0) -> None:
        """Find where the next entry goes, and read at once what will be looked at, and the hash of the entry that was
        `seen` last; LedgerBroken where the end of the ledger is not what was sealed."""
        looks, takes = zip(*self._foreseen(foreseen, seen), strict=True)
        for take, found in zip(takes, self._database.looks(*looks), strict=True):
            take(found)

    def turn(self, database: Database) -> None:
        """Go on in another transaction, on a database that nobody else has written since. What was read stays read:
        no payments and no large entries, and not more of the rest than was of use lately."""
        self._turn_entries(database)
        self._beside.database = database
        self._same.clear()
        self._paid.clear()
        if max(len(self._said), len(self._accounts)) > REMEMBERED:
            self._said.clear()
            self._accounts.clear()

    def _foreseen(self, foreseen: Foreseen, seen: int) -> Iterator[tuple[Look, Callable[[list[Row]], None]]]:
        """What is asked of the database, and what is done with what it says: in this order."""
        holders, said = (SOURCE, *foreseen.holders), foreseen.said
        yield (f"{ACCOUNTS.read} WHERE holder IN {among(holders)}", holders), partial(self._take_accounts, holders)
        yield (_HEAD, (seen,)), partial(self._take_head, seen)
        if said:
            yield (f"{LATEST.read} WHERE what IN {among(said)}", said), partial(self._take_latest, said)
        yield from self._foreseen_entries(said, foreseen.kinds, foreseen.counted)
        if foreseen.same is not None:
            same = foreseen.same
            yield (f"{PAYMENTS.read} WHERE {_SAME}", (same,)), partial(self._take_same, same)

    def _take_accounts(self, holders: Iterable[str], found: list[Row]) -> None:
        self._accounts |= dict.fromkeys(holders) | {row[0]: row for row in self._beside.checked(ACCOUNTS, found)}

    def _take_latest(self, said: Iterable[str], found: list[Row]) -> None:
        self._said |= dict.fromkeys(said) | dict(self._beside.checked(LATEST, found))

    def _take_same(self, same: bytes, found: list[Row]) -> None:
        self._same[same] = self._payments_in(found)

    def _take_head(self, seen: int, found: list[Row]) -> None:
        if len(found) != 1:
            raise head_broken()
        ((*read, self._hashes[seen]),) = found
        head = tuple(read)
        if tuple(map(type, head)) not in _HEAD_TYPES:
            raise unreadable()
        number, last, time, total, seal = head
        self._last, self._time = (number, last), time or 0
        if not chain.equal(seal, self._seal(total)):
            raise head_broken()
        self._beside.total = chain.sum_of(self._key, total, number=number)

    def _seal(self, total: bytes) -> bytes:
        number, last = self._last
        return chain.sealed(self._key, number=number, last=last, rows=total, source=self._source_mac())

    def _source_mac(self) -> bytes:
        """Of the account of the source as it is: no older one can be put in its place, not even for a moment."""
        source = self._account_row(SOURCE)
        return b"" if source is None else self._beside.cover(ACCOUNTS, source)[0]

    def close_head(self) -> None:
        """Seal what was appended."""
        if self.appended:
            number, rows = self._last[0], self._beside.total % chain.MODULUS
            total = chain.summed(self._key, rows, number=number)
            self._database.run(_KEEP_HEAD, number, total, self._seal(total))

    def check(self) -> None:
        """Every hash of the chain and every row beside it; LedgerBroken. What the entries say is not read."""
        self.check_entries()
        self._beside.check()

    def cover(self, totals: Totals) -> None:
        """Begin to seal: what was added up from the entries that exist, in tables that are empty."""
        for number, _, _, _, link in self._chained():
            self._last = number, link
        for holder, account in totals.accounts.items():
            self.keep_account(holder, account)
        for payment in totals.payments.values():
            self._keep_payment(payment, before=None)
            for step, entry in enumerate(payment.stored):
                self._beside.keep(STEPS, (payment.number, step, entry), before=None)
        for what, entry in totals.latest.items():
            self._beside.keep(LATEST, (what, entry), before=None)
        self.appended = True
        self.close_head()

    # What holds now

    def latest(self, what: str) -> int | None:
        if what not in self._said:
            found = self._beside.found(LATEST, LATEST.matched, what)
            self._said[what] = found[0][1] if found else None
        return self._said[what]

    def keep_latest(self, what: str, entry: int) -> None:
        before = self.latest(what)
        self._beside.keep(LATEST, (what, entry), before=None if before is None else (what, before))
        self._said[what] = entry

    # Accounts

    def account(self, holder: str) -> Account | None:
        row = self._account_row(holder)
        if row is None:
            return None
        known = self._memory.accounts.get(row)
        return remember(self._memory.accounts, row, account_of(row)) if known is None else known

    def _account_row(self, holder: str) -> Row | None:
        if holder not in self._accounts:
            found = self._beside.found(ACCOUNTS, ACCOUNTS.matched, holder)
            self._accounts[holder] = found[0] if found else None
        return self._accounts[holder]

    def keep_account(self, holder: str, account: Account) -> None:
        value: dict[str, Any] = account_to_json(account)
        limits, spent = [value[name] for name in _LIMITS], [value["spent"][name] for name in _SPENT]
        row = (holder, *limits, *spent)
        self._beside.keep(ACCOUNTS, row, before=self._account_row(holder))
        self._accounts[holder] = row
        remember(self._memory.accounts, row, account)

    def accounts(self) -> dict[str, Account]:
        return {row[0]: account_of(row) for row in self._beside.found(ACCOUNTS, _ALL)}

    def remove_accounts(self) -> None:
        self._beside.remove(ACCOUNTS)
        self._accounts.clear()

    # Payments

    def payment(self, number: int) -> Payment | None:
        if number not in self._paid:
            found = self._payments(PAYMENTS.matched, number)
            self._paid[number] = found[0] if found else None
        return self._paid[number]

    def payments_for(self, same: bytes) -> tuple[Payment, ...]:
        return self._same[same] if same in self._same else self._payments(_SAME, same)

    def payments_of(self, question: bytes) -> tuple[Payment, ...]:
        return self._payments("question = ? ORDER BY number", question)

    def payments_by(self, analyst: str, *, last: int | None = None) -> tuple[Payment, ...]:
        if last is None:
            return self._payments("analyst = ? ORDER BY number", analyst)
        return self._payments("analyst = ? ORDER BY number DESC LIMIT ?", analyst, last)[::-1]

    def _payments(self, where: str, *values: object) -> tuple[Payment, ...]:
        return self._payments_in(self._database.rows(f"{PAYMENTS.read} WHERE {where}", *values))

    def _payments_in(self, found: list[Row]) -> tuple[Payment, ...]:
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
            for number, analyst, same, question, steps, attempts, count in self._beside.checked(PAYMENTS, found)
        )

    def _stored(self, payment: int, count: int) -> tuple[int, ...]:
        found = self._beside.found(STEPS, "payment = ? ORDER BY step", payment) if count else ()
        if [step for _, step, _ in found] != list(range(count)):
            raise head_broken()
        return tuple(entry for _, _, entry in found)

    def keep_payment(self, payment: Payment) -> None:
        if self.appended and payment.number == self._last[0]:  # nobody has paid by an entry that was not there
            self._paid.setdefault(payment.number, None)
        self._keep_payment(payment, before=self.payment(payment.number))

    def _keep_payment(self, payment: Payment, *, before: Payment | None) -> None:
        self._same.pop(payment.same, None)
        self._paid[payment.number] = payment
        self._beside.keep(PAYMENTS, _row(payment), before=None if before is None else _row(before))

    def keep_step(self, payment: Payment, entry: int) -> None:
        step = len(payment.stored)
        self._beside.keep(STEPS, (payment.number, step, entry), before=None)
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
        link: bytes = self._entry(payment.stored[step])[4]
        return link

    def salt(self, number: int) -> int:
        return chain.salt_of(self._key, number=number)

    def totals(self) -> Totals:
        return Totals(
            accounts=self.accounts(),
            payments={payment.number: payment for payment in self._payments(_ALL)},
            latest=dict(self._beside.found(LATEST, _ALL)),
        )


def account_of(row: Row) -> Account:
    """What a row of the accounts says."""
    limits, spent = dict(zip(_LIMITS, row[1:6], strict=True)), dict(zip(_SPENT, row[6:], strict=True))
    return account_from_json({**limits, "spent": spent})


def _row(payment: Payment) -> Row:
    counts = payment.steps, payment.attempts, len(payment.stored)
    return (payment.number, payment.analyst, payment.same, payment.question, *counts)
