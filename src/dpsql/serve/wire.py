"""What goes over the socket: one JSON object a line, each way. Nothing but text, numbers and released values: prices,
answers, budgets and audits, as plain values, and the names they have there."""

from __future__ import annotations

import json
import math
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NoReturn, TypeAlias

import dpsql
from dpsql import Cost, errors
from dpsql.codec import Codec, Only, once
from dpsql.errors import DpsqlError, InternalError, NotUnderstood

PROTOCOL: Final = 1
"""What the words of this file mean, told to whoever connects: raised when a word gets another meaning, or one
more has to be there."""
LONGEST_REQUEST: Final = 1_100_000
"""Bytes of one line to the server: a statement of a million letters fits."""
LONGEST_REPLY: Final = 256_000_000
"""Bytes of one line to a client."""
_BLOCK: Final = 65_536
_MOST_DIGITS: Final = 400
_FRACTION: Final = re.compile(r"-?[0-9]{1,400}(/0{0,400}[1-9][0-9]{0,400}|\.[0-9]{1,400})?", re.ASCII)

Message = dict[str, Any]


class TooLong(Exception):
    """A line has more bytes than are read."""


class TooSlow(Exception):
    """A line did not come, or was not taken, in time."""


class Gone(Exception):
    """The other side has closed the connection, or fallen silent in the middle of a line."""


def not_understood() -> NotUnderstood:
    """The one answer to everything that is no request: what it was is not repeated."""
    return NotUnderstood(
        "this is not a request",
        why="a request is one line: a JSON object with `do` and the words of that method, and no others",
        fix='send {"do": "sql", "sql": "SELECT …"}; docs/guide/serve.md has every method',
    )


@dataclass(slots=True, eq=False)
class Lines:
    """The lines that come and go over one connection, each bounded in size and in time."""

    connection: socket.socket
    longest: int
    _read: bytearray = field(default_factory=bytearray)

    def next(self, *, first_byte_within: float | None, rest_within: float | None) -> bytes:
        """The next line, without its end. None waits as long as it takes. A line that grows byte by byte is not waited
        for longer than one that comes at once."""
        until = None
        searched = 0
        while True:
            end = self._read.find(b"\n", searched)
            if end > self.longest or (end < 0 and len(self._read) > self.longest):
                raise TooLong
            if end >= 0:
                line = bytes(self._read[:end])
                del self._read[: end + 1]
                return line
            searched = len(self._read)
            if self._read and until is None and rest_within is not None:
                until = time.monotonic() + rest_within
            self._read += self._received(first_byte_within if not self._read else _left(until))

    def _received(self, seconds: float | None) -> bytes:
        if seconds is not None and seconds <= 0:
            raise TooSlow
        try:
            self.connection.settimeout(seconds)
            found = self.connection.recv(_BLOCK)
        except TimeoutError:
            raise TooSlow from None
        except OSError:
            raise Gone from None
        if not found:
            raise Gone
        return found

    def send(self, message: Message, *, within: float | None) -> None:
        """One message; Gone or TooSlow where it is not taken."""
        self.send_line((encoded(message),), within=within)

    def send_line(self, pieces: Iterable[bytes], *, within: float | None) -> None:
        """The same for a message that is encoded; `within` is for all of its pieces."""
        until = None if within is None else time.monotonic() + within
        try:
            for piece in pieces:
                left = _left(until)
                if left is not None and left <= 0:
                    raise TooSlow
                self.connection.settimeout(left)
                self.connection.sendall(piece)
        except TimeoutError:
            raise TooSlow from None
        except OSError:
            raise Gone from None


def _left(until: float | None) -> float | None:
    return None if until is None else until - time.monotonic()


def encoded(message: Message) -> bytes:
    """A message as a line. Line breaks inside texts are escaped by JSON."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def decoded(line: bytes) -> Message:
    """The object of a line; NotUnderstood for anything else, whatever is wrong with it."""
    try:
        found = json.loads(line.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise not_understood() from None
    if not isinstance(found, dict):
        raise not_understood()
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


def number_to_wire(value: object) -> object:
    """A number as it was written; what is none is sent as text, and refused on the other side."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS:
        return str(Fraction(value))
    return str(value)


def number_from_wire(value: object) -> object:
    """A number, exactly as it was written: 0.1, "0.1" and "1/10" are a tenth. Anything else is for others to refuse."""
    if isinstance(value, str) and _FRACTION.fullmatch(value) is not None:
        return Fraction(value)
    return value


def error_to_wire(error: DpsqlError) -> Message:
    """The one shape of an error outside Python."""
    return {"error": error.as_json()}


def error_from_wire(told: Message, *, sql: str | None) -> DpsqlError:
    """The same error on the client's side, with its class, its words and its place in the text."""
    kind = _KINDS.get(told["code"], InternalError)
    at = told["where"]
    error = kind(
        told["title"], why=told["why"], fix=told["fix"], try_sql=told["try"], at=None if at is None else (at[0], at[1])
    )
    return error if sql is None else error.within(sql)


_KINDS: Final[Mapping[str, type[DpsqlError]]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DpsqlError)
}
"""Every kind of error by its code."""


Cell: TypeAlias = bool | int | float | str | date | datetime | Fraction | dpsql.Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an answer would be charged, and the ± of its columns where it is known before."""

    epsilon: Fraction
    delta: Fraction
    margins: Mapping[str, Fraction | None]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Standing:
    """What an account may spend, and has spent, in ε."""

    total: Fraction
    spent: Fraction
    left: Fraction
    """What can really be spent: less than the grant has where the promise has less."""
    short: str
    """Where the promise and not the grant is short, in words; else nothing."""
    text: str
    """As a terminal shows it."""

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedAnswer(dpsql.Tabular[Cell]):
    """Rows of plain values; a released number is an `Estimate` with value, margin, low and high."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    kinds: tuple[tuple[str, bool], ...]
    """Of each column the word for its type, and whether its cells have margins."""
    types: tuple[dpsql.ColumnType, ...] = field(init=False)
    epsilon: Fraction
    """What it cost."""
    delta: Fraction
    release: int | None
    confidence: Fraction
    notes: tuple[str, ...]
    head: str | None
    """Where the ledger ended when it was told; None where nothing of it was told."""
    text: str
    """As a terminal shows it."""
    budget: Standing | None = None
    """What can be spent after it; None where it only explains, or comes from invented rows."""
    is_text: bool = False
    """An explanation: its rows are lines, shown as they are."""
    again: dpsql.Again[ServedAnswer] | None = None
    """Asks its question again; None where nothing of the data was told."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", tuple(dpsql.ColumnType.of(*each) for each in self.kinds))

    @property
    def cost(self) -> Cost:
        """What it cost."""
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return dpsql.answer_page(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedAudit:
    """What an audit found."""

    holds: bool
    """Every promise was kept, and every price agrees."""
    text: str
    markdown: str

    def __repr__(self) -> str:
        return self.text


LISTED: Final[Mapping[str, Only]] = {
    "answer": Only(
        ServedAnswer,
        (
            *("columns", "rows", "kinds", "epsilon", "delta", "release", "confidence"),
            *("notes", "head", "text", "budget", "is_text"),
        ),
    ),
    "noisy": Only(dpsql.Estimate, ("value", "margin", "low", "high", "doubtful")),
    "price": Only(Price, ("epsilon", "delta", "margins")),
    "budget": Only(Standing, ("total", "spent", "left", "short", "text")),
    "audit": Only(ServedAudit, ("holds", "text", "markdown")),
}
"""What may go over the wire: a new field does not before it is listed."""


def _told(*names: str) -> Codec:
    return Codec({"float": float} | {name: LISTED[name] for name in names}, whole=True, often={ServedAnswer})


WIRE: Final[Mapping[str, Codec]] = {
    "analyst": _told("answer", "noisy", "price", "budget"),
    "auditor": _told("budget", "audit"),
    "owner": _told("budget", "audit"),
}
"""The same for each role."""
