"""A ledger in a database: what a transaction looks at before anything is asked, and what ends it.

A store says how it begins, commits and fails.
"""

from __future__ import annotations

import os
import secrets
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from dpsql.errors import LedgerBroken
from dpsql.ledger import chain, keyfile
from dpsql.ledger.book import BookLedger, closed, require_verified
from dpsql.ledger.encoding import unreadable
from dpsql.ledger.facts import Opened
from dpsql.ledger.schema import SCHEMA
from dpsql.ledger.sql_page import Database, SqlPage

WHY_UNUSABLE: Final = "an answer that cannot be paid for and stored cannot be given"


class Unusable(LedgerBroken):
    """The ledger cannot be reached or written just now. Nothing of the transaction was kept, and it may be whole."""


class StoredLedger(BookLedger):
    """The ledger of a database. Once it has found itself broken, it refuses everything."""

    _id: str
    _key: bytes

    def __init__(self, *, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._broken: LedgerBroken | None = None
        self._is_open = False

    @abstractmethod
    def _begin(self, *, write: bool) -> Database:
        """Begin a transaction: one look at one state, or one beside which no other writes."""

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _roll_back(self) -> None: ...

    @abstractmethod
    def _told(self, error: BaseException) -> LedgerBroken | None:
        """A failure of the database in constant words; None for any other error."""

    def _check(self, page: SqlPage) -> None:
        """Everything that is kept, as bytes."""
        page.check()

    @property
    def id(self) -> str:
        return self._id

    def _page(self, database: Database) -> SqlPage:
        return SqlPage(database, key=self._key, clock=self._clock)

    def _opened(self) -> None:
        """Check everything once. Afterwards each transaction checks what it reads."""
        self._is_open = True
        with self.reading() as page:
            self._check(page)

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[SqlPage]:
        if os.getpid() != self._process:
            raise LedgerBroken(
                "the ledger was opened by another process",
                why="two processes on one connection can damage the file",
                fix="open the ledger after the fork",
            )
        with self._lock:
            if not self._is_open:
                raise closed()
            if self._broken is not None:
                raise LedgerBroken(self._broken.what, why=self._broken.why, fix=self._broken.fix)
            try:
                page = self._page(self._begin(write=write))
                page.open_head()
                yield page
                page.close_head()
                self._commit()
            except BaseException as error:
                self._roll_back()
                told = self._told(error) or error
                if isinstance(told, LedgerBroken) and not isinstance(told, Unusable):
                    self._broken = told
                if told is error:
                    raise
                raise told from None

    def writing(self) -> AbstractContextManager[SqlPage]:
        return self._transaction(write=True)

    def reading(self) -> AbstractContextManager[SqlPage]:
        return self._transaction(write=False)

    def verify(self) -> None:
        with self.reading() as page:
            self._check(page)
            require_verified(page)


def write_first_entry(database: Database, *, key: bytes, clock: Callable[[], int]) -> None:
    """The rows of a new ledger, in tables that are empty."""
    ledger = secrets.token_hex(16)
    check = chain.key_check(key, ledger=ledger)
    database.run("INSERT INTO about (one, schema, id, key_check) VALUES (1, ?, ?, ?)", SCHEMA, ledger, check)
    page = SqlPage(database, key=key, clock=clock)
    page.append(Opened(id=ledger))
    page.close_head()


def read_about(database: Database) -> tuple[int, str, bytes]:
    """The schema, the id and the check of the key; LedgerBroken where a later version wrote the ledger."""
    found = database.rows("SELECT schema, id, key_check FROM about")
    if len(found) != 1 or list(map(type, found[0])) != [int, str, bytes]:
        raise unreadable()
    ((schema, ledger, check),) = found
    if not 1 <= schema <= SCHEMA:
        raise LedgerBroken(
            f"the ledger has schema {schema}, and this version of dpsql reads up to {SCHEMA}",
            why="what was spent is known from the ledger alone; guessing a part of it would break the promise",
            fix="open it with the version that wrote it, or a later one",
        )
    return schema, ledger, check


def require_key(key: bytes, *, ledger: str, check: bytes) -> bytes:
    """The key, once it is shown to be that of the ledger."""
    if not chain.equal(check, chain.key_check(key, ledger=ledger)):
        raise keyfile.wrong_key()
    return key
