"""A ledger in a database: what a transaction looks at before anything is asked, and what ends it.

A store says how it begins, commits and fails.

What a ledger has lost that an anchor knows of is counted as spent, never less than it was. The ledger may be an older
state of what the anchor has seen, or a state that went on from an older one by itself. The newest entry that both have
tells how much they have in common; everything after it is counted on both sides.
"""

from __future__ import annotations

import os
import secrets
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple
from dpsql.errors import LedgerBroken
from dpsql.ledger import chain, grants, keyfile, promises, sayings
from dpsql.ledger.anchor import Anchor, Anchored, Place, anchors_folder
from dpsql.ledger.book import Ledger, closed, entries_of, require_verified
from dpsql.ledger.encoding import unreadable
from dpsql.ledger.facts import Entry, Fact, Opened
from dpsql.ledger.ledger import Head, Unusable
from dpsql.ledger.page import NOTHING_FORESEEN, SOURCE, Foreseen
from dpsql.ledger.replay import replay
from dpsql.ledger.schema import SCHEMA, Database, Row
from dpsql.ledger.snapshot import pin_of
from dpsql.ledger.sql_page import SqlPage
from dpsql.points import Point, reached
from dpsql.require import require_count

WHY_STOPPED: Final = "entries were lost: what was frozen, revoked or withdrawn in them is not known any more"
_FIRST_ENTRY: Final = 1
"""All states of a ledger have it."""


def held(page: SqlPage, place: Place) -> bool:
    """Whether the ledger has this entry, and so all before it."""
    return place.number <= page.head()[0] and place.is_of(page.hash_of(place.number))


def write_off_lost(page: SqlPage, known: Anchored) -> None:
    """Count as spent what the anchor knows of and the ledger, which verifies, has lost.

    Within one period: what the source has spent here, and what it has spent there since the newest entry both have.
    Where the promise was renewed or closed since then, what is lost is of periods of which nothing is known but that
    none of them has spent more than the promise: each is counted as one whole period. An older state of the same ledger
    has lost the rest of its own period too, which is then filled up.
    """
    source = _source(page, known)
    common = next((place.number for place in known.places if held(page, place)), _FIRST_ENTRY)
    before, period = _as_of(page, common)
    here, older = page.snapshot.periods, common == page.head()[0]
    if here == period == known.period:
        spent, periods = source.spent + known.head.spent.since(before), 0
    elif older:
        spent, periods = _filled(source), known.period - period
    else:
        spent, periods = source.spent, known.period - period + 1
    promises.write_off(page, replace(known.head, spent=spent), periods=periods)


def stop_until_looked_at(page: SqlPage) -> None:
    """Entries were lost, and with them perhaps a freeze, a revoked grant or a withdrawn token: nothing is told, and
    nobody connects, until the owner has looked."""
    for user in sayings.users(page):
        sayings.withdraw(page, user.name)
    grants.freeze(page, WHY_STOPPED)


def _source(page: SqlPage, known: Anchored) -> Account:
    """The account of the promise from which it was spent."""
    source, promise = page.account(SOURCE), known.promise
    if source is None or (
        promise is not None and (page.latest("promise") != promise.number or not held(page, promise))
    ):
        raise Unusable(
            "this state of the ledger is older than its promise",
            why="what was spent can only be written off under the promise it was spent from",
            fix="restore a later backup",
        )
    return source


def _as_of(page: SqlPage, number: int) -> tuple[Triple, int]:
    """What the source had spent once the entry was written, and how many periods had ended."""
    snapshot = replay(page, until=number)
    source = snapshot.account(SOURCE)
    return FREE if source is None else source.spent, snapshot.periods


def _filled(source: Account) -> Triple:
    """All that the promise allows: it is kept, and admits nothing more in its period."""
    return Triple(epsilon=source.epsilon, delta=source.delta - source.delta_prime, rho=source.rho)


_LONGEST_WAIT_MS: Final = 3_600_000


class StoredLedger(Ledger):
    """The ledger of a database. Once it has found itself broken, it refuses everything, here and in other processes."""

    _id: str
    _key: bytes
    _anchor: Anchor | None = None

    def __init__(
        self, *, key_path: Path, wait_ms: int, clock: Callable[[], int], anchors: str | os.PathLike[str] | None
    ) -> None:
        require_count(wait_ms=wait_ms, at_least=0, at_most=_LONGEST_WAIT_MS)
        super().__init__()
        self._key_path = key_path
        self._wait_ms = wait_ms
        self._clock = clock
        self._anchors = anchors_folder(anchors)
        self._lock = threading.Lock()
        self._broken: LedgerBroken | None = None
        self._memory: dict[Row, Fact] = {}
        self._page: SqlPage | None = None
        self._followed = ((0, b""), (0, b""))
        """The entry that an anchor knew last, and the head to which those after it were followed."""
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

    def _told_opening(self, error: BaseException) -> LedgerBroken | None:
        """The same while the ledger is opened."""
        return self._told(error)

    @abstractmethod
    def _identified(self) -> tuple[str, bytes]:
        """Connect; the id and the key of the ledger, which is created where there is none."""

    @abstractmethod
    def _is_new(self) -> bool:
        """Whether there is none yet."""

    @abstractmethod
    def _begin_creating(self) -> Database:
        """Begin a transaction in which nobody else creates one."""

    @abstractmethod
    def _disconnect(self) -> None: ...

    @abstractmethod
    def _check_layout(self) -> None:
        """That tables, indexes and triggers are those of a ledger."""

    def _check_store(self) -> None:
        """What the store keeps beside the rows, too. Within a transaction."""
        self._check_layout()

    def _check(self, page: SqlPage) -> None:
        """Everything that is kept."""
        self._check_store()
        require_verified(page)

    def entries(self) -> tuple[Entry, ...]:
        with self.reading() as page:
            self._check_store()
            return entries_of(page)

    @property
    def id(self) -> str:
        return self._id

    def _open(self) -> None:
        try:
            self._opened(*self._identified())
        except BaseException as error:
            self.close()
            told = self._told_opening(error)
            if told is None:
                raise
            raise told from None

    def _create(self, tables: Sequence[str]) -> None:
        """The key, the tables and the first entry, all or nothing, whenever the process ends. A key whose commit has
        failed stays under the id of its ledger: the commit may have succeeded."""
        ledger, committing = secrets.token_hex(16), False
        try:
            database = self._begin_creating()
            if self._is_new():  # nobody else was faster
                key = keyfile.create_key(self._key_path, ledger=ledger)
                for statement in tables:
                    database.run(statement)
                write_first_entry(database, ledger=ledger, key=key, clock=self._clock)
            committing = True
            self._commit()
        except BaseException:
            self._roll_back()
            if not committing:
                keyfile.remove_key(self._key_path, ledger=ledger)
            raise

    def _key_of(self, ledger: str, check: bytes) -> bytes:
        """The key of the ledger with this id."""
        keyfile.name_key(self._key_path, ledger=ledger)
        key = keyfile.read_key(self._key_path)
        if not chain.equal(check, chain.key_check(key, ledger=ledger)):
            raise keyfile.wrong_key()
        return key

    def close(self) -> None:
        if os.getpid() == self._process:  # else the connection is the parent's
            with self._lock:
                self._is_open = False
                self._disconnect()

    def _opened(self, ledger: str, key: bytes) -> None:
        """Check the head and the snapshot it seals. Older entries are checked where they are read, and by `verify`."""
        self._id, self._key, self._is_open = ledger, key, True
        if self._anchors is not None:
            self._anchor = Anchor(self._anchors, ledger=ledger, key=key)
        with self._transaction(write=False, anchored=False) as page:
            self._check_layout()
            known = self._known()
            if self._anchor is not None and not self._missing(page, known):
                self._anchor.advance(_anchored(page), holds=lambda now: now == known)  # if not, it lags

    @contextmanager
    def _transaction(
        self, *, write: bool, anchored: bool = True, foreseen: Foreseen = NOTHING_FORESEEN
    ) -> Iterator[SqlPage]:
        """A page: durable and anchored once it is left. `anchored`: refused where the anchor knows of more."""
        self._require_own_process()
        with self._lock:
            if not self._is_open:
                raise closed()
            if self._broken is not None:
                raise LedgerBroken(self._broken.what, why=self._broken.why, fix=self._broken.fix)
            try:
                known = self._known() if anchored else None  # before the look: an anchor never leads
                if not anchored:
                    self._page = None  # all of it is looked at again
                page = self._opened_page(self._begin(write=write), foreseen, known)
                self._require_none_missing(page, known)
                yield page
                page.close_head()
                anchor = self._anchor if page.appended and anchored else None
                after = None if anchor is None else _anchored(page)
                self._commit()
                self._page = page
                if write:
                    reached(Point.COMMITTED)
                if anchor is not None and after is not None:
                    anchor.advance(after, holds=partial(self._holds, known))
            except BaseException as error:
                self._roll_back()
                self._end_with(error)

    def _holds(self, seen: Anchored | None, known: Anchored) -> bool:
        """After a commit: whether the anchor is as it was `seen` before, or this ledger holds what was anchored since.
        Raises where another copy of the ledger was charged meanwhile, and moved it to an entry this one does not
        have."""
        if known == seen:
            return True
        page = SqlPage(self._begin(write=False), key=self._key, clock=self._clock)
        try:
            page.open_head(seen=known.head.number)
            self._require_none_missing(page, known)
            return True
        finally:
            self._roll_back()

    def _opened_page(self, database: Database, foreseen: Foreseen, known: Anchored | None) -> SqlPage:
        """The page of the transaction before, where the database itself says that nobody else has written since; else
        one that has read the head. After an error there is no page before."""
        page, self._page = self._page, None
        if self._is_unchanged() and page is not None:
            page.turn(database)
            return page
        page = SqlPage(database, key=self._key, clock=self._clock, memory=self._memory)
        page.open_head(foreseen, seen=0 if known is None else known.head.number)
        return page

    def _missing(self, page: SqlPage, known: Anchored | None) -> bool:
        """Whether entries are gone, or are others, that this machine has seen. Where its last one is there, those that
        came after it are followed to the head, each once."""
        if known is None:
            return False
        head, seen = page.head(), (known.head.number, known.head.hash)
        found = head[1] if head[0] == seen[0] else page.hash_of(seen[0]) if head[0] > seen[0] else None
        if found is None or not chain.equal(found, seen[1]):
            return True
        before, end = self._followed
        last = end if before == seen and end[0] <= head[0] else seen
        if last != head:
            page.require_follows(*last)
        self._followed = seen, head
        return False

    def _require_none_missing(self, page: SqlPage, known: Anchored | None) -> None:
        if known is not None and known.broken:
            raise Unusable(
                "the ledger was found broken",
                why="a ledger that did not verify is trusted again once it does",
                fix="look whether it is: dpsql ledger verify. If so, restore a backup. It may have been a copy on this "
                "machine: then this one verifies, and is used again",
            )
        if known is not None and self._missing(page, known):
            raise Unusable(
                f"charges are missing: this machine has seen entry {known.head.number} of the ledger, and it is not "
                "there",
                why="an older state of the ledger has forgotten what was spent, and would let it be spent again",
                fix="restore a later backup; or write off what is missing: dpsql ledger write-off, or "
                "ledger.write_off(). A copy that is only to be audited is not written off: audit it with a "
                "DPSQL_STATE of its own (docs/guide/audit.md)",
            )

    def _is_unchanged(self) -> bool:
        """Whether nobody else has written since this connection looked last; False where a database cannot tell."""
        return False

    def _known(self) -> Anchored | None:
        return None if self._anchor is None else self._anchor.read()

    def _end_with(self, error: BaseException) -> NoReturn:
        """Raise the error in constant words. A ledger that does not verify is refused from then on."""
        told = self._told(error) or (_no_anchor() if isinstance(error, OSError) else error)
        if isinstance(told, LedgerBroken) and not isinstance(told, Unusable):
            self._broken = told
            if self._anchor is not None:
                with suppress(OSError, LedgerBroken):
                    self._anchor.mark()
        if told is error:
            raise error
        raise told from None

    def writing(self, foreseen: Foreseen = NOTHING_FORESEEN) -> AbstractContextManager[SqlPage]:
        return self._transaction(write=True, foreseen=foreseen)

    def reading(self) -> AbstractContextManager[SqlPage]:
        return self._transaction(write=False)

    def verify(self) -> None:
        known = self._known()
        with self._transaction(write=False, anchored=False) as page:
            self._check(page)
            self._require_none_missing(page, None if known is None else replace(known, broken=False))
            if self._anchor is not None:
                self._anchor.verified(_anchored(page), before=known)

    def copied(self, number: int, link: bytes) -> None:
        """A backup was made that ends with this entry: put back later, it is known as an older state of the ledger."""
        with self._transaction(write=False) as page:
            place = Place(number=number, pin=pin_of(link))
            if self._anchor is not None and held(page, place):
                self._anchor.advance(_anchored(page))  # a place behind the end would not show what came after it
                self._anchor.copied(place)

    def write_off(self) -> bool:
        """Count as spent what the anchor knows of and the ledger has lost. Where something was lost, the ledger is
        frozen afterwards and every token withdrawn: the owner looks at the grants, and unfreezes it. Whether something
        was."""
        known = self._known()
        with self._transaction(write=True, anchored=False) as page:
            self._check(page)
            lost = self._missing(page, known)
            if known is not None and lost:
                write_off_lost(page, known)
                stop_until_looked_at(page)
            after = _after(page, known)
        if self._anchor is not None:
            self._anchor.settle(after, before=known)
        return lost


def write_first_entry(database: Database, *, ledger: str, key: bytes, clock: Callable[[], int]) -> None:
    """The rows of a new ledger, in tables that are empty."""
    check = chain.key_check(key, ledger=ledger)
    database.run("INSERT INTO about (one, schema, id, key_check) VALUES (1, ?, ?, ?)", SCHEMA, ledger, check)
    page = SqlPage(database, key=key, clock=clock)
    page.append(Opened(id=ledger))
    page.close_head()


def read_about(database: Database) -> tuple[str, bytes]:
    """The id and the check of the key; LedgerBroken where another version wrote the ledger."""
    found = database.rows("SELECT schema, id, key_check FROM about")
    if len(found) != 1 or list(map(type, found[0])) != [int, str, bytes]:
        raise unreadable()
    ((schema, ledger, check),) = found
    if schema != SCHEMA:
        raise LedgerBroken(
            f"the ledger has schema {schema}, and this version of dpsql reads {SCHEMA}",
            why="what was spent is known from the ledger alone; guessing a part of it would break the promise",
            fix="open it with the version that wrote it",
        )
    return ledger, check


# The anchor


def _anchored(page: SqlPage) -> Anchored:
    """What an anchor is told of a ledger as it stands."""
    number, link = page.head()
    source = page.account(SOURCE)
    head = Head(number=number, hash=link, spent=FREE if source is None else source.spent)
    made = page.snapshot.latest.get("promise")
    promise = None if made is None else Place(number=made[0], pin=made[1])
    return Anchored(head=head, period=page.snapshot.periods, promise=promise)


def _after(page: SqlPage, known: Anchored | None) -> Anchored:
    """What an anchor is told once what is lost was written off: of the places it knows those that are left."""
    if known is None:
        return _anchored(page)
    trail, copies = (tuple(place for place in some if held(page, place)) for some in (known.trail, known.copies))
    return replace(_anchored(page), trail=trail, copies=copies)


def _no_anchor() -> LedgerBroken:
    return Unusable(
        "the anchor of the ledger cannot be read or written",
        why="without it nobody sees whether charges are missing at the end of the ledger",
        fix="look at its folder, $DPSQL_STATE/anchors or else ~/.local/state/dpsql/anchors; a user without a home sets "
        "DPSQL_STATE to a folder of their own",
    )
