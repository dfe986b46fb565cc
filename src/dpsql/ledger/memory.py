"""A ledger that ends with its process: for tests, demonstrations and data nobody needs protected afterwards."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from dpsql.ledger.book import Ledger, closed
from dpsql.ledger.chain import KEY_BYTES, START, linked, salt_of
from dpsql.ledger.clock import time_after, utc_seconds
from dpsql.ledger.encoding import Link, fact_to_entry, keys_of
from dpsql.ledger.facts import Fact, Opened
from dpsql.ledger.page import NOTHING_FORESEEN, F, Foreseen, WholePage
from dpsql.ledger.replay import replay
from dpsql.ledger.snapshot import Snapshot


class MemoryPage(WholePage):
    """Entries in a list. The caller holds a lock."""

    def __init__(self, *, key: bytes, clock: Callable[[], int]) -> None:
        super().__init__(Snapshot())
        self._key = key
        self._clock = clock
        self._links: list[Link] = []
        self._found: dict[object, list[int]] = {}
        """Numbers of entries by what they are looked up by."""

    def append(self, fact: Fact, *, same: bytes | None = None) -> int:
        kind, payload = fact_to_entry(fact)  # refuses what a file would refuse
        keys = keys_of(fact, same=same)
        time, (before, previous) = self.now(), self.head()
        number = before + 1
        link = linked(self._key, number, time, kind, *keys, payload, previous)
        self._links.append(Link(number, time, fact, keys.same, link))
        looked_up = [type(fact), (type(fact), keys.analyst), ("question", keys.question), ("same", keys.same)]
        for name in (*looked_up, ("receipt", keys.receipt)):
            self._found.setdefault(name, []).append(number)
        return number

    def forget_after(self, number: int) -> None:
        """Undo what a transaction has added after this entry."""
        if len(self._links) > number:
            del self._links[number:]
            self._found = {name: [each for each in found if each <= number] for name, found in self._found.items()}
            self.snapshot = replay(self)

    def now(self) -> int:
        return time_after(self._links[-1].time if self._links else 0, clock=self._clock())

    def head(self) -> tuple[int, bytes]:
        return len(self._links), self._links[-1].hash if self._links else START

    def time_of(self, number: int) -> int:
        return self._links[number - 1].time

    def fact(self, number: int) -> Fact:
        return self._links[number - 1].fact

    def chained(self) -> Iterator[Link]:
        return iter(self._links)

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        found = [(number, self.fact(number)) for number in self._found.get(kind, ())]
        return tuple((number, fact) for number, fact in found if isinstance(fact, kind))

    def numbers_by(self, analyst: str, kind: type[Fact], *, last: int | None = None) -> Sequence[int]:
        numbers = self._found.get((kind, analyst), [])
        return numbers if last is None else numbers[-last:]

    def _charges_for(self, same: bytes) -> Sequence[int]:
        return self._found.get(("same", same), ())

    def _charges_of(self, question: bytes) -> Sequence[int]:
        return self._found.get(("question", question), ())

    def _steps_of(self, receipt: int) -> Sequence[int]:
        return self._found.get(("receipt", receipt), ())

    def salt(self, number: int) -> int:
        return salt_of(self._key, number=number)


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
