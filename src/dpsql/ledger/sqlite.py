"""A ledger in one SQLite file: one machine, any number of threads and processes.

Every method is one transaction. A write begins with BEGIN IMMEDIATE, so that looking and spending cannot be
separated by another writer, and is on disk when it returns (WAL, synchronous FULL).
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from dpsql.accounting.account import Account
from dpsql.errors import LedgerBroken
from dpsql.ledger import chain, keyfile
from dpsql.ledger.book import BookLedger, closed
from dpsql.ledger.encoding import account_from_json, account_to_json, json_bytes, unreadable
from dpsql.ledger.entries import SCHEMA, fact_from_entry, fact_to_entry, word_of
from dpsql.ledger.facts import Fact, Opened
from dpsql.ledger.page import SOURCE, F, Payment, Totals
from dpsql.ledger.replay import broken_at
from dpsql.ledger.schema import APPLICATION, TABLES
from dpsql.require import require_count

_LIMITS: Final = ("epsilon", "delta", "delta_prime", "rho", "granted_from")
_SPENT: Final = ("epsilon", "delta", "rho")
_ACCOUNTS: Final = (
    "SELECT holder, epsilon, delta, delta_prime, rho, granted_from, spent_epsilon, spent_delta, spent_rho FROM accounts"
)
_PAYMENTS: Final = "SELECT number, same, question, steps, attempts FROM payments"
_PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)

_ENDINGS: Final = {
    sqlite3.SQLITE_BUSY: ("the ledger is in use for too long", "try again; look for a process that does not end"),
    sqlite3.SQLITE_FULL: ("the disk of the ledger is full", "make room, then ask again"),
    sqlite3.SQLITE_READONLY: ("the ledger cannot be written", "give the owner of the process the right to write it"),
    sqlite3.SQLITE_CANTOPEN: ("the ledger cannot be opened", "look at the path and at the rights of its folder"),
}
_OTHERWISE: Final = ("the ledger cannot be read or written", "look at the disk; restore a backup that verifies")
_LONGEST_WAIT_MS: Final = 3_600_000
_FAMILY: Final = 0xFF  # SQLite says more in the higher bits


def _family(error: BaseException) -> int:
    """Which kind of failure SQLite reports; 0 where it does not say. Other failures of files are of the path."""
    return (
        getattr(error, "sqlite_errorcode", 0 if isinstance(error, sqlite3.Error) else sqlite3.SQLITE_CANTOPEN) & _FAMILY
    )


def _unusable(error: BaseException) -> LedgerBroken:
    """One constant text for each way a file can fail. Nothing of the transaction was kept."""
    what, fix = _ENDINGS.get(_family(error), _OTHERWISE)
    return LedgerBroken(what, why="an answer that cannot be paid for and stored cannot be given", fix=fix)


def _not_a_ledger() -> LedgerBroken:
    return LedgerBroken(
        "this file is not a ledger of dpsql",
        why="opening it as one would destroy what it is, or trust what nobody wrote",
        fix="name the file the ledger was created in, or one that does not exist yet",
    )


def _head_broken() -> LedgerBroken:
    return LedgerBroken(
        "the ledger does not verify: its last entry, or the total of the source, is not the one that was sealed",
        why="what is missing at the end of a ledger was spent, and would be spent again",
        fix="stop answering, restore a backup that verifies, and tell the owner of the data",
    )


class SqlitePage:
    """The tables, inside a transaction of the caller."""

    def __init__(self, database: sqlite3.Connection, *, key: bytes) -> None:
        self._database = database
        self._key = key
        self._head = (0, chain.START)
        self._appended = False

    def _run(self, sql: str, *values: object) -> None:
        self._database.execute(sql, values)

    def _rows(self, types: tuple[type, ...], sql: str, *values: object) -> list[Any]:
        """The rows; SQLite lets anybody write text where a number was, so types are looked at."""
        found = self._database.execute(sql, values).fetchall()
        if any(type(value) is not kind for row in found for value, kind in zip(row, types, strict=True)):
            raise unreadable()
        return found

    # The chain

    def open_head(self) -> None:
        """Find where the next entry goes; LedgerBroken where the end of the ledger is not what was sealed."""
        found = self._rows(
            (int, bytes, bytes),
            "SELECT entries.number, entries.hash, head.seal FROM head JOIN entries ON entries.number = head.number"
            " WHERE head.number = (SELECT MAX(number) FROM entries)",
        )
        if len(found) != 1 or not chain.equal(found[0][2], self._seal(*found[0][:2])):
            raise _head_broken()
        self._head = found[0][:2]

    def _seal(self, number: int, last: bytes) -> bytes:
        source = self.account(SOURCE)
        totals = json_bytes(None if source is None else account_to_json(source))
        return chain.sealed(self._key, number=number, last=last, totals=totals)

    def close_head(self) -> None:
        """Seal what was appended."""
        if self._appended:
            self._run("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", self._head[0], self._seal(*self._head))

    def append(self, fact: Fact) -> int:
        kind, payload = fact_to_entry(fact)
        number = self._head[0] + 1
        link = chain.linked(self._key, number=number, kind=kind, payload=payload, previous=self._head[1])
        self._run("INSERT INTO entries VALUES (?, ?, ?, ?)", number, kind, payload, link)
        self._head, self._appended = (number, link), True
        return number

    def fact(self, number: int) -> Fact:
        entry, before = "SELECT kind, payload, hash FROM entries WHERE number = ?", number - 1
        found = self._rows((str, bytes, bytes), entry, number)
        previous = self._rows((bytes,), "SELECT hash FROM entries WHERE number = ?", before)
        if not found or not previous:
            raise broken_at(number)
        return self._checked((number, *found[0]), number=number, previous=previous[0][0])

    def facts(self) -> Iterator[Fact]:
        previous = chain.START
        with closing(self._database.execute("SELECT number, kind, payload, hash FROM entries ORDER BY number")) as rows:
            for number, entry in enumerate(rows, start=1):
                yield self._checked(entry, number=number, previous=previous)
                previous = entry[3]

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        found = self._rows((int,), "SELECT number FROM entries WHERE kind = ? ORDER BY number", word_of(kind))
        facts = [(number, self.fact(number)) for (number,) in found]
        return tuple((number, fact) for number, fact in facts if isinstance(fact, kind))

    def head(self) -> tuple[int, bytes]:
        return self._head

    def latest(self, what: str) -> int | None:
        found = self._rows((int,), "SELECT entry FROM latest WHERE what = ?", what)
        return found[0][0] if found else None

    def keep_latest(self, what: str, entry: int) -> None:
        self._run("INSERT OR REPLACE INTO latest VALUES (?, ?)", what, entry)

    def _checked(self, entry: tuple[Any, ...], *, number: int, previous: bytes) -> Fact:
        """The fact of an entry that stands where it was written, as it was written."""
        found, kind, payload, link = entry
        if [found, *map(type, entry)] != [number, int, str, bytes, bytes]:
            raise broken_at(number)
        expected = chain.linked(self._key, number=number, kind=kind, payload=payload, previous=previous)
        if not chain.equal(link, expected):
            raise broken_at(number)
        return fact_from_entry(kind, payload)

    # Accounts

    def account(self, holder: str) -> Account | None:
        found = self._accounts(f"{_ACCOUNTS} WHERE holder = ?", holder)
        return found.get(holder)

    def _accounts(self, sql: str, *values: object) -> dict[str, Account]:
        return {
            row[0]: account_from_json(
                {**dict(zip(_LIMITS, row[1:6], strict=True)), "spent": dict(zip(_SPENT, row[6:], strict=True))}
            )
            for row in self._database.execute(sql, values).fetchall()
        }

    def keep_account(self, holder: str, account: Account) -> None:
        value: dict[str, Any] = account_to_json(account)
        limits, spent = [value[name] for name in _LIMITS], [value["spent"][name] for name in _SPENT]
        self._run("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", holder, *limits, *spent)

    def accounts(self) -> dict[str, Account]:
        return self._accounts(_ACCOUNTS)

    def remove_accounts(self) -> None:
        self._run("DELETE FROM accounts")

    # Payments

    def payment(self, number: int) -> Payment | None:
        found = self._payments(f"{_PAYMENTS} WHERE number = ?", number)
        return found[0] if found else None

    def payments_for(self, same: bytes) -> tuple[Payment, ...]:
        return self._payments(f"{_PAYMENTS} WHERE same = ? ORDER BY number", same)

    def payments_of(self, question: bytes) -> tuple[Payment, ...]:
        return self._payments(f"{_PAYMENTS} WHERE question = ? ORDER BY number", question)

    def _payments(self, sql: str, *values: object) -> tuple[Payment, ...]:
        return tuple(
            Payment(
                number=number, same=same, question=question, steps=steps, attempts=attempts, stored=self._stored(number)
            )
            for number, same, question, steps, attempts in self._rows((int, bytes, bytes, int, int), sql, *values)
        )

    def _stored(self, payment: int) -> tuple[int, ...]:
        found = self._rows((int, int), "SELECT step, entry FROM steps WHERE payment = ? ORDER BY step", payment)
        if [step for step, _ in found] != list(range(len(found))):
            raise unreadable()
        return tuple(entry for _, entry in found)

    def keep_payment(self, payment: Payment) -> None:
        self._run(
            "INSERT INTO payments VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (number) DO UPDATE SET attempts = excluded.attempts",
            *(payment.number, payment.same, payment.question, payment.steps, payment.attempts),
        )

    def keep_step(self, payment: Payment, entry: int) -> None:
        self._run("INSERT INTO steps VALUES (?, ?, ?)", payment.number, len(payment.stored), entry)

    def salt(self, number: int) -> int:
        return chain.salt_of(self._key, number=number)

    def totals(self) -> Totals:
        return Totals(
            accounts=self.accounts(),
            payments={payment.number: payment for payment in self._payments(_PAYMENTS)},
            latest=dict(self._rows((str, int), "SELECT what, entry FROM latest")),
        )


class SqliteLedger(BookLedger):
    """The ledger in the file `path`, with its key in `<path>.key`. Both are created where neither exists.

    `wait_ms` is how long a transaction waits for those of other processes. Threads may share the object; a process
    made by fork opens its own.
    """

    def __init__(self, path: str | os.PathLike[str], *, wait_ms: int = 30_000) -> None:
        require_count(wait_ms=wait_ms, at_least=0, at_most=_LONGEST_WAIT_MS)
        self._path = Path(path).absolute()
        self._wait_ms = wait_ms
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._database: sqlite3.Connection | None = None
        try:
            self._database = self._connected()
            self._id, self._key = self._opened(self._database)
        except BaseException as error:
            self.close()
            if _family(error) == sqlite3.SQLITE_NOTADB:
                raise _not_a_ledger() from None
            if isinstance(error, (sqlite3.Error, OSError, ValueError)):  # the last: no system has such a path
                raise _unusable(error) from None
            raise

    @property
    def id(self) -> str:
        return self._id

    def _connected(self) -> sqlite3.Connection:
        keyfile.create_private(self._path)  # SQLite would let others read a file it creates
        return sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._wait_ms / 1000,
            isolation_level=None,
            check_same_thread=False,  # the lock keeps threads apart
        )

    def _opened(self, database: sqlite3.Connection) -> tuple[str, bytes]:
        """The id and the key. Nothing is written to a file that is not a ledger."""
        if _is_new(database):
            self._create(database)
        if database.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise _not_a_ledger()
        found = database.execute("SELECT schema, id, key_check FROM about").fetchall()
        if len(found) != 1 or list(map(type, found[0])) != [int, str, bytes]:
            raise unreadable()
        ((schema, ledger, check),) = found
        if schema != SCHEMA:
            raise unreadable()
        key = keyfile.read_key(self._path)
        if not chain.equal(check, chain.key_check(key, ledger=ledger)):
            raise keyfile.wrong_key()
        self._configure(database)
        return ledger, key

    def _create(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN EXCLUSIVE")
        key: bytes | None = None
        try:
            if _is_new(database):  # nobody else was faster
                os.chmod(self._path, keyfile.PRIVATE)
                key = keyfile.create_key(self._path)
                _write_first_entry(database, key)
            database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            if key is not None:
                keyfile.key_path(self._path).unlink()
            raise

    def _configure(self, database: sqlite3.Connection) -> None:
        for pragma in _PRAGMAS:
            database.execute(pragma)
        until = time.monotonic_ns() + self._wait_ms * 1_000_000
        while True:
            try:
                mode = database.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:  # SQLite does not wait by itself for this one
                if _family(error) != sqlite3.SQLITE_BUSY or time.monotonic_ns() > until:
                    raise
                time.sleep(0.01)
        if mode != ("wal",):
            raise LedgerBroken(
                "the disk of the ledger cannot keep a write-ahead log",
                why="without one, a crash could lose what was spent",
                fix="keep the ledger on a local disk",
            )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqlitePage]:
        if os.getpid() != self._process:
            raise LedgerBroken(
                "the ledger was opened by another process",
                why="two processes on one connection can damage the file",
                fix="open the ledger after the fork",
            )
        with self._lock:
            if self._database is None:
                raise closed()
            page = SqlitePage(self._database, key=self._key)
            try:
                self._database.execute(begin)
                page.open_head()
                yield page
                page.close_head()
                self._database.execute("COMMIT")
            except BaseException as error:
                _roll_back(self._database)
                if isinstance(error, sqlite3.Error):
                    raise _unusable(error) from None
                raise

    def writing(self) -> AbstractContextManager[SqlitePage]:
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[SqlitePage]:
        return self._transaction("BEGIN")

    def close(self) -> None:
        if os.getpid() != self._process:
            return  # the connection is the parent's
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None


def _is_new(database: sqlite3.Connection) -> bool:
    """True for an empty file: no tables, and no mark of any program."""
    marked = database.execute("PRAGMA application_id").fetchone() != (0,)
    return not marked and database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)


def _write_first_entry(database: sqlite3.Connection, key: bytes) -> None:
    for statement in TABLES:
        database.execute(statement)
    ledger = secrets.token_hex(16)
    check = chain.key_check(key, ledger=ledger)
    database.execute("INSERT INTO about VALUES (1, ?, ?, ?)", (SCHEMA, ledger, check))
    page = SqlitePage(database, key=key)
    page.append(Opened(id=ledger))
    page.close_head()


def _roll_back(database: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if database.in_transaction:
            database.execute("ROLLBACK")
