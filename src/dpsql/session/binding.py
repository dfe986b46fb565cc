"""Which ledger belongs to a source: a second one would be a second budget for the same people.

The id of the ledger stands in a small file beside the data. Whoever can remove it can also copy the data: in one
process this keeps mistakes away, not people.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from dpsql.errors import LedgerBroken, NotPermitted
from dpsql.ledger.keyfile import create_private

if TYPE_CHECKING:
    from dpsql.ledger.stored import StoredLedger

_WHY: Final = "another ledger would forget what was spent, and with it the promise to the people in these data"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlace:
    """A ledger in PostgreSQL, and its key on this machine."""

    url: str = field(repr=False)
    """It may hold a password: it stands in no message and in no file."""
    key: Path

    def __str__(self) -> str:
        return f"PostgreSQL, with the key {self.key}"


LedgerPlace: TypeAlias = Path | SharedPlace


def ledger_at(place: LedgerPlace) -> StoredLedger:
    """The ledger at a place; where there is none, a new one."""
    if isinstance(place, Path):
        from dpsql.ledger.sqlite import SqliteLedger  # a store is loaded where a ledger is in it

        return SqliteLedger(place)
    from dpsql.ledger.postgres import PostgresLedger

    return PostgresLedger(place.url, key=place.key)


def is_there(place: LedgerPlace) -> bool:
    """Whether this machine knows a ledger there: its file, or the key of a shared one."""
    return (place if isinstance(place, Path) else place.key).exists()


def ledger_beside(source: Path) -> Path:
    """Where the ledger of a file is kept unless somebody says otherwise."""
    return source.with_name(f"{source.name}.ledger")


def mark_beside(source: Path) -> Path:
    """The file that holds the id of the ledger, and where the ledger was first."""
    return source.with_name(f"{source.name}.ledger-id")


def bound_ledger(place: LedgerPlace, *, named: str | None, source: Path | None) -> StoredLedger:
    """The ledger at `place`, created where it may be; refused if the policy or the source has another one.

    `named` is the id in the policy, `source` the file that holds the data, where there is one.
    """
    _require_no_other(place, named=named, source=source)
    ledger = ledger_at(place)
    try:
        _require_same(ledger.id, named=named, source=source)
        if source is not None:
            _mark(source, ledger.id, place)
            _require_same(ledger.id, named=named, source=source)  # somebody else may have been faster
    except BaseException:
        ledger.close()
        raise
    return ledger


def _require_no_other(place: LedgerPlace, *, named: str | None, source: Path | None) -> None:
    """Nothing says that a ledger exists elsewhere: only then a new one is made."""
    marked = _marked(source)  # looked at first: another process makes the ledger, and then its mark
    if (named is None and marked is None) or is_there(place):
        return
    known = f"{marked[0]}, which was kept in {marked[1]}" if marked else f"{named}, which the policy names"
    raise NotPermitted(
        f"there is no ledger in {place}, but there was one: {known}",
        why=_WHY,
        fix=_fix(source if marked else None, "name the place of that ledger: ledger=… or ledger_file in [source]"),
    )


def _require_same(ledger: str, *, named: str | None, source: Path | None) -> None:
    if named is not None and named != ledger:
        raise NotPermitted(
            f"the policy names the ledger {named}, and this one is {ledger}",
            why=_WHY,
            fix="open the ledger the policy names; an owner who means it removes `ledger` from [source]",
        )
    marked = _marked(source)
    if source is not None and marked is not None and marked[0] != ledger:
        raise NotPermitted(
            f"{source.name} belongs to the ledger {marked[0]}, kept in {marked[1]} when it was opened first;"
            f" this one is {ledger}",
            why=_WHY,
            fix=_fix(source, "open that ledger: ledger=… or ledger_file in [source]"),
        )


def _fix(source: Path | None, first: str) -> str:
    if source is None:
        return f"{first}; an owner who means it removes `ledger` from [source]"
    return f"{first}; an owner who means a new promise, beside the old one, removes {mark_beside(source)}"


def _marked(source: Path | None) -> tuple[str, str] | None:
    """The id and the first place of the ledger of these data; None: it has none yet."""
    if source is None:
        return None
    try:
        found, place = mark_beside(source).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise LedgerBroken(
            f"{mark_beside(source)} cannot be read",
            why="it says which ledger these data belong to",
            fix="restore it from a backup, or give the process the right to read it",
        ) from None
    return found, place


def _mark(source: Path, ledger: str, place: LedgerPlace) -> None:
    # Where nothing may be written beside the data, the policy alone can name the ledger.
    words = f"{ledger}\n{place.absolute() if isinstance(place, Path) else place}\n"
    with suppress(OSError):
        create_private(mark_beside(source), words.encode(errors="backslashreplace"))
