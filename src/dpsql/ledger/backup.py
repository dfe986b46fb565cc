"""A copy of a ledger in SQLite, taken while it is in use, and put back where it was lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from os import open as open_descriptor
from pathlib import Path
from typing import Final

from dpsql.errors import BadParameter, LedgerBroken, NotPermitted
from dpsql.ledger import keyfile
from dpsql.ledger.sqlite import SqliteLedger

_LOGS: Final = ("-wal", "-shm")
_WAIT: Final = 30.0


def back_up(ledger: Path, copy: Path, *, with_key: bool) -> None:
    """A copy of one state of the ledger, readable by its owner only. LedgerBroken where the ledger does not verify:
    such a copy would be of no use.

    The key stays behind unless it is asked for: who has both can write another ledger that verifies.
    """
    with closing(SqliteLedger(ledger)) as opened:
        opened.verify()
    key = keyfile.read_key(keyfile.key_path(ledger))
    with _created(copy, "the backup"):
        _copied(ledger, copy)
        if with_key and not keyfile.create_private(keyfile.key_path(copy), key):
            raise _exists(keyfile.key_path(copy))


def restore(copy: Path, ledger: Path, *, replace: bool) -> Path | None:
    """Put a copy where the ledger was, once it verifies with its key: that beside the ledger, else that beside the
    copy. What stood there is kept under another name, which is returned; without `replace` it is not touched."""
    present = ledger.exists()
    if present and not replace:
        raise NotPermitted(
            f"there is a ledger in {ledger}",
            why="what was charged since the copy was made would be forgotten",
            fix="say that it is to be replaced; it is kept under another name",
        )
    if not copy.is_file():
        raise BadParameter(f"there is no file {copy}", why="it is to be restored", fix="name the file of a backup")
    near = ledger.with_name(f"{ledger.name}.restoring")
    with _created(near, "the restored copy"):
        _copied(copy, near)
        key = keyfile.read_key(keyfile.key_path(ledger if keyfile.key_path(ledger).exists() else copy))
        _require_verified(near, key)
        kept = _put_aside(ledger) if present else None
        keyfile.create_private(keyfile.key_path(ledger), key)  # nothing where it is there
        os.rename(near, ledger)
        keyfile.sync_folder(ledger.parent)
    return kept


@contextmanager
def _created(path: Path, what: str) -> Iterator[None]:
    """A new file that is there whole, or not at all."""
    try:
        if not keyfile.create_private(path):
            raise _exists(path)
    except OSError as error:
        raise BadParameter(
            f"{what} cannot be written to {path}: {error.strerror}",
            why="a copy that is not there cannot be restored",
            fix="choose a path in a folder that exists and that this user may write",
        ) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def _exists(path: Path) -> NotPermitted:
    return NotPermitted(
        f"{path} exists already", why="it may be the only copy of something", fix="choose a name that is not taken"
    )


def _copied(source: Path, target: Path) -> None:
    """One state of `source`, by SQLite's own backup."""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=_WAIT)) as read,
            closing(sqlite3.connect(target, timeout=_WAIT)) as written,
        ):
            read.backup(written)
            _forget_levels(written)
            written.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    except sqlite3.Error:
        raise LedgerBroken(
            f"{source} cannot be copied",
            why="it is no ledger, or its disk cannot be read",
            fix="look at the file; take another backup",
        ) from None
    _synced(target)


def _forget_levels(copy: sqlite3.Connection) -> None:
    """Finer levels of releases, which nobody has paid for, stay behind: a copy is kept longer and by others."""
    if copy.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'hidden'").fetchone() is not None:
        copy.execute("PRAGMA secure_delete = ON")
        copy.execute("DELETE FROM hidden")
        copy.commit()
        copy.execute("VACUUM")


def _synced(path: Path) -> None:
    descriptor = open_descriptor(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_verified(ledger: Path, key: bytes) -> None:
    """The copy opens with the key and verifies; nothing is left beside it."""
    beside = keyfile.key_path(ledger)
    keyfile.create_private(beside, key)
    try:
        with closing(SqliteLedger(ledger, anchors=None)) as opened:  # what it lacks is said once it stands in its place
            opened.verify()
        _alone(ledger)
    finally:
        beside.unlink()
        for end in _LOGS:
            ledger.with_name(ledger.name + end).unlink(missing_ok=True)


def _alone(ledger: Path) -> None:
    """Bring everything into the one file; refused while somebody has it open."""
    with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=rw", uri=True, timeout=1)) as database:
        try:
            database.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise NotPermitted(
                    f"{ledger} is in use",
                    why="whoever has it open would go on charging what nobody finds again",
                    fix="stop every process that uses it, then restore",
                ) from None


def _put_aside(ledger: Path) -> Path:
    with suppress(sqlite3.DatabaseError):  # a damaged one is put aside as it is
        _alone(ledger)
    number = 1
    while (kept := ledger.with_name(f"{ledger.name}.replaced-{number}")).exists():
        number += 1
    os.rename(ledger, kept)
    for end in _LOGS:
        with suppress(FileNotFoundError):
            os.rename(ledger.with_name(ledger.name + end), kept.with_name(kept.name + end))
    return kept
