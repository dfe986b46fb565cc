"""PEP 249: a connection and cursors over an analyst, for pandas.read_sql and everything else that speaks DB-API. The
analyst is beside the data, or a client of a server.

Cells are plain numbers here; margins, cost and notes of the last answer are in `cursor.answer`. Parameters are not
available: a question is its text, and the values belong into it. `paramstyle` is a word the standard demands.

    connection = dpsql.dbapi.connect(analyst)
    cursor = connection.cursor()
    cursor.execute("SELECT city, COUNT(*) AS n FROM patients GROUP BY city")
    cursor.fetchall()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import islice
from typing import Any, Final, Self

from dpsql import Client, Estimate, Noisy, ServedAnswer, errors
from dpsql.closing import Closing
from dpsql.session.analyst import Analyst
from dpsql.session.answer_value import Answer

apilevel: Final = "2.0"
threadsafety: Final = 1
paramstyle: Final = "qmark"


class Warning(Exception):  # noqa: A001 - the name PEP 249 prescribes
    pass


class Error(Exception):
    """Every dpsql error in the words of PEP 249; `code` and the rest are those of the error it came from."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class InterfaceError(Error):
    pass


class DatabaseError(Error):
    pass


class DataError(DatabaseError):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


class ProgrammingError(DatabaseError):
    pass


class NotSupportedError(DatabaseError):
    pass


class InternalError(DatabaseError):
    pass


_TRANSLATED: Final = (
    (errors.NotUnderstood, ProgrammingError),
    (errors.BadName, ProgrammingError),
    (errors.BadType, ProgrammingError),
    (errors.BadParameter, ProgrammingError),
    (errors.Refused, NotSupportedError),
    (errors.InternalError, InternalError),
    (errors.DpsqlError, OperationalError),
)
"""The first that fits: kinds of dpsql errors, and what PEP 249 calls them."""


def connect(analyst: Analyst | Client) -> Connection:
    """A connection over an analyst, whose grant pays for what is asked; or over a client of a server."""
    given: object = analyst
    if not isinstance(given, Analyst | Client):
        error = errors.BadParameter(
            f"a connection is over an analyst, and this is {type(given).__name__}",
            why="each question is paid from the grant of somebody",
            fix='pass the analyst: connect(owner.grant("ana", budget=1)), or connect(owner.analyst("ana")) where '
            'owner = dpsql.open("dpsql.toml") already grants ana something',
        )
        raise InterfaceError(str(error), code=error.code) from error
    return Connection(analyst)


class Connection(Closing):
    """Nothing is ever rolled back: what was told cannot be taken back. What is SET on a connection holds there."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError, NotSupportedError = InternalError, ProgrammingError, NotSupportedError

    def __init__(self, analyst: Analyst | Client) -> None:
        asking = analyst.new_session() if isinstance(analyst, Analyst) else analyst  # a client is a session by itself
        self._analyst: Analyst | Client | None = asking

    def cursor(self) -> Cursor:
        self.analyst()
        return Cursor(self)

    def commit(self) -> None:
        """Every answer is durable before it is told."""
        self.analyst()

    def rollback(self) -> None:
        self.analyst()
        raise NotSupportedError("a release cannot be rolled back: it has been told")

    def close(self) -> None:
        self._analyst = None

    def analyst(self) -> Analyst | Client:
        if self._analyst is None:
            raise InterfaceError("the connection is closed")
        return self._analyst


class TypeObject:
    """What the values of a column are, in the four words of the standard."""

    def __init__(self, name: str, *kinds: type) -> None:
        self._name, self.kinds = name, kinds

    def __repr__(self) -> str:
        return self._name


STRING: Final = TypeObject("STRING", str)
BINARY: Final = TypeObject("BINARY")
NUMBER: Final = TypeObject("NUMBER", int, float, Fraction)
DATETIME: Final = TypeObject("DATETIME", date)
ROWID: Final = TypeObject("ROWID")
"""BINARY and ROWID are never the type of a column: answers hold neither."""

Column = tuple[str, TypeObject | None, None, None, None, None, None]


class Cursor:
    """One question at a time; rows of plain values."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.answer: Answer | ServedAnswer | None = None
        """The last answer, with margins, cost and notes."""
        self._rows: Iterator[tuple[Any, ...]] | None = iter(())

    @property
    def description(self) -> list[Column] | None:
        """A type is that of the values in the answer; None where it has none."""
        if self.answer is None:
            return None
        rows = [tuple(map(_plain, row)) for row in self.answer]
        cells = zip(*rows, strict=True) if rows else ((),) * len(self.answer.columns)
        types = map(_type_of, cells)
        return [
            (name, type_, None, None, None, None, None) for name, type_ in zip(self.answer.columns, types, strict=True)
        ]

    @property
    def rowcount(self) -> int:
        return -1 if self.answer is None else len(self.answer)

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> Self:
        """Ask. Values are written into the text: a parameter would make one plan of many questions."""
        self._open()
        if parameters:
            raise NotSupportedError("parameters are not available: write the values as literals")
        self.answer, self._rows = None, iter(())  # what was asked before is not the answer to this
        try:
            answer = self.connection.analyst().sql(operation)
        except errors.DpsqlError as error:
            kind = next(translated for known, translated in _TRANSLATED if isinstance(error, known))
            raise kind(str(error), code=error.code) from error
        self.answer, self._rows = answer, iter([tuple(_plain(cell) for cell in row) for row in answer])
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[object]]) -> None:
        raise NotSupportedError("a question is asked once: repeating it gives the same answer")

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._fetching(), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        return list(islice(self._fetching(), self.arraysize if size is None else size))

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._fetching())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._fetching()

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Nothing to do: there are no parameters."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing to do: answers are small."""

    def close(self) -> None:
        self._rows = None

    def _open(self) -> Iterator[tuple[Any, ...]]:
        self.connection.analyst()
        if self._rows is None:
            raise InterfaceError("the cursor is closed")
        return self._rows

    def _fetching(self) -> Iterator[tuple[Any, ...]]:
        rows = self._open()
        if self.answer is None:
            raise ProgrammingError("nothing was asked yet")
        return rows


def _type_of(cells: Iterable[object]) -> TypeObject | None:
    known = (cell for cell in cells if cell is not None)
    first = next(known, None)
    return next((type_ for type_ in (STRING, NUMBER, DATETIME) if isinstance(first, type_.kinds)), None)


def _plain(cell: object) -> Any:
    """Of a number with a margin the number."""
    return cell.value if isinstance(cell, Noisy | Estimate) else cell
