"""The client's side of the socket: asks over it, and holds no handle to the data or to the ledger."""

from __future__ import annotations

import os
import socket as sockets
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from os import PathLike
from types import TracebackType
from typing import Any, Self

from dpsql.errors import BadName, NoSource, NotUnderstood
from dpsql.require import Number
from dpsql.serve.wire import (
    LONGEST_REPLY,
    Gone,
    Lines,
    Message,
    TooLong,
    TooSlow,
    cell_from_wire,
    decoded,
    error_from_wire,
    number_to_wire,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an answer would be charged, and the ± of its columns where it is known before."""

    epsilon: Fraction
    delta: Fraction
    margins: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an account may spend, and has spent, in ε."""

    total: Fraction
    spent: Fraction

    @property
    def left(self) -> Fraction:
        return max(Fraction(0), self.total - self.spent)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedAnswer:
    """Rows of plain values; a released number is an `Estimate` with value, margin, low and high."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
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

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[object]:
        """The cells of a column; of the first, where several have its name."""
        if column not in self.columns:
            raise BadName(
                f"the answer has no column {column!r}",
                why="a column has the name of its alias, or of the expression as it was written",
                fix=f"choose one of: {', '.join(self.columns)}",
            )
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedAudit:
    """What an audit found."""

    holds: bool
    """Every promise was kept, and every price agrees."""
    text: str
    markdown: str

    def __repr__(self) -> str:
        return self.text


class Client:
    """One connection. Several threads may share it; their requests wait for each other."""

    def __init__(self, connection: sockets.socket, *, timeout: float | None) -> None:
        """Use `dpsql.connect`."""
        self._lines = Lines(connection, LONGEST_REPLY)
        self._timeout = timeout
        self._lock = threading.Lock()
        self.name = self.role = ""
        """Who the token stands for."""

    def greet(self, token: str) -> None:
        """Say who asks."""
        told = self._asked({"do": "hello", "token": token})
        if not {"name", "role"} <= set(told):
            raise _unreachable(_NO_SERVER)
        self.name, self.role = told["name"], told["role"]

    def sql(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        confidence: Number | None = None,
        mode: str | None = None,
        noise: str | None = None,
        max_cost: Number | None = None,
    ) -> ServedAnswer:
        """The answer to a question, as `Analyst.sql`: charged first, stored before it is told."""
        limit = {} if max_cost is None else {"max_cost": number_to_wire(max_cost)}
        told = self._asked({"do": "sql", "sql": sql, **_options(epsilon, confidence, mode, noise), **limit})
        return ServedAnswer(
            columns=tuple(told["columns"]),
            rows=tuple(tuple(map(cell_from_wire, row)) for row in told["rows"]),
            epsilon=Fraction(told["cost"]["epsilon"]),
            delta=Fraction(told["cost"]["delta"]),
            release=told["release"],
            confidence=Fraction(told["confidence"]),
            notes=tuple(told["notes"]),
            head=told["head"],
            text=told["text"],
        )

    def query(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        confidence: Number | None = None,
        mode: str | None = None,
        noise: str | None = None,
    ) -> Price:
        """What the answer would cost and how wide its margins would be: nothing is read, nothing is spent."""
        told = self._asked({"do": "cost", "sql": sql, **_options(epsilon, confidence, mode, noise)})
        margins = {name: cell_from_wire(margin) for name, margin in told["margins"].items()}
        return Price(epsilon=Fraction(told["epsilon"]), delta=Fraction(told["delta"]), margins=margins)

    def cost(self, sql: str) -> Fraction:
        """What the answer would be charged."""
        return self.query(sql).epsilon

    def explain(self, sql: str) -> str:
        """How the answer would be protected, in words."""
        return str(self._asked({"do": "explain", "sql": sql})["text"])

    @property
    def budget(self) -> Standing:
        """What the analyst's grant has left; for other roles, what the promise has."""
        told = self._asked({"do": "budget"})
        return Standing(total=Fraction(told["total"]), spent=Fraction(told["spent"]))

    def ledger(self, *, since: datetime | None = None) -> list[dict[str, object]]:
        """The entries of the ledger: of an analyst their own, with texts; of an auditor all, without; of an owner
        all, with texts."""
        return list(self._asked({"do": "ledger", **_since(since)})["entries"])

    def audit(self, *, since: datetime | None = None) -> ServedAudit:
        """Whether the promise was kept, with every price derived again."""
        told = self._asked({"do": "audit", **_since(since)})
        return ServedAudit(holds=told["holds"], text=told["text"], markdown=told["markdown"])

    def verify(self) -> int:
        """The number of entries of a ledger that verifies; LedgerBroken otherwise."""
        return int(self._asked({"do": "verify"})["entries"])

    def freeze(self, reason: str) -> None:
        """Every question is refused from here on, of everybody."""
        self._asked({"do": "freeze", "reason": reason})

    def unfreeze(self, reason: str) -> None:
        """Questions are answered again."""
        self._asked({"do": "unfreeze", "reason": reason})

    def close(self) -> None:
        self._lines.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.name!r}, role={self.role!r})"

    def _asked(self, request: Message) -> dict[str, Any]:
        """What the server says; its error, raised here. A reply that does not come ends the connection: the next one
        would be taken for it."""
        with self._lock:
            try:
                self._lines.send(request, within=self._timeout)
                line = self._lines.next(first_byte_within=self._timeout, rest_within=self._timeout)
            except (Gone, TooSlow, TooLong) as ended:
                self.close()
                raise _unreachable(_ENDED[type(ended)]) from None
        try:
            reply = decoded(line)
            error = error_from_wire(reply["error"], sql=request.get("sql")) if "error" in reply else None
            told = {} if error is not None else dict(reply["ok"])
        except (NotUnderstood, KeyError, TypeError, ValueError):
            raise _unreachable(_NO_SERVER) from None
        if error is not None:
            raise error
        return told


_NO_SERVER = "what answers there is no server of dpsql"
_ENDED = {
    Gone: "the server has closed the connection",
    TooSlow: "the server did not answer in time",
    TooLong: "the answer is longer than a client reads",
}


def _options(epsilon: Number | None, confidence: Number | None, mode: str | None, noise: str | None) -> Message:
    said = {"epsilon": number_to_wire(epsilon), "confidence": number_to_wire(confidence), "mode": mode, "noise": noise}
    return {name: value for name, value in said.items() if value is not None}


def _since(since: datetime | None) -> Message:
    return {} if since is None else {"since": since.isoformat()}


def connect(*, socket: str | PathLike[str], token: str, timeout: float | None = None) -> Client:
    """A connection to `dpsql serve --socket`, for whom the token was made. `timeout`: seconds to wait for each reply.

    What was charged for an answer that did not arrive stays charged; asked again, it is told for nothing.
    """
    connection = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        connection.connect(os.fspath(socket))
        client = Client(connection, timeout=timeout)
        client.greet(token)
    except OSError as error:
        connection.close()
        raise _unreachable(f"no server can be reached at {os.fspath(socket)}: {error.strerror or error}") from None
    except BaseException:
        connection.close()
        raise
    return client


def _unreachable(what: str) -> NoSource:
    return NoSource(
        what, why="data and ledger belong to the server; without it nothing can be answered", fix="see that it runs"
    )
