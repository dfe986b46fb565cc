"""The entries of a ledger in a database: each is linked to the one before by its hash."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from dpsql.ledger import chain
from dpsql.ledger.clock import time_after
from dpsql.ledger.encoding import unreadable
from dpsql.ledger.entries import fact_from_entry, fact_to_entry, word_of
from dpsql.ledger.facts import Fact
from dpsql.ledger.page import F
from dpsql.ledger.replay import broken_at
from dpsql.ledger.sql_rows import REMEMBERED, Database, Look, Memory, Row, among, head_broken, remember

_LINKED: Final = (
    "SELECT this.number, this.time, this.kind, this.payload, this.hash, before.hash"
    " FROM entries AS this LEFT JOIN entries AS before ON before.number = this.number - 1"
)
"""Entries, each with the hash before it."""
_TYPES: Final = frozenset({(int, int, str, bytes, bytes), (int, type(None), str, bytes, bytes)})
"""SQLite lets anybody write text where a number was. Entries of schema 1 have no time."""
_SMALL: Final = 4096


class SqlEntries:
    """The chain, inside one transaction. Every entry is checked when it is read."""

    def __init__(self, database: Database, *, key: bytes, clock: Callable[[], int], memory: Memory) -> None:
        self._database = database
        self._key = key
        self._clock = clock
        self._memory = memory
        self._last = (0, chain.START)
        self._time = 0
        self._rows: dict[int, Row] = {}
        self._large: list[int] = []
        self._hashes: dict[int, bytes | None] = {}
        self._read: dict[int, Fact] = {}
        self._listed: dict[str, list[int]] = {}
        self._counted: dict[tuple[str, ...], int] = {}
        self.appended = False

    def head(self) -> tuple[int, bytes]:
        return self._last

    def now(self) -> int:
        return time_after(self._time, clock=self._clock())

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
        self._hashes[number] = link
        self._listed.pop(kind, None)
        self._counted = {words: count for words, count in self._counted.items() if kind not in words}
        return number

    def _turn_entries(self, database: Database) -> None:
        self._database = database
        self.appended = False
        for number in self._large:
            self._rows.pop(number, None)
            self._read.pop(number, None)
        self._large.clear()
        if max(len(self._rows), len(self._hashes)) > REMEMBERED:
            for kept in (self._rows, self._read, self._hashes, self._listed):
                kept.clear()

    # Single entries

    def hash_of(self, number: int) -> bytes | None:
        """Of an entry; None where there is none."""
        if number in self._rows:
            self._hashes[number] = self._rows[number][4]
        elif number not in self._hashes:
            found = self._database.rows("SELECT hash FROM entries WHERE number = ?", number)
            self._hashes[number] = found[0][0] if found else None
        link = self._hashes[number]
        if link is not None and type(link) is not bytes:
            raise unreadable()
        return link

    def time_of(self, number: int) -> int | None:
        time: int | None = self._entry(number)[1]
        return time

    def fact(self, number: int) -> Fact:
        if number not in self._read:
            row = self._entry(number)
            known = self._memory.facts.get(row)
            if known is None:
                known = fact_from_entry(row[2], row[3])
                if len(row[3]) <= _SMALL:
                    remember(self._memory.facts, row, known)
            self._read[number] = known
        return self._read[number]

    def _entry(self, number: int) -> Row:
        """An entry that stands where it was written, as it was written."""
        if number not in self._rows:
            self._take(self._database.rows(f"{_LINKED} WHERE this.number = ?", number))
        row = self._rows.get(number)
        if row is None or tuple(map(type, row[:5])) not in _TYPES:
            raise broken_at(number)
        if row not in self._memory.facts:
            _, time, kind, payload, link, previous = row
            if number == 1:
                previous = chain.START
            if type(previous) is not bytes:
                raise broken_at(number)
            expected = chain.linked(self._key, number=number, time=time, kind=kind, payload=payload, previous=previous)
            if not chain.equal(link, expected):
                raise broken_at(number)
        return row

    def _take(self, found: Iterable[Row]) -> list[int]:
        """Entries that were read: each is checked once it is looked at. Their numbers."""
        rows = {row[0]: row for row in found}
        self._rows.update(rows)
        self._large += [number for number, row in rows.items() if type(row[3]) is not bytes or len(row[3]) > _SMALL]
        return list(rows)

    # All entries of a kind

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        word = word_of(kind)
        if word not in self._listed:
            found = self._database.rows(f"{_LINKED} WHERE this.kind = ? ORDER BY this.number", word)
            self._listed[word] = self._take(found)
        facts = [(number, self.fact(number)) for number in self._listed[word]]
        return tuple((number, fact) for number, fact in facts if isinstance(fact, kind))

    def count_of(self, *kinds: type[Fact]) -> int:
        """How many entries are of one of these kinds."""
        words = tuple(map(word_of, kinds))
        if words not in self._counted:
            sql, values = _counting(words)
            self._take_count(words, self._database.rows(sql, *values))
        return self._counted[words]

    def _take_count(self, words: tuple[str, ...], found: list[Row]) -> None:
        ((count,),) = found
        self._counted[words] = count

    def _foreseen_entries(
        self, said: tuple[str, ...], kinds: tuple[type[Fact], ...], counted: tuple[type[Fact], ...]
    ) -> Iterator[tuple[Look, Callable[[list[Row]], None]]]:
        """Looks at what was said last about something, at kinds of entries, and at how many there are."""
        words, counts = tuple(map(word_of, kinds)), tuple(map(word_of, counted))
        if said or words:
            numbers = [
                *([f"SELECT entry FROM latest WHERE what IN {among(said)}"] if said else []),
                *([f"SELECT number FROM entries WHERE kind IN {among(words)}"] if words else []),
            ]
            sql = f"{_LINKED} WHERE this.number IN ({' UNION ALL '.join(numbers)}) ORDER BY this.number"
            yield (sql, (*said, *words)), partial(self._take_listed, words)
        if counts:
            yield _counting(counts), partial(self._take_count, counts)

    def _take_listed(self, words: Iterable[str], found: list[Row]) -> None:
        self._take(found)
        self._listed |= {word: [row[0] for row in found if row[2] == word] for word in words}

    # The whole chain

    def facts(self) -> Iterator[Fact]:
        for _, _, kind, payload, _ in self._chained():
            yield fact_from_entry(kind, payload)

    def times(self) -> Iterator[int | None]:
        return (time for (time,) in self._database.stream("SELECT time FROM entries ORDER BY number"))

    def check_entries(self) -> None:
        """Every hash, to the end that the head has; LedgerBroken. What the entries say is not read."""
        if [row[4] for row in deque(self._chained(), maxlen=1)] != [self._last[1]]:
            raise head_broken()

    def _chained(self) -> Iterator[Row]:
        """Number, time, word, payload and hash of every entry, in order."""
        previous, before = chain.START, 0
        every = self._database.stream("SELECT number, time, kind, payload, hash FROM entries ORDER BY number")
        for number, row in enumerate(every, start=1):
            if tuple(map(type, row)) not in _TYPES:
                raise broken_at(number)
            found, time, kind, payload, link = row
            expected = chain.linked(self._key, number=number, time=time, kind=kind, payload=payload, previous=previous)
            if found != number or (time or 0) < before or not chain.equal(link, expected):
                raise broken_at(number)
            previous, before = link, time or 0
            yield row


def _counting(words: tuple[str, ...]) -> Look:
    return f"SELECT COUNT(*) FROM entries WHERE kind IN {among(words)}", words
