"""The shape of an engine: what it can do, as data; a schema and what its catalogue says beyond names and types; text to
run; and the one way in which an engine fails."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from dpsql.catalog.model import EngineTable, Parameter, Value
from dpsql.catalog.views import Views
from dpsql.errors import EngineFailed, TooLarge
from dpsql.privacy.exact import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """`columns` hold a key of `table`; enforced by the engine."""

    columns: tuple[str, ...]
    table: str
    """As `Engine.schema` names it."""
    to_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition that every row meets, as the engine prints it."""

    columns: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """Of one table or view."""

    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[Check, ...] = ()
    choices: Mapping[str, tuple[str, ...]]
    """By column of an enumeration type: the values the type lists."""
    comment: str = ""
    comments: Mapping[str, str]
    """By column."""
    view: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    dialect: str
    """Which forms of `sql.functions` and `sql.emit` are printed."""


DUCKDB: Final = Capabilities(dialect="duckdb")


Rows: TypeAlias = list[tuple[Value, ...]]
"""Keys and numbers, as Python values. Of private tables integers only: no float comes between data and noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What statements may use; None: as much as there is, and half the memory."""

    memory_limit: str | None = None
    """A number and a unit, as in "4GB": of all statements at once."""
    threads: int | None = None
    timeout: float | None = None
    """Seconds."""


NO_LIMITS: Final = Limits()
NO_PARAMETERS: Final[Mapping[str, Parameter]] = MappingProxyType({})
MOST_EXACT_ROWS: Final = 100_000
"""Rows of an exact answer."""
MOST_EXACT_BYTES: Final = 32_000_000
"""Bytes of its values: texts as UTF-8, everything else as eight."""

OnFailure: TypeAlias = Callable[[str, str], None]
"""Told the trace id and the kind of a failure, and nothing an engine says: for the owner, never for the analyst."""


class Engine(Protocol):
    """Read-only, hardened, cancellable. It runs the text it is given and knows nothing of noise or budgets."""

    @property
    def capabilities(self) -> Capabilities: ...

    def schema(self) -> Mapping[str, EngineTable]:
        """Every table by its name in the engine: names, types, constraints. No rows, no statistics are read."""
        ...

    def views(self) -> Views:
        """Every view and every table with generated columns by its name in the engine, with all it reads, macros and
        other views expanded. What the engine cannot name is listed as unknown."""
        ...

    def constraints(self) -> Mapping[str, Constraints]:
        """Every table and view by its name in the engine: keys, references, checks, listed values, comments."""
        ...

    def run(self, sql: str, /, *, parameters: Mapping[str, Parameter]) -> Exact[Rows]:
        """The rows of a statement on private tables, wrapped. `parameters` are bound to $name; lists as arrays.

        Any failure is EngineFailed with one constant message and a trace id.
        """
        ...

    def run_public(self, sql: str, /, *, parameters: Mapping[str, Parameter] = NO_PARAMETERS) -> Rows:
        """The rows of a statement that reads public tables only; TooLarge beyond MOST_EXACT_BYTES."""
        ...

    def interrupt(self) -> None:
        """Stops every statement that is running, from any thread; each ends as EngineFailed."""
        ...

    def close(self) -> None: ...


def engine_failed() -> EngineFailed:
    """The one error of every adapter: the same words for every reason, and a random number to ask the owner about.

    An engine's own message quotes values of rows, and even its kind tells that some row divides by zero. Raise this
    after the except block has ended, so that the original hangs on neither `__cause__` nor `__context__`.
    """
    trace_id = secrets.token_hex(8)
    error = EngineFailed(
        "the engine did not finish this statement",
        why="the reason could tell something about rows, so it is the same sentence for every reason",
        fix=f"ask again; if it happens again give the owner of the data this number: {trace_id}",
    )
    error.trace_id = trace_id
    return error


def too_large(what: str) -> TooLarge:
    """An exact answer over one of its two limits."""
    return TooLarge(
        f"the exact answer has {what}",
        why="an answer from public tables costs no budget, so its size is what is limited",
        fix="add LIMIT or WHERE, aggregate, or select fewer and shorter columns",
    )
