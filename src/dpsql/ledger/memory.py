"""A ledger that ends with its process: for tests, demonstrations and data nobody needs protected afterwards."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from dpsql.ledger.book import Ledger, closed
from dpsql.ledger.chain import KEY_BYTES
from dpsql.ledger.clock import utc_seconds
from dpsql.ledger.facts import Opened
from dpsql.ledger.memory_page import MemoryPage
from dpsql.ledger.page import NOTHING_FORESEEN, Foreseen


class MemoryLedger(Ledger):
    """All laws, no file. The promise is forgotten with it; a process made by fork cannot spend it a second time."""

    def __init__(self, *, clock: Callable[[], int] = utc_seconds) -> None:
        super().__init__()
        self._id = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._page: MemoryPage | None = MemoryPage(key=secrets.token_bytes(KEY_BYTES), clock=clock)
        self._page.append(Opened(id=self._id))

    @property
    def id(self) -> str:
        return self._id

    @contextmanager
    def writing(self, foreseen: Foreseen = NOTHING_FORESEEN) -> Iterator[MemoryPage]:
        self._require_own_process()
        with self._lock:
            if self._page is None:
                raise closed()
            before, _ = self._page.head()
            try:
                yield self._page
            except BaseException:
                self._page.forget_after(before)
                raise

    def reading(self) -> AbstractContextManager[MemoryPage]:
        return self.writing()

    def close(self) -> None:
        with self._lock:
            self._page = None
