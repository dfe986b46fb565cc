"""The client's side of the socket: asks over it, and holds no handle to the data or to the ledger."""

from __future__ import annotations

import os
import socket as sockets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from os import PathLike
from typing import Final, TypeVar, Unpack

import dpsql
from dpsql.closing import Closing
from dpsql.errors import BadParameter, NoSource, NotUnderstood
from dpsql.require import Number, require_epsilon, require_non_negative, require_open_unit, require_seconds
from dpsql.serve import wire
from dpsql.serve.wire import Message
from dpsql.written import in_utc

T = TypeVar("T")


class Client(Closing):
    """One connection. Several threads may share it; their requests wait for each other."""

    def __init__(self, connection: sockets.socket, *, timeout: float | None) -> None:
        """Use `dpsql.connect`."""
        self._lines = wire.Lines(connection, wire.LONGEST_REPLY)
        self._timeout = timeout
        self._lock = threading.Lock()
        self.name = self.role = ""
        """Who the token stands for."""

    def greet(self, token: str) -> None:
        """Say who asks."""

        def read(told: Message) -> tuple[str, str, object]:
            return told["name"], told["role"], told.get("protocol")

        name, role, protocol = self._asked({"do": "hello", "token": token}, read)
        if protocol != wire.PROTOCOL:
            raise NoSource(
                f"the server speaks protocol {protocol}, and this client {wire.PROTOCOL}",
                why="they are of different versions of dpsql, and may take each other's words for something else",
                fix="install the version of the server here: its owner knows it",
            )
        self.name, self.role = name, role

    def sql(self, sql: str, *, max_cost: Number | None = None, **words: Unpack[dpsql.QueryWords]) -> wire.ServedAnswer:
        """The answer to a question, as `Analyst.sql`: charged first, stored before it is told."""
        limit = {} if max_cost is None else {"max_cost": _number("max_cost", max_cost)}
        told = self._asked({"do": "sql", "sql": sql, **_options(**words), **limit}, self._read(wire.ServedAnswer))

        def better(
            *, within: Number | None = None, epsilon: Number | None = None, max_cost: Number | None = None
        ) -> wire.ServedAnswer:
            others: dpsql.QueryWords = {**words, "epsilon": None, "fresh": False}
            return self.sql(dpsql.repriced(sql, within=within, epsilon=epsilon), max_cost=max_cost, **others)

        return told if told.head is None else replace(told, again=dpsql.Again(better))

    def query(self, sql: str, **words: Unpack[dpsql.QueryWords]) -> ServedQuery:
        """A question with its price and its margins: nothing is read, nothing is spent."""
        price = self._asked({"do": "cost", "sql": sql, **_options(**words)}, self._read(wire.Price))
        return ServedQuery(client=self, sql=sql, words=words, price=price)

    def cost(self, sql: str, **words: Unpack[dpsql.QueryWords]) -> Fraction:
        """What the answer would be charged."""
        return self.query(sql, **words).price.epsilon

    def explain(self, sql: str, **words: Unpack[dpsql.QueryWords]) -> str:
        """How the answer would be protected, in words."""
        request = {"do": "explain", "sql": sql, **_options(**words)}
        return self._asked(request, lambda told: str(told["text"]))

    def sample(self, table: str, *, rows: int = 5) -> wire.ServedAnswer:
        """Rows of a table as they could be, as `Analyst.sample`: invented, free, nothing of the data."""
        name = str(table).replace('"', '""')
        return self.sql(f'SIMULATE SELECT * FROM "{name}" LIMIT {rows}')

    @property
    def budget(self) -> wire.Standing:
        """What can be spent of the analyst's grant; for other roles, what the promise has."""
        return self._asked({"do": "budget"}, self._read(wire.Standing))

    def ledger(self, *, since: datetime | None = None) -> list[dict[str, object]]:
        """The entries of the ledger: of an analyst their own, with texts; of an auditor all, without; of an owner
        all, with texts."""
        return self._asked({"do": "ledger", **_since(since)}, lambda told: list(told["entries"]))

    def audit(self, *, since: datetime | None = None) -> wire.ServedAudit:
        """Whether the promise was kept, with every price derived again."""
        return self._asked({"do": "audit", **_since(since)}, self._read(wire.ServedAudit))

    def verify(self) -> int:
        """The number of entries of a ledger that verifies; LedgerBroken otherwise."""
        return self._asked({"do": "verify"}, lambda told: int(told["entries"]))

    def freeze(self, reason: str) -> None:
        """Every question is refused from here on, of everybody."""
        self._asked({"do": "freeze", "reason": reason}, _nothing)

    def unfreeze(self, reason: str) -> None:
        """Questions are answered again."""
        self._asked({"do": "unfreeze", "reason": reason}, _nothing)

    def interrupt(self) -> None:
        """Ends the connection under a request that waits, from any thread; it ends as NoSource. What was charged stays
        charged, and asked again it is told for nothing."""
        with suppress(OSError):  # closed in the meantime
            self._lines.connection.shutdown(sockets.SHUT_RDWR)

    def close(self) -> None:
        self._lines.connection.close()

    def __repr__(self) -> str:
        return f"Client({self.name!r}, role={self.role!r})"

    def _read(self, kind: type[T]) -> Callable[[Message], T]:
        """The reader of a value that this role is told."""
        return lambda told: wire.WIRE[self.role].from_json(told, kind)

    def _asked(self, request: Message, read: Callable[[Message], T]) -> T:
        """What the server says, as it is read here; its error, raised here."""
        line = self._reply(request)
        try:
            reply = wire.decoded(line)
            if "error" not in reply:
                return read(dict(reply["ok"]))
            error = wire.error_from_wire(reply["error"], sql=request.get("sql"))
        except (NotUnderstood, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise _unreachable(_NO_SERVER) from None
        raise error

    def _reply(self, request: Message) -> bytes:
        """One line of the server. One that does not come ends the connection: the next would be taken for it."""
        with self._lock:
            try:
                with suppress(wire.Gone):  # what it has said before it left can be read all the same
                    self._lines.send(request, within=self._timeout)
                return self._lines.next(first_byte_within=self._timeout, rest_within=self._timeout)
            except (TypeError, ValueError, RecursionError):
                raise BadParameter(
                    "this request cannot be sent",
                    why="texts and numbers of ordinary size go over the socket, and nothing else",
                    fix="pass the SQL as a text, and numbers as int, float, Fraction or Decimal",
                ) from None
            except (wire.Gone, wire.TooSlow, wire.TooLong) as ended:
                self.close()
                raise _unreachable(_ENDED[type(ended)], fix=_AGAIN) from None
            except BaseException:  # Ctrl-C among them
                self.close()
                raise


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedQuery:
    """A question and its price, as `dpsql.Query`: everything but `run` is free."""

    client: Client
    sql: str
    words: dpsql.QueryWords
    price: wire.Price

    @property
    def cost(self) -> dpsql.Cost:
        """What running it would be charged."""
        return dpsql.Cost(epsilon=self.price.epsilon, delta=self.price.delta)

    @property
    def margins(self) -> Mapping[str, Fraction | None]:
        """± of each noisy column, where it is known before running."""
        return self.price.margins

    def run(
        self, *, epsilon: Number | None = None, within: Number | None = None, max_cost: Number | None = None
    ) -> wire.ServedAnswer:
        """The answer, at this price or as precise as `within` where they are said."""
        sql, words = self.sql, self.words.copy()
        if within is not None:
            sql, epsilon = dpsql.repriced(sql, within=within, epsilon=epsilon), None
            words["epsilon"] = None
        if epsilon is not None:
            words["epsilon"] = epsilon
        return self.client.sql(sql, max_cost=max_cost, **words)

    def explain(self) -> str:
        """How the answer would be protected, in words."""
        return self.client.explain(self.sql, **self.words)

    def __repr__(self) -> str:
        return f"ServedQuery({self.sql!r}, cost={self.cost})"


def _nothing(told: Message) -> None:
    """That it was done is all there is to know."""


_QUEUED: Final = 0.01  # seconds between two tries to connect
_NO_SERVER: Final = "what answers there is no server of dpsql"
_ENDED: Final = {
    wire.Gone: "the server has closed the connection",
    wire.TooSlow: "the server did not answer in time",
    wire.TooLong: "the answer is longer than a client reads",
}
_AGAIN: Final = "connect again: what was charged stays charged, and asked again it is told for nothing"
_START: Final = "have the owner start it: dpsql serve --socket {path}"
_UNREACHED: Final[Mapping[type[OSError], tuple[str, str]]] = {
    FileNotFoundError: ("there is no such file", _START),
    ConnectionRefusedError: ("nobody listens there, or it is no socket", _START),
    PermissionError: (
        "this user may not connect",
        "have the owner start it with another --mode, such as 0666, in a folder that you may enter",
    ),
    TimeoutError: ("it does not take the connection in time", "wait longer: timeout=…; or see that it runs"),
}
"""Why a path leads to no server, and what to do."""


def _options(
    *,
    epsilon: Number | None = None,
    confidence: Number | None = None,
    mode: str | None = None,
    noise: str | None = None,
    fresh: bool = False,
) -> Message:
    numbers = {"epsilon": _number("epsilon", epsilon), "confidence": _number("confidence", confidence)}
    said = numbers | {"mode": mode, "noise": noise, "fresh": fresh or None}
    return {name: value for name, value in said.items() if value is not None}


_REQUIRED: Final[Mapping[str, Callable[..., None]]] = {
    "epsilon": require_epsilon,
    "confidence": require_open_unit,
    "max_cost": require_non_negative,
}


def _number(name: str, value: Number | None) -> object:
    """As it is sent. JSON has no NaN and no infinities: they are refused here, as an analyst beside the data is told;
    every other number is for the server to judge, which writes down what it refuses."""
    finite = value.is_finite() if isinstance(value, Decimal) else not isinstance(value, float) or isfinite(value)
    if not finite:
        _REQUIRED[name](**{name: value})
    return wire.number_to_wire(value)


def _since(since: datetime | None) -> Message:
    return {} if since is None else {"since": in_utc("since", since).isoformat()}


def connect(*, socket: str | PathLike[str], token: str, timeout: float | None = None) -> Client:
    """A connection to `dpsql serve --socket`, for whom the token was made. `timeout`: seconds to wait for each reply.

    What was charged for an answer that did not arrive stays charged; asked again, it is told for nothing.
    """
    if timeout is not None:
        require_seconds(timeout=timeout)
        timeout = float(timeout)
    path = _path(socket)
    connection = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        _connect(connection, path, timeout)
        client = Client(connection, timeout=timeout)
        client.greet(token)
    except OSError as error:
        connection.close()
        why, fix = _UNREACHED.get(type(error), (error.strerror or "the path is too long", _START))
        raise _unreachable(f"no server can be reached at {path}: {why}", fix=fix.format(path=path)) from None
    except BaseException:
        connection.close()
        raise
    return client


def _connect(connection: sockets.socket, path: str, timeout: float | None) -> None:
    """Connect. Linux fails at once where the queue of the server is full and the socket has a timeout: wait for it."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            connection.connect(path)
        except BlockingIOError:
            if until is None or time.monotonic() > until:
                raise TimeoutError from None
            time.sleep(_QUEUED)
        else:
            return


def _path(socket: object) -> str:
    if isinstance(socket, str | PathLike) and "\0" not in (path := os.fsdecode(socket)):
        return path
    raise BadParameter(
        f"socket={socket!r} is no path",
        why="a server is found by the path of its socket",
        fix='pass socket="/run/dpsql/door", or a Path',
    )


def _unreachable(what: str, *, fix: str = "see that the path is that of `dpsql serve --socket`") -> NoSource:
    return NoSource(what, why="data and ledger belong to the server; without it nothing can be answered", fix=fix)
