"""The page of every ledger in a database: the tables of schema.py, inside a transaction of the caller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from dpsql.errors import LedgerBroken
from dpsql.ledger import chain
from dpsql.ledger.clock import time_after
from dpsql.ledger.encoding import Keys, Link, fact_from_entry, fact_to_entry, keys_of, unreadable, word_of
from dpsql.ledger.facts import Fact
from dpsql.ledger.page import NOTHING_FORESEEN, F, Foreseen, WholePage
from dpsql.ledger.replay import broken_at
from dpsql.ledger.schema import NEITHER_CHARGE_NOR_STEP, Database, Look, Row, among
from dpsql.ledger.snapshot import Snapshot

_COLUMNS: Final = ("number", "time", "kind", *Keys._fields, "hash", "payload")
_CHAINED: Final = f"SELECT {', '.join(_COLUMNS)} FROM entries WHERE number > %d ORDER BY number"
_LINKED: Final = (
    f"SELECT {', '.join(f'this.{column}' for column in _COLUMNS)}, before.hash"
    " FROM entries AS this LEFT JOIN entries AS before ON before.number = this.number - 1"
)
"""Entries, each with the hash before it."""
_OF_KIND: Final = (
    f"{_LINKED} WHERE this.kind = ? AND this.{NEITHER_CHARGE_NOR_STEP.replace(' AND ', ' AND this.')}"
    " ORDER BY this.number"
)
_INSERT: Final = f"INSERT INTO entries ({', '.join(_COLUMNS)}) VALUES {among(_COLUMNS)}"
_NOTHING: Final = type(None)
_TYPES: Final = frozenset(
    {
        (int, int, str, _NOTHING, _NOTHING, _NOTHING, _NOTHING, bytes, bytes),
        (int, int, str, str, _NOTHING, _NOTHING, _NOTHING, bytes, bytes),
        (int, int, str, str, bytes, bytes, _NOTHING, bytes, bytes),
        (int, int, str, _NOTHING, _NOTHING, _NOTHING, int, bytes, bytes),
    }
)
"""Of other entries, of refusals, of charges, of steps. SQLite lets anybody write text where a number was."""
_SAME: Final = _COLUMNS.index("same")
_HASH: Final = _COLUMNS.index("hash")
_PAYLOAD: Final = _COLUMNS.index("payload")

_HEAD: Final = (
    "SELECT entries.number, entries.hash, entries.time, head.snapshot, head.seal,"
    " (SELECT seen.hash FROM entries AS seen WHERE seen.number = ?)"
    " FROM head JOIN entries ON entries.number = head.number"
    " WHERE head.number = (SELECT MAX(number) FROM entries)"
)
_HEAD_TYPES: Final = (int, bytes, int, bytes, bytes)
_KEEP_HEAD: Final = (
    "INSERT INTO head (one, number, snapshot, seal) VALUES (1, ?, ?, ?) ON CONFLICT (one) DO UPDATE"
    " SET number = excluded.number, snapshot = excluded.snapshot, seal = excluded.seal"
)

_SMALL: Final = 4096
_REMEMBERED: Final = 256


def head_broken() -> LedgerBroken:
    """What is raised where the end of the ledger, or its snapshot, is not the one that was sealed."""
    return LedgerBroken(
        "the ledger does not verify: its last entry, or what was added up so far, is not what was sealed"
    )


class SqlPage(WholePage):
    """Every entry is checked by its own hash when it is read, and the head seals the snapshot."""

    def __init__(
        self, database: Database, *, key: bytes, clock: Callable[[], int], memory: dict[Row, Fact] | None = None
    ) -> None:
        """`memory`: what entries say that were read before. An entry is read each time; one that is the same to the
        last byte, the hash before it included, is not checked again."""
        super().__init__(Snapshot())
        self._database = database
        self._key = key
        self._clock = clock
        self._memory = {} if memory is None else memory
        self._last = (0, chain.START)
        self._time = 0
        self._rows: dict[int, Row] = {}
        self._hashes: dict[int, bytes | None] = {}
        self._same: dict[bytes, list[int]] = {}
        self.appended = False

    # The head

    def open_head(self, foreseen: Foreseen = NOTHING_FORESEEN, *, seen: int = 0) -> None:
        """Find where the next entry goes, and read what will be looked at, and the hash of the entry that was `seen`
        last; LedgerBroken where the end of the ledger is not what was sealed. What was in force before is read along
        with the head, since it mostly still is: each round trip to a server takes longer than all the rest."""
        guessed = sorted({row[0] for row in self._memory if row[_SAME] is None}) if foreseen.subjects else []
        same = [] if foreseen.same is None else [foreseen.same]
        looks: list[Look] = [(_HEAD, (seen,)), *((_by("same"), (digest,)) for digest in same)]
        head, *found = self._database.looks(*looks, *([(_numbered(guessed), tuple(guessed))] if guessed else []))
        self._take_head(seen, head)
        if guessed:
            self._take(found.pop())
        for digest, rows in zip(same, found, strict=True):
            self._same[digest] = self._found("same", digest, rows)
        in_force = [number for what in foreseen.subjects if (number := self.latest(what)) is not None]
        numbers = [*in_force, *(number for what in foreseen.under for number in self.latest_under(what).values())]
        missing = [number for number in numbers if number not in self._rows]
        if missing:
            self._take(self._database.rows(_numbered(missing), *missing))

    def _take_head(self, seen: int, found: list[Row]) -> None:
        if len(found) != 1:
            raise head_broken()
        ((*head, self._hashes[seen]),) = found
        if tuple(map(type, head)) != _HEAD_TYPES:
            raise unreadable()
        number, last, time, snapshot, seal = head
        if not chain.equal(seal, chain.sealed(self._key, number=number, last=last, snapshot=snapshot)):
            raise head_broken()
        self._last, self._time = (number, last), time
        self.snapshot = Snapshot.from_bytes(snapshot)

    def close_head(self) -> None:
        """Seal what was appended."""
        if self.appended:
            (number, last), content = self._last, self.snapshot.to_bytes()
            seal = chain.sealed(self._key, number=number, last=last, snapshot=content)
            self._database.run(_KEEP_HEAD, number, content, seal)

    def turn(self, database: Database) -> None:
        """Go on in another transaction, on a database that nobody else has written since. What was read stays read, but
        for large entries, and not more of the rest than was of use lately."""
        self._database = database
        self.appended = False
        self._same.clear()
        large = [number for number, row in self._rows.items() if len(row[_PAYLOAD]) > _SMALL]
        for number in large:
            del self._rows[number]
        if max(len(self._rows), len(self._hashes)) > _REMEMBERED:
            self._rows.clear()
            self._hashes.clear()

    # Entries

    def head(self) -> tuple[int, bytes]:
        return self._last

    def now(self) -> int:
        return time_after(self._time, clock=self._clock())

    def append(self, fact: Fact, *, same: bytes | None = None) -> int:
        (kind, payload), keys = fact_to_entry(fact), keys_of(fact, same=same)
        number, previous = self._last
        number, time = number + 1, self.now()
        link = chain.linked(self._key, number, time, kind, *keys, payload, previous)
        self._database.run(_INSERT, number, time, kind, *keys, link, payload)
        self._last, self._time, self.appended = (number, link), time, True
        self._hashes[number] = link
        if keys.same is not None:
            self._same.pop(keys.same, None)
        return number

    def hash_of(self, number: int) -> bytes | None:
        """The hash of an entry; None where there is none."""
        if number not in self._hashes:
            found = self._database.rows("SELECT hash FROM entries WHERE number = ?", number)
            self._hashes[number] = found[0][0] if found else None
        link = self._hashes[number]
        if link is not None and type(link) is not bytes:
            raise unreadable()
        return link

    def time_of(self, number: int) -> int:
        time: int = self._entry(number)[1]
        return time

    def fact(self, number: int) -> Fact:
        row = self._entry(number)
        known = self._memory.get(row)
        if known is None:
            known = fact_from_entry(row[2], row[_PAYLOAD])
            if len(row[_PAYLOAD]) <= _SMALL:
                if len(self._memory) >= _REMEMBERED:
                    self._memory.clear()
                self._memory[row] = known
        return known

    def _entry(self, number: int) -> Row:
        """An entry that stands where it was written, as it was written, in this history of the ledger."""
        if number not in self._rows:
            self._take(self._database.rows(f"{_LINKED} WHERE this.number = ?", number))
        row = self._rows.get(number)
        if row is None:
            raise broken_at(number)
        return row

    def _take(self, found: Iterable[Row]) -> None:
        """Check entries that were read."""
        for *columns, previous in found:
            row = (*columns, previous)
            number = row[0]
            if row not in self._memory:
                before = chain.START if number == 1 else previous
                if tuple(map(type, columns)) not in _TYPES or type(before) is not bytes:
                    raise broken_at(number)
                number, time, kind, analyst, question, same, receipt, link, payload = columns
                keys = Keys(analyst, question, same, receipt)
                if not chain.equal(link, chain.linked(self._key, number, time, kind, *keys, payload, before)):
                    raise broken_at(number)
            if not self.snapshot.is_pinned(number, row[_HASH]):
                raise broken_at(number)
            self._rows[number] = row

    def facts_of(self, kind: type[F]) -> tuple[tuple[int, F], ...]:
        found = self._database.rows(_OF_KIND, word_of(kind))
        self._take(found)
        facts = [(row[0], self.fact(row[0])) for row in found]
        return tuple((number, fact) for number, fact in facts if isinstance(fact, kind))

    def numbers_by(self, analyst: str, kind: type[Fact], *, last: int | None = None) -> Sequence[int]:
        sql, values = _by("analyst", "kind"), (analyst, word_of(kind))
        if last is None:
            return self._found("analyst", analyst, self._database.rows(sql, *values))
        return self._found("analyst", analyst, self._database.rows(f"{sql} DESC LIMIT ?", *values, last))[::-1]

    def _charges_for(self, same: bytes) -> Sequence[int]:
        if same not in self._same:
            self._same[same] = self._found("same", same, self._database.rows(_by("same"), same))
        return self._same[same]

    def _charges_of(self, question: bytes) -> Sequence[int]:
        return self._found("question", question, self._database.rows(_by("question"), question))

    def _found(self, column: str, value: object, found: list[Row]) -> list[int]:
        """The numbers of entries that an index led to. An index is not covered by any hash, the entries are."""
        self._take(found)
        for row in found:
            if row[_COLUMNS.index(column)] != value:
                raise broken_at(row[0])
        return [row[0] for row in found]

    def _steps_of(self, receipt: int) -> Sequence[int]:
        """Which steps they are is checked where they are read: an answer can be large."""
        found = self._database.rows("SELECT number FROM entries WHERE receipt = ? ORDER BY number", receipt)
        return [number for (number,) in found]

    def chained(self) -> Iterator[Link]:
        for row in self._chain(after=0, link=chain.START):
            yield Link(row[0], row[1], fact_from_entry(row[2], row[_PAYLOAD]), row[_SAME], row[_HASH])

    def require_follows(self, number: int, link: bytes) -> None:
        """LedgerBroken unless the entries after this one lead to the head, each by its keyed hash: that an entry is
        there does not show that the head came after it."""
        deque(self._chain(after=number, link=link), maxlen=0)

    def _chain(self, *, after: int, link: bytes) -> Iterator[Row]:
        """The entries after the one of this number and hash, each checked."""
        previous, before = link, 0
        for number, row in enumerate(self._database.stream(_CHAINED % after), start=after + 1):
            if tuple(map(type, row)) not in _TYPES:
                raise broken_at(number)
            found, time, kind, analyst, question, same, receipt, linked, payload = row
            expected = chain.linked(self._key, number, time, kind, analyst, question, same, receipt, payload, previous)
            if found != number or time < before or not chain.equal(linked, expected):
                raise broken_at(number)
            previous, before = linked, time
            yield row
        if previous != self._last[1]:
            raise head_broken()

    def salt(self, number: int) -> int:
        return chain.salt_of(self._key, number=number)


def _numbered(numbers: Sequence[int]) -> str:
    """Reads the entries of these numbers."""
    return f"{_LINKED} WHERE this.number IN {among(numbers)}"


def _by(*columns: str) -> str:
    """Reads the entries that have these values in these columns."""
    return f"{_LINKED} WHERE {' AND '.join(f'this.{column} = ?' for column in columns)} ORDER BY this.number"
