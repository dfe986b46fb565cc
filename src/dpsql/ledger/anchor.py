"""The anchor: where a ledger ended when it was seen last, kept outside its folder.

A ledger that was cut off, or put back from an older backup, verifies by itself: it was true once. The anchor of the
machine knows better. It is written after each commit and before anything is told: it may lag behind, never lead. Each
machine keeps its own; whoever removes both the ledger's tail and the anchor is not seen.

The file has two places of the same size, written in turn, so that a write that is cut short leaves the older one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import BinaryIO, Final

from dpsql.accounting.triple import Triple
from dpsql.ledger import chain, keyfile
from dpsql.ledger.encoding import json_bytes, json_value, triple_from_json, triple_to_json
from dpsql.ledger.ledger import Head
from dpsql.ledger.unusable import Unusable

PLACE_BYTES: Final = 4096
_BYTES: Final = 2 * PLACE_BYTES
_MAC_BYTES: Final = 32
_FINEST: Final = 10**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """What an anchor knows of its ledger."""

    head: Head
    period: int
    """How often the promise was renewed or closed: spending of different periods is not compared."""
    broken: bool = False
    """Somebody has found the ledger broken, and nobody has verified it since."""


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
        self._read: dict[bytes, tuple[int, Anchored]] = {}
        """What the places say that were read or written last."""

    def read(self) -> Anchored | None:
        """What is known; None where this machine has not seen the ledger. LedgerBroken where the file is damaged."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                content = file.read(_BYTES)
        except FileNotFoundError:
            return None
        newest = self._newest(content)
        if newest is None and content:  # two others may have written while it was read
            with self._locked() as locked:
                newest = self._newest(locked.read(_BYTES))
            if newest is None:
                raise self._damaged()
        return None if newest is None else newest[1]

    def advance(self, to: Anchored) -> None:
        """The ledger was seen this far: durable when this returns. An anchor never goes back."""

        def later(known: Anchored | None) -> Anchored | None:
            if known is None:
                return to
            return None if known.head.number >= to.head.number else replace(to, broken=known.broken)

        self._write(later)

    def mark(self) -> None:
        """The ledger was found broken. Nothing where this machine has no anchor of it."""
        self._write(lambda known: None if known is None or known.broken else replace(known, broken=True))

    def settle(self, to: Anchored) -> None:
        """The ledger was verified, or what it lost was written off: it holds from here."""
        self._write(lambda known: None if known == to else to)

    def _write(self, change: Callable[[Anchored | None], Anchored | None]) -> None:
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            keyfile.create_private(self._path)
        with self._locked() as file:
            content = file.read(_BYTES)
            newest = self._newest(content)
            if content and newest is None:
                raise self._damaged()
            turn, known = (0, None) if newest is None else newest
            changed = change(known)
            if changed is not None:
                file.seek((turn + 1) % 2 * PLACE_BYTES)
                file.write(self._place(turn + 1, changed))
                file.flush()
                os.fsync(file.fileno())

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file, while no other process writes it; closing it ends the lock."""
        with open(self._path, "r+b") as file:
            _lock(file.fileno())
            yield file

    def _place(self, turn: int, said: Anchored) -> bytes:
        content = _content_of(turn, said, said.head.spent)
        if len(content) > PLACE_BYTES - _MAC_BYTES:
            content = _content_of(turn, said, _rounded_up(said.head.spent))
        content = content.ljust(PLACE_BYTES - _MAC_BYTES)
        return content + chain.anchored(self._key, content)

    def _newest(self, places: bytes) -> tuple[int, Anchored] | None:
        both = [places[start : start + PLACE_BYTES] for start in (0, PLACE_BYTES)]
        found = [self._read.get(place) or self._read_place(place) for place in both]
        self._read = {place: each for place, each in zip(both, found, strict=True) if each is not None}
        return max((each for each in found if each is not None), key=lambda each: each[0], default=None)

    def _read_place(self, place: bytes) -> tuple[int, Anchored] | None:
        content, mac = place[:-_MAC_BYTES], place[-_MAC_BYTES:]
        if len(place) != PLACE_BYTES or not chain.equal(mac, chain.anchored(self._key, content)):
            return None
        value = json_value(content)
        head = Head(number=value["number"], hash=bytes.fromhex(value["hash"]), spent=triple_from_json(value["spent"]))
        return value["turn"], Anchored(head=head, period=value["period"], broken=value["broken"])

    def _damaged(self) -> Unusable:
        return Unusable(
            f"the anchor of the ledger cannot be read: {self._path}",
            why="it tells whether charges are missing at the end of the ledger",
            fix="restore it; if that cannot be done, and the ledger verifies and ends where it should, remove the file",
        )


def _content_of(turn: int, said: Anchored, spent: Triple) -> bytes:
    return json_bytes(
        {
            "turn": turn,
            "number": said.head.number,
            "hash": said.head.hash.hex(),
            "spent": triple_to_json(spent),
            "period": said.period,
            "broken": said.broken,
        }
    )


def _rounded_up(spent: Triple) -> Triple:
    """As short as it fits a place: never below what was spent."""
    epsilon, rho = (None if part is None else _up(part) for part in (spent.epsilon, spent.rho))
    return Triple(epsilon=epsilon, delta=_up(spent.delta), rho=rho)


def _up(value: Fraction) -> Fraction:
    return Fraction(ceil(value * _FINEST), _FINEST)


def _lock(file: int) -> None:
    """Wait until nobody else holds the file; released where it is closed."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
