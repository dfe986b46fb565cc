"""The anchor: where a ledger ended when it was seen last, kept outside its folder.

A ledger that was cut off, or put back from an older backup, verifies by itself: it was true once. The anchor of the
machine knows better. It is written after each commit and before anything is told: it may lag behind, never lead. Each
machine keeps its own; whoever removes both the ledger's tail and the anchor is not seen.

It also remembers some places on the way to that end: they tell how much an older state has in common with it.

The file has two places of the same size, written in turn, so that a write that is cut short leaves the older one. A
place begins with the number of its turn: whoever reads needs the newer one alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from os import open as open_descriptor
from pathlib import Path
from typing import Final

from dpsql.accounting.triple import Triple
from dpsql.codec import Codec, Only
from dpsql.errors import LedgerBroken
from dpsql.ledger import chain, keyfile
from dpsql.ledger.encoding import unreadable
from dpsql.ledger.ledger import Head, Unusable
from dpsql.ledger.snapshot import pin_of

PLACE_BYTES: Final = 4096
_BYTES: Final = 2 * PLACE_BYTES
_TURN_BYTES: Final = 8
_MAC_BYTES: Final = 32
_FINEST: Final = 10**30
_MOST_PLACES: Final = 48
_MOST_COPIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An entry the ledger had: its number, and the pin of its hash."""

    number: int
    pin: str

    def is_of(self, link: bytes | None) -> bool:
        """Whether this is the hash of the entry."""
        return link is not None and pin_of(link) == self.pin


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """What an anchor knows of its ledger."""

    head: Head
    period: int
    """How many periods have ended, also by being lost and written off: spending of different ones is not compared."""
    promise: Place | None = None
    """The entry of the promise that was made last."""
    broken: bool = False
    """Somebody has found the ledger broken, and nobody has verified it since."""
    trail: tuple[Place, ...] = field(default=(), compare=False)
    """Where it ended before, newest first: the further back, the fewer."""
    copies: tuple[Place, ...] = field(default=(), compare=False)
    """Where backups end, newest first."""

    @property
    def places(self) -> tuple[Place, ...]:
        """All entries it knows again, the newest first."""
        known = [Place(number=self.head.number, pin=pin_of(self.head.hash)), *self.trail, *self.copies]
        return tuple(
            sorted([*known, *([] if self.promise is None else [self.promise])], key=lambda place: -place.number)
        )


DEFAULT: Final = ""
"""The folder of anchors that the environment says."""


def anchors_folder(said: str | os.PathLike[str] | None) -> Path | None:
    """Where anchors are kept: where it is said, else in $DPSQL_STATE, else with the state of other programs."""
    if said is None:
        return None
    if os.fspath(said) != DEFAULT:
        return Path(said).absolute()
    state, home = os.environ.get("DPSQL_STATE"), os.environ.get("XDG_STATE_HOME")
    folder = Path(state) if state else (Path(home) if home else Path.home() / ".local" / "state") / "dpsql"
    return folder.absolute() / "anchors"


class Anchor:
    """The anchor of one ledger, in the file `<folder>/<ledger id>`."""

    def __init__(self, folder: Path, *, ledger: str, key: bytes) -> None:
        self._path = folder / ledger
        self._key = key
        self._known: tuple[bytes, Anchored] | None = None
        """The place that was read or written last, and what it says."""

    def read(self) -> Anchored | None:
        """What is known; None where this machine has not seen the ledger. LedgerBroken where the file is damaged."""
        try:
            with _opened(self._path, os.O_RDONLY) as file:
                content = os.read(file, _BYTES)
        except FileNotFoundError:
            return None
        newest = self._newest(content)
        if newest is None and content:  # two others may have written while it was read
            with self._locked() as locked:
                newest = self._newest(os.read(locked, _BYTES))
            if newest is None:
                raise self._damaged()
        return None if newest is None else newest[1]

    def advance(self, to: Anchored, *, holds: Callable[[Anchored], bool] | None = None) -> None:
        """The ledger was seen this far: durable when this returns. An anchor never goes back. `holds` is called with
        what is known, while no other process moves it: nothing is written where the ledger does not hold that."""

        def moved(known: Anchored | None) -> Anchored | None:
            if known is None:
                return to
            return _later(known, to) if holds is None or holds(known) else None

        self._write(moved)

    def mark(self) -> None:
        """The ledger was found broken. Nothing where this machine has no anchor of it."""
        self._write(lambda known: None if known is None or known.broken else replace(known, broken=True))

    def verified(self, to: Anchored, *, before: Anchored | None) -> None:
        """The ledger was verified this far, and holds again. What others have seen or found since `before` stays."""

        def whole(known: Anchored | None) -> Anchored | None:
            if known is None:
                return to
            later = _later(known, to) or known
            found = replace(later, broken=known.broken and not (before is not None and before.broken))
            return None if found == known else found

        self._write(whole)

    def settle(self, to: Anchored, *, before: Anchored | None) -> None:
        """What the ledger lost of `before` was written off: it holds from here. Nothing where more was seen since: that
        is not written off."""
        self._write(lambda known: to if known == before else None)

    def copied(self, place: Place) -> None:
        """A backup was made that ends here. Nothing where this machine has no anchor of the ledger."""

        def remembered(known: Anchored | None) -> Anchored | None:
            if known is None or place in known.copies or place.number > known.head.number:
                return None
            return replace(known, copies=(place, *known.copies)[:_MOST_COPIES])

        self._write(remembered)

    def _write(self, change: Callable[[Anchored | None], Anchored | None]) -> None:
        try:
            self._change(change)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            keyfile.create_private(self._path)
            self._change(change)

    def _change(self, change: Callable[[Anchored | None], Anchored | None]) -> None:
        with self._locked() as file:
            content = os.read(file, _BYTES)
            newest = self._newest(content)
            if content and newest is None:
                raise self._damaged()
            turn, known = (0, None) if newest is None else newest
            changed = change(known)
            if changed is not None:
                os.lseek(file, (turn + 1) % 2 * PLACE_BYTES, os.SEEK_SET)
                if os.write(file, self._place(turn + 1, changed)) != PLACE_BYTES:
                    raise OSError(errno.ENOSPC, "the place of an anchor was written in part")
                _to_disk(file)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file, while no other process writes it; closing it ends the lock."""
        with _opened(self._path, os.O_RDWR) as file:
            keyfile.lock(file)
            yield file

    def _place(self, turn: int, said: Anchored) -> bytes:
        content = _CODEC.to_bytes(said)
        if len(content) > PLACE_BYTES - _TURN_BYTES - _MAC_BYTES:
            said = replace(said, head=replace(said.head, spent=_rounded_up(said.head.spent)))
            content = _CODEC.to_bytes(said)
        content = (turn.to_bytes(_TURN_BYTES) + content).ljust(PLACE_BYTES - _MAC_BYTES)
        place = content + chain.anchored(self._key, content)
        self._known = place, said  # for good where the file holds this place when it is read again
        return place

    def _newest(self, places: bytes) -> tuple[int, Anchored] | None:
        """The later turn of those that were written to their end."""
        both = (places[start : start + PLACE_BYTES] for start in (0, PLACE_BYTES))
        for place in sorted(both, reverse=True):  # by their turns: they begin with them
            if self._known is None or place != self._known[0]:
                said = self._read_place(place)
                if said is None:
                    continue
                self._known = place, said
            return int.from_bytes(place[:_TURN_BYTES]), self._known[1]
        return None

    def _read_place(self, place: bytes) -> Anchored | None:
        content, mac = place[:-_MAC_BYTES], place[-_MAC_BYTES:]
        if len(place) != PLACE_BYTES or not chain.equal(mac, chain.anchored(self._key, content)):
            return None
        try:
            said: Anchored = _CODEC.from_bytes(content[_TURN_BYTES:].rstrip(b" "), Anchored)
        except LedgerBroken:  # written whole, in words of another version: nothing is wrong with the ledger
            raise self._damaged() from None
        return said

    def _damaged(self) -> Unusable:
        return Unusable(
            f"the anchor of the ledger cannot be read: {self._path}",
            why="it tells whether charges are missing at the end of the ledger",
            fix="restore it; if that cannot be done, and the ledger verifies and ends where it should, remove the file",
        )


def _later(known: Anchored, to: Anchored) -> Anchored | None:
    """What is known once the ledger was seen as far as `to`; None where it was already."""
    if known.head.number >= to.head.number:
        return None
    return replace(to, broken=known.broken, trail=_trail(known, to.head.number), copies=known.copies)


def _trail(known: Anchored, end: int) -> tuple[Place, ...]:
    """The places before, less those between two that are as close to each other as the newer one is to the end: their
    number grows with the logarithm of the length. The first stays."""
    places = (Place(number=known.head.number, pin=pin_of(known.head.hash)), *known.trail)
    kept, newer = [], end
    for place, older in zip(places, (*places[1:], None), strict=True):
        if older is None or newer - older.number > end - newer:
            kept.append(place)
            newer = place.number
    return tuple(kept[:_MOST_PLACES])


_CODEC: Final = Codec(
    {
        "anchor": Anchored,
        "head": Head,
        "price": Triple,
        "place": Only(Place, {"number": "n", "pin": "p"}),  # short: a file has room for many
    },
    unreadable=unreadable,
)


def _rounded_up(spent: Triple) -> Triple:
    """As short as it fits a place: never below what was spent."""
    epsilon, rho = (None if part is None else _up(part) for part in (spent.epsilon, spent.rho))
    return Triple(epsilon=epsilon, delta=_up(spent.delta), rho=rho)


def _up(value: Fraction) -> Fraction:
    return Fraction(ceil(value * _FINEST), _FINEST)


@contextmanager
def _opened(path: Path, how: int) -> Iterator[int]:
    file = open_descriptor(path, how | _BINARY)
    try:
        yield file
    finally:
        os.close(file)


_BINARY: Final = getattr(os, "O_BINARY", 0)  # where systems tell text from bytes
_to_disk: Final = getattr(os, "fdatasync", os.fsync)
"""A place is overwritten: only its bytes matter, and the length of a file that has grown. Not when it was written."""
